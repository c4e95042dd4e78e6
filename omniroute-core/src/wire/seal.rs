//! Carries a seal of one vendor through a client that speaks another vendor's wire.
//!
//! The envelope stands where the client's wire has a signature. Only we open it; it is never sent to a vendor. It is
//! base64 as a whole, because clients of Gemini decode what stands there.

use crate::doc::Doc;
use crate::hub::{Issuer, Seal};
use crate::wire::json::JsonWriter;
use crate::wire::read::{chars, pick};

/// Four digits of base64, so that what follows is decoded the same with and without them.
const HEAD: &str = "omr1";

/// Puts a seal, and the id of the call it stands on, into an envelope.
pub(crate) fn close(seal: &Seal<'_>, call: Option<&str>) -> String {
    let mut json = JsonWriter::default();
    json.object().key("issuer").text(seal.issuer.name());
    if let Some(call) = call {
        json.key("call").text(call);
    }
    json.key("seal").str(&seal.data).end_object();
    format!("{HEAD}{}", encode(json.finish().as_bytes()))
}

/// Opens an envelope: the seal and the id of the call it stands on.
pub(crate) fn open(text: &str) -> Option<(Seal<'static>, Option<String>)> {
    let body = text.strip_prefix(HEAD)?;
    // Envelopes of earlier versions, which clients may still hold, had a dot here.
    let doc = Doc::parse(decode(body.strip_prefix('.').unwrap_or(body))?).ok()?;
    let [issuer, call, seal] = pick(&doc, doc.root(), ["issuer", "call", "seal"]);
    let issuer = Issuer::of(&chars(&doc, issuer)?);
    Some((Seal { issuer, data: chars(&doc, seal)?.into() }, chars(&doc, call)))
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |sum, b| sum << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let digit = group >> (18 - 6 * place) & 63;
            out.push(char::from(DIGITS[digit as usize]));
        }
        (chunk.len()..3).for_each(|_| out.push('='));
    }
    out
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut group, mut bits) = (Vec::with_capacity(text.len() * 3 / 4), 0u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        let byte = match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => byte,
        };
        let digit = DIGITS.iter().position(|d| *d == byte)?;
        group = (group << 6 | digit as u32) & 0xFF_FFFF;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((group >> bits & 255) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_closed_opens_again() {
        for data in ["", "a", "ab", "abc", "Sig+/=\"\u{e9}"] {
            for call in [None, Some("call_1")] {
                let seal = Seal { issuer: Issuer::Gemini, data: data.into() };
                let text = close(&seal, call);
                assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b)), "{text}");
                assert_eq!(text.len() % 4, 0, "{text}");
                assert_eq!(open(&text), Some((seal, call.map(str::to_owned))));
            }
        }
        assert_eq!(open("EqoBCkYIAxgC"), None, "a vendor's own is left alone");
        assert_eq!(open("omr1.###"), None);
        assert_eq!(open("omr1AAAA"), None, "a vendor's own that begins alike");
        let old = "omr1.eyJpc3N1ZXIiOiJnZW1pbmkiLCJzZWFsIjoiYT8_In0";
        assert_eq!(open(old), Some((Seal { issuer: Issuer::Gemini, data: "a??".into() }, None)));
    }
}
