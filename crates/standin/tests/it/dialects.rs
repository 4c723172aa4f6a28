//! The same script in other words than Gemini's.

use std::time::Duration;

use lapidary_standin::api::{
    AnswerSource, ApiError, Dialect, FakeApi, ReportedUsage, RequestKind, Script, Turn,
};
use serde_json::{Value, json};

use crate::client::{Answer, post, start};

const MESSAGES: &str = "/v1/messages?beta=true";
const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

/// Everything that a model can do in one answer.
fn turn() -> Turn {
    let usage = ReportedUsage {
        prompt: 100,
        output: 10,
        thoughts: 5,
        cached: 40,
        tool: 0,
    };
    Turn::thought("Hm.")
        .and_text("Let ")
        .and_text("me see.")
        .and_call("ls", json!({ "path": "." }))
        .and_call("pwd", json!({}))
        .usage(usage)
}

/// The conversation, as agents ask it: streamed, with tools.
fn converse(api: &FakeApi, path: &str) -> Answer {
    let body = json!({ "model": "m", "stream": true, "tools": [{ "name": "ls" }], "messages": [{ "role": "user", "content": "hi" }] });
    post(api, path, &body)
}

/// A side request of an agent, such as one for a title.
fn aside(api: &FakeApi, path: &str, more: &Value) -> Answer {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "a title?" }] });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    post(api, path, &body)
}

/// The data of server-sent events; data that is no JSON as text.
fn events(answer: &Answer) -> Vec<Value> {
    let data = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into()))
        .collect()
}

#[test]
fn anthropics_blocks_begin_grow_and_end() {
    let api = start(Script::new().stream(turn()));
    let answer = converse(&api, MESSAGES);
    assert_eq!(answer.content_type, "text/event-stream");
    let names = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("event: "));
    let events = events(&answer);
    assert!(names.eq(events.iter().map(|event| event["type"].as_str().unwrap())));
    let start = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = |index: u64| json!({ "type": "content_block_stop", "index": index });
    let call =
        |id: &str, name: &str| json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
    let args = |args: &str| json!({ "type": "input_json_delta", "partial_json": args });
    assert_eq!(events[0]["message"]["content"], json!([]));
    assert_eq!(
        events[1..],
        [
            start(
                0,
                json!({ "type": "thinking", "thinking": "", "signature": "" })
            ),
            delta(0, json!({ "type": "thinking_delta", "thinking": "Hm." })),
            delta(
                0,
                json!({ "type": "signature_delta", "signature": "stand-in" })
            ),
            stop(0),
            start(1, json!({ "type": "text", "text": "" })),
            delta(1, json!({ "type": "text_delta", "text": "Let " })),
            delta(1, json!({ "type": "text_delta", "text": "me see." })),
            stop(1),
            start(2, call("call-stand-in-1-0", "ls")),
            delta(2, args(r#"{"path":"."}"#)),
            stop(2),
            start(3, call("call-stand-in-1-1", "pwd")),
            delta(3, args("{}")),
            stop(3),
            json!({
                "type": "message_delta",
                "delta": { "stop_reason": "tool_use", "stop_sequence": null },
                "usage": { "input_tokens": 60, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 40, "output_tokens": 15 },
            }),
            json!({ "type": "message_stop" }),
        ]
    );
}

#[test]
fn openais_deltas_are_numbered_and_done() {
    let api = start(Script::new().stream(turn()));
    let answer = converse(&api, CHAT);
    let mut events = events(&answer);
    assert_eq!(events.pop().unwrap(), "[DONE]");
    let last = events.pop().unwrap();
    let deltas: Vec<_> = events
        .iter()
        .map(|event| &event["choices"][0]["delta"])
        .collect();
    let call = |index: u64, id: &str, name: &str, args: &str| {
        let function = json!({ "name": name, "arguments": args });
        json!({ "role": "assistant", "tool_calls": [{ "id": id, "type": "function", "function": function, "index": index }] })
    };
    assert_eq!(
        deltas,
        [
            &json!({ "role": "assistant", "reasoning_content": "Hm." }),
            &json!({ "role": "assistant", "content": "Let " }),
            &json!({ "role": "assistant", "content": "me see." }),
            &call(0, "call-stand-in-1-0", "ls", r#"{"path":"."}"#),
            &call(1, "call-stand-in-1-1", "pwd", "{}"),
        ]
    );
    assert_eq!(
        last["choices"],
        json!([{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }])
    );
    assert_eq!(last["usage"]["prompt_tokens"], 100);
    assert_eq!(last["usage"]["completion_tokens"], 15);
    assert_eq!(last["usage"]["total_tokens"], 115);
}

#[test]
fn items_of_a_response_are_added_grow_and_are_done() {
    let patch = Turn::text("So.").and_call("apply_patch", json!("*** Begin Patch"));
    let patch = patch.and_call("mcp__vault.leak", json!({}));
    let api = start(Script::new().stream(turn()).stream(patch));
    let events = events(&converse(&api, RESPONSES));
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let (added, done) = ("response.output_item.added", "response.output_item.done");
    let grown = "response.output_text.delta";
    let expected = [
        &["response.created", added, done][..],
        &[added, grown, grown, done],
        &[added, done, added, done, "response.completed"],
    ];
    assert_eq!(kinds, expected.concat());
    let last = &events.last().unwrap()["response"];
    assert_eq!(last["usage"]["total_tokens"], 115);
    let output = &last["output"];
    assert_eq!(output[0]["summary"][0]["text"], "Hm.");
    assert_eq!(output[1]["content"][0]["text"], "Let me see.");
    assert_eq!(output[2]["arguments"], r#"{"path":"."}"#);
    assert_eq!(output[3]["call_id"], "call-stand-in-1-1");
    let aside = post(
        &api,
        RESPONSES,
        &json!({ "input": [{ "type": "additional_tools", "tools": [{ "name": "ls" }] }] }),
    );
    let output = aside.json()["output"].take();
    assert_eq!(output[1]["type"], "custom_tool_call");
    assert_eq!(output[1]["input"], "*** Begin Patch");
    assert_eq!(
        (&output[2]["namespace"], &output[2]["name"]),
        (&json!("mcp__vault"), &json!("leak"))
    );
}

#[test]
fn answers_in_one_piece_say_the_same() {
    let api = start(Script::new().generate(turn()).generate(turn()));
    let message = aside(&api, MESSAGES, &json!({})).json();
    assert_eq!(
        message["content"],
        json!([
            { "type": "thinking", "thinking": "Hm.", "signature": "stand-in" },
            { "type": "text", "text": "Let " },
            { "type": "text", "text": "me see." },
            { "type": "tool_use", "id": "call-stand-in-1-0", "name": "ls", "input": { "path": "." } },
            { "type": "tool_use", "id": "call-stand-in-1-1", "name": "pwd", "input": {} },
        ])
    );
    assert_eq!(message["stop_reason"], "tool_use");
    let completion = aside(&api, CHAT, &json!({})).json();
    let message = &completion["choices"][0]["message"];
    assert_eq!(message["reasoning_content"], "Hm.");
    assert_eq!(message["content"], "Let me see.");
    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 2);
    assert_eq!(completion["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn requests_of_the_conversation_and_side_requests_are_distinguished() {
    for (path, dialect) in [(MESSAGES, Dialect::Anthropic), (CHAT, Dialect::OpenAi)] {
        let api = start(Script::new().stream("said").generate("a title"));
        let streamed = aside(&api, path, &json!({ "stream": true, "tools": [] }));
        assert!(streamed.body.contains("a title"), "{streamed:?}");
        assert!(converse(&api, path).body.contains("said"));
        let forced = json!({ "tools": [{ "name": "judge" }], "tool_choice": { "type": "tool" } });
        aside(&api, path, &forced);
        let made = api.requests();
        let sources: Vec<_> = made
            .iter()
            .map(|made| (made.kind, made.answered_by))
            .collect();
        let turn = AnswerSource::Turn(0);
        let forced = (RequestKind::Generate, AnswerSource::Default);
        assert_eq!(
            sources,
            [
                (RequestKind::Generate, turn),
                (RequestKind::Stream, turn),
                forced
            ]
        );
        assert!(
            made.iter()
                .all(|made| made.dialect == dialect && made.model == "m")
        );
        assert_eq!(made[1].last_content().unwrap()["content"], "hi");
    }
}

#[test]
fn reasons_to_end_have_a_word_in_each() {
    let reasons = [
        ("STOP", "end_turn", "stop"),
        ("MAX_TOKENS", "max_tokens", "length"),
        ("SAFETY", "refusal", "content_filter"),
        ("RECITATION", "recitation", "recitation"),
    ];
    for (reason, anthropic, openai) in reasons {
        let turn = || Turn::text("so").finish(reason);
        let api = start(Script::new().stream(turn()).stream(turn()));
        let message = events(&converse(&api, MESSAGES));
        assert_eq!(
            message[message.len() - 2]["delta"]["stop_reason"],
            anthropic
        );
        let completion = events(&converse(&api, CHAT));
        let last = &completion[completion.len() - 2]["choices"][0];
        assert_eq!(last["finish_reason"], openai);
    }
}

#[test]
fn an_answer_that_breaks_off_has_no_end_marker() {
    for path in [MESSAGES, CHAT] {
        let api = start(Script::new().stream(Turn::text("one").drop_connection()));
        let answer = converse(&api, path);
        assert!(
            !answer.complete && answer.body.contains("one"),
            "{answer:?}"
        );
        for end in [
            "message_delta",
            "message_stop",
            "finish_reason\":\"",
            "DONE",
        ] {
            assert!(!answer.body.contains(end), "{answer:?}");
        }
    }
}

#[test]
fn errors_have_the_shape_of_whom_was_asked() {
    let limited = || ApiError::rate_limited(Duration::from_secs(1));
    let api = start(Script::new().stream(limited()).stream(limited()));
    let anthropic = converse(&api, MESSAGES);
    assert_eq!(anthropic.status, 429);
    assert_eq!(
        anthropic.json(),
        json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "Resource exhausted." } })
    );
    let openai = converse(&api, CHAT);
    assert_eq!(openai.status, 429);
    assert_eq!(openai.json()["error"]["message"], "Resource exhausted.");
}

#[test]
fn json_and_counts_are_what_was_asked_for() {
    let api = start(Script::new());
    let schema = json!({ "type": "object", "properties": { "title": { "type": "string" } } });
    let wanted =
        json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } });
    let message = aside(&api, MESSAGES, &wanted).json();
    assert_eq!(message["content"][0]["text"], r#"{"title":"stand-in"}"#);
    let wanted = json!({ "response_format": { "json_schema": { "schema": schema } } });
    let completion = aside(&api, CHAT, &wanted).json();
    assert_eq!(
        completion["choices"][0]["message"]["content"],
        r#"{"title":"stand-in"}"#
    );
    let count = aside(&api, "/v1/messages/count_tokens", &json!({})).json();
    assert!(count["input_tokens"].as_u64().unwrap() > 5, "{count}");
}

#[test]
fn a_title_that_is_asked_for_with_tools_takes_no_turn_of_the_conversation() {
    let api = start(Script::new().stream("A plum."));
    let schema = json!({ "type": "object", "properties": { "title": { "type": "string" } } });
    let body = json!({
        "model": "m", "stream": true, "tools": [{ "name": "ls" }], "tool_choice": "auto", "input": [{ "role": "user" }],
        "text": { "format": { "type": "json_schema", "schema": schema } },
    });
    let title = post(&api, RESPONSES, &body).body;
    assert!(
        title.contains("stand-in") && !title.contains("A plum."),
        "{title}"
    );
    assert!(converse(&api, RESPONSES).body.contains("A plum."));
}
