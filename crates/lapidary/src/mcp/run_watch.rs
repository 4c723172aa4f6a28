//! Leads a run to its end, with progress for the client.

use std::time::Duration;

use lapidary_engine::run::Run;
use lapidary_native::mcp_server::{CallAnswer, ServerCall};
use lapidary_normalize::views::result::ResultFold;
use lapidary_vocab::{Body, Event};
use tokio::time::{Instant, interval_at};

use super::run_answer::RunAnswer;
use super::safe_text::one_line;

/// How often a client gets progress of a silent run: clients give up on calls that are silent for a minute.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);

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
                    if let Some(step) = event_step(&event) {
                        call.progress.report(&step);
                    }
                    fold.push(&event);
                }
                None => break,
            },
            _ = beats.tick() => call.progress.report(&running_step(begun)),
            () = call.cancelled.cancelled(), if !is_stopped => {
                is_stopped = true;
                run.stop();
            }
        }
    }
    RunAnswer::new(&fold.finish(false)).into_answer()
}

/// The progress that an event means, on one line.
pub(super) fn event_step(event: &Event) -> Option<String> {
    match &event.body {
        Body::SessionInit(_) => Some("started".to_owned()),
        Body::ToolInvocation(call) => {
            let title = call.title.as_ref().unwrap_or(&call.tool_name);
            Some(one_line(&title.to_str()))
        }
        _ => None,
    }
}

/// The progress of a run that says nothing.
pub(super) fn running_step(begun: Instant) -> String {
    format!("running for {} s", begun.elapsed().as_secs())
}
