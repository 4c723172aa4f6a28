//! Watches the calls of a headless agent, which never asks: finds calls that ran against the rules or the permission mode.

use lapidary_vocab::event::PermissionViolation;
use lapidary_vocab::{Body, Event};

use super::request::RunRequest;
use crate::confine::ConfinedRun;
use crate::policy::{PermissionEffect, Policy, ToolActions};
use crate::violations::{AttemptViolations, CallEnd, UnaskedCalls};

/// The calls of one attempt.
#[derive(Debug)]
pub(super) struct CallWatch<'a> {
    policy: &'a Policy,
    actions: ToolActions,
    calls: UnaskedCalls,
    confined: Option<&'a ConfinedRun>,
    violations: &'a AttemptViolations,
}

impl<'a> CallWatch<'a> {
    /// None for an agent whose calls are not judged, such as a replayed recording.
    pub(super) fn new(request: &'a RunRequest, violations: &'a AttemptViolations) -> Option<Self> {
        Some(Self {
            policy: request.policy.as_ref()?,
            actions: ToolActions::new(request.command.directory()),
            calls: UnaskedCalls::new(request.watch.clone()),
            confined: request.confined.as_deref(),
            violations,
        })
    }

    /// Takes in events, and returns the violations to report. Tools of unknown kinds are none: Gemini CLI decides about them.
    pub(super) fn note_events(&mut self, events: &[Event]) -> Vec<String> {
        let mut remarks = Vec::new();
        for event in events {
            // Nearly all of them.
            if !matches!(event.body, Body::StreamDelta(_)) {
                remarks.extend(self.note_one(event));
            }
        }
        remarks
    }

    fn note_one(&mut self, event: &Event) -> Option<String> {
        let action = self.actions.note(event);
        match (&event.body, action) {
            (Body::ToolInvocation(call), Some(action)) => {
                let decision = self.policy.decide(&action);
                if let Some(confined) = self.confined
                    && decision.effect == PermissionEffect::Allow
                {
                    confined.note_permitted(&action);
                }
                let (key, id) = (call.call_id.to_str(), &call.call_id);
                let certain = self
                    .calls
                    .note_announced(&key, id, &action, decision, false);
                certain.map(|violation| self.report_violation(violation))
            }
            (Body::ToolCompletion(done), _) => {
                let key = done.call_id.to_str();
                match self.calls.note_ended(&key, &done.call_id, &done.status) {
                    CallEnd::Violation(violation) => Some(self.report_violation(*violation)),
                    CallEnd::Fine | CallEnd::Unknown(_) => None,
                }
            }
            _ => None,
        }
    }

    fn report_violation(&self, violation: PermissionViolation) -> String {
        let message = violation.message.to_string();
        self.violations.note_violation(violation);
        message
    }
}
