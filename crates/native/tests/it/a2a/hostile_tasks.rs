//! Tasks that go wrong: streams that break, tasks that never end or are forgotten, versions that are not spoken.

use lapidary_native::a2a::{RemoteError, RemotePrompt};
use lapidary_testkit::raw_server::{
    RawRequest, RawServer, RawStep, answer, event, event_stream, json as json_answer,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use lapidary_gemini::agents::AgentCard;

use super::{Scene, card, definition, means, patient, result, short, task};

/// A server with a card, whose JSON-RPC methods the script answers.
fn server(script: impl Fn(&str, &Value) -> Vec<RawStep> + Send + Sync + 'static) -> RawServer {
    RawServer::start(move |request: &RawRequest| {
        if request.line.starts_with("GET") {
            let url = format!("http://{}/rpc", request.host());
            return json_answer(&card(&url));
        }
        let body: Value = serde_json::from_str(&request.body).unwrap();
        script(body["method"].as_str().unwrap(), &body["params"])
    })
}

fn methods(server: &RawServer) -> Vec<String> {
    let bodies = server.requests().into_iter();
    let methods = bodies.filter_map(|request| {
        let body: Value = serde_json::from_str(&request.body).ok()?;
        Some(body["method"].as_str()?.to_owned())
    });
    methods.collect()
}

fn rpc_error(code: i64, message: &str) -> Vec<RawStep> {
    json_answer(&json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}))
}

#[tokio::test]
async fn a_stream_that_breaks_in_mid_event_without_a_task_is_cut() {
    let server = server(|_, _| {
        let half = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"resu".to_vec();
        vec![event_stream(), RawStep::Send(half)]
    });
    let scene = Scene::at(server.url("/card.json"), patient());
    let error = scene.failure("hello").await;
    assert!(matches!(error, RemoteError::CutStream { .. }), "{error:?}");
    assert_eq!(methods(&server), ["message/stream"]);
}

#[tokio::test]
async fn a_task_whose_stream_breaks_in_mid_event_is_asked_for_until_it_is_over() {
    let server = server(|method, _| {
        if method == "message/stream" {
            let half = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"resu".to_vec();
            let working = event(&result(&task("working")));
            return vec![event_stream(), working, RawStep::Send(half)];
        }
        let mut done = task("completed");
        done["status"]["message"] =
            json!({"role": "agent", "parts": [{"kind": "text", "text": "Done."}]});
        json_answer(&result(&done))
    });
    let scene = Scene::at(server.url("/card.json"), patient());
    assert_eq!(scene.answer("hello").await, "Done.");
    assert_eq!(methods(&server), ["message/stream", "tasks/get"]);
}

#[tokio::test]
async fn a_task_that_never_ends_is_cancelled_at_its_limit() {
    let server = server(|method, _| match method {
        "message/stream" => vec![
            event_stream(),
            event(&result(&task("working"))),
            RawStep::Hang,
        ],
        _ => json_answer(&result(&task("canceled"))),
    });
    let scene = Scene::at(server.url("/card.json"), short());
    let error = scene.failure("hello").await;
    assert!(matches!(error, RemoteError::TimedOut { .. }), "{error:?}");
    assert_eq!(methods(&server), ["message/stream", "tasks/cancel"]);
}

#[tokio::test]
async fn the_time_limit_of_a_definition_goes_before_the_one_of_all_agents() {
    let server = server(|method, _| match method {
        "message/stream" => vec![
            event_stream(),
            event(&result(&task("working"))),
            RawStep::Hang,
        ],
        _ => json_answer(&result(&task("canceled"))),
    });
    let mut definition = definition(AgentCard::Url(server.url("/card.json")), None);
    definition.max_time_minutes = Some(0.005);
    let scene = Scene::by(&definition, means(patient(), &[]));
    let waited = std::time::Duration::from_millis(300);
    let expected = RemoteError::TimedOut { waited };
    assert_eq!(scene.failure("hello").await, expected);
    assert_eq!(methods(&server), ["message/stream", "tasks/cancel"]);
}

/// The last message of the agent counts, and only if the task has said nothing else.
#[tokio::test]
async fn a_finished_task_that_says_nothing_has_the_last_agent_message_of_its_history() {
    let history = json!([
        {"role": "user", "parts": [{"kind": "text", "text": "hello"}]},
        {"role": "agent", "parts": [{"kind": "text", "text": "First."}]},
        {"role": "agent", "parts": [{"kind": "text", "text": "Last."}]},
        {"role": "user", "parts": [{"kind": "text", "text": "thanks"}]},
    ]);
    let artifact = json!([{"artifactId": "a", "parts": [{"kind": "text", "text": "File."}]}]);
    for (state, artifacts, expected) in [
        ("completed", json!([]), "Last."),
        ("completed", artifact, "Artifact:\nFile."),
        ("input-required", json!([]), ""),
    ] {
        let mut told = task(state);
        told["history"] = history.clone();
        told["artifacts"] = artifacts;
        let server = server(move |_, _| vec![event_stream(), event(&result(&told))]);
        let scene = Scene::at(server.url("/card.json"), patient());
        let (pieces, answer) = scene.ask("hello").await;
        assert_eq!(answer.unwrap().text, expected, "{state}");
        assert_eq!(pieces.concat(), expected, "{state}");
    }
}

#[tokio::test]
async fn a_cancelled_call_cancels_its_task_even_if_the_server_never_answers_that() {
    let server = server(|method, _| match method {
        "message/stream" => vec![
            event_stream(),
            event(&result(&task("working"))),
            RawStep::Hang,
        ],
        _ => vec![RawStep::Hang],
    });
    let mut limits = patient();
    limits.cancel = short().task;
    let scene = Scene::at(server.url("/card.json"), limits);
    let cancelled = CancellationToken::new();
    let listen = |_: &str| {};
    let prompt = RemotePrompt {
        text: "hello",
        session: "s",
    };
    let cancel = async {
        while methods(&server).is_empty() {
            tokio::task::yield_now().await;
        }
        cancelled.cancel();
    };
    let (answer, ()) = tokio::join!(scene.agent.ask(prompt, &listen, &cancelled), cancel);
    assert_eq!(answer.unwrap_err(), RemoteError::Cancelled);
    assert_eq!(methods(&server), ["message/stream", "tasks/cancel"]);
    drop(scene);
    while server.open_connections() > 0 {
        tokio::task::yield_now().await;
    }
}

fn reason(error: RemoteError) -> String {
    match error {
        RemoteError::MalformedAnswer { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_task_that_is_asked_for_and_says_more_and_more_is_given_up() {
    let polls = std::sync::atomic::AtomicUsize::new(0);
    let server = server(move |method, _| {
        let mut working = task("working");
        if method == "tasks/get" {
            // The text is another one each time, so that all of it would be kept.
            let poll = polls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let text = format!("{poll}{}", "x".repeat(9 << 20));
            working["status"]["message"] =
                json!({"role": "agent", "parts": [{"kind": "text", "text": text}]});
        }
        json_answer(&result(&working))
    });
    let scene = Scene::at(server.url("/card.json"), patient());
    let reason = reason(scene.failure("hello").await);
    assert_eq!(reason, "its text has more than 67108864 bytes");
    assert_eq!(methods(&server).last().unwrap(), "tasks/cancel");
}

/// Why a task is given up that is asked for again and again, and has another artifact each time.
async fn reason_for(artifact: impl Fn(usize) -> Value + Send + Sync + 'static) -> String {
    let polls = std::sync::atomic::AtomicUsize::new(0);
    let server = server(move |method, _| {
        let mut working = task("working");
        if method == "tasks/get" {
            let poll = polls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // A server that is not given up ends by itself.
            if poll == 10 {
                working["status"]["state"] = "completed".into();
            }
            working["artifacts"] = json!([artifact(poll)]);
        }
        json_answer(&result(&working))
    });
    let scene = Scene::at(server.url("/card.json"), patient());
    reason(scene.failure("hello").await)
}

#[tokio::test]
async fn an_artifact_that_is_another_one_each_time_is_given_up() {
    let limit = "its text has more than 67108864 bytes";
    let text = |poll| format!("{poll}{}", "x".repeat(9 << 20));
    let replaced = move |poll| json!({"artifactId": "a", "parts": [{"text": text(poll)}]});
    assert_eq!(reason_for(replaced).await, limit);
    let named =
        move |poll| json!({"artifactId": format!("a{poll}"), "name": text(poll), "parts": []});
    assert_eq!(reason_for(named).await, limit);
    let with_long_id = move |poll| json!({"artifactId": text(poll), "parts": []});
    assert_eq!(reason_for(with_long_id).await, limit);
}

#[tokio::test]
async fn a_task_with_artifacts_without_end_is_given_up() {
    let server = server(|_, _| {
        let mut done = task("completed");
        let artifact = |id| json!({"artifactId": format!("a{id}"), "parts": []});
        done["artifacts"] = (0..10_001).map(artifact).collect();
        json_answer(&result(&done))
    });
    let scene = Scene::at(server.url("/card.json"), patient());
    let reason = reason(scene.failure("hello").await);
    assert_eq!(reason, "it has more than 10000 artifacts");
}

#[tokio::test]
async fn the_words_of_an_error_in_a_stream_fit_a_screen() {
    let long = "x".repeat(1 << 20);
    let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": long}});
    let server = server(move |_, _| vec![event_stream(), event(&error)]);
    let scene = Scene::at(server.url("/card.json"), patient());
    let error = scene.failure("hello").await;
    let RemoteError::Refused { message, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(message.len(), 2000);
}

#[tokio::test]
async fn a_server_that_forgets_its_task_is_found_out() {
    let server = server(|method, _| match method {
        "message/stream" => vec![event_stream(), event(&result(&task("working")))],
        _ => rpc_error(-32001, "Task not found"),
    });
    let scene = Scene::at(server.url("/card.json"), patient());
    let lost = RemoteError::TaskLost {
        task: "t1".to_owned(),
    };
    assert_eq!(scene.failure("hello").await, lost);
}

#[tokio::test]
async fn a_server_is_asked_in_the_version_that_it_speaks_even_if_its_card_claims_another() {
    let server = server(|method, _| match method {
        "SendStreamingMessage" => {
            let message = json!({"message": {"role": "ROLE_AGENT", "parts": [{"text": "Hi."}]}});
            vec![event_stream(), event(&result(&message))]
        }
        _ => rpc_error(-32009, "version not supported"),
    });
    let scene = Scene::at(server.url("/card.json"), patient());
    assert_eq!(scene.answer("hello").await, "Hi.");
    assert_eq!(scene.answer("again").await, "Hi.");
    let expected = [
        "message/stream",
        "SendStreamingMessage",
        "SendStreamingMessage",
    ];
    assert_eq!(
        methods(&server),
        expected,
        "the second prompt knows the version"
    );
}

#[tokio::test]
async fn a_server_of_neither_version_is_a_typed_error() {
    let server = server(|_, _| rpc_error(-32601, "Method not found"));
    let scene = Scene::at(server.url("/card.json"), patient());
    let error = scene.failure("hello").await;
    assert!(
        matches!(error, RemoteError::WrongVersion { .. }),
        "{error:?}"
    );
    assert_eq!(methods(&server), ["message/stream", "SendStreamingMessage"]);
}

#[tokio::test]
async fn answers_that_are_no_answers_are_typed_errors() {
    let unknown = || json_answer(&result(&json!({"kind": "surprise"})));
    for (steps, expected) in [
        (answer(200, "text/html", "<html>"), "malformed"),
        (answer(500, "text/html", "<html>"), "refused 500"),
        (answer(302, "text/html", ""), "redirect"),
        (unknown(), "malformed"),
        (rpc_error(-32603, "boom"), "refused -32603"),
        (vec![], "network"),
        (vec![event_stream()], "cut"),
        (
            vec![event_stream(), RawStep::Send(b"data: {\n\n".to_vec())],
            "malformed",
        ),
        (
            vec![event_stream(), RawStep::Flood(vec![b'x'; 1 << 20])],
            "malformed",
        ),
    ] {
        let server = server(move |_, _| steps.clone());
        let scene = Scene::at(server.url("/card.json"), patient());
        let error = scene.failure("hello").await;
        let found = match &error {
            RemoteError::MalformedAnswer { .. } => "malformed".to_owned(),
            RemoteError::Refused { code, .. } => format!("refused {code}"),
            RemoteError::CutStream { .. } => "cut".to_owned(),
            RemoteError::Network(error) if error.to_string().contains("redirects") => {
                "redirect".to_owned()
            }
            RemoteError::Network(_) => "network".to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn text_is_live_as_it_comes_and_whole_with_messages_before_artifacts() {
    let said = |state: &str, words: &str| {
        json!({"kind": "status-update", "taskId": "t1", "contextId": "c1", "status": {
            "state": state, "message": {"role": "agent", "parts": [{"kind": "text", "text": words}]},
        }})
    };
    let artifact = |parts: Value, append: bool| {
        json!({"kind": "artifact-update", "taskId": "t1", "contextId": "c1", "append": append,
            "artifact": {"artifactId": "a", "name": "out.txt", "parts": parts}})
    };
    let updates = [
        task("submitted"),
        said("working", "thinking"),
        said("working", "thinking"),
        artifact(json!([{"kind": "text", "text": "Hel"}]), false),
        artifact(
            json!([{"kind": "text", "text": "lo "}, {"kind": "data", "data": {"a": [1, 2]}},
                {"kind": "file", "file": {"name": "x.png", "bytes": ""}}, {"kind": "file", "file": {"bytes": ""}}]),
            true,
        ),
        said("completed", "Done."),
    ];
    let server = server(move |_, _| {
        let mut steps = vec![event_stream()];
        steps.extend(updates.iter().map(|update| event(&result(update))));
        steps
    });
    let scene = Scene::at(server.url("/card.json"), patient());
    let (pieces, answer) = scene.ask("hello").await;
    let content = "Artifact (out.txt):\nHello Data: {\"a\":[1,2]}File: x.pngFile: [binary/unnamed]";
    assert_eq!(answer.unwrap().text, format!("thinkingDone.\n\n{content}"));
    assert_eq!(pieces.concat(), format!("thinking\n\n{content}\n\nDone."));
}
