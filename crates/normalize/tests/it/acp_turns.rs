//! How ACP turns and runs end, and whose answer is whose.

use lapidary_normalize::{DeltaMode, NormalizeOptions};
use serde_json::{Value, json};

use crate::support::{ACP_PROMPT, acp_update, body, connection, names, options};

fn ended(lines: &[&str]) -> (Value, Value) {
    let events = connection(lines, &options());
    let end = body(events.last().unwrap());
    (end["outcome"].clone(), end["cause"].clone())
}

#[test]
fn each_stop_reason_has_its_outcome_and_unknown_ones_are_errors() {
    for (reason, is_error, outcome, cause) in [
        ("end_turn", false, "completed", "end_turn"),
        ("refusal", true, "refused", "refusal"),
        ("max_tokens", true, "failed", "max_tokens"),
        ("max_turn_requests", true, "failed", "max_turns"),
        ("cancelled", false, "cancelled", "cancelled_by_client"),
        ("error", true, "failed", "api_error"),
    ] {
        let answer = format!(r#"<{{"jsonrpc":"2.0","id":3,"result":{{"stopReason":"{reason}"}}}}"#);
        let events = connection(&[ACP_PROMPT, &answer], &options());
        let turn = body(&events[1]);
        assert_eq!(turn["subtype"], json!(reason));
        assert_eq!(
            turn["isError"],
            if is_error { json!(true) } else { Value::Null },
            "{reason}"
        );
        let says = acp_update(
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi"}}"#,
        );
        assert_eq!(
            ended(&[ACP_PROMPT, &says, &answer]),
            (json!(outcome), json!(cause))
        );
    }
}

#[test]
fn a_prompt_without_an_answer_has_no_result_even_after_an_answered_one() {
    let done = r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;
    let again = ACP_PROMPT.replace("\"id\":3", "\"id\":4");
    let no_result = (json!("failed"), json!("no_result"));
    assert_eq!(ended(&[ACP_PROMPT]), no_result);
    assert_eq!(ended(&[ACP_PROMPT, done, &again]), no_result);
    // The first answer does not stand for the second prompt.
    assert_eq!(ended(&[ACP_PROMPT, &again, done]), no_result);
}

#[test]
fn an_error_is_shown_and_ends_the_turn() {
    let error =
        json!({"code": 429, "message": "You have exhausted your daily quota on this model."});
    let answer = format!("<{}", json!({"jsonrpc": "2.0", "id": 3, "error": error}));
    let events = connection(&[ACP_PROMPT, &answer], &options());
    let told: Vec<_> = events[1..].iter().map(body).collect();
    assert_eq!(
        told[..2],
        [
            json!({"event": "text", "kind": "error", "text": error["message"], "extensions": {"acp.error": error}}),
            json!({"event": "turn_complete", "isError": true, "subtype": "error", "errors": [error["message"]], "extensions": {"acp.error": error}}),
        ]
    );
    assert_eq!(told[2]["cause"], "quota_terminal");
}

#[test]
fn an_agent_without_a_sign_in_ends_with_auth_required() {
    let lines = [
        r#">{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/p"}}"#,
        r#"<{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required"}}"#,
    ];
    assert_eq!(ended(&lines), (json!("failed"), json!("auth_required")));
}

#[test]
fn ids_are_typed_and_either_side_counts_its_own() {
    let events = connection(
        &[
            ACP_PROMPT,
            // The agent's request has the id of the client's.
            r#"<{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}"#,
            r#"<{"jsonrpc":"2.0","id":"3","result":{"stopReason":"end_turn"}}"#,
            r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
            r#">{"jsonrpc":"2.0","id":3,"result":{"content":"a"}}"#,
            r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}"#,
        ],
        &options(),
    );
    let told: Vec<_> = events.iter().map(body).collect();
    let outline: Vec<_> = told
        .iter()
        .map(|event| {
            event["message"]
                .as_str()
                .or(event["event"].as_str())
                .unwrap()
        })
        .collect();
    assert_eq!(
        outline,
        [
            "user_input",
            "the agent asks `fs/read_text_file`",
            "an answer to `3`, a request that was not sent",
            "turn_complete",
            "the client answers `fs/read_text_file`",
            "an answer to `3`, a request that was not sent",
            "run_end",
        ]
    );
}

#[test]
fn tokens_and_money_of_a_turn_are_found_wherever_they_are() {
    let usage = |result: Value, updates: &[&str]| {
        let updates: Vec<_> = updates.iter().map(|update| acp_update(update)).collect();
        let answer = format!("<{}", json!({"jsonrpc": "2.0", "id": 3, "result": result}));
        let mut lines = vec![ACP_PROMPT];
        lines.extend(updates.iter().map(String::as_str));
        lines.push(&answer);
        let events = connection(&lines, &options());
        let turn = body(&events[events.len() - 2]);
        (turn["usage"].clone(), turn["costUsd"].clone())
    };
    let counted = json!({"inputTokens": 1, "outputTokens": 2, "totalTokens": 3});
    assert_eq!(
        usage(json!({"stopReason": "end_turn", "usage": counted}), &[]),
        (counted, Value::Null)
    );
    let quota = json!({"stopReason": "end_turn", "_meta": {"quota": {"token_count": {"input_tokens": 1, "output_tokens": 2}}}});
    assert_eq!(
        usage(quota, &[]),
        (json!({"inputTokens": 1, "outputTokens": 2}), Value::Null)
    );
    let step = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":5,"outputTokens":1,"totalTokens":6}}}"#;
    let summed = json!({"inputTokens": 10, "outputTokens": 2, "totalTokens": 12});
    assert_eq!(
        usage(json!({"stopReason": "end_turn"}), &[step, step]),
        (summed, Value::Null)
    );
    let dollars = r#"{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.25,"currency":"USD"}}"#;
    assert_eq!(
        usage(json!({"stopReason": "end_turn"}), &[dollars]),
        (Value::Null, json!(0.25))
    );
    let euros = dollars.replace("USD", "EUR");
    assert_eq!(
        usage(json!({"stopReason": "end_turn"}), &[&euros]),
        (Value::Null, Value::Null)
    );
}

#[test]
fn whole_texts_are_joined_by_block_and_carry_their_lines() {
    let chunk = |kind: &str, text: &str| {
        acp_update(&format!(
            r#"{{"sessionUpdate":"{kind}","content":{{"type":"text","text":"{text}"}}}}"#
        ))
    };
    let lines = [
        ACP_PROMPT.to_owned(),
        chunk("agent_thought_chunk", "Hm"),
        chunk("agent_message_chunk", "a"),
        chunk("agent_message_chunk", "b"),
        r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#.to_owned(),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let translated = |deltas| {
        let options = NormalizeOptions {
            deltas,
            ..options()
        };
        connection(&lines, &options)
    };
    let events = translated(DeltaMode::Final);
    let told: Vec<_> = events[1..3].iter().map(body).collect();
    assert_eq!(
        told,
        [
            json!({"event": "text", "kind": "thinking", "text": "Hm"}),
            json!({"event": "text", "kind": "text", "text": "ab"}),
        ]
    );
    let raw = format!("[{},{}]", &lines[2][1..], &lines[3][1..]);
    assert_eq!(events[2].base.raw.as_ref().unwrap().as_str(), raw);
    let both: Vec<_> = translated(DeltaMode::Both).iter().map(body).collect();
    assert_eq!(
        names(&both).iter().filter(|name| **name == "text").count(),
        2
    );
    assert_eq!(
        names(&both)
            .iter()
            .filter(|name| **name == "stream_delta")
            .count(),
        9
    );
}

#[test]
fn a_transcript_of_the_agents_side_alone_is_understood() {
    let chunk = acp_update(
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}"#,
    );
    let events = connection(
        &[
            r#"<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#,
            r#"<{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#,
            &chunk,
            r#"<{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#,
        ],
        &options(),
    );
    let told: Vec<_> = events.iter().map(body).collect();
    assert_eq!(
        names(&told),
        [
            "diagnostic",
            "session_init",
            "stream_delta",
            "stream_delta",
            "stream_delta",
            "stream_delta",
            "stream_delta",
            "turn_complete",
            "run_end"
        ]
    );
    assert_eq!(told[4]["extensions"], Value::Null);
    assert_eq!(told[8]["outcome"], "completed");
}
