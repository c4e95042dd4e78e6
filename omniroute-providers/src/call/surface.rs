//! What providers do beside chat: bodies go through as they are, errors are read.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use omniroute_core::wire::read;
use omniroute_core::{Doc, Env, Failure, FailureKind, LimitSeen};

use super::count;
use super::exchange::Sending;
use super::provider::{Call, HttpProvider};
use super::steps::unreadable;
use crate::classify::{Scene, classify, limits_seen};
use crate::credentials::Held;
use crate::data::{Kind, ProviderRow, WireId};
use crate::prepare::{PrepareError, is_vertex, prepare};

/// A service beside chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Surface {
    /// The models the vendor lists.
    Models,
    /// How many tokens a request has.
    CountTokens,
    /// Vectors.
    Embeddings,
    /// The order of documents.
    Rerank,
    /// Pictures.
    Images,
    /// Changed pictures.
    ImageEdits,
    /// Spoken text.
    Speech,
    /// Written speech.
    Transcriptions,
    /// Written speech in English.
    AudioTranslations,
    /// Judgement of texts.
    Moderations,
}

impl Surface {
    /// Every surface.
    pub const ALL: [Surface; 10] = [
        Surface::Models,
        Surface::CountTokens,
        Surface::Embeddings,
        Surface::Rerank,
        Surface::Images,
        Surface::ImageEdits,
        Surface::Speech,
        Surface::Transcriptions,
        Surface::AudioTranslations,
        Surface::Moderations,
    ];

    /// Stable name.
    pub fn code(self) -> &'static str {
        match self {
            Surface::Models => "models",
            Surface::CountTokens => "count_tokens",
            Surface::Embeddings => "embeddings",
            Surface::Rerank => "rerank",
            Surface::Images => "images",
            Surface::ImageEdits => "image_edits",
            Surface::Speech => "speech",
            Surface::Transcriptions => "transcriptions",
            Surface::AudioTranslations => "audio_translations",
            Surface::Moderations => "moderations",
        }
    }

    /// The service a row must offer for it.
    fn kind(self) -> Option<Kind> {
        match self {
            Surface::Models | Surface::CountTokens => None,
            Surface::Embeddings => Some(Kind::Embedding),
            Surface::Rerank => Some(Kind::Rerank),
            Surface::Images | Surface::ImageEdits => Some(Kind::Image),
            Surface::Speech => Some(Kind::Tts),
            Surface::Transcriptions | Surface::AudioTranslations => Some(Kind::Stt),
            Surface::Moderations => Some(Kind::Moderation),
        }
    }

    /// What stands behind the address of chat, where a wire has the surface.
    fn path(self, wire: WireId) -> Option<&'static str> {
        Some(match (wire, self) {
            (WireId::Cohere, Surface::Embeddings) => "/v2/embed",
            (WireId::Cohere, Surface::Rerank) => "/v2/rerank",
            (WireId::Cohere, Surface::Models) => "/v1/models",
            (WireId::Ollama, Surface::Embeddings) => "/api/embed",
            (WireId::Ollama, Surface::Models) => "/api/tags",
            (WireId::Gemini, Surface::Models) => "/models",
            (WireId::Gemini, Surface::Embeddings) => ":embedContent",
            (WireId::Gemini, Surface::CountTokens) => ":countTokens",
            (WireId::BedrockConverse, Surface::CountTokens) => "/count-tokens",
            (WireId::AnthropicMessages, Surface::CountTokens) => "/messages/count_tokens",
            (WireId::AnthropicMessages, Surface::Models) => "/models",
            (WireId::OpenaiChat | WireId::OpenaiResponses, surface) => match surface {
                Surface::Models => "/models",
                Surface::CountTokens => return None,
                Surface::Embeddings => "/embeddings",
                Surface::Rerank => "/rerank",
                Surface::Images => "/images/generations",
                Surface::ImageEdits => "/images/edits",
                Surface::Speech => "/audio/speech",
                Surface::Transcriptions => "/audio/transcriptions",
                Surface::AudioTranslations => "/audio/translations",
                Surface::Moderations => "/moderations",
            },
            _ => return None,
        })
    }
}

/// What is sent: any body with its type.
#[derive(Clone, Debug)]
pub struct Upload {
    /// The body, in the vendor's own form.
    pub body: Bytes,
    /// Its type; none: JSON. A form with files names its boundary here.
    pub content_type: Option<HeaderValue>,
}

impl Upload {
    /// A JSON body.
    pub fn json(body: impl Into<Bytes>) -> Self {
        Upload { body: body.into(), content_type: None }
    }
}

/// What came back, byte by byte.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Passed {
    /// The body.
    pub body: Bytes,
    /// Its type, if the vendor says one.
    pub content_type: Option<HeaderValue>,
    /// What its headers say about allowances.
    pub limits: Vec<LimitSeen>,
}

impl HttpProvider {
    /// Calls a service beside chat. Bodies are passed both ways as they are.
    ///
    /// # Errors
    /// [`Failure`]; of kind `unsupported` and made by ourselves if the row does not offer the service.
    pub async fn pass(
        &self,
        env: &Env,
        surface: Surface,
        upload: Upload,
        call: &Call<'_>,
    ) -> Result<Passed, Failure> {
        let inner = &*self.inner;
        let row = inner.row()?;
        let offered = surface.kind().is_none_or(|kind| row.kinds.contains(&kind));
        // Google's cloud lists no models beside a project's chat, and counts those of other vendors elsewhere.
        let cloud = is_vertex(&row)
            && match surface {
                Surface::Models => true,
                Surface::CountTokens => inner.wire != WireId::Gemini,
                _ => false,
            };
        let path = surface.path(inner.wire).filter(|_| offered && !cloud);
        let path = path.ok_or_else(|| no_surface(&row, surface))?;
        let model = if call.model.is_empty() { "-" } else { call.model };
        let make =
            |held: &Held, values: &[(&str, &str)], body: &Bytes| -> Result<Request<Bytes>, PrepareError> {
                let mut request = prepare(&row, &inner.settings(held, values, model, false), body.clone())?;
                *request.uri_mut() =
                    address(request.uri(), inner.wire, path).ok_or_else(|| PrepareError::BadSetting {
                        provider: row.id.to_string(),
                        name: "base_url".to_owned(),
                        rule: "an address that other services stand beside",
                    })?;
                if surface == Surface::Models {
                    *request.method_mut() = Method::GET;
                    *request.body_mut() = Bytes::new();
                    request.headers_mut().remove(CONTENT_TYPE);
                    let listed = row.models_url.as_deref().and_then(|url| Uri::try_from(url).ok());
                    // Another host would get the key: only the address that was checked counts.
                    if let Some(listed) = listed.filter(|uri| uri.authority() == request.uri().authority()) {
                        *request.uri_mut() = listed;
                    }
                } else if let Some(kind) = &upload.content_type {
                    request.headers_mut().insert(CONTENT_TYPE, kind.clone());
                }
                Ok(request)
            };
        let sending = Sending { body: upload.body.clone(), stream: false, correct: false };
        let exchange = inner.exchange(env, call, sending, &make).await?;
        let headers = exchange.response.headers();
        let content_type = headers.get(CONTENT_TYPE).cloned();
        let limits = limits_seen(headers, inner.dialect, env.clock.now().wall);
        let check = |status, bytes: Bytes, scene: &Scene<'_>| {
            if is_error(&bytes) { Err(classify(status, &bytes, scene)) } else { Ok(bytes) }
        };
        let body = inner.whole(env, exchange, check).await?;
        Ok(Passed { body, content_type, limits })
    }

    /// The ids of the models the vendor lists now.
    ///
    /// # Errors
    /// As [`HttpProvider::pass`]; `bad_reply` if the answer is no list of models.
    pub async fn models(&self, env: &Env, call: &Call<'_>) -> Result<Vec<String>, Failure> {
        let passed = self.pass(env, Surface::Models, Upload::json(Bytes::new()), call).await?;
        let doc =
            Doc::parse(passed.body).map_err(|_| unreadable("bad_json", "the list of models is no JSON"))?;
        let root = doc.root();
        let [data, models] = read::pick(&doc, root, ["data", "models"]);
        let list = data.or(models).unwrap_or(root);
        let name = |node| {
            let [id, name, model] = read::pick(&doc, node, ["id", "name", "model"]);
            let found = read::chars(&doc, id)
                .or_else(|| read::chars(&doc, name))
                .or_else(|| read::chars(&doc, model));
            found.or_else(|| read::chars(&doc, Some(node)))
        };
        let strip = |id: String| id.strip_prefix("models/").map(str::to_owned).unwrap_or(id);
        Ok(doc.elements(list).filter_map(name).map(strip).collect())
    }

    /// How many tokens a request has, as the vendor counts. `body` is a request on the provider's own wire.
    ///
    /// # Errors
    /// As [`HttpProvider::pass`]; `unsupported` if the wire does not count.
    pub async fn count_tokens(&self, env: &Env, body: Bytes, call: &Call<'_>) -> Result<u64, Failure> {
        let vertex = is_vertex(&self.inner.row()?);
        let body = count::body(body, self.inner.wire, call.model, vertex)?;
        let passed = self.pass(env, Surface::CountTokens, Upload::json(body), call).await?;
        let wrong = || unreadable("bad_reply", "the answer names no count of tokens");
        let doc = Doc::parse(passed.body).map_err(|_| wrong())?;
        let names = ["input_tokens", "totalTokens", "inputTokens"];
        let [anthropic, gemini, bedrock] = read::pick(&doc, doc.root(), names);
        read::count(&doc, anthropic.or(gemini).or(bedrock)).ok_or_else(wrong)
    }
}

/// The address of a surface, beside the address of chat; a query stays.
fn address(chat: &Uri, wire: WireId, path: &str) -> Option<Uri> {
    let whole = chat.path();
    let base = match wire {
        WireId::Gemini if path.starts_with(':') => {
            let (model, _) = whole.rsplit_once(':')?;
            return rebuilt(chat, &format!("{model}{path}"));
        }
        WireId::Gemini => whole.rsplit_once("/models/").map(|(base, _)| base),
        WireId::OpenaiChat => whole.strip_suffix("/chat/completions"),
        WireId::OpenaiResponses => whole.strip_suffix("/responses"),
        WireId::AnthropicMessages => whole.strip_suffix("/messages"),
        WireId::Cohere => whole.strip_suffix("/v2/chat"),
        WireId::Ollama => whole.strip_suffix("/api/chat"),
        _ => None,
    };
    // A row with a path of its own: its folder.
    let base = base.or_else(|| whole.rsplit_once('/').map(|(folder, _)| folder))?;
    rebuilt(chat, &format!("{base}{path}"))
}

fn rebuilt(chat: &Uri, path: &str) -> Option<Uri> {
    let query = chat.query().map_or_else(String::new, |query| format!("?{query}"));
    let mut parts = chat.clone().into_parts();
    parts.path_and_query = Some(format!("{path}{query}").parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// An error inside a success. Only what starts like an object is looked into.
fn is_error(bytes: &Bytes) -> bool {
    let start = bytes.trim_ascii_start();
    if !start.starts_with(b"{") || bytes.len() > (64 << 10) {
        return false;
    }
    let Ok(doc) = Doc::parse(bytes.clone()) else { return false };
    let [error, base] = read::pick(&doc, doc.root(), ["error", "base_resp"]);
    let [status] = base.map_or([None], |base| read::pick(&doc, base, ["status_code"]));
    error.is_some() || read::count(&doc, status).is_some_and(|code| code != 0)
}

fn no_surface(row: &ProviderRow<'_>, surface: Surface) -> Failure {
    let message = format!("provider {}: does not offer {}", row.id, surface.code());
    Failure::local(FailureKind::Unsupported, "unsupported_surface", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_stand_beside_chat() {
        let rows = [
            (
                "https://api.openai.com/v1/chat/completions",
                WireId::OpenaiChat,
                "/embeddings",
                "https://api.openai.com/v1/embeddings",
            ),
            (
                "https://x.example/openai/deployments/d/chat/completions?api-version=1",
                WireId::OpenaiChat,
                "/embeddings",
                "https://x.example/openai/deployments/d/embeddings?api-version=1",
            ),
            (
                "https://api.anthropic.com/v1/messages",
                WireId::AnthropicMessages,
                "/messages/count_tokens",
                "https://api.anthropic.com/v1/messages/count_tokens",
            ),
            (
                "https://g.example/v1beta/models/m:generateContent",
                WireId::Gemini,
                ":countTokens",
                "https://g.example/v1beta/models/m:countTokens",
            ),
            (
                "https://g.example/v1beta/models/m:generateContent",
                WireId::Gemini,
                "/models",
                "https://g.example/v1beta/models",
            ),
            (
                "https://b.example/model/a.b-v1%3A0/converse",
                WireId::BedrockConverse,
                "/count-tokens",
                "https://b.example/model/a.b-v1%3A0/count-tokens",
            ),
            (
                "https://api.cohere.com/v2/chat",
                WireId::Cohere,
                "/v2/rerank",
                "https://api.cohere.com/v2/rerank",
            ),
        ];
        for (chat, wire, path, wanted) in rows {
            let uri = address(&chat.parse().unwrap(), wire, path).unwrap();
            assert_eq!(uri.to_string(), wanted);
        }
        assert!(is_error(&Bytes::from_static(br#" {"error":{"message":"x"}}"#)));
        assert!(!is_error(&Bytes::from_static(br#"{"data":[]}"#)));
    }
}
