//! Whose way of failing an answer is read in.

use std::sync::LazyLock;

use super::table::Table;
use super::zone::Zone;
use crate::data::{Access, ProviderRow, WireId};

/// A vendor's way to report errors and allowances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// Nothing is known beyond what many vendors share.
    #[default]
    Generic,
    /// OpenAI and hosts that answer like it.
    OpenAi,
    /// OpenAI with a subscription.
    Codex,
    /// Azure OpenAI and AI Foundry.
    Azure,
    /// Anthropic.
    Anthropic,
    /// Google AI Studio and Vertex.
    Google,
    /// AWS Bedrock.
    Bedrock,
    /// Somebody who sells other vendors' models.
    Aggregator,
    /// A server on the own machine.
    Local,
    /// Cohere.
    Cohere,
    /// Mistral.
    Mistral,
    /// DeepSeek.
    DeepSeek,
    /// Groq.
    Groq,
    /// xAI.
    Xai,
    /// Cloudflare Workers AI.
    Cloudflare,
    /// MiniMax.
    MiniMax,
    /// Zhipu and Z.AI.
    Zhipu,
    /// Moonshot.
    Moonshot,
    /// Qwen at Alibaba.
    Qwen,
    /// Other vendors of mainland China.
    China,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 20] = [
        Dialect::Generic,
        Dialect::OpenAi,
        Dialect::Codex,
        Dialect::Azure,
        Dialect::Anthropic,
        Dialect::Google,
        Dialect::Bedrock,
        Dialect::Aggregator,
        Dialect::Local,
        Dialect::Cohere,
        Dialect::Mistral,
        Dialect::DeepSeek,
        Dialect::Groq,
        Dialect::Xai,
        Dialect::Cloudflare,
        Dialect::MiniMax,
        Dialect::Zhipu,
        Dialect::Moonshot,
        Dialect::Qwen,
        Dialect::China,
    ];

    /// The dialect of a provider on one of its wires.
    pub fn of(row: &ProviderRow<'_>, wire: WireId) -> Dialect {
        match row.id.as_ref() {
            "azure-openai" | "azure-ai" => return Dialect::Azure,
            "bedrock" => return Dialect::Bedrock,
            "anthropic" => return Dialect::Anthropic,
            "gemini" | "google" | "vertex" | "vertex-partner" => return Dialect::Google,
            "cohere" => return Dialect::Cohere,
            "mistral" | "codestral" => return Dialect::Mistral,
            "deepseek" => return Dialect::DeepSeek,
            "groq" => return Dialect::Groq,
            "xai" => return Dialect::Xai,
            "cloudflare-ai" => return Dialect::Cloudflare,
            "minimax" | "minimax-cn" => return Dialect::MiniMax,
            "zai" | "glm" | "glmt" => return Dialect::Zhipu,
            "moonshot" | "kimi" => return Dialect::Moonshot,
            "alibaba" | "alibaba-cn" | "qwen-cloud" | "bailian-coding-plan" => return Dialect::Qwen,
            "stepfun" | "360ai" | "qianfan" | "baichuan" | "hunyuan" | "volcengine" => return Dialect::China,
            "codex" => return Dialect::Codex,
            _ => {}
        }
        match (row.access, wire) {
            (Access::LocalServer, _) => Dialect::Local,
            (Access::Aggregator | Access::SelfHostedProxy, _) => Dialect::Aggregator,
            (_, WireId::AnthropicMessages) => Dialect::Anthropic,
            (_, WireId::Gemini) => Dialect::Google,
            (_, WireId::BedrockConverse) => Dialect::Bedrock,
            (_, WireId::Ollama) => Dialect::Local,
            (_, WireId::Cohere) => Dialect::Cohere,
            (_, WireId::OpenaiChat | WireId::OpenaiResponses) => Dialect::OpenAi,
            _ => Dialect::Generic,
        }
    }

    /// The tables that are asked, in order.
    pub(crate) fn tables(self) -> impl Iterator<Item = &'static Table> {
        let own: &'static [File] = match self {
            Dialect::Generic => &[],
            Dialect::OpenAi => &[File::OpenAi],
            Dialect::Codex => &[File::Codex, File::OpenAi],
            Dialect::Azure => &[File::Azure, File::OpenAi],
            Dialect::Anthropic => &[File::Anthropic],
            Dialect::Google => &[File::Google],
            Dialect::Bedrock => &[File::Bedrock],
            Dialect::Aggregator => &[File::Aggregator],
            Dialect::Local => &[File::Local],
            Dialect::Cohere => &[File::Cohere],
            Dialect::Mistral => &[File::Mistral],
            Dialect::DeepSeek => &[File::DeepSeek],
            Dialect::Groq => &[File::Groq],
            Dialect::Xai => &[File::Xai],
            Dialect::Cloudflare => &[File::Cloudflare],
            Dialect::MiniMax => &[File::MiniMax, File::China],
            Dialect::Zhipu => &[File::Zhipu, File::China],
            Dialect::Moonshot => &[File::Moonshot, File::China],
            Dialect::Qwen => &[File::Qwen, File::China],
            Dialect::China => &[File::China],
        };
        let files = own.iter().copied().chain([File::Generic, File::Status]);
        files.filter_map(|file| TABLES.get(file as usize))
    }

    /// Where the vendor's day ends.
    pub(crate) fn zone(self) -> Zone {
        if self == Dialect::Google { Zone::Pacific } else { Zone::Utc }
    }
}

#[derive(Debug, Clone, Copy)]
enum File {
    OpenAi,
    Codex,
    Azure,
    Anthropic,
    Google,
    Bedrock,
    Aggregator,
    Local,
    Cohere,
    Mistral,
    DeepSeek,
    Groq,
    Xai,
    Cloudflare,
    MiniMax,
    Zhipu,
    Moonshot,
    Qwen,
    China,
    Generic,
    Status,
}

/// In the order of [`File`].
pub(crate) const TEXTS: [&str; 21] = [
    include_str!("tables/openai.tsv"),
    include_str!("tables/codex.tsv"),
    include_str!("tables/azure.tsv"),
    include_str!("tables/anthropic.tsv"),
    include_str!("tables/google.tsv"),
    include_str!("tables/bedrock.tsv"),
    include_str!("tables/aggregator.tsv"),
    include_str!("tables/local.tsv"),
    include_str!("tables/cohere.tsv"),
    include_str!("tables/mistral.tsv"),
    include_str!("tables/deepseek.tsv"),
    include_str!("tables/groq.tsv"),
    include_str!("tables/xai.tsv"),
    include_str!("tables/cloudflare.tsv"),
    include_str!("tables/minimax.tsv"),
    include_str!("tables/zhipu.tsv"),
    include_str!("tables/moonshot.tsv"),
    include_str!("tables/qwen.tsv"),
    include_str!("tables/china.tsv"),
    include_str!("tables/generic.tsv"),
    include_str!("tables/status.tsv"),
];

static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    // A test reads every file: a row that cannot be read never leaves the house.
    TEXTS.iter().map(|text| Table::read(text).unwrap_or(Table { rows: Vec::new() })).collect()
});
