//! Data of an answer that was asked for by a schema.

use serde::{Deserialize, Serialize};

use crate::Json;
use crate::open_enum::open_enum;

open_enum! {
    /// How the agent handed over data that was asked for by a schema.
    pub enum DataSource {
        /// The agent has an option for schemas of its own.
        Flag = "flag",
        /// Through a tool whose arguments have the schema: one that Lapidary offers, or `complete_task` of our own agents.
        Tool = "tool",
        /// As JSON in its last message.
        Text = "text",
    }
}

/// A place where an answer does not fit the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
pub struct DataViolation {
    /// A JSON pointer into the answer, empty for the whole answer. Derived.
    pub pointer: String,
    /// The violation in words, such as `must be string`. Derived.
    pub message: String,
}

/// An answer, judged by its output schema: `data` if it fits, `violations` if it does not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "generate", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StructuredAnswer {
    /// The data, if it fits. Upstream, token for token.
    #[serde(
        default,
        deserialize_with = "crate::json::present_member",
        skip_serializing_if = "Option::is_none"
    )]
    pub data: Option<Json>,
    /// How the agent handed it over. Derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_source: Option<DataSource>,
    /// Where the last answer does not fit. Derived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<DataViolation>,
}
