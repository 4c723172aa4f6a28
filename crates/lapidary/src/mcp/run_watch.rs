//! Leads a run to its end, with progress for the client.

use std::time::Duration;

use lapidary_engine::run::Run;
use lapidary_native::mcp_server::{CallAnswer, CallProgress, ServerCall};
use lapidary_normalize::views::result::ResultFold;
use lapidary_render::plain::sanitize;
use lapidary_vocab::result::RunResult;
use lapidary_vocab::{Body, Event};
use serde_json::{Value, json};
use tokio::time::{Instant, interval_at};

use super::safe_text::one_line;
use super::shortened_text;

/// The longest answer of an agent that is passed on. The rest is in the recording.
const LONGEST_RESPONSE: usize = 64 * 1024;

/// How often a client hears of a run that says nothing: clients give up on calls that are silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Reads a run to its end, and answers with its result. A cancelled call stops the run first.
pub(super) async fn watch_run(mut run: Run, call: &ServerCall) -> CallAnswer {
    let mut fold = ResultFold::default();
    let begun = Instant::now();
    let mut beats = interval_at(begun + HEARTBEAT, HEARTBEAT);
    let mut is_stopped = false;
    loop {
        // All of these are cancel-safe.
        tokio::select! {
            event = run.next() => match event {
                Some(event) => {
                    report_event(&event, &call.progress);
                    fold.push(&event);
                }
                None => break,
            },
            _ = beats.tick() => {
                let seconds = begun.elapsed().as_secs();
                call.progress.report(&format!("running for {seconds} s"));
            }
            () = call.cancelled.cancelled(), if !is_stopped => {
                is_stopped = true;
                run.stop();
            }
        }
    }
    result_answer(&fold.finish(false))
}

fn report_event(event: &Event, progress: &CallProgress) {
    match &event.body {
        Body::SessionInit(_) => progress.report("started"),
        Body::ToolInvocation(call) => {
            let title = call.title.as_ref().unwrap_or(&call.tool_name);
            progress.report(&one_line(&title.to_str()));
        }
        _ => {}
    }
}

/// The result for a model: the response, and how the run ended.
pub(super) fn result_answer(result: &RunResult) -> CallAnswer {
    let response = result.response.to_str();
    let response = sanitize(&response);
    let (response, is_cut) = shortened_text(&response, LONGEST_RESPONSE);
    let mut told = json!({
        "outcome": result.outcome, "cause": result.cause, "response": response,
        "session": result.session_id,
    });
    if is_cut {
        told["truncated"] = "the response is longer: `read_session` has all of it".into();
    }
    if let Some(output) = &result.output {
        told["output"] = serde_json::from_str(output.as_str()).unwrap_or(Value::Null);
    }
    if let Some(error) = &result.error {
        let error = serde_json::to_value(error).unwrap_or_default();
        told["error"] = error;
    }
    CallAnswer {
        is_error: !result.success,
        ..CallAnswer::from_text(told.to_string())
    }
}
