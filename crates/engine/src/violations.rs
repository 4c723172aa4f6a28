//! Calls that an agent makes without permission, and protected files that it changes.
//!
//! Rules and the permission mode decide the requests of an agent. An agent that does not ask is watched: a call that was not
//! allowed and ran all the same is a violation, and ends the run or is reported.

mod unasked;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_normalize::{ProcessEnd, StopCause};
use lapidary_vocab::Cause;
use lapidary_vocab::event::PermissionViolation;
use tokio::sync::Notify;

pub(crate) use unasked::{
    CallEnd, UnaskedCalls, action_name, call_key, session_of_event, unasked_violation,
};

/// How many violations of a run are kept.
const MOST_KEPT: usize = 256;

const REPORT: &str = "`--on-violation report` lets such a run go on";

/// The reaction to a call that an agent makes without permission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnViolation {
    /// The run is ended: `refused`, `permission_denied`.
    #[default]
    Stop,
    /// The run goes on, with a warning.
    Report,
}

impl OnViolation {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Stop, Self::Report];

    /// The word for it in `on_violation` and `--on-violation`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Report => "report",
        }
    }
}

/// The agent's own way of handling permissions, and the reaction to a violation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PermissionWatch {
    /// The reaction of the run.
    pub on_violation: OnViolation,
    /// The agent is Gemini CLI: it announces a command as running only once it runs, and one that ran is never called failed. Others
    /// announce a command before they ask, and call it failed by its exit code.
    pub is_gemini: bool,
    /// The agent has a policy that makes it ask: it refused a failed command without a request before it ran, such as a command
    /// with arguments that the agent does not know.
    pub has_policy: bool,
    /// Directories of the agent's own state, which the permission mode lets it read.
    pub state: Vec<PathBuf>,
    /// Directories of the agent's own plans and notes, which the permission mode lets it write.
    pub notes: Vec<PathBuf>,
}

/// The violations of one attempt.
#[derive(Debug, Default)]
pub(crate) struct AttemptViolations {
    on_violation: OnViolation,
    kept: Mutex<Vec<PermissionViolation>>,
    news: Notify,
}

impl AttemptViolations {
    pub(crate) fn new(on_violation: OnViolation) -> Self {
        Self {
            on_violation,
            ..Self::default()
        }
    }

    pub(crate) fn note_violation(&self, violation: PermissionViolation) {
        let mut kept = self.lock_kept();
        if kept.len() < MOST_KEPT {
            kept.push(violation);
        }
        drop(kept);
        self.news.notify_one();
    }

    /// Notes several, and reports each.
    pub(crate) fn note_all(
        &self,
        violations: Vec<PermissionViolation>,
        mut tell: impl FnMut(String),
    ) {
        for violation in violations {
            tell(violation.message.to_string());
            self.note_violation(violation);
        }
    }

    /// Waits until a violation ends the run. Can be cancelled.
    pub(crate) async fn wait_for_stop(&self) -> StopCause {
        loop {
            if let Some(stopped) = self.stop_cause() {
                return stopped;
            }
            self.news.notified().await;
        }
    }

    /// Why the run has to end, if it has to.
    pub(crate) fn stop_cause(&self) -> Option<StopCause> {
        let is_stop = self.on_violation == OnViolation::Stop;
        self.lock_kept()
            .first()
            .filter(|_| is_stop)
            .map(stopped_for)
    }

    /// Adds the violations to how a run ended. One that ends the run does so also if the agent was quicker.
    pub(crate) fn judge_end(&self, ending: &mut ProcessEnd) {
        ending.violations.clone_from(&self.lock_kept());
        let is_cancelled = |stopped: &StopCause| stopped.cause == Cause::CancelledByClient;
        if ending.stopped.as_ref().is_none_or(is_cancelled) {
            ending.stopped = self.stop_cause().or(ending.stopped.take());
        }
    }

    fn lock_kept(&self) -> MutexGuard<'_, Vec<PermissionViolation>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a run was refused that had this violation. A violation without a call is a file that had changed when the run was over.
pub(crate) fn stopped_for(violation: &PermissionViolation) -> StopCause {
    let (message, hint) = match (&violation.tool_use_id, violation.paths.first()) {
        (None, Some(path)) => (
            violation.message.to_string(),
            format!(
                "`--allow '{}:{path}'` permits it; `--on-violation report` makes it a warning",
                violation.tool_name
            ),
        ),
        _ => (
            format!("the run was stopped: {}", violation.message),
            REPORT.to_owned(),
        ),
    };
    StopCause::new(Cause::PermissionDenied, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use lapidary_vocab::event::{DecidedBy, ToolKind};

    use super::*;
    use crate::policy::{Decision, PermissionEffect, ToolAction};

    fn noted(on_violation: OnViolation, count: usize) -> AttemptViolations {
        let violations = AttemptViolations::new(on_violation);
        let decision = Decision::new(PermissionEffect::Deny, DecidedBy::Rule, "no");
        let action = ToolAction::new(ToolKind::Execute);
        for _ in 0..count {
            violations.note_violation(unasked_violation(&action, None, &decision, "ran"));
        }
        violations
    }

    /// The cause of a run that was stopped for one reason, and had a violation.
    fn judged(on_violation: OnViolation, cause: Option<Cause>) -> Option<Cause> {
        let stopped = cause.map(|cause| StopCause::new(cause, ""));
        let mut ending = ProcessEnd {
            stopped,
            ..ProcessEnd::default()
        };
        noted(on_violation, 1).judge_end(&mut ending);
        assert_eq!(ending.violations.len(), 1);
        ending.stopped.map(|stopped| stopped.cause)
    }

    #[test]
    fn a_violation_outweighs_a_cancelled_run_and_no_other_reason() {
        let denied = Some(Cause::PermissionDenied);
        assert_eq!(judged(OnViolation::Stop, None), denied);
        assert_eq!(
            judged(OnViolation::Stop, Some(Cause::CancelledByClient)),
            denied
        );
        let timeout = Some(Cause::TimeoutTotal);
        assert_eq!(judged(OnViolation::Stop, timeout.clone()), timeout);
        assert_eq!(judged(OnViolation::Report, None), None);
        let cancelled = Some(Cause::CancelledByClient);
        assert_eq!(judged(OnViolation::Report, cancelled.clone()), cancelled);
    }

    #[test]
    fn the_number_of_kept_violations_is_limited() {
        let mut ending = ProcessEnd::default();
        noted(OnViolation::Report, MOST_KEPT + 9).judge_end(&mut ending);
        assert_eq!(ending.violations.len(), MOST_KEPT);
    }
}
