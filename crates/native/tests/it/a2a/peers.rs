//! The official servers: JavaScript of both versions, and Python with both on one port.

use lapidary_gemini::agents::{AgentCard, HttpCredentials, RemoteAuth};
use lapidary_native::a2a::{RemoteError, RemotePrompt};
use lapidary_native::ids::random_uuid;
use lapidary_testkit::a2a::{A2aPeer, A2aServer};
use lapidary_wire::a2a::update::TaskState;
use lapidary_wire::a2a::{A2aBinding, A2aVersion};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Scene, means, patient};

const TOKEN: &str = "a-token-of-the-peer";

/// An agent that is reached in one binding only: the card has both.
async fn scene(peer: &A2aPeer, binding: A2aBinding, version: A2aVersion) -> Scene {
    let first = Scene::at(peer.card_url(), patient());
    let card = first.agent.card().await.unwrap();
    let path = match binding {
        A2aBinding::JsonRpc => "rpc",
        A2aBinding::HttpJson => "rest",
    };
    let interface = json!({
        "url": format!("http://127.0.0.1:{}/{path}", peer.port),
        "protocolBinding": binding.as_str(), "protocolVersion": version.as_str(),
    });
    let inline = json!({
        "name": card.name, "supportedInterfaces": [interface],
        "capabilities": {"streaming": card.can_stream},
    });
    Scene::new(
        AgentCard::Json(inline.to_string()),
        None,
        means(patient(), &[]),
    )
}

async fn check_tasks(peer: &A2aPeer, version: A2aVersion) {
    for binding in [A2aBinding::JsonRpc, A2aBinding::HttpJson] {
        let scene = scene(peer, binding, version).await;
        let (pieces, answer) = scene.ask("hello").await;
        let answer = answer.unwrap();
        // A task that is polled may be over before its first message was seen.
        let text = answer.text.strip_prefix("thinking\n\n");
        let is_whole = text.is_some() || !scene.agent.known_card().unwrap().can_stream;
        assert!(is_whole, "{binding:?}: {}", answer.text);
        assert_eq!(text.unwrap_or(&answer.text), "Artifact (out.txt):\nHello");
        assert_eq!(pieces.concat(), answer.text, "{binding:?}");
        assert_eq!(answer.state, Some(TaskState::Completed));
        assert_eq!(
            scene.answer("message to you").await,
            "You said: message to you"
        );
        let error = scene.failure("fail").await;
        let RemoteError::TaskEnded { state, message } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(state, "failed");
        assert!(message.ends_with("The disk is full."), "{message}");
        let error = scene.failure("login").await;
        assert!(
            matches!(error, RemoteError::AuthorizationRequired { .. }),
            "{error:?}"
        );
    }
}

/// A task that asks back is continued by the next prompt, in the same conversation.
async fn check_conversation(peer: &A2aPeer, version: A2aVersion) {
    for binding in [A2aBinding::JsonRpc, A2aBinding::HttpJson] {
        let scene = scene(peer, binding, version).await;
        let mark = random_uuid();
        let (_, asked) = scene.ask(&format!("ask me {mark}")).await;
        assert_eq!(asked.unwrap().state, Some(TaskState::InputRequired));
        let answer = scene.answer(&format!("the second file {mark}")).await;
        assert!(answer.ends_with("Artifact (out.txt):\nHello"), "{answer}");
        scene.answer(&format!("hello {mark}")).await;
        let is_marked = |line: &Value| line["prompt"].as_str().is_some_and(|it| it.contains(&mark));
        let is_enough = |log: &[Value]| log.iter().filter(|line| is_marked(line)).count() >= 3;
        let mut prompts = peer.log_after(0, is_enough);
        prompts.retain(is_marked);
        let [first, second, third] = &prompts[..] else {
            panic!("{prompts:?}");
        };
        assert_eq!(first["contextId"], second["contextId"]);
        assert_eq!(first["contextId"], third["contextId"]);
        assert!(second["task"].is_string(), "{second}");
        assert!(third["task"].is_null(), "the task before is over: {third}");
    }
}

async fn check_cancel(peer: &A2aPeer, version: A2aVersion) {
    check_cancel_over(peer, A2aBinding::JsonRpc, version).await;
    check_cancel_over(peer, A2aBinding::HttpJson, version).await;
}

async fn check_cancel_over(peer: &A2aPeer, binding: A2aBinding, version: A2aVersion) {
    let scene = scene(peer, binding, version).await;
    let seen = peer.log().len();
    let cancelled = CancellationToken::new();
    let listen = |_: &str| cancelled.cancel();
    let prompt = RemotePrompt {
        text: "slow",
        session: "s",
    };
    let ended = scene.agent.ask(prompt, &listen, &cancelled).await;
    assert_eq!(ended.unwrap_err(), RemoteError::Cancelled);
    let is_told = |log: &[Value]| log.iter().any(|it| it["cancelled"].is_string());
    peer.log_after(seen, is_told);
}

async fn check_authentication(server: A2aServer) {
    let tokens = [("A2A_TOKEN", TOKEN), ("A2A_CARD_TOKEN", TOKEN)];
    let peer = A2aPeer::start(server, "streaming", &tokens);
    let ask = async |token: &str| {
        let auth = RemoteAuth::Http(HttpCredentials::Bearer {
            token: token.to_owned(),
        });
        let means = means(patient(), &[("TOKEN", TOKEN)]);
        let scene = Scene::new(AgentCard::Url(peer.card_url()), Some(auth), means);
        scene.ask("message").await.1
    };
    assert_eq!(ask("$TOKEN").await.unwrap().text, "You said: message");
    let error = ask("wrong").await.unwrap_err();
    assert!(
        matches!(error, RemoteError::CardRefused { status: 401, .. }),
        "{error:?}"
    );
}

/// All of it, for a server that speaks one version.
async fn check(server: A2aServer, version: A2aVersion) {
    let streaming = A2aPeer::start(server, "streaming", &[]);
    let card = Scene::at(streaming.card_url(), patient());
    let card = card.agent.card().await.unwrap();
    let described = card.described("Mine.");
    assert_eq!(
        described,
        "User Description: Mine.\nAgent Description: Answers on order.\nSkills:\nGreet: Says hello"
    );
    assert_eq!(card.interface.version, version);
    check_tasks(&streaming, version).await;
    check_conversation(&streaming, version).await;
    check_cancel(&streaming, version).await;
    let wrong = scene(&streaming, A2aBinding::JsonRpc, version.other()).await;
    assert_eq!(
        wrong.answer("message").await,
        "You said: message",
        "the version is found out"
    );
    drop(streaming);
    let polling = A2aPeer::start(server, "polling", &[]);
    check_tasks(&polling, version).await;
    check_conversation(&polling, version).await;
    check_cancel(&polling, version).await;
    drop(polling);
    check_authentication(server).await;
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs the A2A SDK: run `cargo xtask test`"
)]
async fn the_javascript_sdk_of_0_3_streams_is_polled_cancels_and_authenticates() {
    check(A2aServer::JavaScript03, A2aVersion::V0_3).await;
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs the A2A SDK: run `cargo xtask test`"
)]
async fn the_javascript_sdk_of_1_0_streams_is_polled_cancels_and_authenticates() {
    check(A2aServer::JavaScript1, A2aVersion::V1).await;
}

#[tokio::test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "needs the Python SDK of A2A: run `cargo xtask test --full`"
)]
async fn the_python_sdk_speaks_both_versions_on_one_port() {
    for mode in ["streaming", "polling"] {
        let peer = A2aPeer::start(A2aServer::Python, mode, &[]);
        let scene = Scene::at(peer.card_url(), patient());
        assert!(
            scene
                .answer("hello")
                .await
                .ends_with("Artifact (out.txt):\nHello")
        );
        for version in [A2aVersion::V1, A2aVersion::V0_3] {
            let scene = self::scene(&peer, A2aBinding::JsonRpc, version).await;
            let answer = scene.answer("hello").await;
            assert!(
                answer.ends_with("Artifact (out.txt):\nHello"),
                "{version:?}: {answer}"
            );
            assert_eq!(
                scene.answer("message to you").await,
                "You said: message to you"
            );
            let error = scene.failure("fail").await;
            assert!(matches!(error, RemoteError::TaskEnded { .. }), "{error:?}");
        }
        check_cancel_over(&peer, A2aBinding::JsonRpc, A2aVersion::V1).await;
        check_cancel_over(&peer, A2aBinding::JsonRpc, A2aVersion::V0_3).await;
    }
    check_authentication(A2aServer::Python).await;
}
