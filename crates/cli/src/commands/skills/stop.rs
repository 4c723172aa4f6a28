//! Ctrl-C and termination signals during an installation: the fetched files are removed before we exit.

use anyhow::anyhow;
use tokio_util::sync::CancellationToken;

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::system::Interruptions;

/// Heard from the moment it is made, on a thread of its own: the main one may be waiting for an answer.
pub(super) struct StopListener {
    token: CancellationToken,
}

impl StopListener {
    pub(super) fn listen_for_signals(invocation: &Invocation) -> Self {
        let token = CancellationToken::new();
        let heard = token.clone();
        // Without it signals have their default effect, and the next installation removes the leftovers.
        let _ = invocation
            .on_interruptions(async move |interruptions| obey_signals(interruptions, &heard).await);
        Self { token }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(super) fn cancel_token(&self) -> &CancellationToken {
        &self.token
    }

    /// Fails if a signal to end has come.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.is_wanted() {
            return Err(cancelled_failure());
        }
        Ok(())
    }
}

/// The failure after a signal, when nothing was changed.
pub(super) fn cancelled_failure() -> Failure {
    let mut failure = Failure::bad_input(anyhow!("cancelled: nothing was changed"));
    failure.exit = CommandExit::Cancelled;
    failure
}

/// The first signal cancels the work, the second one ends the process at once.
#[expect(clippy::exit, reason = "somebody cannot wait for the main thread")]
async fn obey_signals(mut interruptions: Interruptions, heard: &CancellationToken) {
    interruptions.next().await;
    heard.cancel();
    interruptions.next().await;
    std::process::exit(CommandExit::Cancelled.exit_code().into());
}
