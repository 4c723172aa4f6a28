//! The end of an attempt, as the store gets it.

use lapidary::vocab::event::RunEnd;
use lapidary::vocab::{Cause, Outcome};
use serde::Serialize;

use super::upload::UploadedRun;
use crate::AttemptUsage;
use crate::workspace::{CollectedChanges, PushReport};

/// The end of an attempt.
#[derive(Debug)]
pub(crate) struct AttemptReport {
    pub(crate) outcome: Outcome,
    pub(crate) cause: Cause,
    /// Whether its log shows a side effect that another attempt would repeat.
    pub(crate) touched: bool,
    pub(crate) result: Option<Vec<u8>>,
    pub(crate) usage: AttemptUsage,
    pub(crate) evidence: AttemptEvidence,
    /// Whether the store has all events.
    pub(crate) has_log: bool,
    /// Whether the store has all that the attempt left.
    pub(crate) is_complete: bool,
}

/// The evidence for the cause, for people and programs.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttemptEvidence {
    /// The worker's name.
    pub(crate) worker: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<String>,
    /// The commit that the agent began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<String>,
    /// How many files it changed, and how many commits it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_files: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commits: Option<u64>,
    /// Parts of the workspace that the patch lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) push: Option<PushReport>,
}

impl AttemptReport {
    /// An attempt that ended before its agent started.
    pub(crate) fn not_started(cause: Cause, message: String, hint: Option<&str>) -> Self {
        Self {
            outcome: cause.outcome(),
            cause,
            touched: false,
            result: None,
            usage: AttemptUsage::default(),
            evidence: AttemptEvidence {
                message: Some(message),
                hint: hint.map(str::to_owned),
                ..AttemptEvidence::default()
            },
            has_log: true,
            is_complete: true,
        }
    }

    /// An attempt whose run came to its end.
    pub(crate) fn from_run(run: UploadedRun) -> Self {
        let end = run.end.unwrap_or_else(broken_off);
        Self {
            outcome: end.outcome,
            cause: end.cause,
            touched: run.touched,
            result: serde_json::to_vec(&run.result).ok(),
            usage: run.usage,
            evidence: AttemptEvidence {
                message: end.message.map(|it| it.to_string()),
                hint: end.hint,
                evidence: end.evidence,
                ..AttemptEvidence::default()
            },
            has_log: run.is_complete,
            is_complete: run.is_complete,
        }
    }

    /// Adds the changes in the workspace.
    pub(crate) fn note_changes(&mut self, changes: &CollectedChanges, push: Option<PushReport>) {
        let evidence = &mut self.evidence;
        evidence.base = Some(changes.base.clone());
        evidence.changed_files = Some(changes.files.len());
        evidence.commits = Some(changes.commits);
        evidence.left_out.extend(changes.left_out.iter().cloned());
        evidence.push = push;
    }

    /// Adds a part of the workspace that the store lacks.
    pub(crate) fn note_left_out(&mut self, what: String) {
        self.is_complete = false;
        self.evidence.left_out.push(what);
    }
}

/// The end of a run whose thread ended without a `run_end`, which is a bug of ours.
fn broken_off() -> RunEnd {
    let cause = Cause::Internal;
    RunEnd {
        outcome: cause.outcome(),
        exit_code: cause.exit_code(),
        cause,
        agent_exit_code: None,
        signal: None,
        duration_ms: None,
        message: Some("the run ended without its end".into()),
        evidence: Vec::new(),
        hint: None,
        warnings: Vec::new(),
        violations: Vec::new(),
        answer: None,
    }
}
