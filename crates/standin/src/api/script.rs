//! The scripted answers of a model.

use super::request::{ApiRequest, RequestKind};
use super::turn::Turn;

/// The answers of the model, turn by turn.
///
/// An empty script answers everything with a greeting, side requests for JSON with the smallest instance of their schema, and
/// requests to count or embed with plausible numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    pub(super) stream: Vec<Turn>,
    pub(super) generate: Vec<Turn>,
    pub(super) rules: Vec<ScriptRule>,
    pub(super) after: AfterScript,
}

/// What happens once all turns have been played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AfterScript {
    /// The answers of an empty script.
    #[default]
    Default,
    /// The last turn is played again and again.
    Repeat,
    /// The answer is an error of status 500.
    Error,
}

/// A turn for requests that look a certain way, whenever they come. Rules are tried before the other turns, in their order.
///
/// Texts are compared as they stand: a request matches if it contains each of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptRule {
    pub(super) when: RuleCondition,
    pub(super) turn: Turn,
    pub(super) times: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RuleCondition {
    kind: Option<RequestKind>,
    model: Option<String>,
    path: Option<String>,
    body: Option<String>,
    last: Option<String>,
}

impl Script {
    /// A script without a turn.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the answer to the next `streamGenerateContent`: the conversation itself.
    pub fn stream(mut self, turn: impl Into<Turn>) -> Self {
        self.stream.push(turn.into());
        self
    }

    /// Adds the answer to the next `generateContent`: a side request of the agent.
    pub fn generate(mut self, turn: impl Into<Turn>) -> Self {
        self.generate.push(turn.into());
        self
    }

    /// Adds a rule.
    pub fn rule(mut self, rule: ScriptRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Says what happens once all turns have been played.
    pub fn after(mut self, after: AfterScript) -> Self {
        self.after = after;
        self
    }
}

impl ScriptRule {
    /// A rule for every request.
    pub fn new(turn: impl Into<Turn>) -> Self {
        Self {
            when: RuleCondition::default(),
            turn: turn.into(),
            times: None,
        }
    }

    /// Only for requests of this kind.
    pub fn kind(mut self, kind: RequestKind) -> Self {
        self.when.kind = Some(kind);
        self
    }

    /// Only for models whose name contains this.
    pub fn model(mut self, text: impl Into<String>) -> Self {
        self.when.model = Some(text.into());
        self
    }

    /// Only for paths, with their query, that contain this.
    pub fn path(mut self, text: impl Into<String>) -> Self {
        self.when.path = Some(text.into());
        self
    }

    /// Only for bodies whose JSON contains this, as it was sent.
    pub fn body(mut self, text: impl Into<String>) -> Self {
        self.when.body = Some(text.into());
        self
    }

    /// Only if the JSON of the last content, without white space, contains this: the latest message of the user or a tool.
    pub fn last(mut self, text: impl Into<String>) -> Self {
        self.when.last = Some(text.into());
        self
    }

    /// Only so many times.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }
}

impl RuleCondition {
    pub(super) fn matches(&self, request: &ApiRequest, body: &str) -> bool {
        let contains = |text: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| text.contains(wanted))
        };
        let last_contains = |wanted: &String| {
            let last = request.last_content();
            last.is_some_and(|last| last.to_string().contains(wanted))
        };
        self.kind.is_none_or(|kind| kind == request.kind)
            && contains(&request.model, &self.model)
            && contains(&request.path, &self.path)
            && contains(body, &self.body)
            && self.last.as_ref().is_none_or(last_contains)
    }
}
