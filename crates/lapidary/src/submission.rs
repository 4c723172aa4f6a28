//! The MCP server with the tool `submit_result`, by which an agent hands over an answer that fits the output schema.

use std::path::Path;
use std::sync::Arc;

use lapidary_engine::output_schema::{
    RESULT_SERVER, SUBMIT_RESULT, SubmissionInbox, SubmissionTool,
};
use lapidary_native::mcp_server::{CallAnswer, McpServer, ServerTool, ToolEffect};
use tokio_util::sync::CancellationToken;

const DESCRIPTION: &str = "Hands over the result of your work. Call it once, when you are done. If the answer is an error, call it again \
    with the whole result, corrected.";

/// The tool for agents that start `program`.
pub(crate) fn submission_tool(program: &Path) -> SubmissionTool {
    SubmissionTool::new(program, |stream, inbox| {
        Box::pin(async move {
            let (reads, writes) = tokio::io::split(stream);
            // The run drops this future when it is over.
            let served = result_server(&inbox).serve(reads, writes, CancellationToken::new());
            served.await;
        })
    })
}

/// The server for one client. The tool says that it only reads: nothing but the run's own result changes.
fn result_server(inbox: &Arc<SubmissionInbox>) -> McpServer {
    let schema = inbox.input_schema();
    let inbox = Arc::clone(inbox);
    let submit = ServerTool::new(
        SUBMIT_RESULT,
        DESCRIPTION,
        schema,
        ToolEffect::Reads,
        move |call| {
            let inbox = Arc::clone(&inbox);
            async move {
                match inbox.submit(&call.written_arguments) {
                    Ok(()) => CallAnswer::from_text("The result is handed over."),
                    Err(correction) => CallAnswer::from_error(correction),
                }
            }
        },
    );
    McpServer::new(RESULT_SERVER).tool(submit.checked_by_function())
}
