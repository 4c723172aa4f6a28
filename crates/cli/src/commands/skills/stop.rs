//! Ctrl-C and its like while skills come: what was fetched goes away before we do.

use anyhow::anyhow;
use tokio_util::sync::CancellationToken;

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::system::{Interruptions, on_interruptions};

/// Heard from the moment it is made, on a thread of its own: the main one may be waiting for an answer.
pub(super) struct StopListener {
    token: CancellationToken,
}

impl StopListener {
    pub(super) fn listen() -> Self {
        let token = CancellationToken::new();
        let heard = token.clone();
        // Without it signals do what they always do, and the next who installs clears away what is left.
        let _ = on_interruptions(async move |interruptions| obey(interruptions, &heard).await);
        Self { token }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Goes no further if somebody wants that.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.is_wanted() {
            return Err(cancelled());
        }
        Ok(())
    }
}

/// What is said when nothing was done because somebody wanted us to end.
pub(super) fn cancelled() -> Failure {
    let mut failure = Failure::bad_input(anyhow!("cancelled: nothing was changed"));
    failure.exit = CommandExit::Cancelled;
    failure
}

/// The first one stops what can be stopped, the second one ends us as we stand.
#[expect(clippy::exit, reason = "somebody cannot wait for the main thread")]
async fn obey(mut interruptions: Interruptions, heard: &CancellationToken) {
    interruptions.next().await;
    heard.cancel();
    interruptions.next().await;
    std::process::exit(CommandExit::Cancelled.code().into());
}
