//! Every key that a configuration may have: what it takes, its default, what it does. The reader, the JSON Schema and the
//! page of the documentation are made from this list.

use omniroute_core::wire::WIRES;

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Flag,
    /// A whole number from, to.
    Whole(i64, i64),
    /// A number from, to.
    Number(f64, f64),
    Text,
    /// One of some words.
    Words(&'static [&'static str]),
    /// The name of a wire.
    Wire,
    /// A strategy; the combos' own reader says which.
    Strategy,
    /// A time from, to, in milliseconds.
    Span(u64, u64),
    /// A size from, to, in bytes.
    Size(u64, u64),
    Texts,
    /// `{ env = ".." }`, `{ file = ".." }` or the secret itself.
    Secret,
    /// Several of them.
    Secrets,
    /// What came of a secret; not shown.
    Hash,
    Table(&'static [Key]),
    Tables(&'static [Key]),
    /// Steps of a combo: models, or tables.
    Steps,
    /// Texts by names of the user's own.
    Names,
    /// Numbers by name.
    Numbers,
    /// Settings of a strategy, read by the strategy.
    Options,
    /// The section that the compressor reads.
    Compression,
    /// The section that resilience reads.
    Resilience,
}

/// A key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The default as it is written; empty: none. `!`: it has to be there.
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
}

impl Key {
    pub(crate) fn required(&self) -> bool {
        self.default == "!"
    }
}

const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, about }
}

/// Every day in milliseconds.
const DAY: u64 = 86_400_000;

/// The whole file.
pub(crate) const ROOT: &[Key] = &[
    key("config_version", Kind::Whole(1, 1), "1", "version of the form of this file"),
    key("gateway", Kind::Table(GATEWAY), "", "the endpoint of `omniroute serve`"),
    key("connections", Kind::Tables(CONNECTION), "", "whom we call, and with which keys"),
    key("providers", Kind::Tables(PROVIDER), "", "providers and models that the catalogue lacks"),
    key("models", Kind::Table(MODELS), "", "names of models"),
    key("combos", Kind::Tables(COMBO), "", "several models behind one name"),
    key("routing", Kind::Table(ROUTING), "", "what holds for all routes"),
    key("compression", Kind::Compression, "", "how requests are made shorter"),
    key("resilience", Kind::Resilience, "", "breakers, rests, sessions, leases, waiting"),
    key("store", Kind::Table(STORE), "", "where state is kept between runs"),
    key("include", Kind::Tables(INCLUDE), "", "more files, put on top of this one in their order"),
];

const GATEWAY: &[Key] = &[
    key(
        "listen",
        Kind::Text,
        "\"127.0.0.1:20128\"",
        "address and port; anything but loopback needs [[gateway.keys]]",
    ),
    key("allowed_hosts", Kind::Texts, "[]", "names beside loopback that the program answers to"),
    key("max_body", Kind::Size(1_024, 1 << 30), "\"16MiB\"", "longest body of a request, after unpacking"),
    key("max_body_bytes", Kind::Whole(1_024, 1 << 30), "", "the same in bytes"),
    key("max_in_flight", Kind::Whole(1, 1_000_000), "1024", "requests at once; one more is told 503"),
    key(
        "shutdown_grace",
        Kind::Span(0, DAY),
        "\"30s\"",
        "how long streams may go on after the signal to end",
    ),
    key("shutdown_grace_ms", Kind::Whole(0, DAY as i64), "", "the same in milliseconds"),
    key("ping", Kind::Span(0, DAY), "\"15s\"", "comments in streams silent for so long; 0s: none"),
    key("ping_ms", Kind::Whole(0, DAY as i64), "", "the same in milliseconds"),
    key(
        "headers",
        Kind::Words(&["full", "minimal", "none"]),
        "\"full\"",
        "what answers tell of themselves: all, the request's id, nothing",
    ),
    key("cors", Kind::Table(CORS), "", "pages of browsers"),
    key("keys", Kind::Tables(GATEWAY_KEY), "", "who may call, and what each may do"),
];

const CORS: &[Key] = &[
    key("origins", Kind::Texts, "[]", "origins whose pages may call /v1; \"*\" only with keys"),
    key("management", Kind::Flag, "false", "the same pages may call the rest, \"*\" never"),
];

const GATEWAY_KEY: &[Key] = &[
    key("name", Kind::Text, "!", "who it is, for lists and limits"),
    key("hash", Kind::Hash, "!", "sha256: and 64 hex digits, from `omniroute key new`"),
    key("scopes", Kind::Texts, "!", "what it may do"),
    key("connections", Kind::Texts, "[]", "what it may lease; needed with lease:exclusive"),
];

const CONNECTION: &[Key] = &[
    key("id", Kind::Text, "!", "provider/name; the provider is in the catalogue or under providers"),
    key("key", Kind::Secret, "", "its key; without one the provider's usual variable is used"),
    key("keys", Kind::Secrets, "", "several keys, used in turn"),
    key(
        "key_strategy",
        Kind::Words(&["round_robin", "least_recent", "first_healthy"]),
        "\"round_robin\"",
        "which of several keys comes next",
    ),
    key("base_url", Kind::Text, "", "another address than the provider's; needs a key of its own"),
    key("allow_private", Kind::Flag, "false", "base_url may be in a private network"),
    key("tags", Kind::Texts, "[]", "words that are shown in the list of connections"),
    key(
        "account",
        Kind::Words(&["free", "standard", "pro", "ultra"]),
        "\"standard\"",
        "what kind of account it is",
    ),
    key(
        "billing",
        Kind::Words(&["metered", "subscription", "free"]),
        "\"metered\"",
        "how its calls are paid",
    ),
    key("disabled", Kind::Flag, "false", "never asked"),
    key(
        "only_named",
        Kind::Flag,
        "",
        "not in auto; by default those without a key and those whose terms are against programs",
    ),
    key("max_concurrent", Kind::Whole(1, 100_000), "", "attempts at once; default no limit"),
    key("rpm", Kind::Whole(1, 100_000_000), "", "calls per minute; default no limit"),
    key("tpm", Kind::Whole(1, 1_000_000_000_000), "", "tokens per minute; default no limit"),
    key("rpd", Kind::Whole(1, 100_000_000), "", "calls per day (UTC); default no limit"),
    key("tpd", Kind::Whole(1, 1_000_000_000_000), "", "tokens per day (UTC); default no limit"),
];

const PROVIDER: &[Key] = &[
    key("id", Kind::Text, "!", "its name"),
    key("wire", Kind::Wire, "\"openai-chat\"", "the form of requests it takes"),
    key("base_url", Kind::Text, "", "its address: https, or http on this machine"),
    key("allow_private", Kind::Flag, "false", "base_url may be in a private network"),
    key(
        "class",
        Kind::Words(&["api_key", "local", "oauth"]),
        "\"api_key\"",
        "decides how patient we are with it",
    ),
    key("models", Kind::Tables(MODEL), "", "its models that the catalogue lacks"),
];

const MODEL: &[Key] = &[
    key("id", Kind::Text, "!", "the provider's name of it"),
    key("context", Kind::Whole(1, 1_000_000_000), "", "tokens of its window; default unknown"),
    key("max_output", Kind::Whole(1, 1_000_000_000), "", "tokens of its longest answer; default unknown"),
    key("input_usd", Kind::Number(0.0, 1e6), "", "USD for a million tokens of input; default unknown"),
    key("output_usd", Kind::Number(0.0, 1e6), "", "USD for a million tokens of output; default unknown"),
    key("tools", Kind::Flag, "", "it can call tools; default unknown"),
    key("vision", Kind::Flag, "", "it takes images; default unknown"),
];

const MODELS: &[Key] =
    &[key("aliases", Kind::Names, "", "other names of models; one star on each side at most")];

const COMBO: &[Key] = &[
    key("name", Kind::Text, "!", "what clients name; 1 to 80 letters, digits and . _ / -"),
    key("strategy", Kind::Strategy, "!", "one of nineteen, see `omniroute route strategies`"),
    key("account_strategy", Kind::Strategy, "", "how the account of a step is chosen"),
    key("steps", Kind::Steps, "!", "models and other combos, in order"),
    key("judge", Kind::Text, "", "the model that judges a panel (fusion)"),
    key("compression", Kind::Text, "", "a plan or one of compression.combos, for requests that name none"),
    key("options", Kind::Options, "", "settings of the strategy and of the attempts"),
];

/// A step that is a table.
pub(crate) const STEP: &[Key] = &[
    key("model", Kind::Text, "", "provider/model"),
    key("combo", Kind::Text, "", "another combo instead of a model"),
    key("connection", Kind::Text, "", "the one connection that it may use"),
    key("connections", Kind::Texts, "", "the connections that it may use; default all of the provider"),
    key("weight", Kind::Number(0.0, 100.0), "", "for strategies with weights"),
    key("tags", Kind::Texts, "[]", "words by which requests choose steps"),
    key("label", Kind::Text, "", "what it is called in receipts"),
    key("prompt", Kind::Text, "", "what a step of a pipeline is told"),
    key("only_on_quota_exhaustion", Kind::Flag, "false", "only when the others' allowances are used up"),
];

const ROUTING: &[Key] = &[
    key("default", Kind::Text, "\"auto\"", "what an absent model means; \"error\" refuses the request"),
    key("seed", Kind::Whole(0, i64::MAX), "0", "where random numbers start; 0: with serve, from the system"),
    key("max_attempts", Kind::Whole(1, 30), "8", "attempts of a request at most, where no combo says so"),
    key("auto", Kind::Table(AUTO), "", "the strategy behind the name auto"),
];

const AUTO: &[Key] = &[
    key(
        "mode",
        Kind::Words(&[
            "default",
            "ship-fast",
            "cost-saver",
            "quality-first",
            "offline-friendly",
            "reliability-first",
        ]),
        "\"default\"",
        "the set of weights",
    ),
    key("exploration", Kind::Number(0.0, 0.2), "0", "share of requests that try something out"),
    key("budget_usd_per_request", Kind::Number(0.0, 1e6), "", "what a request may cost; default no limit"),
    key("weights", Kind::Numbers, "", "weights by factor, over those of the mode"),
];

const STORE: &[Key] = &[
    key("kind", Kind::Words(&["memory", "sqlite", "redis"]), "\"sqlite\"", "what keeps it"),
    key("path", Kind::Text, "", "file of sqlite, relative to this file; default in the user's state folder"),
    key("url", Kind::Secret, "", "address of redis; may hold a password"),
    key("durable", Kind::Flag, "false", "redis keeps every acknowledged write"),
];

/// An included file.
pub(crate) const INCLUDE: &[Key] = &[
    key("path", Kind::Text, "!", "relative to this file"),
    key("optional", Kind::Flag, "false", "no error if it does not exist"),
];

/// What a key may do.
pub(crate) const SCOPES: [&str; 14] = [
    "chat",
    "read:health",
    "read:routing",
    "read:usage",
    "read:compression",
    "read:catalog",
    "read:audit",
    "write:routing",
    "write:resilience",
    "write:compression",
    "lease:exclusive",
    "read:*",
    "write:*",
    "*",
];

/// Names of the wires.
pub(crate) fn wires() -> Vec<&'static str> {
    WIRES.iter().map(|wire| wire.id()).collect()
}

/// Every word that stands for a key anywhere, or is one that is allowed; nothing of it is a secret.
pub(crate) fn is_known(word: &str) -> bool {
    fn within(keys: &[Key], word: &str) -> bool {
        keys.iter().any(|key| {
            key.name == word
                || match key.kind {
                    Kind::Table(keys) | Kind::Tables(keys) => within(keys, word),
                    Kind::Words(words) => words.contains(&word),
                    _ => false,
                }
        })
    }
    within(ROOT, word) || within(STEP, word) || matches!(word, "env" | "file" | "true" | "false")
}
