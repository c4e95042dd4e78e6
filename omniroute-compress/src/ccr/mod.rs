//! Texts that were taken out of a request and can be fetched back: handles, the retrieval tool, the note about it.
//!
//! A handle is a line `[CCR retrieve hash=<24 hex digits> chars=<n>]`. It gives no rights: [`retrieve`] answers
//! only what was kept for the same principal.
//!
//! ```
//! use omniroute_compress::ccr::{Ask, Handle, retrieve};
//! use omniroute_core::{BlobStore, MemoryBlobs, Moment, Principal};
//! let (blobs, me) = (MemoryBlobs::default(), Principal::default());
//! let id = blobs.put(&me, b"first\nsecond\nthird").expect("fits");
//! let handle = Handle::new(id, "first\nsecond\nthird").to_string();
//!
//! let ask = Ask::from_json(&format!(r#"{{"hash": "{handle}", "mode": "tail", "n": 1}}"#))?;
//! assert_eq!(retrieve(&blobs, &me, &ask, Moment::default())?.text, "third");
//!
//! let other = retrieve(&blobs, &Principal::new("other"), &ask, Moment::default());
//! assert_eq!(other.unwrap_err().code(), "not_found");
//! # Ok::<(), omniroute_compress::ccr::RetrieveError>(())
//! ```

mod ask;
mod handle;
mod keep;
mod note;
mod reach;
mod retrieve;
mod views;

pub use ask::{Ask, Mode};
pub use handle::Handle;
pub(crate) use keep::{in_place_of, keep};
pub(crate) use note::{Placement, SENTINEL, without};
pub(crate) use reach::{is_tool, tool_choice_allows};
pub use retrieve::{Answer, RetrieveError, retrieve};

/// Name of the retrieval tool. A tool of a tool server is known by the name behind its prefix:
/// `mcp__x__omniroute_ccr_retrieve`.
pub const TOOL: &str = "omniroute_ccr_retrieve";

/// What the tool does, for its definition.
pub const TOOL_DESCRIPTION: &str = "Fetches a text that was left out of this conversation. Takes the hash of a line \
    [CCR retrieve hash=... chars=...]; can return all of it, some lines, or the lines that match a pattern.";

/// The JSON schema of the tool's arguments.
pub const TOOL_PARAMETERS: &str = r#"{"type":"object","properties":{"hash":{"type":"string","description":"24 hex digits of the handle"},"mode":{"type":"string","enum":["full","head","tail","lines","grep","stats"],"default":"full"},"n":{"type":"integer","minimum":1,"maximum":10000,"description":"lines of head and tail"},"start":{"type":"integer","minimum":1,"description":"first line of lines"},"end":{"type":"integer","minimum":1,"description":"last line of lines"},"pattern":{"type":"string","maxLength":512,"description":"regular expression of grep"},"ignore_case":{"type":"boolean"},"context":{"type":"integer","minimum":0,"maximum":20,"description":"lines around each match"},"offset":{"type":"integer","minimum":0,"description":"byte where full goes on"}},"required":["hash"]}"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_json_and_names_every_mode() {
        let schema: serde_json::Value = serde_json::from_str(TOOL_PARAMETERS).unwrap();
        assert_eq!(schema["properties"]["mode"]["enum"], serde_json::json!(Mode::NAMES));
        assert_eq!(schema["required"], serde_json::json!(["hash"]));
        assert!(is_tool(TOOL) && !TOOL_DESCRIPTION.contains("  "));
    }
}
