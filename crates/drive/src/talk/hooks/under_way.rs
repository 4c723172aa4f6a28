//! Hooks that are under way. None of them ends without a word: whoever does not want an answer any more ends the hook, and what became
//! of it is told all the same.

use lapidary_gemini::hooks::Plan;
use lapidary_wire::gemini::hooks::Input;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::hooks::{Fired, Surroundings, fire};
use crate::process::Kept;

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// Nobody wants any answers any more.
    over: CancellationToken,
    /// How many plans are under way: as many as there are receivers.
    plans: watch::Sender<()>,
}

impl UnderWay {
    /// Fires a plan, and has it told what became of it. Dropping this ends the hooks.
    pub(super) async fn fire(
        &self,
        plan: Plan,
        input: Input,
        around: Surroundings,
        tell: impl FnOnce(&Fired) + Send + 'static,
    ) -> Fired {
        let ends = self.over.child_token();
        let _unless_heard = ends.clone().drop_guard();
        let is_under_way = self.plans.subscribe();
        // On its own: it has to go on for a moment once it was ended. `end` waits for it.
        let firing = tokio::spawn(async move {
            let mut fired = fire(&plan, input, &around, &ends).await;
            tell(&fired);
            for ran in &mut fired.runs {
                (ran.stdout, ran.stderr) = (Kept::default(), Kept::default()); // it was read, and may be much
            }
            drop(is_under_way);
            fired
        });
        match firing.await.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(fired) => fired,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => std::future::pending().await, // everything ends
        }
    }

    /// Whether nobody wants answers any more. Then silence is no yes.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Ends all of them, and waits until that is told. It takes no longer than it takes to kill them.
    pub(super) async fn end(&self) {
        self.over.cancel();
        self.plans.closed().await;
    }
}
