//! The `Agent2Agent` protocol (A2A), versions 0.3 and 1.0, as a client reads and writes it.
//!
//! Version 0.3 tells objects apart by `kind`, and writes `user` and `completed`. Version 1.0 tells them apart by the name of the only
//! member, and writes `ROLE_USER` and `TASK_STATE_COMPLETED`. The HTTP+JSON binding of 0.3 already writes as 1.0 does, with `content`
//! instead of `parts` in messages (`@a2a-js/sdk` 0.3.14). Readers here take all of these; only requests differ by version and binding.

pub mod card;
pub mod reply;
pub mod request;
pub mod update;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum A2aVersion {
    /// 0.3 and the versions before it.
    V0_3,
    /// 1.0 and the versions after it that keep its major number.
    V1,
}

/// How requests are put into HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum A2aBinding {
    /// One URL, and JSON-RPC in the bodies.
    JsonRpc,
    /// A path for each method, and plain JSON in the bodies.
    HttpJson,
}

impl A2aVersion {
    /// The version that a card's text means; none if no client of 0.3 or 1.0 can speak it.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let mut numbers = text.split('.');
        match (numbers.next()?, numbers.next()) {
            ("0", Some("1" | "2" | "3")) => Some(Self::V0_3),
            ("1", _) => Some(Self::V1),
            _ => None,
        }
    }

    /// The version as the header `A2A-Version` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1 => "1.0",
        }
    }

    /// The version that a server may speak instead.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::V0_3 => Self::V1,
            Self::V1 => Self::V0_3,
        }
    }
}

impl A2aBinding {
    /// The binding that a card's word means.
    pub fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_uppercase().as_str() {
            "JSONRPC" => Some(Self::JsonRpc),
            "HTTP+JSON" => Some(Self::HttpJson),
            _ => None,
        }
    }

    /// The word in cards.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
        }
    }
}
