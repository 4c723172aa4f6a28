//! Hooks around each request to the model: they change the request, answer in the model's place, choose tools, or end the task.
//!
//! The order is Gemini CLI's: `BeforeModel`, then `BeforeToolSelection`, then the model, then `AfterModel`. Two points differ (0.61):
//! each fires once per answer, not once per attempt and chunk, and a replaced answer keeps the model's calls.

use std::borrow::Cow;
use std::fmt;

use lapidary_wire::gemini::hooks::{
    EventDetails, HookEvent, HookOutput, JsonObject, apply_request, from_response,
    from_tool_config, is_truthy, to_request, to_response,
};
use serde_json::{Map, Value, json};

use super::AgentRun;
use super::activity::ErrorContext;
use super::signatures::with_signatures;
use super::turn_end::TurnEnd;
use crate::model::{
    Content, ModelAnswer, ModelPart, ModelRequest, PartKind, TokenUsage, concrete_model,
};
use crate::tool::BoxFuture;

/// Runs the hooks of a model's moments. The client that leads an agent has them.
pub trait ModelHooks: fmt::Debug + Send + Sync {
    /// Whether there are hooks for an event. Without any, the executor does not even write the request down for them.
    fn has_hooks(&self, event: HookEvent) -> bool;

    /// Runs the hooks of an event, and joins their answers; none if no hook has an answer.
    fn fire(
        &self,
        details: EventDetails,
    ) -> BoxFuture<'_, Result<Option<HookOutput>, HooksCancelled>>;
}

/// The hooks were ended before they had answered: the task is being cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hooks were ended before they had answered")]
pub struct HooksCancelled;

/// A request that hooks may change before it is made.
#[derive(Debug)]
pub(super) struct RequestDraft<'a> {
    model: Cow<'a, str>,
    contents: Cow<'a, [Content]>,
    generation: Cow<'a, Map<String, Value>>,
    /// `toolConfig` of the Gemini API.
    tool_config: Option<Value>,
}

impl<'a> RequestDraft<'a> {
    pub(super) fn new(run: &'a AgentRun<'_>) -> Self {
        Self {
            model: Cow::Borrowed(concrete_model(&run.request.model)),
            contents: with_signatures(&run.history),
            generation: Cow::Borrowed(&run.generation),
            tool_config: None,
        }
    }

    pub(super) fn as_request<'r>(&'r self, run: &'r AgentRun<'_>) -> ModelRequest<'r> {
        ModelRequest {
            model: &self.model,
            system_instruction: run.system_instruction.as_deref(),
            contents: &self.contents,
            tools: &run.tools.declarations,
            tool_config: self.tool_config.as_ref(),
            generation: &self.generation,
        }
    }

    /// The tools that hooks let the model call; none if they do not choose.
    pub(super) fn selected_tools(&self) -> Option<Vec<String>> {
        let calling = self.tool_config.as_ref()?.get("functionCallingConfig")?;
        if calling.get("mode").is_some_and(|mode| mode == "NONE") {
            return Some(Vec::new());
        }
        let names = calling.get("allowedFunctionNames")?.as_array()?;
        let names = names.iter().filter_map(Value::as_str);
        Some(names.map(str::to_owned).collect())
    }

    /// The request in the form of the model API.
    fn to_object(&self) -> JsonObject {
        let contents = self.contents.iter().map(Content::to_value);
        let mut object = JsonObject::new();
        object.insert("model".to_owned(), self.model.as_ref().into());
        object.insert("contents".to_owned(), contents.collect());
        let config = Value::Object(self.generation.as_ref().clone());
        object.insert("config".to_owned(), config);
        object
    }

    /// Takes up the changes that a hook made. A content that it left alone keeps its tokens.
    fn apply_hook_changes(&mut self, said: &JsonObject) {
        let before = self.to_object();
        let Some(changed) = apply_request(said, &before) else {
            return;
        };
        if let Some(model) = changed.get("model").and_then(Value::as_str) {
            self.model = Cow::Owned(concrete_model(model).to_owned());
        }
        if let Some(Value::Object(config)) = changed.get("config") {
            self.generation.to_mut().extend(config.clone());
        }
        let contents = changed.get("contents").and_then(Value::as_array);
        let contents = contents.into_iter().flatten().enumerate();
        let kept = |(at, content): (usize, &Value)| {
            let old = self.contents.get(at);
            let old = old.filter(|old| old.to_value() == *content);
            old.cloned().unwrap_or_else(|| Content::from_value(content))
        };
        self.contents = Cow::Owned(contents.map(kept).collect());
    }
}

impl AgentRun<'_> {
    pub(super) fn has_hooks(&self, event: HookEvent) -> bool {
        let hooks = self.executor.hooks.as_ref();
        hooks.is_some_and(|hooks| hooks.has_hooks(event))
    }

    pub(super) async fn fire_hooks(&self, details: EventDetails) -> Result<HookOutput, TurnEnd> {
        let Some(hooks) = self.executor.hooks.as_ref() else {
            return Ok(HookOutput::default());
        };
        let fired = hooks.fire(details).await;
        let fired = fired.map_err(|HooksCancelled| TurnEnd::Aborted)?;
        Ok(fired.unwrap_or_default())
    }

    /// Has hooks change the request. Returns the answer that a hook gives in the model's place, if one does.
    pub(super) async fn before_model(
        &self,
        draft: &mut RequestDraft<'_>,
    ) -> Result<Option<ModelAnswer>, TurnEnd> {
        if !self.has_hooks(HookEvent::BeforeModel) {
            return Ok(None);
        }
        let llm_request = Value::Object(to_request(&draft.to_object()));
        let output = self
            .fire_hooks(EventDetails::BeforeModel { llm_request })
            .await?;
        refuse_stop(&output)?;
        if output.is_blocking() {
            let answer = specific_object(&output, "llm_response").and_then(answer_in_place);
            return match answer {
                Some(answer) => Ok(Some(answer)),
                None => Err(self.blocked_turn("model call", &output)),
            };
        }
        if let Some(said) = specific_object(&output, "llm_request") {
            draft.apply_hook_changes(said);
        }
        Ok(None)
    }

    /// Has hooks choose the tools that the model may call.
    pub(super) async fn select_tools(&self, draft: &mut RequestDraft<'_>) -> Result<(), TurnEnd> {
        if !self.has_hooks(HookEvent::BeforeToolSelection) {
            return Ok(());
        }
        let llm_request = Value::Object(to_request(&draft.to_object()));
        let details = EventDetails::BeforeToolSelection { llm_request };
        let output = self.fire_hooks(details).await?;
        let config = specific_object(&output, "toolConfig").map(from_tool_config);
        draft.tool_config = config.filter(|it| !it.is_empty()).map(Value::Object);
        Ok(())
    }

    /// Has hooks judge an answer, or replace its text.
    pub(super) async fn after_model(
        &self,
        draft: &RequestDraft<'_>,
        mut answer: ModelAnswer,
    ) -> Result<ModelAnswer, TurnEnd> {
        let details = EventDetails::AfterModel {
            llm_request: Value::Object(to_request(&draft.to_object())),
            llm_response: Value::Object(to_response(&response_object(&answer))),
        };
        let output = self.fire_hooks(details).await?;
        refuse_stop(&output)?;
        if output.is_blocking() {
            return Err(self.blocked_turn("answer of the model", &output));
        }
        let said = specific_object(&output, "llm_response").and_then(answer_in_place);
        if let Some(said) = said.filter(|said| !said.parts.is_empty()) {
            let is_kept =
                |part: &ModelPart| matches!(part.kind, PartKind::Call(_) | PartKind::Other);
            answer.parts.retain(is_kept);
            answer.parts.splice(..0, said.parts);
        }
        Ok(answer)
    }

    fn blocked_turn(&self, what: &str, output: &HookOutput) -> TurnEnd {
        let message = format!("a hook blocked the {what}: {}", output.effective_reason());
        self.emit_error(message.clone(), ErrorContext::Hook);
        TurnEnd::Blocked(message)
    }
}

/// A hook that stops the task ends the turn.
fn refuse_stop(output: &HookOutput) -> Result<(), TurnEnd> {
    if output.is_stopping() {
        return Err(TurnEnd::Stopped(output.effective_reason()));
    }
    Ok(())
}

fn specific_object<'a>(output: &'a HookOutput, key: &str) -> Option<&'a JsonObject> {
    let said = output.specific(key).filter(|it| is_truthy(it))?;
    said.as_object()
}

/// The answer that a hook wrote. Hooks write text only.
fn answer_in_place(said: &JsonObject) -> Option<ModelAnswer> {
    let response = Value::Object(from_response(said)?);
    let candidate = response.get("candidates")?.get(0)?;
    let parts = candidate.pointer("/content/parts")?.as_array()?;
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    let texts = texts.filter(|text| !text.is_empty());
    Some(ModelAnswer {
        parts: texts.map(ModelPart::from_text).collect(),
        finish_reason: Some("STOP".to_owned()),
        ..ModelAnswer::default()
    })
}

/// An answer in the form of the model API.
fn response_object(answer: &ModelAnswer) -> JsonObject {
    let parts = answer.parts.iter().map(ModelPart::to_value);
    let parts: Vec<_> = parts.collect();
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(reason) = &answer.finish_reason {
        candidate["finishReason"] = reason.as_str().into();
    }
    let mut response = JsonObject::new();
    response.insert("candidates".to_owned(), json!([candidate]));
    if let Some(usage) = answer.usage {
        response.insert("usageMetadata".to_owned(), usage_metadata(&usage));
    }
    response
}

fn usage_metadata(usage: &TokenUsage) -> Value {
    json!({
        "promptTokenCount": usage.prompt,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.total,
    })
}
