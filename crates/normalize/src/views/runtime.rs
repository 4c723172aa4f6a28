//! Events → ticket-mode events.
//!
//! Only the agent's own reports: no phase, task or progress is invented. Two fields are derived and say so: the summary of a file
//! mutation, and a diff found in a tool's output.

use std::sync::Arc;

use lapidary_vocab::event::{
    DiagnosticKind, RunEnd, SessionState, SessionStatus, StreamDeltaKind, TextKind, ToolCompletion,
    ToolInvocation, ToolKind, TurnComplete,
};
use lapidary_vocab::runtime::{
    Category, OutputProduced, OutputStream, RuntimeBase, RuntimeBody, RuntimeEvent, SCHEMA,
    TaskStatus, TokenUsageUpdated, ToolCallRequested, TurnCompleted, TurnDiffUpdated, TurnError,
    TurnFailed,
};
use lapidary_vocab::{Body, Cause, Event, Json, Number, Text};

use crate::completions::CallSummary;
use crate::pending::PendingById;
use crate::{completions, tools, unified_diff};

/// Folds events into runtime events.
#[derive(Debug)]
pub struct RuntimeFold {
    run: Arc<str>,
    seq: u64,
    turn: u64,
    calls: PendingById<OpenCall>,
    /// The turn's end is held back until the run's: only then is it known whether the exit code agrees.
    ended: Option<TurnComplete>,
    skipped: u64,
}

#[derive(Debug)]
struct OpenCall {
    tool: Text,
    kind: ToolKind,
    command: Option<Text>,
    path: Option<Text>,
    arguments: Json,
    id: Text,
    /// Its request was emitted.
    is_emitted: bool,
}

impl OpenCall {
    fn request_body(&self) -> RuntimeBody {
        RuntimeBody::ToolCallRequested(ToolCallRequested {
            call_id: self.id.clone(),
            tool: self.tool.clone(),
            category: tools::category(&self.tool.to_str()),
            arguments: self.arguments.clone(),
        })
    }
}

/// The ticket-mode events of one event.
type ProducedEvent = Vec<RuntimeBody>;

impl RuntimeFold {
    /// A fold for one run; turns are called `<run>-turn-<n>`.
    pub fn new(run: &str) -> Self {
        Self {
            run: Arc::from(run),
            seq: 0,
            turn: 1,
            calls: PendingById::default(),
            ended: None,
            skipped: 0,
        }
    }

    /// How many events had no place here: lines that could not be read.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes in an event and returns the orchestrator's events.
    pub fn push(&mut self, event: &Event) -> Vec<RuntimeEvent> {
        let mut out = Vec::new();
        if self.ended.is_some() && !matches!(event.body, Body::RunEnd(_) | Body::Diagnostic(_)) {
            // Another event follows the result, so it was not the run's last one.
            let turn = self.ended.take();
            let bodies = turn
                .map(|turn| vec![end_of_turn(&turn)])
                .unwrap_or_default();
            self.stamp_bodies(bodies, event, false, &mut out);
            self.turn += 1;
        }
        let bodies = match &event.body {
            Body::StreamDelta(delta) if delta.kind == StreamDeltaKind::Text => delta
                .text_delta
                .iter()
                .map(|text| output_produced(text, false))
                .collect(),
            Body::Text(text) if text.kind == TextKind::Text => {
                vec![output_produced(&text.text, true)]
            }
            Body::ToolInvocation(call) => self.request_events(call, event),
            Body::ToolCompletion(result) => self.completion_events(result, event),
            // That a session is resumed or a turn interrupted is the client's word.
            Body::SessionStatus(status)
                if matches!(
                    status.status,
                    SessionState::Resuming | SessionState::Interrupted
                ) =>
            {
                Vec::new()
            }
            Body::SessionStatus(status) => vec![task_status(status, event)],
            Body::Diagnostic(diagnostic) => {
                self.skipped += u64::from(is_unread(&diagnostic.kind));
                Vec::new()
            }
            Body::TurnComplete(turn) => {
                self.ended = Some((**turn).clone());
                let mut bodies = self.requests_left();
                bodies.extend(usage_updated(turn));
                bodies
            }
            Body::RunEnd(end) => {
                let mut bodies = self.requests_left();
                bodies.push(self.run_end(end));
                bodies
            }
            _ => Vec::new(),
        };
        self.stamp_bodies(bodies, event, true, &mut out);
        out
    }

    fn stamp_bodies(
        &mut self,
        bodies: ProducedEvent,
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

    /// Over ACP an agent sends a call again whenever it knows more about it; only its arguments matter here. Agents announce a call without
    /// them: its request is held back until they come, or the call ends.
    fn request_events(&mut self, call: &ToolInvocation, event: &Event) -> ProducedEvent {
        let CallSummary {
            tool,
            command,
            locations,
            ..
        } = CallSummary::new(
            &call.tool_name,
            &call.kind,
            Some(call.input.token()),
            &call.locations,
        );
        let mut open = OpenCall {
            tool,
            kind: call.kind.clone(),
            command,
            path: locations.into_iter().next(),
            arguments: call.input.detached(),
            id: call.call_id.detached(),
            is_emitted: true,
        };
        let id = call.call_id.to_str();
        let before = self.calls.close_id(&id);
        let was_emitted = before.as_ref().is_some_and(|before| before.is_emitted);
        let is_same = before
            .is_some_and(|before| before.tool == open.tool && before.arguments == open.arguments);
        let is_over_acp = event.base.extensions.contains_key("acp.status");
        let is_held_back = !was_emitted && is_over_acp && open.arguments.as_str() == "{}";
        open.is_emitted = !is_held_back;
        let request = (open.is_emitted && !(was_emitted && is_same)).then(|| open.request_body());
        let texts = [Some(&open.tool), open.command.as_ref(), open.path.as_ref()];
        let size = texts.into_iter().flatten().map(Text::size).sum::<usize>();
        let size = size + open.arguments.as_str().len();
        self.calls.open(&id, open, size);
        request.into_iter().collect()
    }

    /// Requests that are held back, of calls that do not end.
    fn requests_left(&mut self) -> ProducedEvent {
        let left = self.calls.close_all(|call| !call.is_emitted);
        left.iter().map(OpenCall::request_body).collect()
    }

    fn completion_events(&mut self, result: &ToolCompletion, event: &Event) -> ProducedEvent {
        let call = self.calls.close_id(&result.call_id.to_str());
        let mut bodies: Vec<_> = call
            .as_ref()
            .filter(|call| !call.is_emitted)
            .map(OpenCall::request_body)
            .into_iter()
            .collect();
        let category = call
            .as_ref()
            .and_then(|call| tools::category(&call.tool.to_str()));
        let output = completions::result_text(result);
        let stream = stream_of(category.as_ref(), call.as_ref().map(|call| &call.kind));
        // Edits carry no output, so what happened is said in our own words.
        let summary = (stream == OutputStream::Mutation
            && output.as_ref().is_none_or(Text::is_empty))
        .then(|| mutation_summary(call.as_ref(), result));
        let shown = unified_diff::of_blocks(&result.content).filter(|_| !result.is_error);
        let is_derived = shown.is_none();
        let found = || {
            let output = result.output.as_ref().filter(|_| has_diffs(&stream))?;
            diff_in(output, result)
        };
        let diff = shown.or_else(found);
        bodies.push(RuntimeBody::OutputProduced(OutputProduced {
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
        }));
        bodies.extend(diff.map(|diff| {
            RuntimeBody::TurnDiffUpdated(TurnDiffUpdated {
                diff,
                derived: is_derived,
                call_id: Some(result.call_id.clone()),
            })
        }));
        bodies
    }

    fn run_end(&mut self, end: &RunEnd) -> RuntimeBody {
        let turn = self.ended.take();
        if end.cause == Cause::EndTurn {
            return turn_completed(turn.and_then(|turn| turn.duration_ms));
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

/// The stream of a call's output: by the category of its tool, else by its kind.
fn stream_of(category: Option<&Category>, kind: Option<&ToolKind>) -> OutputStream {
    match (category, kind) {
        (Some(Category::Command), _) | (None, Some(ToolKind::Execute)) => OutputStream::Command,
        (Some(Category::FileWrite), _) | (None, Some(ToolKind::Edit)) => OutputStream::Mutation,
        _ => OutputStream::Tool,
    }
}

/// The diff in an output. Looked for in the token first: most outputs are none, and large ones are not decoded for nothing.
fn diff_in(output: &Json, result: &ToolCompletion) -> Option<Text> {
    if !unified_diff::may_hold_diff(output.as_str()) {
        return None;
    }
    let text = completions::result_text(result)?;
    let text = text.to_str();
    unified_diff::is_unified_diff(&text).then(|| text.trim().to_owned().into())
}

fn has_diffs(stream: &OutputStream) -> bool {
    matches!(stream, OutputStream::Command | OutputStream::Mutation)
}

/// True for lines of the agent that could not be read. Our own remarks are no loss.
fn is_unread(kind: &DiagnosticKind) -> bool {
    !matches!(
        kind,
        DiagnosticKind::Protocol
            | DiagnosticKind::Notice
            | DiagnosticKind::PermissionViolation
            | DiagnosticKind::Retry
    )
}

fn output_produced(text: &Text, snapshot: bool) -> RuntimeBody {
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

fn mutation_summary(call: Option<&OpenCall>, result: &ToolCompletion) -> Text {
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

fn usage_updated(turn: &TurnComplete) -> Option<RuntimeBody> {
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
        return turn_completed(turn.duration_ms.clone());
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

fn turn_completed(duration_ms: Option<Number>) -> RuntimeBody {
    RuntimeBody::TurnCompleted(TurnCompleted {
        status: "completed".into(),
        duration_ms,
    })
}
