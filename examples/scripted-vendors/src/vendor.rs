//! One connection of a vendor, played.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use omniroute_core::testing::VirtualClock;
use omniroute_core::{
    CallContext, ChatBody, ChatRequest, ChatResponse, Clock, Doc, Estimator, Failure, FailureKind, Mono,
    Provider, ProviderId, Tokenizer, UnixMs, wire,
};

use crate::script::{Does, Script, blame};

/// How long a vendor keeps the beginning of a request, and how long it has to be, in tokens.
const CACHE: (Duration, u64) = (Duration::from_secs(300), 1_024);

/// A played connection: it answers with its name, counts tokens and keeps the beginnings of requests for five minutes.
#[derive(Debug)]
pub struct Vendor {
    provider: ProviderId,
    name: String,
    script: Script,
    clock: VirtualClock,
    began: Mono,
    /// The last request of each model, and when it came.
    seen: Mutex<BTreeMap<String, (Bytes, Mono)>>,
}

impl Vendor {
    pub(crate) fn new(provider: &str, connection: &str, script: Script, clock: VirtualClock) -> Self {
        let began = clock.now().mono;
        let name = format!("{provider}/{connection}");
        Vendor { provider: ProviderId::new(provider), name, script, clock, began, seen: Mutex::default() }
    }

    /// Tokens of a request, and how many of them are known from the one before.
    fn count(&self, model: &str, body: &Bytes) -> (u64, u64) {
        let now = self.clock.now().mono;
        let text = std::str::from_utf8(body).unwrap_or_default();
        let all = u64::from(Estimator::for_model(model).count(text));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = seen.insert(model.to_owned(), (body.clone(), now));
        let cached = match before {
            Some((before, at)) if now.since(at) <= CACHE.0 => {
                let same = before.iter().zip(body.iter()).take_while(|(a, b)| a == b).count() as u64;
                all * same / (body.len().max(1) as u64)
            }
            _ => 0,
        };
        (all, if cached >= CACHE.1 { cached } else { 0 })
    }

    fn failure(&self, kind: FailureKind, retry_after: Option<Duration>) -> Failure {
        let (scope, status) = blame(kind);
        let mut failure = Failure::new(kind, scope, "as the script says");
        failure.status = status;
        failure.rule = "script".into();
        if let Some(after) = retry_after {
            let after = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
            failure.retry_at = Some(UnixMs(self.clock.now().wall.0.saturating_add(after)));
            failure.declared = true;
        }
        failure
    }
}

#[async_trait::async_trait]
impl Provider for Vendor {
    fn id(&self) -> &ProviderId {
        &self.provider
    }

    async fn chat(&self, request: &ChatRequest, call: CallContext<'_>) -> Result<ChatResponse, Failure> {
        let now = self.clock.now().mono;
        match self.script.at(now.since(self.began)) {
            (Does::Hang, _) => return futures::future::pending().await,
            (Does::Fail(kind), retry_after) => return Err(self.failure(kind, retry_after)),
            (Does::Answer, _) => {}
        }
        self.clock.sleep_until(now.after(self.script.latency)).await;
        let (input, cached) = self.count(call.model, request.doc().bytes());
        let output = self.script.answer_tokens;
        let reply = serde_json::json!({
            "id": "scripted", "object": "chat.completion", "created": 1, "model": call.model,
            "choices": [{
                "index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": format!("from {}", self.name)},
            }],
            "usage": {
                "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        });
        let doc = Doc::parse(reply.to_string())
            .map_err(|error| Failure::local(FailureKind::BadReply, "scripted_reply", error.to_string()))?;
        Ok(ChatResponse::new(wire::OPENAI_CHAT, ChatBody::Whole(doc)))
    }
}
