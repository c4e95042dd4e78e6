//! Compresses one request: an agent has read the same file twice.

#![expect(clippy::print_stdout, reason = "the point of the program")]

use omniroute_compress::{CompressError, compress};
use omniroute_core::{escape, wire};

fn main() -> Result<(), CompressError> {
    let file: String = (1..=80).map(|n| format!("let total_{n} = price_{n} * quantity_{n};\n")).collect();
    let read = |id: &str| {
        let call =
            format!(r#"{{"id":"{id}","function":{{"name":"read","arguments":"{{\"path\":\"a.rs\"}}"}}}}"#);
        let answer = format!(r#"{{"role":"tool","tool_call_id":"{id}","content":{}}}"#, escape(&file));
        format!(r#"{{"role":"assistant","tool_calls":[{call}]}},{answer}"#)
    };
    let body = format!(r#"{{"model":"gpt-5","messages":[{},{}]}}"#, read("a"), read("b"));

    let out = compress(wire::OPENAI_CHAT, body)?;
    println!("{} -> {} tokens", out.receipt.tokens_before, out.receipt.tokens_after);
    Ok(())
}
