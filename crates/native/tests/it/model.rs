//! The Gemini API over HTTP, against the mock API on loopback.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapidary_native::http::{HttpClient, HttpError, HttpSettings};
use lapidary_native::model::{
    Content, GeminiApi, GeminiEndpoint, ModelAnswer, ModelClient as _, ModelError, ModelEvent,
    ModelRequest, PartKind, RetryPolicy,
};
use lapidary_native::tool::ToolDeclaration;
use lapidary_standin::api::{ApiError, Chunk, FakeApi, Script, Turn};
use serde_json::{Map, json};

/// Waits of no length, so that no test waits.
const AT_ONCE: RetryPolicy = RetryPolicy {
    request_attempts: 3,
    request_delay: Duration::ZERO,
    longest_delay: Duration::ZERO,
    answer_attempts: 3,
    answer_delay: Duration::ZERO,
    jitter: 0.0,
};

struct Asked {
    answer: Result<ModelAnswer, ModelError>,
    /// `text`, `thought`, `call` and `retry ATTEMPT/OF: ERROR`, in their order.
    heard: Vec<String>,
    api: FakeApi,
}

async fn ask(script: Script) -> Asked {
    ask_with(script, HttpSettings::default()).await
}

async fn ask_with(script: Script, settings: HttpSettings) -> Asked {
    let api = FakeApi::start(script).await.unwrap();
    let endpoint = GeminiEndpoint::gemini("secret", Some(&api.base_url())).unwrap();
    let http = Arc::new(HttpClient::new(settings).unwrap());
    let model = GeminiApi::new(endpoint, http, AT_ONCE);
    let heard = Mutex::new(Vec::new());
    let answer = generate(&model, &heard).await;
    Asked {
        answer,
        heard: heard.into_inner().unwrap(),
        api,
    }
}

async fn generate(
    model: &GeminiApi,
    heard: &Mutex<Vec<String>>,
) -> Result<ModelAnswer, ModelError> {
    let tool = ToolDeclaration {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    let mut generation = Map::new();
    generation.insert("temperature".to_owned(), json!(0.5));
    let request = ModelRequest {
        tool_config: None,
        model: "gemini-2.5-flash",
        system_instruction: Some("Be brief."),
        contents: &[Content::user([json!({"text": "hi"})])],
        tools: &[tool],
        generation: &generation,
    };
    let mut listener = |event: ModelEvent| {
        heard.lock().unwrap().push(match event {
            ModelEvent::Part(part) => match part.kind {
                PartKind::Text(text) => format!("text {text}"),
                PartKind::Thought(text) => format!("thought {text}"),
                PartKind::Call(call) => format!("call {} {}", call.name, call.arguments),
                PartKind::Other => "other".to_owned(),
            },
            ModelEvent::Retry(notice) => {
                let (attempt, most) = (notice.attempt, notice.max_attempts);
                format!("retry {attempt}/{most}: {}", notice.error)
            }
        });
    };
    model.generate(&request, &mut listener).await
}

#[tokio::test]
async fn an_answer_comes_in_pieces_with_its_usage_and_finish_reason() {
    let turn = Turn::thought("**Looking** around")
        .and_text("Hel")
        .and_text("lo")
        .and_call("look", json!({"at": 1}));
    let asked = ask(Script::new().stream(turn)).await;
    let answer = asked.answer.unwrap();
    let expected = [
        "thought **Looking** around",
        "text Hel",
        "text lo",
        r#"call look {"at":1}"#,
    ];
    assert_eq!(asked.heard, expected);
    assert_eq!(answer.text(), "Hello");
    assert_eq!(answer.finish_reason.as_deref(), Some("STOP"));
    assert_eq!(answer.usage.unwrap().total, 110);
    let request = &asked.api.requests()[0];
    assert_eq!(request.headers["x-goog-api-key"], "(not kept)");
    assert_eq!(
        request.body,
        json!({
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}], "role": "user"},
            "tools": [{"functionDeclarations": [
                {"name": "look", "description": "Looks.", "parametersJsonSchema": {"type": "object"}},
            ]}],
            "generationConfig": {"temperature": 0.5},
        })
    );
}

#[tokio::test]
async fn a_thought_signature_returns_token_for_token() {
    let part = r#"{ "functionCall":{"name":"look","args":{"n":1.0,"big":9007199254740993}},"thoughtSignature":"a\/\u0062+=" }"#;
    let event = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{part}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let asked = ask(Script::new().stream(Turn::chunks([Chunk::wire(event)]))).await;
    let content = Content::from_answer(&asked.answer.unwrap().parts);
    assert_eq!(content.parts[0].get(), part);
    assert!(serde_json::to_string(&content).unwrap().contains(part));
}

#[tokio::test]
async fn a_history_has_no_thoughts_and_joined_texts() {
    let turn = Turn::thought("hm")
        .and_text("a")
        .and_text("b")
        .and_call("look", json!({}));
    let turn = turn.and(Chunk::part(json!({"text": "c", "thoughtSignature": "s"})));
    let asked = ask(Script::new().stream(turn)).await;
    let content = Content::from_answer(&asked.answer.unwrap().parts);
    assert_eq!(
        serde_json::to_value(content).unwrap(),
        json!({"role": "model", "parts": [
            {"text": "ab"}, {"functionCall": {"name": "look", "args": {}}},
            {"text": "c", "thoughtSignature": "s"},
        ]})
    );
}

#[tokio::test]
async fn an_error_that_passes_is_announced_and_tried_again() {
    let script = Script::new()
        .stream(ApiError::rate_limited(Duration::ZERO))
        .stream(ApiError::new(503))
        .stream("at last");
    let asked = ask(script).await;
    assert_eq!(asked.answer.unwrap().text(), "at last");
    let expected = [
        "retry 1/3: the quota of the model is used up for now: Resource exhausted.",
        "retry 2/3: the model API failed (503): error 503 of the stand-in",
        "text at last",
    ];
    assert_eq!(asked.heard, expected);
}

#[tokio::test]
async fn an_error_that_stays_ends_after_the_last_attempt() {
    for (turn, expected) in [
        (Turn::from(ApiError::new(500)), "Server"),
        (ApiError::new(503).into(), "Server"),
        (ApiError::new(429).into(), "QuotaRetryable"),
        (Turn::text("ha").drop_connection(), "CutStream"),
        (
            Turn::chunks([Chunk::wire(
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"na",
            )]),
            "CutStream",
        ),
        (Turn::text("ha").no_finish(), "CutStream"),
        (Turn::chunks([]), "EmptyAnswer"),
        (
            Turn::chunks([Chunk::wire("data: garbage\n\n")]),
            "MalformedAnswer",
        ),
        (
            Turn::chunks([Chunk::text("x")]).finish("MALFORMED_FUNCTION_CALL"),
            "MalformedAnswer",
        ),
        (
            Turn::verbatim(200, "text/html", "<html>log in</html>"),
            "CutStream",
        ),
    ] {
        let asked = ask(Script::new()
            .stream(turn)
            .after(lapidary_standin::api::AfterScript::Repeat))
        .await;
        let error = format!("{:?}", asked.answer.unwrap_err());
        assert!(error.starts_with(expected), "{error}, not {expected}");
        assert_eq!(asked.api.requests().len(), 3, "{error}");
    }
}

#[tokio::test]
async fn an_error_that_will_not_pass_ends_at_once() {
    for (turn, expected) in [
        (Turn::from(ApiError::new(400)), "BadRequest"),
        (ApiError::invalid_key().into(), "Auth"),
        (ApiError::new(401).into(), "Auth"),
        (ApiError::new(403).into(), "Auth"),
        (ApiError::new(404).into(), "BadRequest"),
        (ApiError::daily_quota_exhausted().into(), "QuotaTerminal"),
        (
            ApiError::rate_limited(Duration::from_secs(301)).into(),
            "QuotaTerminal",
        ),
        (Turn::verbatim(302, "text/plain", ""), "Network(Redirect"),
        (
            Turn::chunks([Chunk::object(
                json!({"promptFeedback": {"blockReason": "SAFETY"}}),
            )]),
            "BlockedPrompt",
        ),
        (
            Turn::chunks([Chunk::object(
                json!({"error": {"code": 403, "message": "no"}}),
            )]),
            "Auth",
        ),
    ] {
        let asked = ask(Script::new().stream(turn)).await;
        let error = format!("{:?}", asked.answer.unwrap_err());
        assert!(error.starts_with(expected), "{error}, not {expected}");
        assert_eq!(asked.api.requests().len(), 1, "{error}");
        assert_eq!(asked.heard, [""; 0]);
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up() {
    let settings = HttpSettings {
        idle_timeout: Duration::from_millis(50),
        ..HttpSettings::default()
    };
    let script = Script::new()
        .stream(Turn::text("ha").hang())
        .stream(Turn::text("late").delay(Duration::from_mins(1)))
        .stream("there");
    let asked = ask_with(script, settings).await;
    assert_eq!(asked.answer.unwrap().text(), "there");
    assert_eq!(asked.heard.len(), 4, "{:?}", asked.heard);
}

#[tokio::test]
async fn dropping_the_future_ends_the_request() {
    let api = FakeApi::start(Script::new().stream(Turn::text("ha").hang()))
        .await
        .unwrap();
    let endpoint = GeminiEndpoint::gemini("secret", Some(&api.base_url())).unwrap();
    let http = Arc::new(HttpClient::new(HttpSettings::default()).unwrap());
    let model = GeminiApi::new(endpoint, http, AT_ONCE);
    let heard = Mutex::new(Vec::new());
    tokio::select! {
        _ = generate(&model, &heard) => panic!("it hangs"),
        () = api.requested(1) => {}
    }
    api.stop().await;
}

#[tokio::test]
async fn a_request_goes_through_the_proxy_unless_its_host_is_exempt() {
    let proxy = FakeApi::start(Script::new().stream("from the proxy"))
        .await
        .unwrap();
    let settings = |no_proxy: &str| HttpSettings {
        http_proxy: Some(proxy.base_url()),
        no_proxy: Some(no_proxy.to_owned()),
        ..HttpSettings::default()
    };
    let asked = ask_with(Script::new().stream("direct"), settings("example.org")).await;
    assert_eq!(asked.answer.unwrap().text(), "from the proxy");
    let asked = ask_with(Script::new().stream("direct"), settings("127.0.0.1")).await;
    assert_eq!(asked.answer.unwrap().text(), "direct");
}

#[test]
fn a_key_is_not_sent_unencrypted_to_another_machine() {
    let endpoint = |url| GeminiEndpoint::gemini("key", Some(url));
    assert!(endpoint("http://127.0.0.1:8080/").is_ok());
    assert!(endpoint("http://localhost:8080").is_ok());
    assert!(endpoint("https://example.org/x").is_ok());
    for url in ["http://example.org", "ftp://example.org", "example.org", ""] {
        let error = endpoint(url).unwrap_err();
        assert!(matches!(error, HttpError::InvalidRequest { .. }), "{url}");
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_an_error() {
    for proxy in ["http://", "socks5://me:secret@host:1", "::"] {
        let settings = HttpSettings {
            https_proxy: Some(proxy.to_owned()),
            ..HttpSettings::default()
        };
        let error = HttpClient::new(settings).unwrap_err().to_string();
        assert!(error.starts_with("invalid proxy"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
