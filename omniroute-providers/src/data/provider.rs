//! A provider row: where a vendor is, how it is spoken to, and under which terms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::codec::Codec;
use super::words::words;

words! {
    /// How a provider is reached, in a list for people.
    Category {
        ApiKey = "api-key", Oauth = "oauth", NoAuth = "no-auth", WebSession = "web-session", Local = "local",
        Search = "search", Audio = "audio", UpstreamProxy = "upstream-proxy", CloudAgent = "cloud-agent", System = "system",
    }
}
words! {
    /// By what right a program talks to a provider.
    Access {
        /// The vendor's documented interface.
        OfficialApi = "official-api",
        /// Somebody who sells other vendors' models through a documented interface.
        Aggregator = "aggregator",
        /// A server on the own machine.
        LocalServer = "local-server",
        /// A program on the own machine.
        LocalCli = "local-cli",
        /// A documented sign-in with a client id of one's own.
        VendorOauth = "vendor-oauth",
        /// A sign-in that poses as another vendor's client.
        ClientOauth = "client-oauth",
        /// Served to the vendor's own client only.
        ClientRestricted = "client-restricted",
        /// A browser's session.
        WebSession = "web-session",
        /// A gateway the user runs.
        SelfHostedProxy = "self-hosted-proxy",
        /// A secret taken from another program's store.
        KeychainImport = "keychain-import",
        /// Ours.
        Internal = "internal",
    }
}
words! {
    /// Which thresholds of resilience hold.
    Class { ApiKey = "api_key", Oauth = "oauth", Local = "local", }
}
words! {
    /// A service a provider offers.
    Kind {
        Chat = "chat", Embedding = "embedding", Image = "image", Video = "video", Tts = "tts", Stt = "stt",
        Rerank = "rerank", Moderation = "moderation", Music = "music", WebSearch = "web-search",
        WebFetch = "web-fetch", AgentTask = "agent-task",
    }
}
words! {
    /// A wire format. The last five are interfaces we do not write.
    WireId {
        OpenaiChat = "openai-chat", OpenaiResponses = "openai-responses", AnthropicMessages = "anthropic-messages",
        Gemini = "gemini", Ollama = "ollama", BedrockConverse = "bedrock-converse", Cohere = "cohere",
        Native = "native", Custom = "custom", WebSession = "web-session", LocalCli = "local-cli", None = "none",
    }
}
words! {
    /// What the provider's terms say about use through a program like ours.
    Terms { Ok = "ok", Caution = "caution", Avoid = "avoid", }
}
words! {
    /// Whether something is still served.
    Status { Active = "active", Deprecated = "deprecated", Removed = "removed", }
}
words! {
    /// What we do about a provider.
    Implement {
        /// Built.
        Yes = "yes",
        /// Its interface is not written yet.
        Later = "later",
        /// Listed, never built.
        CatalogOnly = "catalog-only",
    }
}
words! {
    /// How tools work where the provider has no interface for them.
    ToolCalling { Emulated = "emulated", None = "none", }
}
words! {
    /// How a call shows its right.
    AuthKind {
        Bearer = "bearer", Header = "header", Query = "query", Cookie = "cookie", Oauth = "oauth", None = "none",
        Sigv4 = "sigv4", GoogleServiceAccount = "google-service-account", OauthClientCredentials = "oauth-client-credentials",
    }
}

/// Names and values, sorted by name.
pub(crate) type Pairs<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// How a key travels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct Auth<'a> {
    /// The scheme.
    pub kind: AuthKind,
    /// Header that carries the key, for `header`.
    pub header: Option<Cow<'a, str>>,
    /// Word before the key, for `bearer`; default `Bearer`.
    pub prefix: Option<Cow<'a, str>>,
    /// Query parameter that carries the key, for `query`.
    pub param: Option<Cow<'a, str>>,
    /// Second scheme the provider takes.
    pub alt: Option<Cow<'a, str>>,
    /// Second header or parameter that is needed.
    pub also: Option<Cow<'a, str>>,
    /// Calls without a key are served too.
    pub optional: bool,
    /// The key buys a token first.
    pub exchange: bool,
    /// Headers that go along.
    #[serde(deserialize_with = "pairs")]
    pub extra: Pairs<'a>,
}

/// A second wire a provider speaks. What is missing is as in the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AltWire<'a> {
    /// The wire.
    pub wire: WireId,
    /// Whether it is known where the wire is served.
    pub known: bool,
    /// Base address, if another.
    pub base_url: Option<Cow<'a, str>>,
    /// Path, if not the usual one.
    pub path: Option<Cow<'a, str>>,
    /// Key scheme, if another.
    pub auth: Option<Auth<'a>>,
}

/// A provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct ProviderRow<'a> {
    /// Id, `[a-z0-9][a-z0-9-]*`.
    pub id: Cow<'a, str>,
    /// Other ids.
    pub aliases: Vec<Cow<'a, str>>,
    /// Name for people.
    pub name: Cow<'a, str>,
    /// How it is reached.
    pub category: Category,
    /// By what right.
    pub access: Access,
    /// Thresholds of resilience.
    pub class: Class,
    /// Services.
    pub kinds: Vec<Kind>,
    /// Main wire.
    pub wire: WireId,
    /// Further wires.
    pub alt: Vec<AltWire<'a>>,
    /// Base address, perhaps with `{placeholders}`; none if unknown.
    pub base_url: Option<Cow<'a, str>>,
    /// Path behind the base address, if not the usual one of the wire.
    pub path: Option<Cow<'a, str>>,
    /// Where the provider lists its models.
    pub models_url: Option<Cow<'a, str>>,
    /// How the key travels.
    pub auth: Auth<'a>,
    /// Environment variables that usually hold the key; `A+B` are needed together.
    pub env: Vec<Cow<'a, str>>,
    /// Settings and the environment variables that usually hold them.
    #[serde(deserialize_with = "pairs")]
    pub env_settings: Pairs<'a>,
    /// Has a free tier.
    pub free: bool,
    /// Terms.
    pub terms: Terms,
    /// Who judged the terms.
    pub terms_src: Option<Cow<'a, str>>,
    /// Names of models that the catalogue does not list are passed on.
    pub passthrough_models: bool,
    /// Window of models without one of their own, in tokens.
    pub default_context: Option<u64>,
    /// Answers in streams only.
    pub force_stream: bool,
    /// Parameters it refuses.
    pub drop_params: Vec<Cow<'a, str>>,
    /// Takes text contents as plain strings only.
    pub plain_string_content: bool,
    /// Longest tool name, in characters.
    pub tool_name_max: Option<u64>,
    /// Parameters it is used with, as a JSON object.
    #[serde(deserialize_with = "object")]
    pub defaults: Option<Cow<'a, str>>,
    /// Can be called without any key.
    pub anonymous: bool,
    /// Put before a model's name.
    pub model_id_prefix: Option<Cow<'a, str>>,
    /// Tools, where not native.
    pub tool_calling: Option<ToolCalling>,
    /// Labels.
    pub tags: Vec<Cow<'a, str>>,
    /// Home page.
    pub website: Option<Cow<'a, str>>,
    /// Whether it is still served.
    pub status: Status,
    /// Its new id.
    pub renamed_to: Option<Cow<'a, str>>,
    /// What we do about it.
    pub implement: Implement,
    /// Why it is listed and not built, though it could be.
    pub listed_only: Option<Cow<'a, str>>,
    /// Days on which a source listed it.
    pub seen: Vec<Cow<'a, str>>,
}

impl<'a> ProviderRow<'a> {
    /// The second wire of this kind.
    pub fn alt_wire(&self, wire: WireId) -> Option<&AltWire<'a>> {
        self.alt.iter().find(|alt| alt.wire == wire)
    }

    /// Whether the provider speaks `wire`, mainly or second.
    pub fn speaks(&self, wire: WireId) -> bool {
        self.wire == wire || self.alt_wire(wire).is_some()
    }

    /// Names of variables that hold the whole key, in the order in which they are asked.
    pub fn key_variables(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let own = format!("OMNIROUTE_{}_API_KEY", self.id.replace('-', "_").to_uppercase());
        let row = self.env.iter().filter(|name| !name.contains('+'));
        row.map(|name| Cow::Borrowed(name.as_ref())).chain([Cow::Owned(own)])
    }

    pub(crate) fn fields(&mut self, codec: &mut impl Codec<'a>) {
        codec.text(&mut self.id);
        codec.texts(&mut self.aliases);
        codec.text(&mut self.name);
        codec.word(&mut self.category);
        codec.word(&mut self.access);
        codec.word(&mut self.class);
        codec.list(&mut self.kinds, |codec, kind| codec.word(kind));
        codec.word(&mut self.wire);
        codec.list(&mut self.alt, |codec, alt| {
            codec.word(&mut alt.wire);
            codec.flag(&mut alt.known);
            codec.maybe_text(&mut alt.base_url);
            codec.maybe_text(&mut alt.path);
            codec.maybe(&mut alt.auth, |codec, auth| auth.fields(codec));
        });
        codec.maybe_text(&mut self.base_url);
        codec.maybe_text(&mut self.path);
        codec.maybe_text(&mut self.models_url);
        self.auth.fields(codec);
        codec.texts(&mut self.env);
        codec.list(&mut self.env_settings, text_pair);
        codec.word(&mut self.terms);
        codec.maybe_text(&mut self.terms_src);
        for flag in [
            &mut self.free,
            &mut self.passthrough_models,
            &mut self.force_stream,
            &mut self.plain_string_content,
            &mut self.anonymous,
        ] {
            codec.flag(flag);
        }
        codec.maybe_number(&mut self.default_context);
        codec.texts(&mut self.drop_params);
        codec.maybe_number(&mut self.tool_name_max);
        codec.maybe_text(&mut self.defaults);
        codec.maybe_text(&mut self.model_id_prefix);
        codec.maybe_word(&mut self.tool_calling);
        codec.texts(&mut self.tags);
        codec.maybe_text(&mut self.website);
        codec.word(&mut self.status);
        codec.maybe_text(&mut self.renamed_to);
        codec.word(&mut self.implement);
        codec.maybe_text(&mut self.listed_only);
        codec.texts(&mut self.seen);
    }
}

impl<'a> Auth<'a> {
    fn fields(&mut self, codec: &mut impl Codec<'a>) {
        codec.word(&mut self.kind);
        for text in [&mut self.header, &mut self.prefix, &mut self.param, &mut self.alt, &mut self.also] {
            codec.maybe_text(text);
        }
        codec.flag(&mut self.optional);
        codec.flag(&mut self.exchange);
        codec.list(&mut self.extra, text_pair);
    }
}

/// `"base_url": null` says that the wire is spoken, but nobody says where.
impl<'de> Deserialize<'de> for AltWire<'_> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Given<'a> {
            wire: WireId,
            #[serde(default, deserialize_with = "present")]
            base_url: Option<Option<Cow<'a, str>>>,
            #[serde(default)]
            path: Option<Cow<'a, str>>,
            #[serde(default)]
            auth: Option<Auth<'a>>,
        }
        let Given { wire, base_url, path, auth } = Given::deserialize(from)?;
        Ok(AltWire { wire, known: base_url != Some(None), base_url: base_url.flatten(), path, auth })
    }
}

fn text_pair<'a>(codec: &mut impl Codec<'a>, pair: &mut (Cow<'a, str>, Cow<'a, str>)) {
    codec.text(&mut pair.0);
    codec.text(&mut pair.1);
}

/// Tells a member that is null from one that is missing.
fn present<'de, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Cow<'a, str>>>, D::Error> {
    Option::<Cow<'a, str>>::deserialize(from).map(Some)
}

/// An object of texts, sorted by name.
fn pairs<'de, 'a, D: Deserializer<'de>>(from: D) -> Result<Pairs<'a>, D::Error> {
    BTreeMap::deserialize(from).map(|map| map.into_iter().collect())
}

/// Any JSON object, kept as text.
fn object<'de, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    let object = serde_json::Map::deserialize(from)?;
    Ok(Some(Cow::Owned(serde_json::Value::Object(object).to_string())))
}
