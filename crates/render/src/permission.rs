//! Requests for permission and their answers, in words.

use lapidary_vocab::content::ContentBlock;
use lapidary_vocab::event::{DecidedBy, PermissionDecision, PermissionOutcome, PermissionRequest};
use lapidary_vocab::{Json, Text};

use crate::notice::{Notice, NoticeLevel};
use crate::{plain, tool_argument, words};

/// How many requests may wait for their answers: of more, the oldest is forgotten.
const MOST_OPEN: usize = 256;

/// How long the name of a rule and a reason may be.
const LONGEST_RULE: usize = 100;

/// An answer to a request for permission.
#[derive(Debug, Clone)]
pub(crate) struct PermissionAnswer {
    outcome: PermissionOutcome,
    by: Option<DecidedBy>,
    /// The rule, named by where it stands. Hostile.
    rule: Option<String>,
    /// Hostile.
    reason: Option<String>,
    /// The content of the call that the agent showed. Hostile.
    pub(crate) content: Vec<ContentBlock>,
}

impl From<&PermissionDecision> for PermissionAnswer {
    fn from(decision: &PermissionDecision) -> Self {
        let line = |text: &Text| plain::first_line(&text.to_str(), LONGEST_RULE);
        Self {
            outcome: decision.decision.clone(),
            by: decision.decided_by.clone(),
            rule: decision.rule.as_ref().map(line),
            reason: decision.reason.as_ref().map(Text::to_string),
            content: decision.content.clone(),
        }
    }
}

impl PermissionAnswer {
    /// No answer yet: the content of a request that waits.
    pub(crate) fn pending(content: Vec<ContentBlock>) -> Self {
        Self {
            outcome: PermissionOutcome::Cancelled,
            by: None,
            rule: None,
            reason: None,
            content,
        }
    }

    pub(crate) fn is_denied(&self) -> bool {
        !self.is_allowed() && self.outcome != PermissionOutcome::Cancelled
    }

    pub(crate) fn is_allowed(&self) -> bool {
        self.outcome == PermissionOutcome::Allowed
    }

    /// True if a rule, a hook or a program decided. A watching user knows the decisions of a person or of the permission mode
    /// already.
    pub(crate) fn is_news(&self) -> bool {
        matches!(
            self.by,
            Some(DecidedBy::Rule | DecidedBy::Hook | DecidedBy::Peer)
        )
    }

    fn answer_word(&self) -> &'static str {
        match &self.outcome {
            PermissionOutcome::Allowed => "allowed",
            PermissionOutcome::Cancelled => "not decided",
            _ => "denied",
        }
    }

    /// `allowed by rule lapidary.toml:12`
    pub(crate) fn in_words(&self) -> String {
        let word = self.answer_word();
        match self.decider_text() {
            Some(by) => format!("{word} {by}"),
            None => word.to_owned(),
        }
    }

    /// The decider and the reason of a denial: `Denied by rule lapidary.toml:12: no network`. None if the action was allowed, or
    /// neither is known.
    pub(crate) fn denial_text(&self) -> Option<String> {
        let words = words::capitalised_text(&self.in_words());
        match &self.reason {
            _ if self.is_allowed() => None,
            Some(reason) if self.names_rule(reason) => Some(words::capitalised_text(reason)),
            Some(reason) => Some(format!("{words}: {reason}")),
            None => self.by.as_ref().map(|_| words),
        }
    }

    fn decider_text(&self) -> Option<String> {
        Some(match self.by.as_ref()? {
            DecidedBy::Rule => match &self.rule {
                Some(rule) => format!("by rule {rule}"),
                None => "by a rule".to_owned(),
            },
            DecidedBy::Mode => "by the permission mode".to_owned(),
            DecidedBy::Hook => "by a hook".to_owned(),
            DecidedBy::Default => "by default".to_owned(),
            DecidedBy::User => "by the user".to_owned(),
            DecidedBy::Peer => "by the connected program".to_owned(),
            other => format!("by {}", plain::first_line(other.as_str(), 40)),
        })
    }

    /// The answer as a line of its own.
    fn answer_notice(&self, what: &str) -> Notice {
        let level = if self.is_denied() {
            NoticeLevel::Warning
        } else {
            NoticeLevel::Info
        };
        let reason = self.reason.as_ref().filter(|_| !self.is_allowed());
        let text = match (reason, self.decider_text()) {
            (Some(reason), Some(by)) if !self.is_told(reason) => format!("{what}: {reason} ({by})"),
            (Some(reason), _) => format!("{what}: {reason}"),
            (None, Some(by)) => format!("{what} ({by})"),
            (None, None) => what.to_owned(),
        };
        Notice::new(level, self.answer_word(), text)
    }

    /// True if the reason says already which rule decided.
    fn names_rule(&self, reason: &str) -> bool {
        let is_named = |rule: &String| reason.contains(rule.as_str());
        matches!(self.by, Some(DecidedBy::Rule)) && self.rule.as_ref().is_some_and(is_named)
    }

    /// True if the reason says already who decided.
    fn is_told(&self, reason: &str) -> bool {
        match (&self.by, &self.rule) {
            (Some(DecidedBy::Rule), Some(_)) => self.names_rule(reason),
            (Some(DecidedBy::User), _) => reason.contains("the user"),
            (Some(DecidedBy::Rule | DecidedBy::Hook), _) => false,
            _ => true,
        }
    }
}

/// An answer as a line of its own.
pub(crate) fn decision_notice(decision: &PermissionDecision) -> Notice {
    let title = decision.title.as_ref();
    let what = request_subject(&decision.tool_name, &decision.tool_input, title);
    PermissionAnswer::from(decision).answer_notice(&what)
}

/// Requests that were not answered yet.
#[derive(Debug, Default)]
pub(crate) struct OpenRequests {
    waiting: Vec<(Text, Notice)>,
}

impl OpenRequests {
    pub(crate) fn add_request(&mut self, request: &PermissionRequest) {
        let title = request.title.as_ref();
        let what = request_subject(&request.tool_name, &request.tool_input, title);
        let reason = request.reason.as_ref().map(|reason| format!(": {reason}"));
        let text = format!("{what}{}", reason.unwrap_or_default());
        let notice = Notice::new(NoticeLevel::Warning, "permission asked, no answer", text);
        if self.waiting.len() >= MOST_OPEN {
            self.waiting.remove(0);
        }
        self.waiting.push((request.request_id.clone(), notice));
    }

    pub(crate) fn remove_answered(&mut self, decision: &PermissionDecision) {
        self.waiting.retain(|(id, _)| *id != decision.request_id);
    }

    /// The notices of the requests that stayed open.
    pub(crate) fn take_open_notices(&mut self) -> Vec<Notice> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().map(|(_, notice)| notice).collect()
    }
}

/// A tool and its telling argument, else the rest of its title. Agents that give a tool no name call it by its command.
fn request_subject(name: &Text, input: &Json, title: Option<&Text>) -> String {
    let said = || Some(tool_argument::title_beside_name(&name.to_str(), title?));
    let argument = tool_argument::telling_argument(input).or_else(said);
    match argument.filter(|argument| *name != **argument) {
        Some(argument) => format!("{name} {argument}"),
        None => name.to_string(),
    }
}
