//! Calls that the agent announced and did not ask about: which of them ran, and needed permission.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use lapidary_vocab::event::{PermissionViolation, ToolCallStatus, ToolKind};
use lapidary_vocab::{Event, Text};

use super::PermissionWatch;
use crate::policy::{Decision, PermissionEffect, ToolAction};

/// How many calls are remembered until they end.
const MOST_CALLS: usize = 1024;

/// How many files of a call are named.
const MOST_PATHS: usize = 5;

/// How many characters of a command are kept.
const LONGEST_COMMAND: usize = 500;

/// How many characters name a call in a sentence.
const LONGEST_NAME: usize = 80;

/// Calls that are under way, under their session and id.
#[derive(Debug, Default)]
pub(crate) struct UnaskedCalls {
    watch: PermissionWatch,
    open: BTreeMap<String, UnaskedCall>,
    /// Calls that the agent asked about.
    asked: BTreeSet<String>,
    /// The allowed calls among them.
    allowed: BTreeSet<String>,
}

#[derive(Debug)]
struct UnaskedCall {
    action: ToolAction,
    decision: Decision,
    is_running: bool,
}

/// How a call ended that the agent did not ask about.
#[derive(Debug, PartialEq)]
pub(crate) enum CallEnd {
    /// It needed no permission, or did not run.
    Fine,
    /// It ran without permission.
    Violation(Box<PermissionViolation>),
    /// It ran, and its effect is unknown: agents have tools of their own for plans and notes.
    Unknown(String),
}

/// The session that an event is about.
pub(crate) fn session_of_event(event: &Event) -> String {
    let session = event.base.session_id.as_ref().map(Text::to_string);
    session.unwrap_or_default()
}

/// The key of a call: its session and its id.
pub(crate) fn call_key(event: &Event, call: &Text) -> String {
    format!("{} {call}", session_of_event(event))
}

impl UnaskedCalls {
    pub(crate) fn new(watch: PermissionWatch) -> Self {
        Self {
            watch,
            ..Self::default()
        }
    }

    /// The agent tells of a call. Returns a violation if it is certain already that it runs.
    pub(crate) fn note_announced(
        &mut self,
        call: &str,
        id: &Text,
        action: &ToolAction,
        decision: Decision,
        is_running: bool,
    ) -> Option<PermissionViolation> {
        if self.asked.contains(call) && !self.is_another(call, &decision) {
            return None;
        }
        if decision.effect == PermissionEffect::Allow || self.watch.is_own(action, &decision) {
            self.open.remove(call);
            return None;
        }
        let unasked = UnaskedCall {
            action: action.clone(),
            decision,
            is_running,
        };
        let is_certain = is_running && self.watch.is_gemini && action.command.is_some();
        if is_certain {
            self.asked.insert(call.to_owned()); // a call is reported once
            return Some(unasked.to_violation(id));
        }
        if self.open.len() >= MOST_CALLS {
            self.open.pop_first();
        }
        self.open.insert(call.to_owned(), unasked);
        None
    }

    /// Whether a call that was allowed turns out to be another one, which a rule denies: then the answer was not about it.
    fn is_another(&self, call: &str, decision: &Decision) -> bool {
        let is_denied = decision.effect == PermissionEffect::Deny && decision.rule.is_some();
        self.allowed.contains(call) && is_denied && !decision.is_presumed
    }

    /// A call that the agent asked about may go on.
    pub(crate) fn note_allowed(&mut self, call: String) {
        if self.allowed.len() >= MOST_CALLS {
            self.allowed.pop_first();
        }
        self.allowed.insert(call);
    }

    /// The agent asks about a call.
    pub(crate) fn note_asked(&mut self, call: String) {
        self.open.remove(&call);
        if self.asked.len() >= MOST_CALLS {
            self.asked.pop_first();
        }
        self.asked.insert(call);
    }

    /// A call has ended. If its id comes again, it is another call.
    pub(crate) fn note_ended(&mut self, call: &str, id: &Text, status: &ToolCallStatus) -> CallEnd {
        self.asked.remove(call);
        self.allowed.remove(call);
        let Some(unasked) = self.open.remove(call) else {
            return CallEnd::Fine;
        };
        if !self.has_run(&unasked.action, status) {
            return CallEnd::Fine;
        }
        unasked.judge_end(id)
    }

    /// A turn is over: calls that ran and have no end are not waited for any longer.
    pub(crate) fn turn_is_over(&mut self) -> Vec<PermissionViolation> {
        let open = std::mem::take(&mut self.open).into_iter();
        let running = open.filter(|(_, call)| call.is_running);
        let judged = running.filter_map(|(key, call)| {
            let id = key.rsplit_once(' ').map_or(key.as_str(), |(_, id)| id);
            match call.judge_end(&Text::from(id.to_owned())) {
                CallEnd::Violation(violation) => Some(*violation),
                CallEnd::Fine | CallEnd::Unknown(_) => None,
            }
        });
        judged.collect()
    }

    /// Whether a call has had an effect. A command that failed may have; an edit that failed has not, and mostly names a missing
    /// file.
    fn has_run(&self, action: &ToolAction, status: &ToolCallStatus) -> bool {
        match status {
            ToolCallStatus::Completed => true,
            ToolCallStatus::Failed => {
                action.command.is_some() && !self.watch.is_gemini && !self.watch.has_policy
            }
            _ => false,
        }
    }
}

impl UnaskedCall {
    fn judge_end(&self, id: &Text) -> CallEnd {
        if self.is_unknown() {
            let what = action_name(&self.action);
            let why = &self.decision.reason;
            return CallEnd::Unknown(format!("the agent did {what} without asking: {why}"));
        }
        CallEnd::Violation(Box::new(self.to_violation(id)))
    }

    /// The effect of the call is unknown, and no rule matches it, except a rule that matches only because the action cannot be
    /// seen.
    fn is_unknown(&self) -> bool {
        let action = &self.action;
        let is_known = action.command.is_some() || action.shows_diff || action.mcp_server.is_some();
        let is_unclassified = matches!(action.kind, ToolKind::Unclassified | ToolKind::Other(_));
        let is_reader = matches!(action.kind, ToolKind::Read | ToolKind::Search);
        let is_odd = is_unclassified || (is_reader && action.paths.is_empty());
        let names_files = !action.paths.is_empty() || !action.possible_paths.is_empty();
        let names_any = names_files || !action.hosts.is_empty();
        let is_unseen = self.decision.is_presumed && is_unclassified && !names_any;
        (self.decision.rule.is_none() || is_unseen) && is_odd && !is_known
    }

    fn to_violation(&self, id: &Text) -> PermissionViolation {
        unasked_violation(
            &self.action,
            Some(id),
            &self.decision,
            "ran before it could be denied",
        )
    }
}

impl PermissionWatch {
    /// Whether a call is about the agent's own files only, and no rule is about it.
    fn is_own(&self, action: &ToolAction, decision: &Decision) -> bool {
        let places = match action.kind {
            ToolKind::Read | ToolKind::Search if !action.shows_diff => &self.state,
            ToolKind::Edit => &self.notes,
            _ => return false,
        };
        let is_inside = |path: &PathBuf| places.iter().any(|place| path.starts_with(place));
        let is_plain = action.command.is_none() && action.mcp_server.is_none();
        let mut paths = action.paths.iter();
        decision.rule.is_none() && is_plain && !action.paths.is_empty() && paths.all(is_inside)
    }
}

/// A violation by a call.
pub(crate) fn unasked_violation(
    action: &ToolAction,
    id: Option<&Text>,
    decision: &Decision,
    happened: &str,
) -> PermissionViolation {
    let text = |text: &str| Text::from(text.to_owned());
    let paths = action.paths.iter().take(MOST_PATHS);
    let command = action.command.as_deref();
    PermissionViolation {
        tool_name: text(action.tool.as_deref().unwrap_or(action.kind.as_str())),
        tool_use_id: id.map(Text::detached),
        title: action.title.as_deref().map(text),
        command: command.map(|command| Text::from(cut_text(command, LONGEST_COMMAND))),
        paths: paths.map(|path| text(&path.to_string_lossy())).collect(),
        rule: decision.rule.as_deref().map(text),
        reason: text(&decision.reason),
        message: Text::from(format!(
            "{} {happened}: {}",
            action_name(action),
            decision.reason
        )),
    }
}

/// A call in few words: its command, its tool and file, or its title. A tool that has no name goes by its kind.
pub(crate) fn action_name(action: &ToolAction) -> String {
    let tool = action.tool.as_deref();
    let name = tool.filter(|tool| *tool != action.kind.as_str());
    let words = match (&action.command, name, action.paths.first()) {
        (Some(command), ..) => command.clone(),
        (None, Some(name), Some(path)) => format!("{name} {}", path.display()),
        (None, ..) => {
            let what = name.or(action.title.as_deref()).or(tool);
            what.unwrap_or("something").to_owned()
        }
    };
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("`{}`", cut_text(&line, LONGEST_NAME))
}

fn cut_text(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use lapidary_vocab::event::DecidedBy;

    use super::*;

    fn run(command: &str) -> ToolAction {
        ToolAction {
            command: Some(command.to_owned()),
            ..ToolAction::new(ToolKind::Execute)
        }
    }

    fn not_allowed(rule: Option<&str>) -> Decision {
        Decision {
            rule: rule.map(str::to_owned),
            ..Decision::new(PermissionEffect::Deny, DecidedBy::Rule, "no")
        }
    }

    /// Whether a call that ends like this was a violation.
    fn is_violated(
        calls: &mut UnaskedCalls,
        action: &ToolAction,
        rule: Option<&str>,
        status: &ToolCallStatus,
    ) -> bool {
        let id = Text::from("c");
        let certain = calls.note_announced("c", &id, action, not_allowed(rule), true);
        assert_eq!(certain, None);
        matches!(calls.note_ended("c", &id, status), CallEnd::Violation(_))
    }

    #[test]
    fn an_id_that_comes_again_is_another_call() {
        let mut calls = UnaskedCalls::default();
        let done = ToolCallStatus::Completed;
        calls.note_asked("c".to_owned());
        calls.note_allowed("c".to_owned());
        assert!(!is_violated(&mut calls, &run("ls"), None, &done));
        assert!(is_violated(&mut calls, &run("rm x"), None, &done));
    }

    #[test]
    fn a_call_that_a_rule_denies_is_another_than_was_allowed_under_its_id() {
        for (rule, expected) in [(Some("r"), true), (None, false)] {
            let mut calls = UnaskedCalls::default();
            calls.note_asked("c".to_owned());
            calls.note_allowed("c".to_owned());
            let done = ToolCallStatus::Completed;
            let is_seen = is_violated(&mut calls, &run("rm x"), rule, &done);
            assert_eq!(is_seen, expected);
        }
    }

    #[test]
    fn the_agent_reads_its_own_state_unless_a_rule_is_about_it() {
        let mut calls = UnaskedCalls::new(PermissionWatch {
            state: vec![PathBuf::from("/state")],
            ..PermissionWatch::default()
        });
        let read = |path: &str| ToolAction {
            paths: vec![PathBuf::from(path)],
            ..ToolAction::new(ToolKind::Read)
        };
        let done = ToolCallStatus::Completed;
        assert!(!is_violated(&mut calls, &read("/state/x"), None, &done));
        assert!(is_violated(&mut calls, &read("/state"), Some("r"), &done));
        assert!(is_violated(&mut calls, &read("/other"), None, &done));
        let edit = ToolAction {
            kind: ToolKind::Edit,
            ..read("/state/x")
        };
        assert!(is_violated(&mut calls, &edit, None, &done));
    }

    #[test]
    fn a_command_that_failed_has_run_unless_the_agent_was_told_to_ask() {
        let failed = ToolCallStatus::Failed;
        for (has_policy, expected) in [(false, true), (true, false)] {
            let watch = PermissionWatch {
                has_policy,
                ..PermissionWatch::default()
            };
            let mut calls = UnaskedCalls::new(watch);
            assert_eq!(is_violated(&mut calls, &run("ls"), None, &failed), expected);
            let done = ToolCallStatus::Completed;
            assert!(is_violated(&mut calls, &run("ls"), None, &done));
        }
    }
}
