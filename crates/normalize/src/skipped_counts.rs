//! Counts of the records of a session file that no event carries, by the reason, and of those whose place is in doubt.

use std::borrow::Cow;
use std::collections::BTreeMap;

use lapidary_json::Token;
use lapidary_vocab::Json;
use lapidary_vocab::event::{Diagnostic, DiagnosticKind};

/// Counts of the records that no event carries, and of those whose place is in doubt.
#[derive(Debug, Default)]
pub(crate) struct SkippedCounts {
    /// Records outside of the conversation, by type; of attachments and notes of the program with their own type behind a slash.
    state: BTreeMap<String, u64>,
    pub(crate) abandoned: u64,
    pub(crate) repeated: u64,
    /// Files of sub-agents that no call names.
    pub(crate) unnamed_agents: u64,
    /// Records of sub-agents that repeat their call.
    pub(crate) in_call: u64,
    /// Records that have events, though their parents form a circle: which of them were taken back is unknown.
    pub(crate) in_circle: u64,
}

impl SkippedCounts {
    /// Counts a record outside of the conversation by its type, and by its own type within that, if it has one.
    pub(crate) fn add_state(&mut self, kind: &str, subtype: Option<Token<'_>>) {
        let subtype = text(subtype);
        let name = if subtype.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}/{subtype}")
        };
        *self.state.entry(name).or_default() += 1;
    }

    /// The closing diagnostic, and its details; none if every record has an event.
    pub(crate) fn closing_diagnostic(&self) -> Option<(Diagnostic, Json)> {
        let state = self.state.values().sum::<u64>();
        let counts = [
            (
                state,
                [
                    "record of the program's state",
                    "records of the program's state",
                ],
            ),
            (
                self.abandoned,
                [
                    "record after a prompt that was taken back",
                    "records after a prompt that was taken back",
                ],
            ),
            (
                self.repeated,
                ["record that stands twice", "records that stand twice"],
            ),
            (
                self.in_call,
                [
                    "prompt of a sub-agent, which its call has",
                    "prompts of sub-agents, which their calls have",
                ],
            ),
            (
                self.unnamed_agents,
                [
                    "file of a sub-agent that no call names",
                    "files of sub-agents that no call names",
                ],
            ),
        ];
        let counted: Vec<_> = counts.iter().filter(|(count, _)| *count > 0).collect();
        let words = counted.iter().map(|(count, [one, many])| {
            let noun = if *count == 1 { one } else { many };
            format!("{count} {noun}")
        });
        let words: Vec<_> = words.collect();
        let skipped = (!words.is_empty()).then(|| format!("not shown: {}", words.join(", ")));
        let circle = match self.in_circle {
            0 => None,
            1 => Some("shown in the order of the file: 1 record that is its own parent".to_owned()),
            count => Some(format!(
                "shown in the order of the file: {count} records whose parents form a circle"
            )),
        };
        let message: Vec<_> = skipped.into_iter().chain(circle).collect();
        if message.is_empty() {
            return None;
        }
        let body = Diagnostic {
            kind: DiagnosticKind::SessionRecords,
            message: message.join("; "),
            count: Some(counts.iter().map(|(count, _)| count).sum()),
        };
        let reasons = [
            ("abandoned", self.abandoned),
            ("repeated", self.repeated),
            ("in their call", self.in_call),
            ("in a circle", self.in_circle),
            (
                "files of sub-agents that no call names",
                self.unnamed_agents,
            ),
        ];
        let reasons = reasons.into_iter().filter(|(_, count)| *count > 0);
        let state = self
            .state
            .iter()
            .map(|(name, count)| (name.as_str(), *count));
        let detail = state.chain(reasons);
        Some((
            body,
            Json::object(detail.map(|(name, count)| (name, Json::from_value(&count)))),
        ))
    }
}

fn text(token: Option<Token<'_>>) -> Cow<'_, str> {
    token.and_then(Token::string).unwrap_or_default()
}
