//! The end of a run, derived from the end of its process and our own stop orders.

use std::io;
use std::path::Path;
use std::time::Duration;

use lapidary_normalize::{ProcessEnd, StopCause};
use lapidary_vocab::Cause;
use lapidary_vocab::event::RunEnd;

use crate::process::stop::StopLevel;
use crate::process::{Exit, Lease, StartError, Supervisor, TreeExit};
use crate::recording::{RecordError, RecordedEnd, Recorder};
use crate::signals;

use super::stop_conditions::PassedDeadline;

/// The hint for a recording that cannot be written.
pub(crate) const FREE_SPACE: &str = "free some space, or record elsewhere (--record-dir)";

/// The hint for an agent that writes too much.
pub(crate) const ALLOW_OUTPUT: &str = "`max_output` (--max-output) allows more";

/// Why an attempt came to nothing.
pub(super) enum AttemptError {
    Start(StartError),
    Files(io::Error),
    /// The time of the whole run was over before the agent had started.
    Overdue(Duration),
}

impl From<StartError> for AttemptError {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

impl From<io::Error> for AttemptError {
    fn from(error: io::Error) -> Self {
        Self::Files(error)
    }
}

impl AttemptError {
    pub(crate) fn to_process_end(&self, recorder: &Recorder) -> ProcessEnd {
        match self {
            Self::Start(error) => cannot_start(error),
            Self::Files(error) => {
                let directory = recorder.directory().display();
                let message = format!("cannot record in `{directory}`: {error}");
                not_started(Cause::Internal, message, None)
            }
            Self::Overdue(total) => ProcessEnd {
                stopped: Some(
                    PassedDeadline::Total(*total).into_stop_cause("", "the agent to start"),
                ),
                ..ProcessEnd::default()
            },
        }
    }
}

pub(crate) fn cannot_record(error: &RecordError) -> ProcessEnd {
    let cause = match error {
        RecordError::Write { source, .. } if is_full_disk(source) => Cause::Internal,
        // The caller has named the run or the directory, or can name another.
        RecordError::Name { .. } | RecordError::Exists { .. } | RecordError::Write { .. } => {
            Cause::BadInput
        }
    };
    let hint = "record elsewhere (--record-dir), or keep no recording (--no-record)";
    not_started(cause, with_sources(error), Some(hint))
}

fn is_full_disk(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn cannot_start(error: &StartError) -> ProcessEnd {
    let hint = match error {
        StartError::Supervisor { source, .. } if is_lost(source) => {
            Some("if that is your program, call `lapidary::supervise_if_asked` first in its `main`")
        }
        _ => None,
    };
    not_started(start_cause(error), with_sources(error), hint)
}

/// A program that does not supervise ends with or without reading its order, or runs on without a report.
fn is_lost(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionReset | TimedOut | UnexpectedEof
    )
}

pub(crate) fn start_cause(error: &StartError) -> Cause {
    match error {
        StartError::Missing { .. } => Cause::AgentMissing,
        StartError::Directory { .. } => Cause::BadInput,
        StartError::Spawn { .. } => Cause::SpawnFailed,
        StartError::Confinement { .. } => Cause::Sandbox,
        StartError::LeaseOver { .. } => Cause::LeaseLost,
        // It was waited for no longer than the agent's start may take.
        StartError::Supervisor { source, .. } if source.kind() == io::ErrorKind::TimedOut => {
            Cause::TimeoutStart
        }
        StartError::Supervisor { .. } | StartError::NotASupervisor { .. } => Cause::Internal,
    }
}

fn not_started(cause: Cause, message: String, hint: Option<&str>) -> ProcessEnd {
    let stopped = StopCause::new(cause, message);
    let hint = hint.map(str::to_owned);
    StopCause { hint, ..stopped }.into()
}

/// The error and its causes. Some errors name their cause already.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !message.contains(&words) {
            message = format!("{message}: {words}");
        }
        source = cause.source();
    }
    message
}

pub(crate) fn process_end(ended: TreeExit, stopped: Option<StopCause>) -> ProcessEnd {
    let mut ending = ProcessEnd {
        stopped,
        ..ProcessEnd::default()
    };
    match ended.exit {
        Some(Exit::Code(code)) => ending.exit_code = Some(code),
        Some(Exit::Signal(number)) => ending.signal = Some(signals::name(number)),
        None => {
            let lost = "the supervisor of the agent was lost";
            let lost = StopCause::new(Cause::Internal, lost);
            ending.stopped.get_or_insert(lost);
        }
    }
    ending.remarks = exit_remarks(ended);
    ending
}

fn exit_remarks(ended: TreeExit) -> Vec<String> {
    let count = |many: u32| match many {
        1 => "1 process".to_owned(),
        many => format!("{many} processes"),
    };
    let mut remarks = Vec::new();
    if ended.leftover > 0 {
        remarks.push(format!(
            "{} that it had left running had to be ended",
            count(ended.leftover)
        ));
    }
    if ended.immortal > 0 {
        remarks.push(format!("{} could not be ended", count(ended.immortal)));
    }
    remarks
}

pub(crate) fn recorded_end(
    elapsed: Duration,
    ending: &ProcessEnd,
    judged: Option<&RunEnd>,
) -> RecordedEnd {
    let time = ending.duration.unwrap_or(elapsed);
    let stopped = ending.stopped.as_ref();
    RecordedEnd {
        duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        exit_code: judged.map(|end| end.exit_code.into()),
        agent_exit_code: ending.exit_code,
        signal: ending.signal.clone(),
        outcome: judged.map(|end| end.outcome.clone()),
        cause: judged.map(|end| end.cause.clone()),
        message: stopped.map(|stopped| stopped.message.clone()),
        hint: stopped.and_then(|stopped| stopped.hint.clone()),
        remarks: stopped.map_or_else(Vec::new, |_| ending.remarks.clone()),
        violations: ending.violations.clone(),
        ..RecordedEnd::default()
    }
}

pub(crate) fn disk_full(directory: &Path) -> StopCause {
    let place = directory.display();
    let message = format!("no space is left for the recording in `{place}`");
    StopCause::new(Cause::Internal, message).with_hint(FREE_SPACE)
}

/// The cause of a run that its caller stops.
pub(crate) fn stop_cause_of(urgency: StopLevel) -> StopCause {
    match urgency {
        StopLevel::None | StopLevel::Cancel | StopLevel::Kill => cancelled_by_client(),
        StopLevel::LeaseLost => lease_lost(),
    }
}

/// Names the lease as the cause if the supervisor ended the agent because of it. A reason that came first stays.
pub(crate) fn judge_lease(supervisor: &Supervisor, ending: &mut ProcessEnd) {
    if !supervisor.lease().is_some_and(Lease::is_enforced) {
        return;
    }
    // A supervisor that was killed with the agent reports no exit.
    let is_exit_unknown = ending.exit_code.is_none() && ending.signal.is_none();
    match &ending.stopped {
        Some(stopped) if stopped.cause != Cause::Internal || !is_exit_unknown => {}
        Some(_) | None => ending.stopped = Some(lease_lost()),
    }
}

fn lease_lost() -> StopCause {
    let message = "the lease of the run ended, and the agent was ended with it";
    StopCause::new(Cause::LeaseLost, message)
}

pub(crate) fn cancelled_by_client() -> StopCause {
    StopCause::new(Cause::CancelledByClient, "the run was cancelled")
}
