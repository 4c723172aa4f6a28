//! Ctrl-C and its like while skills come: what was fetched goes away before we do.

use std::io;

use anyhow::anyhow;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::system::Interruptions;

/// Heard from the moment it is made, on a thread of its own: the main one may be waiting for an answer.
pub(super) struct Stop {
    token: CancellationToken,
}

impl Stop {
    pub(super) fn listen() -> Self {
        let token = CancellationToken::new();
        // Without it signals do what they always do, and the next who installs clears away what is left.
        if let Ok((runtime, interruptions)) = registered() {
            let heard = token.clone();
            let _ = std::thread::Builder::new()
                .name("lapidary-signals".to_owned())
                .spawn(move || runtime.block_on(obey(interruptions, &heard)));
        }
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
    failure.exit = Exit::Cancelled;
    failure
}

fn registered() -> io::Result<(Runtime, Interruptions)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let interruptions = {
        let _inside = runtime.enter();
        Interruptions::listen()?
    };
    Ok((runtime, interruptions))
}

/// The first one stops what can be stopped, the second one ends us as we stand.
#[expect(clippy::exit, reason = "somebody cannot wait for the main thread")]
async fn obey(mut interruptions: Interruptions, heard: &CancellationToken) {
    interruptions.next().await;
    heard.cancel();
    interruptions.next().await;
    std::process::exit(Exit::Cancelled as i32);
}
