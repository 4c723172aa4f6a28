//! Ctrl-C and termination signals. A thread of its own handles them: a reader of our output may block the main thread.

use std::sync::Arc;
use std::time::Duration;

use lapidary::engine::run::StopHandle;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::exit::CommandExit;
use crate::invocation::Invocation;
use crate::system::Interruptions;

/// How long we wait after the kill before we exit although a reader blocks our output.
const PATIENCE: Duration = Duration::from_secs(2);

/// A run that has not begun this long after the first signal waits for a prompt that may never come.
const BEGINNING: Duration = Duration::from_secs(1);

/// Listens for signals from its creation on, even before the run begins.
pub(in crate::commands) struct SignalListener {
    begun: watch::Sender<Option<StopHandle>>,
    /// How many signals have come.
    heard: watch::Receiver<u32>,
}

impl SignalListener {
    /// Registers with the system, on this thread: once this returns, no signal is lost.
    pub(in crate::commands) fn register_signals(invocation: &Arc<Invocation>) -> Self {
        let (begun, beginning) = watch::channel(None);
        let (sender, heard) = watch::channel(0);
        // Without it signals have their default effect, and the supervisor cleans up.
        let called = invocation.clone();
        let _ = invocation.on_interruptions(async move |interruptions| {
            obey_signals(interruptions, beginning, &sender, &called).await;
        });
        Self { begun, heard }
    }

    /// Names the run to stop. The receiver has the number of signals.
    pub(in crate::commands) fn stop_run_with(self, stopper: StopHandle) -> watch::Receiver<u32> {
        self.begun.send_replace(Some(stopper));
        self.heard
    }
}

/// The first one cancels, the second one kills.
async fn obey_signals(
    mut interruptions: Interruptions,
    mut beginning: watch::Receiver<Option<StopHandle>>,
    heard: &watch::Sender<u32>,
    invocation: &Invocation,
) {
    interruptions.next().await;
    heard.send_replace(1);
    let stopper = tokio::select! {
        stopper = wait_for_run(&mut beginning) => stopper,
        () = interruptions.next() => exit_process(invocation, "cancelled before it began"),
        () = sleep(BEGINNING) => exit_process(invocation, "cancelled before it began"),
    };
    stopper.cancel();
    interruptions.next().await;
    heard.send_replace(2);
    stopper.kill();
    // The agent is dead by then. If we are still here, a reader that does not read blocks us.
    tokio::select! {
        () = interruptions.next() => {}
        () = sleep(PATIENCE) => {}
    }
    exit_process(invocation, "stdout was closed; stopping");
}

async fn wait_for_run(beginning: &mut watch::Receiver<Option<StopHandle>>) -> StopHandle {
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
fn exit_process(invocation: &Invocation, why: &str) -> ! {
    invocation.print_message(&format!("error: {why}"));
    std::process::exit(CommandExit::Cancelled.exit_code().into());
}
