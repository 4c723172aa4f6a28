//! The violations of a recording, and where events tell of them.

use std::collections::BTreeSet;

use lapidary_vocab::event::PermissionViolation;
use lapidary_vocab::{Body, Event, Text};

/// Violations that no diagnostic told of yet. A recording has them with its end; the run told of each where it was found: behind the end
/// of the call, or where the turn ended without one, and of changed files when the agent was gone.
#[derive(Debug)]
pub struct PastViolations {
    untold: Vec<PermissionViolation>,
    /// Calls that have begun, by their ids.
    begun: BTreeSet<String>,
}

impl PastViolations {
    pub(super) fn new(untold: Vec<PermissionViolation>) -> Self {
        Self {
            untold,
            begun: BTreeSet::new(),
        }
    }

    /// The messages of those that have their place behind these events.
    pub fn behind(&mut self, events: &[Event]) -> Vec<String> {
        let mut told = Vec::new();
        if self.untold.is_empty() {
            return told; // of nearly every run
        }
        for event in events {
            match &event.body {
                Body::ToolInvocation(call) => self.note_begun(&call.call_id),
                Body::ToolCompletion(done) => {
                    let id = done.call_id.to_str();
                    told.extend(self.take(|call| call == id));
                }
                Body::TurnComplete(_) => {
                    let begun = std::mem::take(&mut self.begun);
                    told.extend(self.take(|call| begun.contains(call)));
                }
                _ => {}
            }
        }
        told
    }

    /// The messages of those that are left.
    pub fn rest(self) -> Vec<String> {
        let rest = self.untold.into_iter();
        rest.map(|violation| violation.message.to_string())
            .collect()
    }

    fn note_begun(&mut self, call: &Text) {
        let ids = self.untold.iter().filter_map(|it| it.tool_use_id.as_ref());
        if ids.into_iter().any(|id| id.to_str() == call.to_str()) {
            self.begun.insert(call.to_string());
        }
    }

    fn take(&mut self, is_due: impl Fn(&str) -> bool) -> Vec<String> {
        let is_due = |violation: &mut PermissionViolation| {
            let call = violation.tool_use_id.as_ref();
            call.is_some_and(|call| is_due(&call.to_str()))
        };
        let due = self.untold.extract_if(.., is_due);
        due.map(|violation| violation.message.to_string()).collect()
    }
}
