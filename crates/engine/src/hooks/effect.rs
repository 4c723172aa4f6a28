//! What is to be done about what hooks said.

use lapidary_wire::gemini::hooks::{Event, Object, Output, is_truthy};
use serde_json::Value;

/// Something that is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Everything ends here, for this reason.
    Stop(String),
    /// What was about to happen does not, or what has happened is not told on, for this reason.
    Block(String),
    /// The user is asked, and shown this.
    Ask(Option<String>),
    /// The tool gets these arguments instead.
    ReplaceToolInput(Object),
    /// This is added for the model. Nothing in it can leave its frame.
    AddContext(String),
    /// This tool runs now, and its result takes the place of the one before.
    RunAnotherTool(Object),
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
    /// The user is told this.
    Tell(String),
}

/// What is to be done about what the hooks of an event said together, in this order.
pub fn effects(event: Event, output: &Output) -> Vec<Effect> {
    let mut effects: Vec<_> = output
        .system_message()
        .map(Effect::Tell)
        .into_iter()
        .collect();
    match event {
        Event::BeforeTool => effects.extend(before_tool(output)),
        Event::AfterTool => effects.extend(after_tool(output)),
        Event::BeforeAgent => effects.extend(objection(output).or_else(|| context(output))),
        Event::AfterAgent => effects.extend(after_agent(output)),
        Event::SessionStart => effects.extend(context(output)),
        Event::BeforeModel => effects.extend(before_model(output)),
        Event::AfterModel => effects.extend(after_model(output)),
        Event::BeforeToolSelection => {
            effects.extend(said(output, "toolConfig").map(Effect::SelectTools));
        }
        Event::SessionEnd | Event::PreCompress | Event::Notification => {}
    }
    effects
}

/// Stopping comes before blocking.
fn objection(output: &Output) -> Option<Effect> {
    let reason = || output.effective_reason();
    let stops = output.is_stopping().then(|| Effect::Stop(reason()));
    stops.or_else(|| output.is_blocking().then(|| Effect::Block(reason())))
}

fn context(output: &Output) -> Option<Effect> {
    let context = output.additional_context();
    context.filter(|it| !it.is_empty()).map(Effect::AddContext)
}

fn before_tool(output: &Output) -> Vec<Effect> {
    if let Some(objection) = objection(output) {
        return vec![objection];
    }
    let asks = output.is_asking();
    let ask = asks.then(|| Effect::Ask(output.question()));
    let input = output.tool_input().cloned().map(Effect::ReplaceToolInput);
    ask.into_iter().chain(input).collect()
}

fn after_tool(output: &Output) -> Vec<Effect> {
    if let Some(objection) = objection(output) {
        return vec![objection];
    }
    let another = output.tail_tool_call().cloned();
    let another = another.map(Effect::RunAnotherTool);
    context(output).into_iter().chain(another).collect()
}

/// Blocking means that it is not done yet.
fn after_agent(output: &Output) -> Vec<Effect> {
    let Some(objection) = objection(output) else {
        return Vec::new(); // only who stops or blocks can have anything forgotten
    };
    let objection = match objection {
        Effect::Block(reason) => Effect::GoOn(reason),
        stop => stop,
    };
    let forgets = output.clears_context().then_some(Effect::ForgetContext);
    forgets.into_iter().chain([objection]).collect()
}

fn before_model(output: &Output) -> Vec<Effect> {
    let response = || said(output, "llm_response").map(Effect::ReplaceResponse);
    match objection(output) {
        Some(stop @ Effect::Stop(_)) => vec![stop],
        Some(block) => [block].into_iter().chain(response()).collect(),
        None => {
            let request = said(output, "llm_request");
            request.map(Effect::ReplaceRequest).into_iter().collect()
        }
    }
}

fn after_model(output: &Output) -> Option<Effect> {
    let has_parts = |response: &Value| {
        let parts = response.pointer("/candidates/0/content/parts");
        parts
            .and_then(Value::as_array)
            .is_some_and(|it| !it.is_empty())
    };
    let response = || said(output, "llm_response").filter(has_parts);
    objection(output).or_else(|| response().map(Effect::ReplaceResponse))
}

fn said(output: &Output, key: &str) -> Option<Value> {
    output.specific(key).filter(|it| is_truthy(it)).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(event: Event, output: &Value, expected: &[Effect]) {
        let output = Output(output.as_object().unwrap().clone());
        assert_eq!(effects(event, &output), expected, "{event} {output:?}");
    }

    fn object(value: &Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn tools() {
        let event = Event::BeforeTool;
        let stop = json!({"continue": false, "decision": "deny", "reason": "r", "stopReason": "s"});
        check(event, &stop, &[Effect::Stop("s".into())]);
        let block = json!({"decision": "block", "hookSpecificOutput": {"tool_input": {}}});
        check(event, &block, &[Effect::Block("No reason provided".into())]);
        let ask = json!({"decision": "ask", "systemMessage": "m", "hookSpecificOutput": {"tool_input": {"a": 1}}});
        let expected = [
            Effect::Tell("m".into()),
            Effect::Ask(Some("m".into())),
            Effect::ReplaceToolInput(object(&json!({"a": 1}))),
        ];
        check(event, &ask, &expected);
        let ask = json!({"decision": "ask", "reason": "r"});
        check(event, &ask, &[Effect::Ask(Some("r".into()))]);
        check(event, &json!({"decision": "allow"}), &[]);
        let tail = json!({"hookSpecificOutput": {"additionalContext": "<b>", "tailToolCallRequest": {"name": "x"}}});
        let expected = [
            Effect::AddContext("&lt;b&gt;".into()),
            Effect::RunAnotherTool(object(&json!({"name": "x"}))),
        ];
        check(Event::AfterTool, &tail, &expected);
        let empty = json!({"hookSpecificOutput": {"additionalContext": ""}});
        check(Event::AfterTool, &empty, &[]);
        let mut hidden = tail;
        hidden["decision"] = "deny".into();
        hidden["reason"] = "r".into();
        check(Event::AfterTool, &hidden, &[Effect::Block("r".into())]);
    }

    #[test]
    fn prompts() {
        let clear = json!({"clearContext": true, "additionalContext": "c"});
        let block = json!({"decision": "deny", "reason": "r", "hookSpecificOutput": clear});
        check(Event::BeforeAgent, &block, &[Effect::Block("r".into())]);
        let go_on = [Effect::ForgetContext, Effect::GoOn("r".into())];
        check(Event::AfterAgent, &block, &go_on);
        let allow = json!({"hookSpecificOutput": clear});
        let context = [Effect::AddContext("c".into())];
        check(Event::BeforeAgent, &allow, &context);
        check(Event::AfterAgent, &allow, &[]);
        check(Event::SessionStart, &block, &context);
        check(Event::SessionEnd, &block, &[]);
        let stop = json!({"continue": false, "decision": "deny", "stopReason": "s"});
        for event in [Event::BeforeAgent, Event::AfterAgent] {
            check(event, &stop, &[Effect::Stop("s".into())]);
        }
    }

    #[test]
    fn models() {
        let response = json!({"candidates": [{"content": {"parts": ["x"]}}]});
        let both = json!({"llm_request": {"model": "m"}, "llm_response": response});
        let block = json!({"decision": "deny", "reason": "r", "hookSpecificOutput": both});
        let expected = [
            Effect::Block("r".into()),
            Effect::ReplaceResponse(response.clone()),
        ];
        check(Event::BeforeModel, &block, &expected);
        check(Event::AfterModel, &block, &[Effect::Block("r".into())]);
        let mut stop = block;
        stop["continue"] = false.into();
        for event in [Event::BeforeModel, Event::AfterModel] {
            check(event, &stop, &[Effect::Stop("r".into())]);
        }
        let allow = json!({"hookSpecificOutput": both});
        let request = [Effect::ReplaceRequest(json!({"model": "m"}))];
        check(Event::BeforeModel, &allow, &request);
        check(
            Event::AfterModel,
            &allow,
            &[Effect::ReplaceResponse(response)],
        );
        let empty = json!({"hookSpecificOutput": {"llm_response": {"candidates": []}}});
        check(Event::AfterModel, &empty, &[]);
        let tools = json!({"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}});
        let expected = [Effect::SelectTools(json!({"mode": "NONE"}))];
        check(Event::BeforeToolSelection, &tools, &expected);
    }
}
