//! Events → ticket-mode events.
//!
//! Only what the agent said: no phase, task or progress is invented. Two things are derived and say so: the summary of a file
//! mutation, and a diff found in a tool's output.

use std::sync::Arc;

use lapidary_vocab::event::{
    Diagnostic, DiagnosticKind, RunEnd, SessionStatus, StreamDeltaKind, TextKind, ToolCompletion,
    ToolInvocation, TurnComplete,
};
use lapidary_vocab::runtime::{
    Category, OutputProduced, OutputStream, RuntimeBase, RuntimeBody, RuntimeEvent, SCHEMA,
    TaskStatus, TokenUsageUpdated, ToolCallRequested, TurnCompleted, TurnDiffUpdated, TurnError,
    TurnFailed,
};
use lapidary_vocab::{Body, Cause, Event, Json, Number, Text};

use crate::own::{string, text};
use crate::pending::Pending;
use crate::tools;

/// Folds events into runtime events.
#[derive(Debug)]
pub struct RuntimeFold {
    run: Arc<str>,
    seq: u64,
    turn: u64,
    calls: Pending<OpenCall>,
    /// The turn's end is held back until the run's: only then is it known whether the exit code agrees.
    ended: Option<TurnComplete>,
}

#[derive(Debug)]
struct OpenCall {
    tool: Text,
    command: Option<Text>,
    path: Option<Text>,
    arguments: Json,
}

/// What an event of ours becomes, with the event it came from.
type Produced = Vec<RuntimeBody>;

impl RuntimeFold {
    /// A fold for one run; turns are called `<run>-turn-<n>`.
    pub fn new(run: &str) -> Self {
        Self {
            run: Arc::from(run),
            seq: 0,
            turn: 1,
            calls: Pending::default(),
            ended: None,
        }
    }

    /// Takes in an event and gives back what it means to an orchestrator.
    pub fn push(&mut self, event: &Event) -> Vec<RuntimeEvent> {
        let mut out = Vec::new();
        if self.ended.is_some() && !matches!(event.body, Body::RunEnd(_) | Body::Diagnostic(_)) {
            // Something follows the result, so it was not the run's last word.
            let turn = self.ended.take();
            let bodies = turn
                .map(|turn| vec![end_of_turn(&turn)])
                .unwrap_or_default();
            self.stamp(bodies, event, false, &mut out);
            self.turn += 1;
        }
        let bodies = match &event.body {
            Body::StreamDelta(delta) if delta.kind == StreamDeltaKind::Text => delta
                .text_delta
                .iter()
                .map(|text| said(text, false))
                .collect(),
            Body::Text(text) if text.kind == TextKind::Text => vec![said(&text.text, true)],
            Body::ToolInvocation(call) => self.requested(call),
            Body::ToolCompletion(result) => self.produced(result, event),
            Body::SessionStatus(status) => vec![task_status(status, event)],
            Body::Diagnostic(diagnostic) if diagnostic.kind == DiagnosticKind::Protocol => {
                Vec::new()
            }
            Body::Diagnostic(diagnostic) => vec![unread(diagnostic)],
            Body::TurnComplete(turn) => {
                self.ended = Some((**turn).clone());
                usage(turn).into_iter().collect()
            }
            Body::RunEnd(end) => vec![self.run_end(end)],
            _ => Vec::new(),
        };
        self.stamp(bodies, event, true, &mut out);
        out
    }

    fn stamp(
        &mut self,
        bodies: Produced,
        event: &Event,
        with_raw: bool,
        out: &mut Vec<RuntimeEvent>,
    ) {
        for (index, body) in bodies.into_iter().enumerate() {
            let carries = with_raw && index == 0;
            let base = RuntimeBase {
                schema: (self.seq == 0).then(|| Text::from(SCHEMA)),
                seq: self.seq,
                timestamp: event.base.timestamp.clone(),
                provider: event.base.provider.clone(),
                thread_id: event.base.session_id.clone(),
                turn_id: format!("{}-turn-{}", self.run, self.turn),
                raw_is_text: carries && event.base.raw_is_text,
                raw_base64: event.base.raw_base64.clone().filter(|_| carries),
                raw: event.base.raw.clone().filter(|_| carries),
            };
            self.seq += 1;
            out.push(RuntimeEvent { body, base });
        }
    }

    fn requested(&mut self, call: &ToolInvocation) -> Produced {
        let name = call.tool_name.to_str();
        let category = tools::category(&name);
        let command = (category == Some(Category::Command))
            .then(|| call.input.token().get("command"))
            .flatten();
        let open = OpenCall {
            tool: call.tool_name.detached(),
            command: string(command).map(text),
            path: call.locations.first().map(Text::detached),
            arguments: call.input.detached(),
        };
        // Over ACP a call is told again whenever more is known about it; only its arguments matter here.
        let id = call.call_id.to_str();
        let before = self.calls.close(&id);
        let is_known = before
            .is_some_and(|before| before.tool == open.tool && before.arguments == open.arguments);
        let texts = [Some(&open.tool), open.command.as_ref(), open.path.as_ref()];
        let size = texts.into_iter().flatten().map(Text::size).sum::<usize>();
        let size = size + open.arguments.as_str().len();
        self.calls.open(&id, open, size);
        if is_known {
            return Vec::new();
        }
        vec![RuntimeBody::ToolCallRequested(ToolCallRequested {
            call_id: call.call_id.clone(),
            tool: call.tool_name.clone(),
            category,
            arguments: call.input.clone(),
        })]
    }

    fn produced(&mut self, result: &ToolCompletion, event: &Event) -> Produced {
        let call = self.calls.close(&result.call_id.to_str());
        let category = call
            .as_ref()
            .and_then(|call| tools::category(&call.tool.to_str()));
        let output = result.output.as_ref().map(Json::to_text);
        let stream = match category {
            Some(Category::Command) => OutputStream::Command,
            Some(Category::FileWrite) => OutputStream::Mutation,
            _ => OutputStream::Tool,
        };
        // Edits carry no output, so what happened is said in our own words.
        let summary = (stream == OutputStream::Mutation
            && output.as_ref().is_none_or(Text::is_empty))
        .then(|| mutation(call.as_ref(), result));
        let output_json = result.output.as_ref().filter(|_| may_hold_diff(&stream));
        let diff = output_json.and_then(unified_diff);
        let mut bodies = vec![RuntimeBody::OutputProduced(OutputProduced {
            stream,
            derived: summary.is_some(),
            text: summary.or(output).unwrap_or_default(),
            snapshot: true,
            command: call.as_ref().and_then(|call| call.command.clone()),
            call_id: Some(result.call_id.clone()),
            tool: call.map(|call| call.tool),
            category,
            status: Some(result.status.as_str().to_owned().into()),
            error: event.base.extensions.get("gemini.error").cloned(),
        })];
        bodies.extend(diff.map(|diff| {
            RuntimeBody::TurnDiffUpdated(TurnDiffUpdated {
                diff,
                derived: true,
                call_id: Some(result.call_id.clone()),
            })
        }));
        bodies
    }

    fn run_end(&mut self, end: &RunEnd) -> RuntimeBody {
        let turn = self.ended.take();
        if end.cause == Cause::EndTurn {
            return completed(turn.and_then(|turn| turn.duration_ms));
        }
        RuntimeBody::TurnFailed(TurnFailed {
            status: "failed".into(),
            cause: end.cause.clone(),
            error: TurnError {
                message: end
                    .message
                    .clone()
                    .unwrap_or_else(|| end.cause.described().to_owned().into()),
                additional_details: (!end.evidence.is_empty()).then(|| end.evidence.join("; ")),
            },
        })
    }
}

/// True if the text is a unified diff: a `diff --git` header and a hunk.
///
/// ```
/// use lapidary_normalize::views::runtime::is_unified_diff;
/// assert!(is_unified_diff("diff --git a/f b/f\n@@ -1 +1 @@\n-a\n+b\n"));
/// assert!(!is_unified_diff("mentions diff --git but has no hunk"));
/// ```
pub fn is_unified_diff(text: &str) -> bool {
    text.contains("diff --git ") && text.contains("\n@@ ")
}

/// The diff in an output. Looked for in the token first: most outputs are none, and large ones are not decoded for nothing.
fn unified_diff(output: &Json) -> Option<Text> {
    if !output.as_str().contains("diff --git ") {
        return None;
    }
    let text = output.to_display();
    is_unified_diff(&text).then(|| text.trim().to_owned().into())
}

fn may_hold_diff(stream: &OutputStream) -> bool {
    matches!(stream, OutputStream::Command | OutputStream::Mutation)
}

fn said(text: &Text, snapshot: bool) -> RuntimeBody {
    RuntimeBody::OutputProduced(OutputProduced {
        stream: OutputStream::Assistant,
        text: text.clone(),
        snapshot,
        derived: false,
        command: None,
        call_id: None,
        tool: None,
        category: None,
        status: None,
        error: None,
    })
}

fn mutation(call: Option<&OpenCall>, result: &ToolCompletion) -> Text {
    let tool = call.map_or_else(Default::default, |call| call.tool.to_str());
    let path = call
        .and_then(|call| call.path.as_ref())
        .map(Text::to_str)
        .unwrap_or_default();
    format!("{tool} {path}: {}", result.status).into()
}

fn task_status(status: &SessionStatus, event: &Event) -> RuntimeBody {
    let severity = event
        .base
        .extensions
        .get("gemini.severity")
        .map(Json::to_display);
    RuntimeBody::TaskStatus(TaskStatus {
        status_type: severity
            .map_or_else(
                || status.status.as_str().to_owned(),
                std::borrow::Cow::into_owned,
            )
            .into(),
        text: status.message.clone().unwrap_or_default(),
    })
}

fn unread(diagnostic: &Diagnostic) -> RuntimeBody {
    RuntimeBody::TaskStatus(TaskStatus {
        status_type: "diagnostic".into(),
        text: diagnostic.message.clone().into(),
    })
}

fn usage(turn: &TurnComplete) -> Option<RuntimeBody> {
    let usage = turn.usage.as_ref()?;
    let sum = || {
        let input = usage.input_tokens.as_ref()?.u64()?;
        let output = usage.output_tokens.as_ref()?.u64()?;
        Some(Number::from(input.checked_add(output)?))
    };
    Some(RuntimeBody::TokenUsageUpdated(TokenUsageUpdated {
        total_input_tokens: usage.input_tokens.clone(),
        total_output_tokens: usage.output_tokens.clone(),
        total_cached_input_tokens: usage.cache_read_tokens.clone(),
        total_tokens: usage.total_tokens.clone().or_else(sum),
        cost_usd: turn.cost_usd.clone(),
        model_context_window: None,
    }))
}

/// A turn that was not the last: judged by its own word alone.
fn end_of_turn(turn: &TurnComplete) -> RuntimeBody {
    if !turn.is_error {
        return completed(turn.duration_ms.clone());
    }
    let cause = Cause::ApiError;
    let message = turn
        .errors
        .first()
        .cloned()
        .unwrap_or_else(|| cause.described().to_owned().into());
    RuntimeBody::TurnFailed(TurnFailed {
        status: "failed".into(),
        cause,
        error: TurnError {
            message,
            additional_details: None,
        },
    })
}

fn completed(duration_ms: Option<Number>) -> RuntimeBody {
    RuntimeBody::TurnCompleted(TurnCompleted {
        status: "completed".into(),
        duration_ms,
    })
}
