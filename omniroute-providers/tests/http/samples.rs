//! Streams written by hand from the vendors' published formats, by `samples/make.py`; for where no recordings are.

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
