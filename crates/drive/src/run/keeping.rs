//! Sessions are kept safe off the thread that the run goes by: there may be many of them, and large ones.

use std::time::Duration;

use lapidary_normalize::{Ending, Stopped};
use lapidary_vocab::Cause;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::course::Effort;
use super::request::Request;
use super::translate::Batch;
use crate::safekeeping::{Kept, Safekeeping};

/// How long it may take before the reader is told what takes so long.
const UNNOTICED: Duration = Duration::from_millis(500);

/// Sees to it that the agent destroys no sessions. An ending means that it must not start.
pub(super) async fn kept_safe(
    request: &Request,
    effort: &mut impl Effort,
    batches: &mpsc::Sender<Batch>,
) -> Result<Option<Kept>, Box<Ending>> {
    let Some(safekeeping) = request.safekeeping.clone() else {
        return Ok(None);
    };
    let keeping = safekeeping.clone();
    let task = spawn_blocking(move || keeping.before());
    match patiently(task, &safekeeping, "first", effort, batches).await {
        Ok(Ok(kept)) => {
            say(kept.notices.clone(), effort, batches).await;
            Ok(Some(kept))
        }
        Ok(Err(why)) | Err(why) => Err(Box::new(refusal(&why))),
    }
}

/// Puts back what the agent has destroyed, and says so.
pub(super) async fn put_back(
    kept: Option<Kept>,
    effort: &mut impl Effort,
    request: &Request,
    batches: &mpsc::Sender<Batch>,
) {
    let (Some(kept), Some(safekeeping)) = (kept, &request.safekeeping) else {
        return;
    };
    let task = spawn_blocking(move || kept.after());
    let notices = patiently(task, safekeeping, "again", effort, batches).await;
    let notices = notices.unwrap_or_else(|why| {
        vec![format!(
            "sessions could not be checked after the run: {why}"
        )]
    });
    say(notices, effort, batches).await;
}

/// Waits for work on sessions, and says so if that takes long.
async fn patiently<T>(
    mut task: JoinHandle<T>,
    safekeeping: &Safekeeping,
    when: &str,
    effort: &mut impl Effort,
    batches: &mpsc::Sender<Batch>,
) -> Result<T, String> {
    let done = if let Ok(done) = timeout(UNNOTICED, &mut task).await {
        done
    } else {
        let safekeeping = safekeeping.clone();
        let count = spawn_blocking(move || safekeeping.count()).await;
        let count = count.unwrap_or_default();
        let plural = if count == 1 { "" } else { "s" };
        let notice = format!("looking after {count} session{plural} {when}");
        say(vec![notice], effort, batches).await;
        task.await
    };
    done.map_err(|error| error.to_string())
}

async fn say(notices: Vec<String>, effort: &mut impl Effort, batches: &mpsc::Sender<Batch>) {
    let mut batch = Batch::default();
    for notice in notices {
        effort.notice(notice, &mut batch.events);
    }
    if !batch.events.is_empty() {
        let _ = batches.send(batch).await;
    }
}

fn refusal(why: &str) -> Ending {
    let stopped = Stopped {
        cause: Cause::Internal,
        message: format!("the session cannot be kept safe while it is continued: {why}"),
        hint: Some(
            "the vault needs a directory that can be written and has room; `--no-vault` goes on without protection"
                .to_owned(),
        ),
    };
    Ending {
        stopped: Some(stopped),
        ..Ending::default()
    }
}
