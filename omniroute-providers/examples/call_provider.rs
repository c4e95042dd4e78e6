//! Asks one provider and prints what it says as it comes. The key is read from the provider's usual variable:
//! `cargo run -p omniroute-providers --features transport-reqwest,clock-tokio --example call_provider -- groq llama-3.3-70b-versatile "Say hi"`.

use std::error::Error;
use std::sync::Arc;

use futures::StreamExt;
use omniroute_core::hub::{Delta, Event};
use omniroute_core::wire::{JsonWriter, OPENAI_CHAT};
use omniroute_core::{ChatBody, ChatRequest, Env, Inline};
use omniroute_providers::credentials::EnvKey;
use omniroute_providers::transport::{ReqwestTransport, TokioClock};
use omniroute_providers::{Call, Catalog, HttpProvider};

#[expect(clippy::print_stdout, reason = "a program for people")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [id, model, question] = words.as_slice() else {
        return Err("say PROVIDER MODEL QUESTION".into());
    };
    let catalog = Catalog::embedded();
    let row = catalog.provider(id).ok_or_else(|| format!("no provider {id:?}"))?;
    let provider = HttpProvider::builder(&catalog, id).credentials(EnvKey::of(&row)).build()?;
    let http = Arc::new(ReqwestTransport::new()?);
    let env = Env { clock: Arc::new(TokioClock::new()), http, offload: Arc::new(Inline) };

    let mut body = JsonWriter::default();
    body.object().key("model").text(model).key("stream").bool(true).key("messages").array();
    body.object().key("role").text("user").key("content").text(question).end_object();
    body.end_array().end_object();
    let request = ChatRequest::parse(OPENAI_CHAT, body.finish())?;

    let answer = provider.chat(&env, &request, &Call::new(model)).await?;
    let ChatBody::Stream(mut items) = answer.body else { return Err("not streamed".into()) };
    while let Some(item) = items.next().await {
        for event in item?.events {
            if let Event::Delta { delta: Delta::Text(text), .. } = event {
                print!("{text}");
            }
        }
    }
    println!();
    Ok(())
}
