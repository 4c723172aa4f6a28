//! Hooks of an agent's model, which an agent of this process has us run: no other agent shows us what it says to its model.

use lapidary_gemini::hooks::HookEvent;
use lapidary_json::Token;
use lapidary_vocab::Json;
use lapidary_wire::gemini::hooks::{EventDetails, HookInput};
use serde_json::Value;
use std::sync::atomic::Ordering;

use super::{AgentRequest, given_up};
use crate::acp::RpcError;
use crate::conversation::request::ConversationRequest;
use crate::hooks::AppliedEffect;

/// The request by which such an agent has hooks run.
pub(super) const FIRE_HOOKS: &str = "_lapidary/hook";

/// Whether this agent may have hooks run.
pub(super) fn is_served(request: &ConversationRequest) -> bool {
    request.local.is_some() && request.hooks.is_some()
}

impl AgentRequest<'_> {
    /// Runs the hooks of a moment between the agent and its model, and answers with what they say together.
    pub(super) async fn model_hooks(&self) -> Result<Json, RpcError> {
        let wrong = |message| RpcError::new(RpcError::BAD_PARAMS, message);
        let details =
            details_in(&self.params).ok_or_else(|| wrong("the hook's input cannot be read"))?;
        let Some(hooks) = &self.state.hooks else {
            return Err(wrong("there are no hooks"));
        };
        let asked = self.state.being_asked();
        // Dropping this ends the hooks.
        let fired = tokio::select! {
            biased;
            () = self.turn.cancelled() => None,
            () = self.incoming.respond.cancelled() => None,
            fired = hooks.around_model(details, self.hook_place()) => fired,
        };
        drop(asked);
        let fired = fired.ok_or_else(given_up)?;
        if fired
            .effects()
            .iter()
            .any(|it| matches!(it, AppliedEffect::Stop(_)))
        {
            self.stops.store(true, Ordering::Relaxed);
            self.state.stop_for_hook(&self.session);
        }
        let output = fired.aggregate.map(|output| Value::Object(output.0));
        let output = Json::from_value(&output.unwrap_or_default());
        Ok(Json::object([("output", output)]))
    }
}

/// The moment that hooks are told of. Those of other moments come by here anyway, and are not the agent's to report.
fn details_in(params: &Json) -> Option<EventDetails> {
    let input = params.token().get("input").and_then(Token::non_null)?;
    let input = serde_json::from_str(input.as_str()).ok()?;
    let details = HookInput::from_object(&input)?.details;
    let is_models = matches!(
        details.event(),
        HookEvent::BeforeModel
            | HookEvent::AfterModel
            | HookEvent::BeforeToolSelection
            | HookEvent::PreCompress
    );
    is_models.then_some(details)
}
