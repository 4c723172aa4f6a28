//! The actions of a sub-agent within a call, as `_meta` reports them.

use serde_json::{Value, json};

use crate::support::{acp_turn, names};

fn turn(updates: &[Value]) -> Vec<Value> {
    let lines: Vec<_> = updates.iter().map(Value::to_string).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    acp_turn(&lines)
}

fn words(text: &str, meta: &Value) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"sessionUpdate": "agent_message_chunk", "content": content, "_meta": meta})
}

#[test]
fn words_and_calls_of_a_sub_agent_name_the_call_it_works_in() {
    for meta in [
        json!({"lapidary": {"parentCallId": "task-1"}}),
        json!({"claudeCode": {"parentToolUseId": "task-1"}}),
    ] {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "kind": "execute", "_meta": meta});
        // The end of the call does not say it again.
        let end =
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"});
        let plain = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "mine"}});
        let told = turn(&[plain.clone(), words("its", &meta), call, end, plain]);
        let of = |text: &str| {
            let mut events = told.iter().filter(|event| event["textDelta"] == text);
            events.next().unwrap()["parentCallId"].clone()
        };
        assert_eq!((of("mine"), of("its")), (Value::Null, json!("task-1")));
        for name in ["tool_invocation", "tool_completion"] {
            let event = told.iter().find(|event| event["event"] == name).unwrap();
            assert_eq!(event["parentCallId"], "task-1", "{event}");
        }
        let starts: Vec<_> = told
            .iter()
            .filter(|event| event["kind"] == "messageStart")
            .collect();
        let parents: Vec<_> = starts.iter().map(|event| &event["parentCallId"]).collect();
        assert_eq!(
            parents,
            [&Value::Null, &json!("task-1"), &Value::Null],
            "three messages"
        );
    }
}

#[test]
fn a_sub_agent_begins_and_ends_in_a_call() {
    let news = |subagent: Value| {
        json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "task-1", "status": "in_progress",
            "_meta": {"lapidary": {"subagent": subagent}},
        })
    };
    let told = turn(&[
        news(json!({"agentName": "scout", "agentId": "a", "prompt": "Look."})),
        news(
            json!({"agentName": "scout", "agentId": "a", "terminateReason": "GOAL", "recoveredFrom": "MAX_TURNS", "result": "Found."}),
        ),
    ]);
    assert_eq!(names(&told)[..2], ["subagent_spawn", "subagent_complete"]);
    assert_eq!(
        told[0],
        json!({"event": "subagent_spawn", "callId": "task-1", "agentType": "scout", "description": "Look."})
    );
    assert_eq!(
        told[1],
        json!({
            "event": "subagent_complete", "callId": "task-1", "agentId": "a", "status": "GOAL", "summary": "Found.",
            "extensions": {"lapidary.recoveredFrom": "MAX_TURNS"},
        })
    );
}
