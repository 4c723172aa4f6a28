//! Merges the outputs of the hooks of one event, as Gemini CLI (0.61) merges them.

use lapidary_wire::gemini::hooks::{HookEvent, HookOutput, JsonObject, is_truthy, said};
use serde_json::{Value, json};

/// The fields that an aggregate has. Others were for the hook that wrote them.
const FIELDS: [&str; 7] = [
    "continue",
    "stopReason",
    "suppressOutput",
    "systemMessage",
    "decision",
    "reason",
    "hookSpecificOutput",
];

const SPECIFIC: &str = "hookSpecificOutput";

/// The merged output of all hooks, in the order of their plan. None if no hook has an output.
pub fn aggregate<'a>(
    event: HookEvent,
    outputs: impl IntoIterator<Item = &'a HookOutput>,
) -> Option<HookOutput> {
    let outputs: Vec<_> = outputs.into_iter().collect();
    if outputs.is_empty() {
        return None;
    }
    let mut merged = match event {
        HookEvent::BeforeTool
        | HookEvent::AfterTool
        | HookEvent::BeforeAgent
        | HookEvent::AfterAgent
        | HookEvent::SessionStart => merged_decisions(&outputs),
        HookEvent::BeforeModel | HookEvent::AfterModel => replaced_fields(&outputs),
        HookEvent::BeforeToolSelection => merged_tool_selection(&outputs),
        HookEvent::SessionEnd | HookEvent::PreCompress | HookEvent::Notification => {
            latest_fields(&outputs)
        }
    };
    merged.retain(|key, _| FIELDS.contains(&key.as_str()));
    Some(HookOutput(merged))
}

/// A single hook can stop or block; reasons and messages of all hooks are joined.
fn merged_decisions(outputs: &[&HookOutput]) -> JsonObject {
    let mut merged = JsonObject::new();
    let stops = outputs.iter().any(|output| output.is_stopping());
    let mutes = outputs.iter().any(|output| output.is_muted());
    merged.insert("continue".to_owned(), (!stops).into());
    merged.insert("suppressOutput".to_owned(), mutes.into());
    if let Some(decision) = strictest_decision(outputs, stops) {
        merged.insert("decision".to_owned(), decision);
    }
    if let Some(specific) = merged_specific_output(outputs) {
        merged.insert(SPECIFIC.to_owned(), specific.into());
    }
    let stopping: Vec<_> = outputs
        .iter()
        .copied()
        .filter(|it| it.is_stopping())
        .collect();
    for (key, from) in [
        ("stopReason", stopping.as_slice()),
        ("reason", outputs),
        ("systemMessage", outputs),
    ] {
        let words = from.iter().filter_map(|output| output.0.get(key));
        let words: Vec<_> = words.filter(|it| is_truthy(it)).map(said).collect();
        if !words.is_empty() {
            merged.insert(key.to_owned(), words.join("\n").into());
        }
    }
    merged
}

/// The last refusal, else the last wish to be asked, else a yes; where everything stops anyway, none is needed.
fn strictest_decision(outputs: &[&HookOutput], stops: bool) -> Option<Value> {
    let last = |is: fn(&HookOutput) -> bool| {
        let found = outputs.iter().rev().find(|output| is(output))?;
        found.0.get("decision").cloned()
    };
    let decision = last(HookOutput::is_blocking).or_else(|| last(HookOutput::is_asking));
    decision.or_else(|| (!stops).then(|| "allow".into()))
}

/// Later fields replace earlier ones, but contexts are joined, and `clearContext` stays set once it is true.
fn merged_specific_output(outputs: &[&HookOutput]) -> Option<JsonObject> {
    let all = outputs.iter().filter_map(|output| specific_of(output));
    let mut merged: Option<JsonObject> = None;
    let (mut contexts, mut clears) = (Vec::new(), false);
    for one in all {
        clears |= one.get("clearContext") == Some(&Value::Bool(true));
        contexts.extend(one.get("additionalContext").and_then(Value::as_str));
        let others = one.iter().filter(|(key, _)| *key != "clearContext");
        let others = others.map(|(key, value)| (key.clone(), value.clone()));
        merged.get_or_insert_default().extend(others);
    }
    if clears {
        let merged = merged.get_or_insert_default();
        merged.insert("clearContext".to_owned(), true.into());
    }
    if !contexts.is_empty() {
        let merged = merged.get_or_insert_default();
        merged.insert("additionalContext".to_owned(), contexts.join("\n").into());
    }
    merged
}

fn specific_of(output: &HookOutput) -> Option<&JsonObject> {
    output.0.get(SPECIFIC)?.as_object()
}

/// Field by field the last one, inside `hookSpecificOutput` too.
fn replaced_fields(outputs: &[&HookOutput]) -> JsonObject {
    let mut specific = JsonObject::new();
    for one in outputs.iter().filter_map(|output| specific_of(output)) {
        specific.extend(one.clone());
    }
    let mut merged = latest_fields(outputs);
    merged.insert(SPECIFIC.to_owned(), specific.into());
    merged
}

/// Field by field the last one.
fn latest_fields(outputs: &[&HookOutput]) -> JsonObject {
    let mut merged = JsonObject::new();
    for output in outputs {
        merged.extend(output.0.clone());
    }
    merged
}

/// The strictest mode, and the tools that any hook names. The result has a mode even if no hook has a `toolConfig`.
fn merged_tool_selection(outputs: &[&HookOutput]) -> JsonObject {
    let configs = outputs.iter().filter_map(|it| it.specific("toolConfig"));
    let configs: Vec<_> = configs.collect();
    let has = |mode: &str| configs.iter().any(|it| it["mode"] == mode);
    let mode = ["NONE", "ANY"].into_iter().find(|mode| has(mode));
    let mode = mode.unwrap_or("AUTO");
    let mut names: Vec<&str> = Vec::new();
    if mode != "NONE" {
        let lists = configs
            .iter()
            .filter_map(|it| it["allowedFunctionNames"].as_array());
        names.extend(lists.flatten().filter_map(Value::as_str));
        names.sort_by(|one, other| one.encode_utf16().cmp(other.encode_utf16()));
        names.dedup();
    }
    let specific = json!({
        "hookEventName": HookEvent::BeforeToolSelection.as_str(),
        "toolConfig": {"mode": mode, "allowedFunctionNames": names},
    });
    JsonObject::from_iter([(SPECIFIC.to_owned(), specific)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(event: HookEvent, outputs: &[Value], expected: &Value) {
        let outputs = outputs
            .iter()
            .map(|it| HookOutput(it.as_object().unwrap().clone()));
        let outputs: Vec<_> = outputs.collect();
        let merged = aggregate(event, &outputs).map_or(Value::Null, |it| it.0.into());
        assert_eq!(merged, *expected);
    }

    #[test]
    fn an_event_without_hook_outputs_has_no_aggregate() {
        check(HookEvent::BeforeTool, &[], &Value::Null);
    }

    #[test]
    fn one_objecting_hook_decides_for_all_hooks_of_an_event() {
        let yes = json!({"continue": true, "suppressOutput": false, "decision": "allow"});
        check(HookEvent::BeforeTool, &[json!({})], &yes);
        check(
            HookEvent::BeforeTool,
            &[json!({"decision": "Deny", "other": 1})],
            &yes,
        );
        check(
            HookEvent::BeforeAgent,
            &[
                json!({"decision": "block", "reason": "a", "systemMessage": "x"}),
                json!({"decision": "deny", "reason": "b", "suppressOutput": 1}),
                json!({"decision": "ask", "reason": "", "systemMessage": "y"}),
                json!({"decision": "allow", "stopReason": "not stopping"}),
            ],
            &json!({
                "continue": true, "suppressOutput": true, "decision": "deny",
                "reason": "a\nb", "systemMessage": "x\ny",
            }),
        );
        check(
            HookEvent::BeforeTool,
            &[json!({"decision": "ask"}), json!({"decision": "allow"})],
            &json!({"continue": true, "suppressOutput": false, "decision": "ask"}),
        );
        check(
            HookEvent::AfterTool,
            &[
                json!({"continue": false, "stopReason": "s"}),
                json!({"continue": 0}),
            ],
            &json!({"continue": false, "suppressOutput": false, "stopReason": "s"}),
        );
    }

    #[test]
    fn contexts_are_added_up() {
        let specific = |specific: Value| json!({"hookSpecificOutput": specific});
        check(
            HookEvent::AfterAgent,
            &[
                specific(json!({"additionalContext": "a", "x": 1, "clearContext": true})),
                specific(json!({"additionalContext": "b", "x": 2, "clearContext": false})),
                specific(json!({"additionalContext": 7})),
                specific(json!("odd")),
            ],
            &json!({
                "continue": true, "suppressOutput": false, "decision": "allow",
                "hookSpecificOutput": {"additionalContext": "a\nb", "x": 2, "clearContext": true},
            }),
        );
    }

    #[test]
    fn outputs_of_model_hooks_are_merged_and_the_last_one_counts() {
        check(
            HookEvent::BeforeModel,
            &[
                json!({"decision": "deny", "reason": "a", "hookSpecificOutput": {"x": 1, "y": 1}}),
                json!({"decision": "allow", "hookSpecificOutput": {"y": 2}}),
            ],
            &json!({"decision": "allow", "reason": "a", "hookSpecificOutput": {"x": 1, "y": 2}}),
        );
        check(
            HookEvent::SessionEnd,
            &[
                json!({"systemMessage": "a", "other": 1, "hookSpecificOutput": {"x": 1}}),
                json!({"systemMessage": "b", "hookSpecificOutput": {"y": 1}}),
            ],
            &json!({"systemMessage": "b", "hookSpecificOutput": {"y": 1}}),
        );
    }

    #[test]
    fn allowed_tools_are_the_union_of_the_hooks_tools() {
        let config = |config: Value| json!({"decision": "deny", "hookSpecificOutput": {"toolConfig": config}});
        let said = |mode: &str, names: &[&str]| {
            json!({"hookSpecificOutput": {
                "hookEventName": "BeforeToolSelection",
                "toolConfig": {"mode": mode, "allowedFunctionNames": names},
            }})
        };
        let any = config(json!({"mode": "ANY", "allowedFunctionNames": ["b", "a"]}));
        let auto = config(json!({"mode": "AUTO", "allowedFunctionNames": ["c", "a"]}));
        let none = config(json!({"mode": "NONE"}));
        let event = HookEvent::BeforeToolSelection;
        check(event, &[json!({})], &said("AUTO", &[]));
        check(
            event,
            std::slice::from_ref(&auto),
            &said("AUTO", &["a", "c"]),
        );
        check(
            event,
            &[any.clone(), auto.clone()],
            &said("ANY", &["a", "b", "c"]),
        );
        check(event, &[any, none, auto], &said("NONE", &[]));
    }
}
