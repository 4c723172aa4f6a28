//! The output of `lapidary sessions stats`: messages, tool calls, tokens and their cost.

use serde::{Deserialize, Serialize};

use crate::event::Provider;

/// The version that statistics carry in `schema`.
pub const STATS_SCHEMA: &str = "lapidary.stats/1";

/// How much was said and done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The vocabulary and its version, `lapidary.stats/1`. Derived.
    pub schema: String,
    /// Sessions that contribute to a count, each once however many files it has. Derived.
    pub sessions: u64,
    /// Sessions of sub-agents among the files; their messages and tokens are counted, too. Derived.
    pub subagents: u64,
    /// Messages that users wrote, without commands and the CLI's messages in the user's name. Derived.
    pub turns: u64,
    /// Messages of any kind, each once. Derived.
    pub messages: u64,
    /// Answers of a model. Derived.
    pub answers: u64,
    /// Answers whose tokens are unknown. Derived.
    pub answers_without_tokens: u64,
    /// Calls of tools. Derived.
    pub tool_calls: u64,
    /// Those of them that failed. Derived.
    pub tool_errors: u64,
    /// The tokens of all answers, rewound ones included: they were used, too. Upstream.
    pub tokens: TokenCounts,
    /// The cost of the answers with a known price, in US dollars. Absent if no price is known. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Tokens without a known price; they are not in `cost`. Derived.
    pub unpriced_tokens: u64,
    /// The day of which the prices are: the earliest of `priceSources`, or that of the user's own table. Derived.
    pub prices_as_of: String,
    /// The places that the prices in `cost` come from. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub price_sources: Vec<PriceSource>,
    /// By model, the most used first. Derived.
    pub models: Vec<ModelStats>,
    /// By agent, the one with the most sessions first. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<ProviderStats>,
    /// By project, the one with the most tokens first. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<ProjectStats>,
    /// By day (UTC), the earliest first. Derived.
    pub days: Vec<DayStats>,
    /// Tokens by day, agent, project and model, in this order. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<UsageRow>,
    /// By tool, the most used first. Derived.
    pub tools: Vec<ToolStats>,
    /// Messages without a time, which are in no day. Derived.
    pub undated: u64,
    /// Other problems, a sentence each. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How many tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenCounts {
    /// Read, the cached ones included. Upstream.
    pub input: u64,
    /// Written, thoughts not included. Upstream.
    pub output: u64,
    /// Those read that were cached. Upstream.
    pub cached: u64,
    /// Those read that were written to a cache, which costs more than reading them. Upstream.
    #[serde(default)]
    pub cache_written: u64,
    /// Those of them that the cache keeps for an hour, which costs still more. Upstream.
    #[serde(default, rename = "cacheWritten1h")]
    pub cache_written_1h: u64,
    /// Thought. Upstream.
    pub thoughts: u64,
    /// Read of what tools of the API's own put out. Upstream.
    pub tool: u64,
    /// All together. Upstream.
    pub total: u64,
}

/// What one model did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelStats {
    /// The model; absent for answers that do not name theirs. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its answers. Derived.
    pub answers: u64,
    /// Its tokens. Upstream.
    pub tokens: TokenCounts,
    /// The cost in US dollars; absent if the price is not known. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What one agent did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderStats {
    /// The agent's family, such as `gemini` or `claude`. Derived.
    pub provider: Provider,
    /// Its sessions, those of sub-agents not included. Derived.
    pub sessions: u64,
    /// Answers of its models. Derived.
    pub answers: u64,
    /// Their tokens. Upstream.
    pub tokens: TokenCounts,
    /// Their cost in US dollars, where the price is known. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What happened in one project.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectStats {
    /// The project's directory; absent for sessions that do not name theirs. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Its sessions, those of sub-agents not included. Derived.
    pub sessions: u64,
    /// Answers of models. Derived.
    pub answers: u64,
    /// Their tokens. Upstream.
    pub tokens: TokenCounts,
    /// Their cost in US dollars, where the price is known. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// The tokens of one agent and one model in one project on one day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// The day (UTC); absent for answers without a time. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The agent's family, such as `gemini` or `claude`. Derived.
    pub provider: Provider,
    /// The project's directory, if the session names it. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The model, if the answer names it. Upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Answers. Derived.
    pub answers: u64,
    /// Their tokens. Upstream.
    pub tokens: TokenCounts,
    /// Their cost in US dollars; absent if the price is not known. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// A place that prices come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PriceSource {
    /// The day of which the prices are; empty in the user's own table without a date. Derived.
    pub as_of: String,
    /// An address, or the user's own table. Derived.
    pub source: String,
}

/// What happened on a day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DayStats {
    /// The day (UTC). Derived.
    pub date: String,
    /// Messages that users wrote. Derived.
    pub turns: u64,
    /// Messages of any kind. Derived.
    pub messages: u64,
    /// Tokens. Upstream.
    pub tokens: TokenCounts,
    /// The cost in US dollars, where the price is known. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What one tool was used for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolStats {
    /// The tool's name. Upstream.
    pub name: String,
    /// How often it was called. Derived.
    pub calls: u64,
    /// How often it failed. Derived.
    pub errors: u64,
    /// How often a call was called off. Derived.
    pub cancelled: u64,
}

impl TokenCounts {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        let sum = |one: &mut u64, other: u64| *one = one.saturating_add(other);
        sum(&mut self.input, other.input);
        sum(&mut self.output, other.output);
        sum(&mut self.cached, other.cached);
        sum(&mut self.cache_written, other.cache_written);
        sum(&mut self.cache_written_1h, other.cache_written_1h);
        sum(&mut self.thoughts, other.thoughts);
        sum(&mut self.tool, other.tool);
        sum(&mut self.total, other.total);
    }
}
