//! Ctrl-C and its like. They are heard on a thread of their own: the main one may be held up by whoever reads our output.

use std::time::Duration;

use lapidary::engine::run::StopHandle;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::exit::CommandExit;
use crate::printer::complain;
use crate::system::{Interruptions, on_interruptions};

/// When nobody reads our output any more, we leave this long after the run was to be killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// A run that has not begun this long after somebody wanted it to end waits for a prompt that may never come.
const BEGINNING: Duration = Duration::from_secs(1);

/// Whoever wants us to end is heard from the moment it is made, even if what is to be ended has not begun.
pub(in crate::commands) struct SignalListener {
    begun: watch::Sender<Option<StopHandle>>,
    /// How often somebody wanted it to end.
    heard: watch::Receiver<u32>,
}

impl SignalListener {
    /// Registers with the system, on this thread: once this returns, no signal is lost.
    pub(in crate::commands) fn register() -> Self {
        let (begun, beginning) = watch::channel(None);
        let (sender, heard) = watch::channel(0);
        // Without it signals do what they always do, and the supervisor cleans up.
        let _ = on_interruptions(async move |interruptions| {
            obey(interruptions, beginning, &sender).await;
        });
        Self { begun, heard }
    }

    /// Says what is to be ended. The number tells how often somebody wanted that.
    pub(in crate::commands) fn ends(self, stopper: StopHandle) -> watch::Receiver<u32> {
        self.begun.send_replace(Some(stopper));
        self.heard
    }
}

/// The first one cancels, the second one kills.
async fn obey(
    mut interruptions: Interruptions,
    mut beginning: watch::Receiver<Option<StopHandle>>,
    heard: &watch::Sender<u32>,
) {
    interruptions.next().await;
    heard.send_replace(1);
    let stopper = tokio::select! {
        stopper = begun(&mut beginning) => stopper,
        () = interruptions.next() => leave("cancelled before it began"),
        () = sleep(BEGINNING) => leave("cancelled before it began"),
    };
    stopper.cancel();
    interruptions.next().await;
    heard.send_replace(2);
    stopper.kill();
    // The agent is dead by then. If we are still here, we are stuck on a reader who does not read.
    tokio::select! {
        () = interruptions.next() => {}
        () = sleep(PATIENCE) => {}
    }
    leave("stdout was closed; stopping");
}

async fn begun(beginning: &mut watch::Receiver<Option<StopHandle>>) -> StopHandle {
    let begun = beginning.wait_for(Option::is_some).await;
    let stopper = begun.ok().and_then(|stopper| stopper.clone());
    match stopper {
        Some(stopper) => stopper,
        None => std::future::pending().await, // it will not begin, and we end by ourselves
    }
}

#[expect(
    clippy::exit,
    reason = "the main thread hangs in a read or a write that may never end"
)]
fn leave(why: &str) -> ! {
    complain(&format!("error: {why}"));
    std::process::exit(CommandExit::Cancelled.code().into());
}
