//! One loop with the retrieval tool: a long list is sampled, the model asks for a part of it and gets it.
//!
//! `cargo run -p omniroute-compress --example retrieve`
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use omniroute_compress::ccr::{Handle, TOOL, TOOL_DESCRIPTION, TOOL_PARAMETERS};
use omniroute_compress::{Compress, CompressError};
use omniroute_core::{ChatRequest, Moment, Principal, escape, wire};

fn main() -> Result<(), CompressError> {
    let orders: Vec<String> = (1..=400)
        .map(|n| format!(r#"{{"order":{n},"state":"{}"}}"#, if n == 311 { "refused" } else { "paid" }))
        .collect();
    let tools = format!(
        r#"[{{"name":"orders","input_schema":{{"type":"object"}}}},{{"name":"{TOOL}","description":{},"input_schema":{TOOL_PARAMETERS}}}]"#,
        escape(TOOL_DESCRIPTION)
    );
    let body = format!(
        r#"{{"model":"claude-sonnet-4-5","tools":{tools},"messages":[{{"role":"user","content":"How many orders are there?"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"orders","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":{}}}]}}]}}"#,
        escape(&format!("[{}]", orders.join(",")))
    );

    // One compressor for all tenants; it and the answer to the tool's call are told whose request it is.
    let (compressor, tenant) = (Compress::builder().build()?, Principal::new("tenant-7"));
    let mut request = ChatRequest::parse(wire::ANTHROPIC, body)?.with_principal(tenant.clone());
    let sent = compressor.compress(&mut request, None, Moment::default());
    let text = String::from_utf8_lossy(&sent.body);
    println!("{} -> {} tokens", sent.receipt.tokens_before, sent.receipt.tokens_after);

    // The model reads the handle and calls the tool.
    let Some(handle) = Handle::all_in(&text).next() else { return Ok(()) };
    println!("the model sees: {handle}");
    let arguments = format!(r#"{{"hash":"{}","mode":"grep","pattern":"\"order\":250,.*?\\}}"}}"#, handle.id);
    println!("the model asks: {arguments}");
    match compressor.retrieve(&tenant, &arguments, Moment::default()) {
        Ok(answer) => println!("the answer has {} bytes, complete: {}", answer.text.len(), answer.complete),
        Err(error) => println!("an answer that is an error: {error}"),
    }
    // Somebody else learns nothing, not even that there is a text.
    match compressor.retrieve(&Principal::new("tenant-8"), &arguments, Moment::default()) {
        Ok(_) => println!("this is never printed"),
        Err(error) => println!("another tenant: {error}"),
    }
    Ok(())
}
