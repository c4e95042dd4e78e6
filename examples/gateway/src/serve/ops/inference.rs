//! Models: chat on every wire, counting, and the services beside chat.

use axum::body::Body;
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use omniroute_core::wire::{self, Wire};
use omniroute_providers::Surface;
use omniroute_providers::wires;

use super::super::chat::{Address, chat};
use super::super::counting;
use super::super::fault::Fault;
use super::super::keys::Scope;
use super::super::passed;
use super::super::streams::Framing;
use super::{Ask, Effect, Field, Op, Place, Run, Takes, Type, Verb, form};

type Answer = BoxFuture<'static, Result<Response, Fault>>;

const CHAT: &[&[Scope]] = &[&[Scope::Chat]];

const MODEL_CALL: &[Field] = &[Field {
    name: "call",
    place: Place::Path,
    kind: Type::Text,
    needed: true,
    about: "a model and :generateContent, :streamGenerateContent or :countTokens",
}];

/// The same under the name that the list of models has in this place.
const MODEL_CALL_ID: &[Field] = &[Field { name: "id", ..MODEL_CALL[0] }];

const PROVIDER: &[Field] = &[Field {
    name: "provider",
    place: Place::Path,
    kind: Type::Text,
    needed: true,
    about: "a configured provider",
}];

const fn row(name: &'static str, path: &'static str, summary: &'static str, run: fn(Ask) -> Answer) -> Op {
    Op {
        name,
        summary,
        scopes: CHAT,
        effect: Effect::External,
        method: Verb::Post,
        path,
        takes: Takes::Request,
        fields: &[],
        run: Run::Whole(run),
    }
}

/// The rows.
pub(super) const OPS: &[Op] = &[
    row("chat.completions", "/v1/chat/completions", "Answer a request of OpenAI's chat API", |ask| {
        on(ask, wire::OPENAI_CHAT, Address::default())
    }),
    row("chat.responses", "/v1/responses", "Answer a request of OpenAI's Responses API", |ask| {
        on(ask, wire::OPENAI_RESPONSES, Address::default())
    }),
    row("chat.messages", "/v1/messages", "Answer a request of Anthropic's API", |ask| {
        on(ask, wire::ANTHROPIC, Address::default())
    }),
    row(
        "chat.count",
        "/v1/messages/count_tokens",
        "Count the tokens of a request as it would be sent",
        |ask| async move { counting::anthropic(&ask).await }.boxed(),
    ),
    Op {
        fields: MODEL_CALL,
        ..row("chat.gemini", "/v1beta/models/{*call}", "Answer or count a request of the Gemini API", gemini)
    },
    Op {
        fields: MODEL_CALL_ID,
        ..row(
            "chat.gemini.v1",
            "/v1/models/{*id}",
            "The same, where newer clients of Gemini look for it",
            gemini,
        )
    },
    Op {
        fields: PROVIDER,
        ..row(
            "chat.provider",
            "/v1/providers/{provider}/chat/completions",
            "Answer a request of OpenAI's chat API by one provider",
            |mut ask| {
                let provider = ask.path.pop();
                on(ask, wire::OPENAI_CHAT, Address { provider, ..Address::default() })
            },
        )
    },
    row("chat.ollama", "/api/chat", "Answer a request of Ollama's API", |ask| match wires::by_id("ollama") {
        Some(wire) => on(ask, wire, Address { framing: Some(Framing::Lines), ..Address::default() }),
        None => async { Err(Fault::new(501, "not_built", "this build does not speak Ollama's API")) }.boxed(),
    }),
    row("embeddings", "/v1/embeddings", "Vectors, by a vendor that makes them", |ask| {
        pass(ask, Surface::Embeddings)
    }),
    row("rerank", "/v1/rerank", "The order of documents, by a vendor that ranks them", |ask| {
        pass(ask, Surface::Rerank)
    }),
    row("moderations", "/v1/moderations", "A judgement of texts", |ask| pass(ask, Surface::Moderations)),
    row("images", "/v1/images/generations", "Pictures", |ask| pass(ask, Surface::Images)),
    row("speech", "/v1/audio/speech", "Spoken text", |ask| pass(ask, Surface::Speech)),
    Op {
        takes: Takes::Upload,
        ..row("transcriptions", "/v1/audio/transcriptions", "Written speech", |ask| {
            pass(ask, Surface::Transcriptions)
        })
    },
    Op {
        takes: Takes::Upload,
        ..row("translations", "/v1/audio/translations", "Written speech in English", |ask| {
            pass(ask, Surface::AudioTranslations)
        })
    },
    Op {
        takes: Takes::Upload,
        ..row("image_edits", "/v1/images/edits", "Changed pictures", |ask| pass(ask, Surface::ImageEdits))
    },
    Op {
        scopes: CHAT,
        effect: Effect::Read,
        method: Verb::Get,
        takes: Takes::Nothing,
        ..row("ollama.version", "/api/version", "The version, as Ollama's clients ask for it", |_| {
            async {
                let body = serde_json::json!({ "version": env!("CARGO_PKG_VERSION") }).to_string();
                let mut response = Response::new(Body::from(body));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok(response)
            }
            .boxed()
        })
    },
];

fn on(ask: Ask, wire: Wire, address: Address) -> Answer {
    async move { chat(&ask.gateway, &ask.caller, &ask.head, ask.body, wire, address).await }.boxed()
}

fn pass(ask: Ask, surface: Surface) -> Answer {
    async move { passed::pass(&ask, surface).await }.boxed()
}

/// The model and the verb stand in the path.
fn gemini(ask: Ask) -> Answer {
    async move {
        let call = ask.path.first().map(String::as_str).unwrap_or_default();
        let (model, verb) = call.rsplit_once(':').unwrap_or((call, ""));
        let named = model.to_owned();
        let model = Some(named.clone());
        let events = form(ask.head.uri.query().unwrap_or_default())
            .any(|(name, value)| name == "alt" && value == "sse");
        let framing = Some(if events { Framing::Events } else { Framing::Array });
        match verb {
            "generateContent" => {
                let address = Address { model, stream: Some(false), ..Address::default() };
                on(ask, wire::GEMINI, address).await
            }
            "streamGenerateContent" => {
                let address = Address { model, stream: Some(true), framing, ..Address::default() };
                on(ask, wire::GEMINI, address).await
            }
            "countTokens" => counting::gemini(&ask, named).await,
            _ => {
                let rule = format!(
                    "{verb:?} is not served; allowed are generateContent, streamGenerateContent, countTokens"
                );
                Err(Fault::new(404, "not_found", rule))
            }
        }
    }
    .boxed()
}
