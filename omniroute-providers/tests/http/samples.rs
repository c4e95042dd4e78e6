//! Answers written by hand from the vendors' published formats, for where no recordings are; streams by
//! `samples/make.py`.

/// The bytes of a sample.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let text = match name {
        "bedrock-converse" => include_str!("samples/bedrock-converse.b64"),
        "bedrock-converse-error" => include_str!("samples/bedrock-converse-error.b64"),
        "cohere" => include_str!("samples/cohere.b64"),
        "ollama" => include_str!("samples/ollama.b64"),
        "ollama-error" => include_str!("samples/ollama-error.b64"),
        other => panic!("no sample {other}"),
    };
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let six = text.bytes().filter_map(|b| letters.iter().position(|l| *l == b));
    let (mut out, mut buffer, mut bits) = (Vec::new(), 0u32, 0);
    for six in six {
        buffer = buffer << 6 | six as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((buffer >> bits) as u8);
        }
    }
    out
}

/// What each whole sample says.
pub(crate) const TEXT: &str = "Café 🦀 costs 3 €.";

/// A whole answer of chat completions.
pub(crate) const CHAT: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;

/// A whole answer of messages.
pub(crate) const CLAUDE: &str = r#"{"id":"m","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}"#;
