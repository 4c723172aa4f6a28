//! Sessions are kept safe off the thread that the run goes by: there may be many of them, and large ones.

use std::time::Duration;

use lapidary_normalize::{ProcessEnd, StopCause};
use lapidary_vocab::Cause;
use lapidary_vocab::event::DiagnosticKind;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use super::attempt_runner::{AttemptRunner, waits_out};
use super::ending::cancelled_by_client;
use super::request::RunRequest;
use super::stop_conditions::instant_after;
use super::translate::EventBatch;
use crate::process::stop::StopLevel;
use crate::session_guard::{ClaimOutcome, GuardReport, GuardedSessions, SessionGuard};

/// How long work on sessions may take before a notice tells the reader.
const UNNOTICED: Duration = Duration::from_millis(500);

/// How long to wait for another run that continues the same session, where there is no start timeout.
const CLAIM_PATIENCE: Duration = Duration::from_mins(1);

/// How often it is looked whether that run is over.
const CLAIM_STEP: Duration = Duration::from_millis(100);

/// Sees to it that the agent destroys no sessions. An ending means that it must not start.
pub(super) async fn kept_safe<E: AttemptRunner>(
    request: &RunRequest,
    effort: &mut E,
    stops: &watch::Receiver<StopLevel>,
    batches: &mpsc::Sender<EventBatch>,
) -> Result<Option<GuardedSessions>, Box<ProcessEnd>> {
    let Some(safekeeping) = request.safekeeping.clone() else {
        return Ok(None);
    };
    claim_sessions(&safekeeping, request, effort, stops, batches).await?;
    let keeping = safekeeping.clone();
    let task = spawn_blocking(move || keeping.before());
    match wait_with_notice(task, &safekeeping, "first", effort, batches).await {
        Ok(Ok(kept)) => {
            send_notices(kept.notices.clone(), effort, batches).await;
            Ok(Some(kept))
        }
        Ok(Err(why)) | Err(why) => Err(Box::new(refusal_end(&why))),
    }
}

/// Claims the session that is resumed, and waits for a run that continues it, but not for ever.
async fn claim_sessions<E: AttemptRunner>(
    safekeeping: &SessionGuard,
    request: &RunRequest,
    effort: &mut E,
    stops: &watch::Receiver<StopLevel>,
    batches: &mpsc::Sender<EventBatch>,
) -> Result<(), Box<ProcessEnd>> {
    let patience = request.timeouts.start.unwrap_or(CLAIM_PATIENCE);
    let latest = instant_after(Instant::now(), patience);
    let mut is_noted = false;
    loop {
        let sentence = match safekeeping.claim() {
            Ok(ClaimOutcome::Claimed) => return Ok(()),
            Ok(ClaimOutcome::Taken(sentence)) => sentence,
            Err(why) => return Err(Box::new(refusal_end(&why))),
        };
        if Instant::now() >= latest {
            return Err(Box::new(taken_sessions_end(&sentence, patience)));
        }
        if !is_noted {
            let seconds = patience.as_secs_f64();
            let notice = format!("{sentence}: waiting for it to end, for up to {seconds} s");
            send_notices(vec![notice], effort, batches).await;
            is_noted = true;
        }
        if waits_out(CLAIM_STEP, stops.clone()).await {
            return Err(Box::new(ProcessEnd {
                stopped: Some(cancelled_by_client()),
                ..ProcessEnd::default()
            }));
        }
    }
}

/// Restores sessions that the agent has destroyed, and reports this. Returns the warnings for the outcome.
pub(super) async fn put_back<E: AttemptRunner>(
    kept: Option<GuardedSessions>,
    effort: &mut E,
    request: &RunRequest,
    batches: &mpsc::Sender<EventBatch>,
) -> Vec<String> {
    let (Some(kept), Some(safekeeping)) = (kept, &request.safekeeping) else {
        return Vec::new();
    };
    let mut warnings = kept.warnings.clone();
    let task = spawn_blocking(move || kept.after());
    let checked = wait_with_notice(task, safekeeping, "again", effort, batches).await;
    let checked = checked.unwrap_or_else(|why| GuardReport::from_failure(&why));
    send_notices(checked.notices, effort, batches).await;
    warnings.extend(checked.warnings);
    warnings
}

/// Waits for work on sessions, with a notice if it takes long.
async fn wait_with_notice<T, E: AttemptRunner>(
    mut task: JoinHandle<T>,
    safekeeping: &SessionGuard,
    when: &str,
    effort: &mut E,
    batches: &mpsc::Sender<EventBatch>,
) -> Result<T, String> {
    let done = if let Ok(done) = timeout(UNNOTICED, &mut task).await {
        done
    } else {
        let safekeeping = safekeeping.clone();
        let count = spawn_blocking(move || safekeeping.count()).await;
        let count = count.unwrap_or_default();
        let plural = if count == 1 { "" } else { "s" };
        let notice = format!("looking after {count} session{plural} {when}");
        send_notices(vec![notice], effort, batches).await;
        task.await
    };
    done.map_err(|error| error.to_string())
}

async fn send_notices<E: AttemptRunner>(
    notices: Vec<String>,
    effort: &mut E,
    batches: &mpsc::Sender<EventBatch>,
) {
    let mut batch = EventBatch::default();
    for notice in notices {
        let kind = DiagnosticKind::Notice;
        effort
            .events()
            .insert_diagnostic(kind, notice, &mut batch.events);
    }
    if !batch.events.is_empty() {
        let _ = batches.send(batch).await;
    }
}

fn taken_sessions_end(sentence: &str, patience: Duration) -> ProcessEnd {
    let seconds = patience.as_secs_f64();
    let message = format!("{sentence}, and has not ended in {seconds} s");
    let hint = "try again when it has ended, or continue another session";
    let stopped = StopCause::new(Cause::TimeoutStart, message).with_hint(hint);
    stopped.into()
}

fn refusal_end(why: &str) -> ProcessEnd {
    let message = format!("the session cannot be kept safe while it is continued: {why}");
    let hint = "the vault needs a directory that can be written and has room; `--no-vault` goes on without protection";
    let stopped = StopCause::new(Cause::Internal, message).with_hint(hint);
    stopped.into()
}
