//! The permission prompts of a recording: calls that a user or client was asked about, not calls that a rule, a mode or a hook
//! decided.

use std::collections::HashMap;

use lapidary::engine::policy::was_asked;
use lapidary::vocab::event::{PermissionDecision, PermissionOutcome};

use super::calls::{CallKey, KnownCall};

#[derive(Default)]
pub(super) struct RecordedQuestions {
    all: Vec<RecordedQuestion>,
    /// The places of the questions that are not decided yet.
    open: HashMap<CallKey, usize>,
    /// Calls that were allowed in this turn: there is no second question when the client carries one out.
    granted: Vec<KnownCall>,
    /// The decision on a command whose call comes next: whether it was asked about, and whether it was allowed.
    command: Option<(bool, bool)>,
}

struct RecordedQuestion {
    known: KnownCall,
    is_asked: bool,
}

impl RecordedQuestions {
    /// The calls that a user or client was asked about.
    pub(super) fn asked_calls(&self) -> impl Iterator<Item = &KnownCall> {
        let asked = self.all.iter().filter(|question| question.is_asked);
        asked.map(|question| &question.known)
    }

    /// The agent asks for permission. A request without a decision counts as asked.
    pub(super) fn add_question(&mut self, key: CallKey, known: KnownCall) {
        self.open.insert(key, self.all.len());
        self.push(known);
    }

    /// A decision on a permission request, on a file, or on a command that the client is to start.
    pub(super) fn note_decision(
        &mut self,
        key: &CallKey,
        decision: &PermissionDecision,
        file: Option<&KnownCall>,
    ) {
        let is_asked = was_asked(decision);
        let is_allowed = decision.decision == PermissionOutcome::Allowed;
        if let Some(at) = self.open.remove(key) {
            let question = &mut self.all[at];
            question.is_asked = is_asked;
            if is_allowed {
                self.granted.push(question.known.clone());
            }
        } else if let Some(file) = file {
            self.add_service_question(file, is_asked, is_allowed);
        } else if decision.tool_name.to_str() == "terminal/create" {
            self.command = Some((is_asked, is_allowed));
        }
    }

    /// Takes in a report of a call: it may be of the command that was just decided.
    pub(super) fn note_call(&mut self, known: &KnownCall) {
        if known.action.tool.as_deref() == Some("terminal/create")
            && let Some((is_asked, is_allowed)) = self.command.take()
        {
            self.add_service_question(known, is_asked, is_allowed);
        }
    }

    pub(super) fn end_turn(&mut self) {
        self.granted.clear();
    }

    fn add_service_question(&mut self, known: &KnownCall, is_asked: bool, is_allowed: bool) {
        let is_granted = is_allowed
            && self
                .granted
                .iter()
                .any(|granted| covers_call(granted, known));
        if is_asked && !is_granted {
            let mut known = known.clone();
            known.action.title = None; // the agent has no title for it, and a run knows none
            self.push(known);
        }
    }

    fn push(&mut self, known: KnownCall) {
        self.all.push(RecordedQuestion {
            known,
            is_asked: true,
        });
    }
}

/// Whether the granted call has the same command, or the same files.
fn covers_call(granted: &KnownCall, known: &KnownCall) -> bool {
    let (granted, known) = (&granted.action, &known.action);
    let is_about_files = known.command.is_none() && !known.paths.is_empty();
    granted.command == known.command
        && (!is_about_files || known.paths.iter().all(|path| granted.paths.contains(path)))
}
