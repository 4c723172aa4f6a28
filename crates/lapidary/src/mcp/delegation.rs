//! `delegate` and its companions: any agent on a task, within a budget, under rules that are never wider than the server's.
//!
//! A run outlives the call that started it: the call waits a while, and later calls ask for the result by the run's id. Every run ends
//! with the server.

mod request;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use lapidary_engine::agents::KNOWN;
use lapidary_native::mcp_server::{CallAnswer, McpServer, ServerCall, ServerTool};
use serde_json::{Value, json};

use self::runs::DelegatedRun;
use super::safe_text::one_line;
use super::{McpContext, acting_tool, arguments_schema};
use crate::demo::DEMO;

pub(super) use self::runs::DelegatedRuns;

/// The longest wait of a call. Many clients give up on a call after a minute.
const LONGEST_WAIT: u64 = 50;

/// Adds the tools to a server, and the end of every delegated run to its end.
pub(super) fn add_tools(server: McpServer, context: &Arc<McpContext>) -> McpServer {
    let ended = Arc::clone(context);
    server
        .tool(delegate(context))
        .tool(delegate_status(context))
        .tool(delegate_result(context))
        .tool(delegate_cancel(context))
        .at_end(move || {
            let context = Arc::clone(&ended);
            async move { context.delegated.end_all().await }
        })
}

fn delegate(context: &Arc<McpContext>) -> ServerTool {
    let known: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
    let agents = format!(
        "The agent: {}, {DEMO}, or a name of the user's own",
        known.join(", ")
    );
    let properties = json!({
        "prompt": {"type": "string", "minLength": 1, "description": "The task, with everything that the agent needs to know: it does not see this conversation"},
        "agent": {"type": "string", "minLength": 1, "maxLength": 200, "description": agents},
        "cwd": {"type": "string", "maxLength": 4096, "description": "The directory to work in, inside the workspace; the workspace without it"},
        "schema": {"type": "object", "description": "A JSON Schema that the answer must fit: the result then has it as `data`"},
        "budget": request::budget_schema(),
        "wait_s": wait_schema(),
    });
    acting_tool(
        context,
        "delegate",
        "Runs any coding agent on a task, under the rules that the user set for this server, and returns its answer. If the agent \
         needs longer than `wait_s`, the answer has the id of the run, for `delegate_result`.",
        arguments_schema(&properties, &["prompt", "agent", "budget"]),
        |context, call| async move {
            match start_run(context, &call).await {
                Ok(run) => wait_for_answer(&run, &call, OnCancel::StopRun).await,
                Err(message) => CallAnswer::from_error(message),
            }
        },
    )
}

fn delegate_status(context: &Arc<McpContext>) -> ServerTool {
    let properties = json!({"run": run_schema("The id of a run; all of them without it")});
    acting_tool(
        context,
        "delegate_status",
        "Says which delegated runs there are, whether each still runs, and what it does.",
        arguments_schema(&properties, &[]),
        |context, call| async move {
            let found = match call.text("run") {
                Some(id) => context.delegated.find(id).map(|run| vec![run]),
                None => Ok(context.delegated.all()),
            };
            match found {
                Ok(runs) => {
                    let runs: Vec<_> = runs.iter().map(|run| run.status()).collect();
                    CallAnswer::from_text(json!({ "runs": runs }).to_string())
                }
                Err(message) => CallAnswer::from_error(message),
            }
        },
    )
}

fn delegate_result(context: &Arc<McpContext>) -> ServerTool {
    let properties = json!({"run": run_schema("The id of a run"), "wait_s": wait_schema()});
    acting_tool(
        context,
        "delegate_result",
        "Waits for the end of a delegated run and returns its answer.",
        arguments_schema(&properties, &["run"]),
        |context, call| async move {
            match context.delegated.find(call.text("run").unwrap_or_default()) {
                Ok(run) => wait_for_answer(&run, &call, OnCancel::EndWait).await,
                Err(message) => CallAnswer::from_error(message),
            }
        },
    )
}

fn delegate_cancel(context: &Arc<McpContext>) -> ServerTool {
    let properties = json!({"run": run_schema("The id of a run")});
    acting_tool(
        context,
        "delegate_cancel",
        "Ends a delegated run and every process that it started, and returns how it ended.",
        arguments_schema(&properties, &["run"]),
        |context, call| async move {
            match context.delegated.find(call.text("run").unwrap_or_default()) {
                Ok(run) => {
                    run.stop();
                    run.wait_for_end(Duration::from_secs(LONGEST_WAIT), &call)
                        .await;
                    CallAnswer::from_text(run.answer_members().to_string())
                }
                Err(message) => CallAnswer::from_error(message),
            }
        },
    )
}

/// Starts the run of a call, on a thread of its own: files are read, and the agent's program is looked for.
async fn start_run(
    context: Arc<McpContext>,
    call: &ServerCall,
) -> Result<Arc<DelegatedRun>, String> {
    let arguments = call.arguments.clone();
    let started = tokio::task::spawn_blocking(move || {
        let job = request::job_of_call(&context, &arguments)?;
        context.delegated.start(&job)
    });
    let started = started.await;
    started.unwrap_or_else(|_| Err("a mistake in Lapidary ended the call".to_owned()))
}

fn run_schema(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 200, "description": description})
}

fn wait_schema() -> Value {
    let description =
        format!("How many seconds to wait for the end of the run; {LONGEST_WAIT} without it");
    json!({"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "description": description})
}

/// The effect of a cancelled call on the run that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnCancel {
    /// The call started the run, so the run ends.
    StopRun,
    /// Only the wait ends.
    EndWait,
}

/// Waits for the end of a run for as long as the call wants, and answers with the result or with the next step.
async fn wait_for_answer(run: &DelegatedRun, call: &ServerCall, cancel: OnCancel) -> CallAnswer {
    let wait = call.arguments.get("wait_s").and_then(Value::as_u64);
    let wait = Duration::from_secs(wait.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT));
    run.wait_for_end(wait, call).await;
    if call.cancelled.is_cancelled() && cancel == OnCancel::StopRun {
        run.stop();
        run.ended().await;
    }
    run.answer()
}

/// The message about a run that this server does not have.
fn unknown_run(id: &str) -> String {
    format!(
        "there is no delegated run `{}`: `delegate_status` lists them",
        one_line(id)
    )
}
