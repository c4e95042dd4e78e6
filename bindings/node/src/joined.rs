//! Puts long texts back into a body. JavaScript leaves them out when it writes JSON, because escaping them takes longer
//! there, and on the one thread that must not wait.

use bytes::Bytes;
use omniroute::Error;
use omniroute::core::escape_into;

/// What stands in the body for a text. JavaScript leaves out every text with this character as well, so that the mark can
/// stand for nothing else: in any other string it would follow a backslash.
const MARK: &str = r#""\u0000""#;

/// The body with the texts that stand behind it. `lengths` are those of the body alone and of each text, in bytes.
pub(crate) fn joined(input: &[u8], lengths: &[u32]) -> Result<Bytes, Error> {
    let wrong = || Error::new("internal", "the texts of a body do not fit the body");
    let mut rest = std::str::from_utf8(input).map_err(|_| wrong())?;
    let mut next = |length: u32| {
        let (text, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = behind;
        Some(text)
    };
    let (&length, lengths) = lengths.split_first().ok_or_else(wrong)?;
    let mut pieces = next(length).ok_or_else(wrong)?.split(MARK);
    let mut out = String::with_capacity(input.len() + input.len() / 16);
    out.push_str(pieces.next().ok_or_else(wrong)?);
    for &length in lengths {
        escape_into(next(length).ok_or_else(wrong)?, &mut out);
        out.push_str(pieces.next().ok_or_else(wrong)?);
    }
    if pieces.next().is_some() { Err(wrong()) } else { Ok(out.into()) }
}
