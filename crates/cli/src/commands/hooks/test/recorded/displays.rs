//! The displays of calls in Gemini CLI. Hooks receive them beside the output for the model, and only the raw lines hold them.

use std::collections::HashMap;

use lapidary::vocab::event::ToolCompletion;
use lapidary::vocab::{Event, Json};
use serde_json::Value;

/// The displays of calls, by the ids of the calls.
#[derive(Default)]
pub(super) struct CallDisplays(HashMap<String, Value>);

impl CallDisplays {
    /// Takes in the line of an event: a message of a session file, or a `tool_result` of a stream.
    pub(super) fn note_line(&mut self, event: &Event) {
        let Some(raw) = event.base.raw.as_ref().map(Json::token) else {
            return;
        };
        let mut shown = vec![(raw.get("tool_id"), raw.get("output"))];
        if let Some(calls) = raw.get("toolCalls") {
            let calls = calls.elements();
            shown.extend(calls.map(|call| (call.get("id"), call.get("resultDisplay"))));
        }
        for (id, display) in shown {
            let (Some(id), Some(display)) = (id, display) else {
                continue;
            };
            let value = serde_json::from_str(display.as_str());
            let value = value.unwrap_or_else(|_| display.as_str().into());
            self.0
                .extend(id.string().map(|id| (id.into_owned(), value)));
        }
    }

    /// Completes the input of `AfterTool` hooks, as far as Gemini CLI has written it.
    pub(super) fn complete_response(
        &mut self,
        response: &mut Value,
        event: &Event,
        done: &ToolCompletion,
    ) {
        if let Some(display) = self.0.remove(done.call_id.to_str().as_ref()) {
            response["returnDisplay"] = display;
        }
        let error = event.base.extensions.get("gemini.error");
        let kind = error.and_then(|error| error.token().get("type")?.string());
        if let Some(kind) = kind.filter(|_| response["error"].is_object()) {
            response["error"]["type"] = kind.into_owned().into();
        }
    }
}
