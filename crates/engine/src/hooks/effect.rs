//! The effects of the merged output of hooks.

use lapidary_wire::gemini::hooks::{HookEvent, HookOutput, JsonObject, is_truthy};
use serde_json::Value;

/// One effect of hooks on the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AppliedEffect {
    /// Everything ends here, for this reason.
    Stop(String),
    /// The action is not taken, or its result is withheld, for this reason.
    Block(String),
    /// The user is asked, and shown this.
    Ask(Option<String>),
    /// The tool gets these arguments instead.
    ReplaceToolInput(JsonObject),
    /// This is added for the model. Nothing in it can leave its frame.
    AddContext(String),
    /// This tool runs now, and its result replaces the previous one.
    RunAnotherTool(JsonObject),
    /// The agent goes on, with this as its prompt.
    GoOn(String),
    /// The conversation so far is forgotten.
    ForgetContext,
    /// The model gets this request instead, as hooks see requests.
    ReplaceRequest(Value),
    /// This is the model's answer, or this piece of it, as hooks see answers.
    ReplaceResponse(Value),
    /// The model may call these tools, as hooks see such a list.
    SelectTools(Value),
    /// The user gets this message.
    Tell(String),
}

/// The effects of the merged output of an event's hooks, in the order in which they apply.
pub fn effects(event: HookEvent, output: &HookOutput) -> Vec<AppliedEffect> {
    let mut effects: Vec<_> = output
        .system_message()
        .map(AppliedEffect::Tell)
        .into_iter()
        .collect();
    match event {
        HookEvent::BeforeTool => effects.extend(before_tool(output)),
        HookEvent::AfterTool => effects.extend(after_tool(output)),
        HookEvent::BeforeAgent => {
            effects.extend(objection_effect(output).or_else(|| context_effect(output)));
        }
        HookEvent::AfterAgent => effects.extend(after_agent(output)),
        HookEvent::SessionStart => effects.extend(context_effect(output)),
        HookEvent::BeforeModel => effects.extend(before_model(output)),
        HookEvent::AfterModel => effects.extend(after_model(output)),
        HookEvent::BeforeToolSelection => {
            effects.extend(truthy_field(output, "toolConfig").map(AppliedEffect::SelectTools));
        }
        HookEvent::SessionEnd | HookEvent::PreCompress | HookEvent::Notification => {}
    }
    effects
}

/// Stopping comes before blocking.
fn objection_effect(output: &HookOutput) -> Option<AppliedEffect> {
    let reason = || output.effective_reason();
    let stops = output.is_stopping().then(|| AppliedEffect::Stop(reason()));
    stops.or_else(|| output.is_blocking().then(|| AppliedEffect::Block(reason())))
}

fn context_effect(output: &HookOutput) -> Option<AppliedEffect> {
    let context = output.additional_context();
    context
        .filter(|it| !it.is_empty())
        .map(AppliedEffect::AddContext)
}

fn before_tool(output: &HookOutput) -> Vec<AppliedEffect> {
    if let Some(objection) = objection_effect(output) {
        return vec![objection];
    }
    let asks = output.is_asking();
    let ask = asks.then(|| AppliedEffect::Ask(output.question()));
    let input = output
        .tool_input()
        .cloned()
        .map(AppliedEffect::ReplaceToolInput);
    ask.into_iter().chain(input).collect()
}

fn after_tool(output: &HookOutput) -> Vec<AppliedEffect> {
    if let Some(objection) = objection_effect(output) {
        return vec![objection];
    }
    let another = output.tail_tool_call().cloned();
    let another = another.map(AppliedEffect::RunAnotherTool);
    context_effect(output).into_iter().chain(another).collect()
}

/// Blocking means that it is not done yet.
fn after_agent(output: &HookOutput) -> Vec<AppliedEffect> {
    let Some(objection) = objection_effect(output) else {
        return Vec::new(); // `clearContext` counts only with a stop or a block
    };
    let objection = match objection {
        AppliedEffect::Block(reason) => AppliedEffect::GoOn(reason),
        stop => stop,
    };
    let forgets = output
        .clears_context()
        .then_some(AppliedEffect::ForgetContext);
    forgets.into_iter().chain([objection]).collect()
}

fn before_model(output: &HookOutput) -> Vec<AppliedEffect> {
    let response = || truthy_field(output, "llm_response").map(AppliedEffect::ReplaceResponse);
    match objection_effect(output) {
        Some(stop @ AppliedEffect::Stop(_)) => vec![stop],
        Some(block) => [block].into_iter().chain(response()).collect(),
        None => {
            let request = truthy_field(output, "llm_request");
            request
                .map(AppliedEffect::ReplaceRequest)
                .into_iter()
                .collect()
        }
    }
}

fn after_model(output: &HookOutput) -> Option<AppliedEffect> {
    let has_parts = |response: &Value| {
        let parts = response.pointer("/candidates/0/content/parts");
        parts
            .and_then(Value::as_array)
            .is_some_and(|it| !it.is_empty())
    };
    let response = || truthy_field(output, "llm_response").filter(has_parts);
    objection_effect(output).or_else(|| response().map(AppliedEffect::ReplaceResponse))
}

fn truthy_field(output: &HookOutput, key: &str) -> Option<Value> {
    output.specific(key).filter(|it| is_truthy(it)).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(event: HookEvent, output: &Value, expected: &[AppliedEffect]) {
        let output = HookOutput(output.as_object().unwrap().clone());
        assert_eq!(effects(event, &output), expected, "{event} {output:?}");
    }

    fn object(value: &Value) -> JsonObject {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn hooks_around_a_tool_have_their_effects() {
        let event = HookEvent::BeforeTool;
        let stop = json!({"continue": false, "decision": "deny", "reason": "r", "stopReason": "s"});
        check(event, &stop, &[AppliedEffect::Stop("s".into())]);
        let block = json!({"decision": "block", "hookSpecificOutput": {"tool_input": {}}});
        check(
            event,
            &block,
            &[AppliedEffect::Block("No reason provided".into())],
        );
        let ask = json!({"decision": "ask", "systemMessage": "m", "hookSpecificOutput": {"tool_input": {"a": 1}}});
        let expected = [
            AppliedEffect::Tell("m".into()),
            AppliedEffect::Ask(Some("m".into())),
            AppliedEffect::ReplaceToolInput(object(&json!({"a": 1}))),
        ];
        check(event, &ask, &expected);
        let ask = json!({"decision": "ask", "reason": "r"});
        check(event, &ask, &[AppliedEffect::Ask(Some("r".into()))]);
        check(event, &json!({"decision": "allow"}), &[]);
        let tail = json!({"hookSpecificOutput": {"additionalContext": "<b>", "tailToolCallRequest": {"name": "x"}}});
        let expected = [
            AppliedEffect::AddContext("&lt;b&gt;".into()),
            AppliedEffect::RunAnotherTool(object(&json!({"name": "x"}))),
        ];
        check(HookEvent::AfterTool, &tail, &expected);
        let empty = json!({"hookSpecificOutput": {"additionalContext": ""}});
        check(HookEvent::AfterTool, &empty, &[]);
        let mut hidden = tail;
        hidden["decision"] = "deny".into();
        hidden["reason"] = "r".into();
        check(
            HookEvent::AfterTool,
            &hidden,
            &[AppliedEffect::Block("r".into())],
        );
    }

    #[test]
    fn hooks_around_a_prompt_have_their_effects() {
        let clear = json!({"clearContext": true, "additionalContext": "c"});
        let block = json!({"decision": "deny", "reason": "r", "hookSpecificOutput": clear});
        check(
            HookEvent::BeforeAgent,
            &block,
            &[AppliedEffect::Block("r".into())],
        );
        let go_on = [
            AppliedEffect::ForgetContext,
            AppliedEffect::GoOn("r".into()),
        ];
        check(HookEvent::AfterAgent, &block, &go_on);
        let allow = json!({"hookSpecificOutput": clear});
        let context = [AppliedEffect::AddContext("c".into())];
        check(HookEvent::BeforeAgent, &allow, &context);
        check(HookEvent::AfterAgent, &allow, &[]);
        check(HookEvent::SessionStart, &block, &context);
        check(HookEvent::SessionEnd, &block, &[]);
        let stop = json!({"continue": false, "decision": "deny", "stopReason": "s"});
        for event in [HookEvent::BeforeAgent, HookEvent::AfterAgent] {
            check(event, &stop, &[AppliedEffect::Stop("s".into())]);
        }
    }

    #[test]
    fn hooks_around_the_model_have_their_effects() {
        let response = json!({"candidates": [{"content": {"parts": ["x"]}}]});
        let both = json!({"llm_request": {"model": "m"}, "llm_response": response});
        let block = json!({"decision": "deny", "reason": "r", "hookSpecificOutput": both});
        let expected = [
            AppliedEffect::Block("r".into()),
            AppliedEffect::ReplaceResponse(response.clone()),
        ];
        check(HookEvent::BeforeModel, &block, &expected);
        check(
            HookEvent::AfterModel,
            &block,
            &[AppliedEffect::Block("r".into())],
        );
        let mut stop = block;
        stop["continue"] = false.into();
        for event in [HookEvent::BeforeModel, HookEvent::AfterModel] {
            check(event, &stop, &[AppliedEffect::Stop("r".into())]);
        }
        let allow = json!({"hookSpecificOutput": both});
        let request = [AppliedEffect::ReplaceRequest(json!({"model": "m"}))];
        check(HookEvent::BeforeModel, &allow, &request);
        check(
            HookEvent::AfterModel,
            &allow,
            &[AppliedEffect::ReplaceResponse(response)],
        );
        let empty = json!({"hookSpecificOutput": {"llm_response": {"candidates": []}}});
        check(HookEvent::AfterModel, &empty, &[]);
        let tools = json!({"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}});
        let expected = [AppliedEffect::SelectTools(json!({"mode": "NONE"}))];
        check(HookEvent::BeforeToolSelection, &tools, &expected);
    }
}
