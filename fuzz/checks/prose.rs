//! What must hold for any text that people write.

use omniroute_compress::caveman::{Condenser, Level};
use omniroute_compress::protect;

/// Protected parts are in order, apart from each other and whole characters; what is condensed is never larger, keeps the
/// bytes of its numbers and does not change again.
pub fn prose(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let spans = protect::spans(&text);
    let mut end = 0;
    for span in &spans {
        if span.start < end || span.end <= span.start || text.get(span.start..span.end).is_none() {
            return Err(format!("{span:?} after {end} in {} bytes", text.len()));
        }
        end = span.end;
    }
    if protect::spans(&text) != spans {
        return Err("two results for one text".to_owned());
    }
    for level in Level::ALL {
        let condenser = Condenser::new(level);
        let out = condenser.condense(&text).text;
        if out.len() > text.len() {
            return Err(format!("{} bytes became {} at {}", text.len(), out.len(), level.name()));
        }
        if condenser.condense(&out).text != out {
            return Err(format!("changes again at {}", level.name()));
        }
        // A sentence that is said twice may take its numbers with it at the highest level.
        if level < Level::Ultra && digits(&out) != digits(&text) {
            return Err(format!("a number changed at {}", level.name()));
        }
    }
    Ok(())
}

fn digits(text: &str) -> Vec<char> {
    text.chars().filter(|c| c.is_numeric()).collect()
}
