//! The calls of one turn: batches, permission, responses.

use std::sync::Arc;
use std::time::Duration;

use lapidary_gemini::agents::COMPLETE_TASK;
use lapidary_wire::gemini::hooks::HookEvent;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::activity::{ActivityKind, CallEnd, CallStart, ErrorContext, ErrorType};
use super::clock::AgentClock;
use super::gather::Gather;
use super::tool_set::INVOKE_AGENT;
use super::turn_end::{TurnEnd, TurnInterruption};
use super::{AgentRun, RemoteCall};
use crate::chat_log::FinishedCall;
use crate::model::FunctionCall;
use crate::tool::{
    AskScope, BoxFuture, CallPreview, GateAnswer, PreparedCall, Tool, ToolError, ToolOutput,
};

/// How long a cancelled tool may take to end. Afterwards it is dropped.
const TOOL_GRACE: Duration = Duration::from_secs(5);
/// Tools whose calls run alone, in their order.
const ALONE: [&str; 3] = ["replace", "update_topic", "write_file"];
/// The argument by which a model asks that a call runs alone.
const WAIT_FOR_PREVIOUS: &str = "wait_for_previous";
/// The answer to a call that a person or a rule rejected.
pub(crate) const REJECTED: &str = "User rejected this operation. Please acknowledge this, rethink your strategy, and attempt an alternative approach without the rejected operation.";
/// The answer to a call that was cancelled.
const CANCELLED: &str = "Request cancelled.";

/// A call with its id and readable arguments.
#[derive(Debug)]
pub(super) struct ReadyCall {
    pub(super) id: String,
    pub(super) tool: String,
    /// The arguments, or the reason why they are invalid.
    pub(super) arguments: Result<Map<String, Value>, String>,
    runs_alone: bool,
}

/// The result of a call.
#[derive(Debug)]
pub(super) struct CallResult {
    output: ToolOutput,
    /// The result of the task, if the call handed it over.
    completed: Option<Value>,
    /// The task was cancelled while its permission was asked for.
    is_cancelled: bool,
    /// The id of the agent that ran in the call.
    agent_id: Option<String>,
}

impl From<ToolOutput> for CallResult {
    fn from(output: ToolOutput) -> Self {
        Self {
            output,
            completed: None,
            is_cancelled: false,
            agent_id: None,
        }
    }
}

impl AgentRun<'_> {
    /// Makes the calls of a turn. Each has exactly one response, in the order of the calls.
    pub(super) async fn make_calls(
        &self,
        calls: &[FunctionCall],
        clock: &Arc<AgentClock>,
    ) -> (TurnEnd, Vec<FinishedCall>) {
        let prompt_id = format!(
            "{}#{}",
            self.request.agent_id,
            self.prompts.saturating_sub(1)
        );
        let calls = calls.iter().enumerate();
        let calls: Vec<_> = calls
            .map(|(at, call)| ready_call(call, &prompt_id, at))
            .collect();
        let (mut results, mut interrupted) = (Vec::new(), None);
        for batch in call_batches(&calls) {
            let (more, interruption) = match interrupted {
                Some(_) => (batch.iter().map(|_| None).collect(), None),
                None => self.make_together(batch, clock).await,
            };
            results.extend(more);
            interrupted = interrupted.or(interruption);
        }
        let results: Vec<_> = results
            .into_iter()
            .map(|result| {
                result.unwrap_or_else(|| ToolOutput::from_error(cancelled_error()).into())
            })
            .collect();
        let end = self.end_of(&results, interrupted);
        let finished = calls.into_iter().zip(results);
        (
            end,
            finished.map(|(call, it)| call.into_finished(it)).collect(),
        )
    }

    /// The first call that handed over a result decides, not a later one.
    fn end_of(&self, results: &[CallResult], interrupted: Option<TurnInterruption>) -> TurnEnd {
        let completed = results.iter().find_map(|result| result.completed.clone());
        if let Some(completed) = completed {
            return TurnEnd::Completed(completed);
        }
        if results.iter().any(|result| result.is_cancelled) || self.cancelled.is_cancelled() {
            return TurnEnd::Aborted;
        }
        interrupted.map_or(TurnEnd::Continue, TurnEnd::from)
    }

    /// Makes calls at the same time. After an interruption they are cancelled, and have a moment to end.
    async fn make_together(
        &self,
        batch: &[ReadyCall],
        clock: &Arc<AgentClock>,
    ) -> (Vec<Option<CallResult>>, Option<TurnInterruption>) {
        let stop = self.cancelled.child_token();
        let calls = batch.iter().map(|call| -> BoxFuture<'_, _> {
            Box::pin(self.make_call(call, clock, stop.clone()))
        });
        let mut calls = Gather::new(calls);
        let interruption = tokio::select! {
            biased;
            () = calls.run_all() => None,
            interruption = self.wait_for_interruption(clock) => Some(interruption),
        };
        if interruption.is_some() {
            stop.cancel();
            let _ = timeout(TOOL_GRACE, calls.run_all()).await;
        }
        (calls.into_outputs(), interruption)
    }

    async fn make_call(
        &self,
        call: &ReadyCall,
        clock: &Arc<AgentClock>,
        stop: CancellationToken,
    ) -> CallResult {
        let arguments = match &call.arguments {
            Ok(arguments) => arguments,
            Err(message) => {
                self.emit_call_error(call, message, ErrorContext::ToolCall, ErrorType::Generic);
                return failed_result("invalid_tool_params", message.clone());
            }
        };
        match call.tool.as_str() {
            COMPLETE_TASK => {
                self.emit_call_start(call, arguments, None);
                let (completed, output) = self.take_completion(arguments);
                self.emit_call_end(call, &output);
                CallResult {
                    completed,
                    ..output.into()
                }
            }
            INVOKE_AGENT if self.can_invoke_agents() => {
                if let Some(invalid) = self.invalid_invocation(arguments) {
                    self.emit_call_start(call, arguments, None);
                    return self.end_call(call, ToolOutput::from_error(invalid));
                }
                if let Some(remote) = self.remote_of(arguments) {
                    return self
                        .make_remote(call, arguments, &remote, clock, stop)
                        .await;
                }
                let preview = self.judged_preview(&super::invoke::invocation_preview(arguments));
                self.emit_call_start(call, arguments, Some(preview.clone()));
                match self.rejected_result(call, &preview, clock, &stop).await {
                    Some(rejected) => rejected,
                    None => self.make_invocation(call, arguments, clock, &stop).await,
                }
            }
            tool => match self.callable_tool(tool) {
                None => {
                    self.emit_call_start(call, arguments, None);
                    let message =
                        format!("Unauthorized tool call: '{tool}' is not available to this agent.");
                    let context = ErrorContext::ToolCallUnauthorized;
                    self.emit_call_error(call, &message, context, ErrorType::Generic);
                    failed_result("tool_not_registered", message)
                }
                Some(tool) => match tool.prepare(arguments) {
                    Err(error) => {
                        self.emit_call_start(call, arguments, None);
                        self.end_call(call, ToolOutput::from_error(error))
                    }
                    Ok(prepared) => {
                        let preview = self.judged_preview(prepared.preview());
                        self.emit_call_start(call, arguments, Some(preview.clone()));
                        self.make_prepared(call, prepared, &preview, clock, stop)
                            .await
                    }
                },
            },
        }
    }

    /// Runs another agent in a call.
    async fn make_invocation(
        &self,
        call: &ReadyCall,
        arguments: &Map<String, Value>,
        clock: &Arc<AgentClock>,
        stop: &CancellationToken,
    ) -> CallResult {
        let (output, agent_id) = self.invoke_agent(&call.id, arguments, clock, stop).await;
        CallResult {
            agent_id,
            ..self.end_call(call, output)
        }
    }

    /// Asks for permission where that is needed, then runs the call.
    async fn make_prepared(
        &self,
        call: &ReadyCall,
        prepared: Box<dyn PreparedCall>,
        preview: &CallPreview,
        clock: &Arc<AgentClock>,
        stop: CancellationToken,
    ) -> CallResult {
        if let Some(rejected) = self.rejected_result(call, preview, clock, &stop).await {
            return rejected;
        }
        let output = prepared.run(stop).await;
        self.end_call(call, output)
    }

    /// Calls a remote agent, once that is permitted.
    async fn make_remote(
        &self,
        call: &ReadyCall,
        arguments: &Map<String, Value>,
        remote: &RemoteCall,
        clock: &Arc<AgentClock>,
        stop: CancellationToken,
    ) -> CallResult {
        let preview = super::invoke::remote_preview(remote);
        // Rules judge the host, which the model's own arguments do not name.
        let mut shown = arguments.clone();
        let origin = remote.agent.origin().map(|origin| origin.to_string());
        shown.extend(origin.map(|origin| ("agent_url".to_owned(), origin.into())));
        self.emit_call_start(call, &shown, Some(preview.clone()));
        if let Some(rejected) = self.rejected_result(call, &preview, clock, &stop).await {
            return rejected;
        }
        let output = self.invoke_remote(&call.id, remote, &stop).await;
        CallResult {
            agent_id: Some(remote.agent_id.clone()),
            ..self.end_call(call, output)
        }
    }

    /// Asks for permission where that is needed. Returns the result of a call that may not run. Time stands still meanwhile.
    async fn rejected_result(
        &self,
        call: &ReadyCall,
        preview: &CallPreview,
        clock: &Arc<AgentClock>,
        stop: &CancellationToken,
    ) -> Option<CallResult> {
        if !preview.needs_permission {
            return None;
        }
        let answer = {
            let _pause = clock.pause();
            let gate = &self.executor.gate;
            tokio::select! {
                biased;
                () = stop.cancelled() => GateAnswer::Cancelled,
                answer = gate.ask(&call.id, &call.tool, preview) => answer,
            }
        };
        Some(match answer {
            GateAnswer::Allowed => return None,
            GateAnswer::Denied { reason } => {
                let words = match reason {
                    Some(reason) => format!("{REJECTED} Reason: {reason}"),
                    None => REJECTED.to_owned(),
                };
                self.emit_call_error(call, &words, ErrorContext::ToolCall, ErrorType::Rejected);
                failed_result("permission_denied", words)
            }
            GateAnswer::Cancelled => {
                let (context, kind) = (ErrorContext::ToolCall, ErrorType::Cancelled);
                self.emit_call_error(call, CANCELLED, context, kind);
                CallResult {
                    is_cancelled: true,
                    ..ToolOutput::from_error(cancelled_error()).into()
                }
            }
        })
    }

    /// The tool of a name, if this agent has it and hooks let the model call it. The API restricts the model, too; a guard does not
    /// rely on that.
    fn callable_tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let selected = self.selected_tools.as_ref();
        let is_selected = selected.is_none_or(|names| names.iter().any(|it| it == name));
        self.tools.get(name).filter(|_| is_selected)
    }

    /// The preview as the gate sees it. `BeforeTool` hooks judge every call, so the gate is asked about every call where there are some.
    fn judged_preview(&self, preview: &CallPreview) -> CallPreview {
        let scope = self.executor.ask_scope;
        let is_judged = scope == AskScope::EveryCall || self.has_hooks(HookEvent::BeforeTool);
        CallPreview {
            needs_permission: preview.needs_permission || is_judged,
            ..preview.clone()
        }
    }

    fn end_call(&self, call: &ReadyCall, output: ToolOutput) -> CallResult {
        self.emit_call_end(call, &output);
        output.into()
    }

    fn emit_call_start(
        &self,
        call: &ReadyCall,
        arguments: &Map<String, Value>,
        preview: Option<CallPreview>,
    ) {
        self.emit_activity(ActivityKind::CallStart(CallStart {
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: arguments.clone(),
            preview,
        }));
    }

    /// A call that failed is an error, as in Gemini CLI; only others have an end.
    fn emit_call_end(&self, call: &ReadyCall, output: &ToolOutput) {
        if output.error.is_some() {
            let (context, kind) = (ErrorContext::ToolCall, ErrorType::Generic);
            let hint = output.hint.iter().map(String::as_str);
            let words: Vec<_> = [output.text.as_str()].into_iter().chain(hint).collect();
            return self.emit_call_error(call, &words.join(" "), context, kind);
        }
        self.emit_activity(ActivityKind::CallEnd(CallEnd {
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            output: output.clone(),
        }));
    }

    fn emit_call_error(
        &self,
        call: &ReadyCall,
        message: &str,
        context: ErrorContext,
        error_type: ErrorType,
    ) {
        self.emit_activity(ActivityKind::Error {
            message: message.to_owned(),
            context,
            error_type,
            call: Some((call.tool.clone(), call.id.clone())),
        });
    }
}

fn cancelled_error() -> ToolError {
    ToolError::new("cancelled", CANCELLED)
}

fn failed_result(kind: &'static str, message: String) -> CallResult {
    ToolOutput::from_error(ToolError::new(kind, message)).into()
}

fn ready_call(call: &FunctionCall, prompt_id: &str, at: usize) -> ReadyCall {
    let id = call.id.clone();
    let mut arguments = call_arguments(call);
    let waits = arguments
        .as_mut()
        .ok()
        .and_then(|it| it.shift_remove(WAIT_FOR_PREVIOUS));
    ReadyCall {
        id: id.unwrap_or_else(|| format!("{prompt_id}-{at}")),
        tool: call.name.clone(),
        runs_alone: ALONE.contains(&call.name.as_str()) || waits == Some(Value::Bool(true)),
        arguments,
    }
}

/// The arguments as an object. Some models send the object as a text.
fn call_arguments(call: &FunctionCall) -> Result<Map<String, Value>, String> {
    let parsed = match &call.arguments {
        Value::Object(arguments) => Some(arguments.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed.ok_or_else(|| match &call.arguments {
        Value::String(text) => format!(
            "Failed to parse JSON arguments for tool \"{}\": {text}. Ensure you provide a valid JSON object.",
            call.name
        ),
        _ => "params must be object".to_owned(),
    })
}

/// The calls in groups that run together.
fn call_batches(calls: &[ReadyCall]) -> impl Iterator<Item = &[ReadyCall]> {
    calls.chunk_by(|one, next| !one.runs_alone && !next.runs_alone)
}

impl ReadyCall {
    /// The call with its result, and the response for the model.
    fn into_finished(self, result: CallResult) -> FinishedCall {
        let mut output = result.output;
        let key = if output.error.is_some() {
            "error"
        } else {
            "output"
        };
        let mut response = json!({
            "id": self.id, "name": self.tool, "response": {key: output.text},
        });
        if let Some(hint) = &output.hint {
            response["response"]["hint"] = hint.as_str().into();
        }
        let parts = std::mem::take(&mut output.parts);
        let response = [json!({ "functionResponse": response })].into_iter();
        FinishedCall {
            id: self.id,
            tool: self.tool,
            arguments: self.arguments.unwrap_or_default(),
            response: response.chain(parts).collect(),
            output,
            agent_id: result.agent_id,
        }
    }
}
