//! One call, from its start to its answer.

use std::sync::Arc;

use lapidary_rpc::{RequestResponder, RpcError};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::CANCELLED_CALLS;
use super::tool::{ServerCall, ServerTool};

/// A call whose arguments are valid.
pub(super) struct CallRequest {
    pub(super) tool: Arc<ServerTool>,
    pub(super) call: ServerCall,
    pub(super) respond: RequestResponder,
    /// Cancelled when the server ends.
    pub(super) ending: CancellationToken,
}

/// Carries a call out and answers it. A tool that panics drops the responder, which is an answer.
pub(super) async fn carry_out(request: CallRequest) {
    let CallRequest {
        tool,
        call,
        respond,
        ending,
    } = request;
    let (cancelled, progress) = (call.cancelled.clone(), call.progress.clone());
    let mut work = tool.start_call(call);
    // All three go on where they were.
    let answer = tokio::select! {
        biased;
        answer = &mut work => Some(answer),
        () = respond.cancelled() => None,
        () = ending.cancelled() => None,
    };
    if answer.is_none() {
        cancelled.cancel();
        let _ = timeout(CANCELLED_CALLS, work).await; // one that does not end is dropped
    }
    progress.stop_reporting();
    match answer {
        Some(answer) => respond.answer(&answer.to_json()),
        // The protocol lets the server keep silent. Clients ignore an answer that came too late, and one that waits knows the end.
        None => respond.refuse(&RpcError::new(
            RpcError::CANCELLED,
            "the call was cancelled",
        )),
    }
}
