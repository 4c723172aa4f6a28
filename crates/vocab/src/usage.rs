//! Token counts.

use serde::{Deserialize, Serialize};

use crate::Number;

/// Tokens spent, as the agent counts them. A figure that it does not report is absent, never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens of the prompt, cached ones included. Upstream, or derived as the sum over models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<Number>,
    /// Tokens of the answer, without thoughts. Upstream, or derived as the sum over models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<Number>,
    /// Tokens of the prompt that came from a cache. Upstream, or derived as the sum over models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<Number>,
    /// Tokens written to a cache. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_creation_tokens: Option<Number>,
    /// All tokens, thoughts included. Upstream, or derived as the sum over models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<Number>,
}

/// Tokens spent on one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelTokenUsage {
    /// Tokens of the prompt, cached ones included. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<Number>,
    /// Tokens of the answer, without thoughts. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<Number>,
    /// Tokens of the prompt that came from a cache. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<Number>,
    /// Tokens written to a cache. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_creation_tokens: Option<Number>,
    /// All tokens, thoughts included. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<Number>,
    /// The cost in US dollars. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Number>,
    /// The model's context window in tokens. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<Number>,
    /// Web searches made. Upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search_requests: Option<Number>,
}
