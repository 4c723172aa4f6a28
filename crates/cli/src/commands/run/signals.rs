//! Ctrl-C and its like. They are heard on a thread of their own: the main one may be held up by whoever reads our output.

use std::time::Duration;

use lapidary::drive::run::Stopper;
use tokio::sync::watch;

use crate::exit::Exit;
use crate::printer::complain;
use crate::system::Interruptions;

/// When nobody reads our output any more, the run is ended this long after it was to be killed.
const PATIENCE: Duration = Duration::from_secs(15);

/// Listens. The number tells how often somebody wanted it to end.
pub(in crate::commands) fn listen(stopper: Stopper) -> watch::Receiver<u32> {
    let (sender, heard) = watch::channel(0);
    let body = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        if let Ok(runtime) = runtime {
            runtime.block_on(obey(&stopper, &sender));
        }
    };
    // Without it signals do what they always do, and the supervisor cleans up.
    let _ = std::thread::Builder::new()
        .name("lapidary-signals".to_owned())
        .spawn(body);
    heard
}

async fn obey(stopper: &Stopper, heard: &watch::Sender<u32>) {
    let Ok(mut interruptions) = Interruptions::listen() else {
        return;
    };
    loop {
        interruptions.next().await;
        heard.send_modify(|count| *count += 1);
        match *heard.borrow() {
            1 => stopper.cancel(),
            2 => {
                stopper.kill();
                tokio::spawn(leave());
            }
            _ => {}
        }
    }
}

/// The agent is dead by now. If we are still here, we are stuck on a reader who does not read.
async fn leave() {
    tokio::time::sleep(PATIENCE).await;
    complain("error: nobody reads the output: giving up");
    #[expect(
        clippy::exit,
        reason = "the main thread hangs in a write that may never end"
    )]
    std::process::exit(Exit::Cancelled as i32);
}
