//! Hooks between an agent and its model. An agent of this process has us run them; no other agent shows us its requests to its
//! model.

use lapidary_gemini::hooks::HookEvent;
use lapidary_json::Token;
use lapidary_vocab::Json;
use lapidary_wire::gemini::hooks::{EventDetails, HookInput};
use serde_json::Value;

use super::{HookPlace, HookRunner, stop_message};
use crate::hooks::AppliedEffect;

/// The request by which such an agent has hooks run.
pub(crate) const FIRE_HOOKS: &str = "_lapidary/hook";

/// The answer of hooks to such a request.
#[derive(Debug)]
pub(crate) struct ModelVerdict {
    /// Their merged output, for the agent.
    pub(crate) answer: Json,
    /// Why the turn has to stop, if it has to.
    pub(crate) stop: Option<String>,
}

impl HookRunner {
    /// Runs the hooks of a moment between the agent and its model. None if the run ended before they could answer.
    pub(crate) async fn around_model(
        &self,
        details: EventDetails,
        place: HookPlace<'_>,
    ) -> Option<ModelVerdict> {
        let fired = self.fire_hooks(details, place).await;
        if self.running.is_over() {
            return None;
        }
        let mut effects = fired.effects().into_iter();
        let stops = effects.any(|it| matches!(it, AppliedEffect::Stop(_)));
        let stop = stops.then(|| stop_message(&fired));
        let output = fired.aggregate.map(|output| Value::Object(output.0));
        let output = Json::from_value(&output.unwrap_or_default());
        let answer = Json::object([("output", output)]);
        Some(ModelVerdict { answer, stop })
    }
}

/// The moment that the agent reports. Those of other moments come by here anyway, and are not the agent's to report.
pub(crate) fn model_moment(params: &Json) -> Option<EventDetails> {
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
