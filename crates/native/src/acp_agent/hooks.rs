//! Hooks of the client, which runs them when the agent asks it to.
//!
//! ACP has no word for what happens between an agent and its model. A client that has hooks for these moments names their events in
//! `_meta.lapidary.hooks` of `session/new`, and answers `_lapidary/hook`: the parameters have the hook's `input`, the answer its `output`.

use lapidary_rpc::Connection;
use lapidary_vocab::Json;
use lapidary_wire::gemini::hooks::{EventDetails, HookEvent, HookInput, HookInputBase, HookOutput};
use serde_json::{Value, json};

use crate::executor::{HooksCancelled, ModelHooks};
use crate::tool::BoxFuture;

/// The request by which the client's hooks run.
const FIRE_HOOKS: &str = "_lapidary/hook";

/// The hooks of the client of one session.
#[derive(Debug)]
pub(super) struct AcpHooks {
    pub(super) connection: Connection,
    pub(super) session_id: String,
    pub(super) events: Vec<HookEvent>,
}

impl ModelHooks for AcpHooks {
    fn has_hooks(&self, event: HookEvent) -> bool {
        self.events.contains(&event)
    }

    fn fire(
        &self,
        details: EventDetails,
    ) -> BoxFuture<'_, Result<Option<HookOutput>, HooksCancelled>> {
        Box::pin(async move {
            // The client fills in the base: the session, its transcript, the directory, the time.
            let base = HookInputBase::default();
            let input = Value::Object(HookInput { base, details }.to_object());
            let params = json!({"sessionId": self.session_id, "input": input});
            let params = Json::from_value(&params);
            // Each hook has a deadline of its own, and the executor stops waiting when the task is cancelled.
            let answer = self.connection.request(FIRE_HOOKS, Some(&params), None);
            let answer = answer.await.map_err(|_| HooksCancelled)?;
            let answer: Value = serde_json::from_str(answer.result.as_str()).unwrap_or_default();
            Ok(answer["output"].as_object().cloned().map(HookOutput))
        })
    }
}

/// The events for which the client has hooks.
pub(super) fn events_in(params: &Value) -> Vec<HookEvent> {
    let names = params["_meta"]["lapidary"]["hooks"].as_array();
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.filter_map(|name| name.parse().ok()).collect()
}
