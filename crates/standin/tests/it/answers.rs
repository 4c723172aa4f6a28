//! The answers of the stand-in to every kind of request, with every kind of turn.

use std::time::{Duration, Instant};

use lapidary_standin::api::{
    AfterScript, AnswerSource, ApiError, Chunk, ReportedUsage, RequestKind, Script, ScriptRule,
    Turn,
};
use serde_json::{Value, json};

use crate::client::{GENERATE, STREAM, ask, get, post, start};

fn parts(object: &Value) -> &Value {
    &object["candidates"][0]["content"]["parts"]
}

#[test]
fn an_empty_script_greets() {
    let api = start(Script::new());
    let answer = ask(&api, STREAM);
    assert_eq!((answer.status, answer.complete), (200, true));
    assert_eq!(answer.content_type, "text/event-stream");
    assert_eq!(
        answer.events(),
        [json!({
            "candidates": [{
                "content": { "parts": [{ "text": "Hello from the stand-in." }], "role": "model" },
                "index": 0,
                "finishReason": "STOP",
            }],
            "modelVersion": "gemini-2.5-flash",
            "responseId": "stand-in-1",
            "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110 },
        })]
    );
}

#[test]
fn each_piece_is_an_event_and_only_the_last_says_why_it_ends() {
    let usage = ReportedUsage {
        prompt: 7,
        thoughts: 5,
        ..ReportedUsage::default()
    };
    let turn = Turn::thought("Hm.")
        .and_text("Let me see.")
        .and_call("ls", json!({ "path": "." }))
        .finish("MAX_TOKENS")
        .usage(usage);
    let api = start(Script::new().stream(turn));
    let events = ask(&api, STREAM).events();
    let said: Vec<_> = events.iter().map(parts).collect();
    assert_eq!(
        said,
        [
            &json!([{ "text": "Hm.", "thought": true }]),
            &json!([{ "text": "Let me see." }]),
            &json!([{ "functionCall": { "name": "ls", "args": { "path": "." } } }]),
        ]
    );
    let ends: Vec<_> = events
        .iter()
        .map(|event| &event["candidates"][0]["finishReason"])
        .collect();
    assert_eq!(ends, [&Value::Null, &Value::Null, &json!("MAX_TOKENS")]);
    assert_eq!(
        events[2]["usageMetadata"],
        json!({ "promptTokenCount": 7, "candidatesTokenCount": 10, "totalTokenCount": 22, "thoughtsTokenCount": 5 })
    );
}

#[test]
fn a_side_request_is_answered_in_one_piece() {
    let turn = Turn::text("one, ").and_text("two").model_version("other");
    let api = start(Script::new().generate(turn));
    let answer = ask(&api, GENERATE);
    assert_eq!(answer.content_type, "application/json; charset=UTF-8");
    let object = answer.json();
    assert_eq!(
        parts(&object),
        &json!([{ "text": "one, " }, { "text": "two" }])
    );
    assert_eq!(object["modelVersion"], "other");
    assert_eq!(object["candidates"][0]["finishReason"], "STOP");
}

#[test]
fn a_side_request_for_json_gets_an_instance_of_its_schema() {
    let api = start(Script::new());
    let schema = json!({ "type": "object", "properties": { "score": { "type": "integer" } } });
    let body = json!({ "generationConfig": { "responseJsonSchema": schema } });
    let object = post(&api, GENERATE, &body).json();
    assert_eq!(parts(&object), &json!([{ "text": "{\"score\":1}" }]));
}

#[test]
fn errors_have_googles_shape() {
    let api = start(
        Script::new()
            .stream(ApiError::rate_limited(Duration::from_millis(1500)))
            .stream(ApiError::new(503)),
    );
    let limited = ask(&api, STREAM);
    assert_eq!(limited.status, 429);
    assert_eq!(
        limited.json(),
        json!({ "error": {
            "code": 429,
            "message": "Resource exhausted.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s" }],
        } })
    );
    let plain = ask(&api, STREAM);
    assert_eq!(plain.status, 503);
    assert_eq!(
        plain.json(),
        json!({ "error": { "code": 503, "message": "error 503 of the stand-in", "status": "UNAVAILABLE" } })
    );
}

#[test]
fn a_verbatim_answer_is_what_the_script_says() {
    let page = "<h1>Bad gateway</h1>";
    let api = start(Script::new().stream(Turn::verbatim(502, "text/html", page)));
    let answer = ask(&api, STREAM);
    assert_eq!(
        (answer.status, answer.content_type.as_str()),
        (502, "text/html")
    );
    assert_eq!(answer.body, page);
}

#[test]
fn a_status_that_http_does_not_have_is_an_error() {
    let api = start(Script::new().stream(Turn::verbatim(7, "text/html", "")));
    let answer = ask(&api, STREAM);
    assert_eq!(answer.status, 500);
    assert_eq!(
        answer.json()["error"]["message"],
        "the script asks for status 7, type `text/html`, which HTTP does not have"
    );
}

#[test]
fn a_dropped_connection_loses_the_end_and_nothing_before_it() {
    let turn = Turn::text("one").and_text("two").drop_connection();
    let api = start(Script::new().stream(turn));
    let answer = ask(&api, STREAM);
    assert!(!answer.complete, "the body must not end: {answer:?}");
    let events = answer.events();
    let said: Vec<_> = events.iter().map(parts).collect();
    assert_eq!(
        said,
        [&json!([{ "text": "one" }]), &json!([{ "text": "two" }])]
    );
    assert_eq!(events[1]["candidates"][0].get("finishReason"), None);
}

#[test]
fn objects_and_wire_text_go_out_as_they_are() {
    let turn = Turn::chunks([
        Chunk::object(json!({ "promptFeedback": { "blockReason": "SAFETY" } })),
        Chunk::wire(": a comment\r\n\r\n"),
    ]);
    let api = start(Script::new().stream(turn));
    assert_eq!(
        ask(&api, STREAM).body,
        "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\r\n\r\n: a comment\r\n\r\n"
    );
}

#[test]
fn delays_hold_back_the_answer_its_chunks_and_its_end() {
    let pause = Duration::from_millis(30);
    let turn = Turn::chunks([Chunk::text("late").delay(pause)])
        .delay(pause)
        .hang_for(pause);
    let api = start(Script::new().stream(turn));
    let asked = Instant::now();
    let answer = ask(&api, STREAM);
    assert!(asked.elapsed() >= pause * 3, "{:?}", asked.elapsed());
    assert!(answer.complete);
    assert_eq!(answer.events()[0]["candidates"][0]["finishReason"], "STOP");
}

#[test]
fn turns_are_played_in_order_and_rules_go_first() {
    let rule = ScriptRule::new("from the rule")
        .kind(RequestKind::Stream)
        .model("2.5")
        .last("\"hi\"");
    let script = Script::new()
        .stream("first")
        .stream("second")
        .rule(rule.times(1))
        .after(AfterScript::Repeat);
    let api = start(script);
    let said: Vec<_> = (0..4)
        .map(|_| {
            ask(&api, STREAM).events()[0]["candidates"][0]["content"]["parts"][0]["text"].clone()
        })
        .collect();
    assert_eq!(said, ["from the rule", "first", "second", "second"]);
    let sources: Vec<_> = api.requests().iter().map(|made| made.answered_by).collect();
    assert_eq!(
        sources,
        [
            AnswerSource::Rule(0),
            AnswerSource::Turn(0),
            AnswerSource::Turn(1),
            AnswerSource::Turn(1)
        ]
    );
}

#[test]
fn a_rule_wants_everything_that_it_names() {
    let rule = || ScriptRule::new("never").kind(RequestKind::Stream);
    let script = Script::new()
        .rule(rule().kind(RequestKind::Generate))
        .rule(rule().model("gemini-3"))
        .rule(rule().path("/v1/"))
        .rule(rule().body("nobody says this"))
        .rule(rule().last("bye"))
        .rule(rule().path("/v1beta/").body("\"user\"").last("\"hi\""));
    let api = start(script);
    ask(&api, STREAM);
    assert_eq!(api.requests()[0].answered_by, AnswerSource::Rule(5));
}

#[test]
fn a_script_may_end_in_an_error() {
    let api = start(Script::new().after(AfterScript::Error));
    let answer = ask(&api, STREAM);
    assert_eq!(answer.status, 500);
    assert_eq!(
        answer.json()["error"]["message"],
        "the stand-in's script has no turn left"
    );
}

#[test]
fn other_requests_to_the_model_api_are_answered() {
    let api = start(Script::new());
    let models = "/v1beta/models";
    let count = ask(&api, "/v1/models/m:countTokens").json();
    assert!(count["totalTokens"].as_u64().unwrap() > 10, "{count}");
    let embedding = ask(&api, "/v1beta/models/m:embedContent").json();
    assert_eq!(
        embedding["embedding"]["values"].as_array().unwrap().len(),
        8
    );
    let batch = json!({ "requests": [{}, {}] });
    let embeddings = post(&api, "/v1beta/models/m:batchEmbedContents", &batch).json();
    assert_eq!(embeddings["embeddings"].as_array().unwrap().len(), 2);
    assert_eq!(
        get(&api, models).json()["models"][0]["name"],
        "models/stand-in"
    );
    assert_eq!(get(&api, "/v1beta/models/x").json()["name"], "models/x");
    let unknown = get(&api, "/elsewhere");
    assert_eq!(unknown.status, 404);
    assert_eq!(
        unknown.json()["error"]["message"],
        "the stand-in does not know `GET /elsewhere`"
    );
    let kinds: Vec<_> = api.requests().iter().map(|made| made.kind).collect();
    let other = [RequestKind::Other; 3];
    assert_eq!(
        kinds,
        [
            &[RequestKind::Count, RequestKind::Embed, RequestKind::Embed][..],
            &other
        ]
        .concat()
    );
}
