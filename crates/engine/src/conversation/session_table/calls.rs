//! Tool calls: the announced action of each, whether the agent asked about it, and whether it ran without permission.

use std::path::Path;

use lapidary_vocab::event::{PermissionViolation, ToolCallStatus, ToolCompletion, ToolInvocation};
use lapidary_vocab::{Body, Event, Json, Text};

use super::SessionTable;
use crate::policy::{Decision, PermissionEffect, ToolAction};
use crate::violations::{CallEnd, call_key, unasked_violation};

/// How many calls that were not allowed are remembered until they end.
const MOST_HELD_BACK: usize = 1024;

/// The meaning of an agent's event for its calls.
#[derive(Debug, Default)]
pub(in crate::conversation) struct CallNote {
    /// The action of the announced call, or of the call that is asked about.
    pub(in crate::conversation) action: Option<ToolAction>,
    /// The announced call needs no question.
    pub(in crate::conversation) is_permitted: bool,
    /// A call ended that was not to run, and did not.
    pub(in crate::conversation) is_held_back: bool,
    /// Calls that have certainly run without permission.
    pub(in crate::conversation) violations: Vec<PermissionViolation>,
    /// A call ran without a request, and its effect is unknown.
    pub(in crate::conversation) remark: Option<String>,
}

impl SessionTable {
    /// A session is open, in the directory that we have asked for: relative paths after this line count from there.
    pub(in crate::conversation) fn note_directory(
        &mut self,
        session: Option<&Text>,
        cwd: Option<&Text>,
    ) {
        let Some(cwd) = cwd.map(Text::to_str) else {
            return;
        };
        let is_root = self.root.to_string_lossy() == cwd; // the path of the root need not be text
        let cwd = if is_root {
            self.root.as_path()
        } else {
            Path::new(cwd.as_ref())
        };
        self.announced.works_in(session, cwd);
    }

    /// Where relative paths of a session count from.
    pub(in crate::conversation) fn directory_of(&self, session: Option<&Text>) -> &Path {
        self.announced.dir_of(session)
    }

    /// Takes in an event of the agent.
    pub(in crate::conversation) fn note_event(&mut self, event: &Event) -> CallNote {
        let mut note = CallNote {
            action: self.announced.note(event),
            ..CallNote::default()
        };
        match &event.body {
            Body::PermissionRequest(request) => {
                if let Some(call) = &request.tool_use_id {
                    self.unasked.note_asked(call_key(event, call));
                }
            }
            Body::ToolInvocation(call) => self.note_announced_call(event, call, &mut note),
            Body::ToolCompletion(done) => self.note_completed_call(event, done, &mut note),
            Body::TurnComplete(_) => note.violations.extend(self.unasked.turn_is_over()),
            _ => {}
        }
        note
    }

    /// Whether an announced call needs permission, and runs already without it.
    fn note_announced_call(&mut self, event: &Event, call: &ToolInvocation, note: &mut CallNote) {
        let Some(action) = &note.action else { return };
        let mut decision = self.policy.decide(action);
        if decision.effect == PermissionEffect::Ask && self.allowed_for_run(action).is_some() {
            decision.effect = PermissionEffect::Allow;
        }
        note.is_permitted = decision.effect == PermissionEffect::Allow;
        let status = event.base.extensions.get("acp.status").map(Json::token);
        let is_running = status.is_some_and(|status| status.is("in_progress"));
        let (key, id) = (call_key(event, &call.call_id), &call.call_id);
        let certain = self
            .unasked
            .note_announced(&key, id, action, decision, is_running);
        note.violations.extend(certain);
    }

    fn note_completed_call(&mut self, event: &Event, done: &ToolCompletion, note: &mut CallNote) {
        let (key, id) = (call_key(event, &done.call_id), &done.call_id);
        if let Some(denied) = self.held_back.remove(&key) {
            note.is_held_back = done.status != ToolCallStatus::Completed;
            let ran = denied.filter(|_| !note.is_held_back);
            note.violations.extend(ran.map(|(action, decision)| {
                unasked_violation(&action, Some(id), &decision, "ran although it was denied")
            }));
        }
        match self.unasked.note_ended(&key, id, &done.status) {
            CallEnd::Fine => {}
            CallEnd::Violation(violation) => note.violations.push(*violation),
            CallEnd::Unknown(remark) => note.remark = Some(remark),
        }
    }

    /// A call that the agent asked about may go on. It may have been held back before.
    pub(in crate::conversation) fn allow_call(&mut self, session: &str, call: &Text) {
        let key = format!("{session} {call}");
        self.held_back.remove(&key);
        self.unasked.note_allowed(key);
    }

    /// A call may not go on: it was denied, or the turn was cancelled before that.
    pub(in crate::conversation) fn hold_back_call(
        &mut self,
        session: &str,
        call: &Text,
        denied: Option<(ToolAction, Decision)>,
    ) {
        if self.held_back.len() >= MOST_HELD_BACK {
            self.held_back.pop_first();
        }
        self.held_back.insert(format!("{session} {call}"), denied);
    }
}
