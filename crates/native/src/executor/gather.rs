//! Futures that run together in one task.

use std::future::poll_fn;
use std::task::Poll;

use crate::tool::BoxFuture;

/// Futures that run together, and the outputs of the finished ones. A plain future: no task of its own.
pub(super) struct Gather<'a, T> {
    running: Vec<Option<BoxFuture<'a, T>>>,
    outputs: Vec<Option<T>>,
}

impl<'a, T> Gather<'a, T> {
    pub(super) fn new(futures: impl IntoIterator<Item = BoxFuture<'a, T>>) -> Self {
        let running: Vec<_> = futures.into_iter().map(Some).collect();
        Self {
            outputs: running.iter().map(|_| None).collect(),
            running,
        }
    }

    /// Runs all to their ends. Can be cancelled, and called again.
    pub(super) async fn run_all(&mut self) {
        poll_fn(|context| {
            let mut is_done = true;
            for (future, output) in self.running.iter_mut().zip(&mut self.outputs) {
                let Some(running) = future else { continue };
                match running.as_mut().poll(context) {
                    Poll::Ready(done) => {
                        *output = Some(done);
                        *future = None;
                    }
                    Poll::Pending => is_done = false,
                }
            }
            if is_done {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// The outputs in the order of the futures; none for a future that is not done, which ends here.
    pub(super) fn into_outputs(self) -> Vec<Option<T>> {
        self.outputs
    }
}
