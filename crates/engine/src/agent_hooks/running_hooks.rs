//! Running hooks. A caller that drops the answer ends the hook; its result is reported all the same.

use lapidary_gemini::hooks::HookPlan;
use lapidary_wire::gemini::hooks::HookInput;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::hooks::{HookContext, HookResults, fire};
use crate::process::CapturedOutput;

/// The hooks that run.
#[derive(Debug, Default)]
pub(super) struct RunningHooks {
    /// No answers are wanted any more.
    over: CancellationToken,
    /// How many plans are under way: as many as there are receivers.
    plans: watch::Sender<()>,
}

impl RunningHooks {
    /// Runs a plan, and reports its results. Dropping this future ends the hooks.
    pub(super) async fn fire_plan(
        &self,
        plan: HookPlan,
        input: HookInput,
        around: HookContext,
        tell: impl FnOnce(&HookResults) + Send + 'static,
    ) -> HookResults {
        let ends = self.over.child_token();
        let _unless_heard = ends.clone().drop_guard();
        let is_under_way = self.plans.subscribe();
        // On its own: it has to go on for a moment once it was ended. `end` waits for it.
        let plan_runs = tokio::spawn(async move {
            let mut fired = fire(&plan, input, &around, &ends).await;
            tell(&fired);
            for ran in &mut fired.runs {
                (ran.stdout, ran.stderr) = (CapturedOutput::default(), CapturedOutput::default()); // it was read, and may be much
            }
            drop(is_under_way);
            fired
        });
        match plan_runs
            .await
            .map_err(tokio::task::JoinError::try_into_panic)
        {
            Ok(fired) => fired,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => std::future::pending().await, // everything ends
        }
    }

    /// Whether no answers are wanted any more. Then silence is no yes.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Ends all of them, and waits until that is reported. It takes no longer than it takes to kill them.
    pub(super) async fn end_all(&self) {
        self.over.cancel();
        self.plans.closed().await;
    }
}
