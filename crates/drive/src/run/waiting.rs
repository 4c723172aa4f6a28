//! What a run is waiting for, so that whoever ends it can say.

use std::sync::{Mutex, PoisonError};

use lapidary_vocab::{Body, Event, Text};

/// Calls beyond this are not told apart.
const MOST: usize = 64;

/// A name of the agent's choosing is cut here.
const LONGEST_NAME: usize = 60;

/// What is known about it.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The agent has said how it went.
    is_done: bool,
    /// Calls without a result: id and tool.
    open: Vec<(Text, Text)>,
}

impl Waiting {
    pub(crate) fn note(&self, events: &[Event]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            match &event.body {
                Body::ToolInvocation(call) if state.open.len() < MOST => {
                    let names = (call.call_id.detached(), call.tool_name.detached());
                    state.open.push(names);
                }
                Body::TurnComplete(_) => state.is_done = true,
                Body::ToolCompletion(done) => state.open.retain(|(id, _)| *id != done.call_id),
                _ => {}
            }
        }
    }

    /// In words.
    pub(crate) fn describe(&self) -> String {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.open.as_slice() {
            [] if state.is_done => "the agent's end, as it had said all".to_owned(),
            [] => "the model".to_owned(),
            [(_, tool)] => format!("the result of `{}`", short(tool)),
            [(_, tool), more @ ..] => {
                format!("the results of `{}` and {} more", short(tool), more.len())
            }
        }
    }
}

fn short(name: &Text) -> String {
    name.to_str().chars().take(LONGEST_NAME).collect()
}
