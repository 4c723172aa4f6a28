//! The end of a server: steps that end work which outlives its calls.

use std::fmt;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::CANCELLED_CALLS;
use crate::tool::BoxFuture;

/// The function behind a step.
type StepFunction = dyn Fn() -> BoxFuture<'static, ()> + Send + Sync;

/// A step at the end of a server.
#[derive(Clone)]
pub(super) struct ClosingStep(Arc<StepFunction>);

impl ClosingStep {
    pub(super) fn new<F, A>(step: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(step())))
    }
}

impl fmt::Debug for ClosingStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClosingStep")
    }
}

/// Runs all steps at the same time. One that takes too long is dropped.
pub(super) async fn run_steps(steps: Vec<ClosingStep>) {
    let mut running = JoinSet::new();
    for step in steps {
        running.spawn((step.0)());
    }
    let finished = async { while running.join_next().await.is_some() {} };
    let _ = timeout(CANCELLED_CALLS, finished).await;
    running.shutdown().await;
}
