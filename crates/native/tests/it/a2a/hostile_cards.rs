//! Cards that cannot be used: each is one typed error, and no request follows.

use std::sync::Arc;

use lapidary_gemini::agents::AgentCard;
use lapidary_native::a2a::{CredentialSource, RemoteError, RemoteMeans};
use lapidary_native::http::{HttpClient, HttpSettings};
use lapidary_testkit::raw_server::{RawServer, RawStep, answer, json as json_answer};
use serde_json::json;

use super::{Scene, card, short};
use crate::tls::{tls_before, trusting};

async fn failure_of(steps: Vec<RawStep>) -> (RemoteError, RawServer) {
    let server = RawServer::start(move |_| steps.clone());
    let scene = Scene::at(server.url("/card.json"), short());
    (scene.failure("hello").await, server)
}

#[tokio::test]
async fn a_card_that_is_no_card_is_one_typed_error_without_a_second_request() {
    let html = answer(200, "text/html; charset=utf-8", "<html>log in</html>");
    let deep = "[".repeat(100_000);
    for (steps, expected) in [
        (html, "the server answers with a web page"),
        (answer(200, "application/json", "{"), "it is not valid JSON"),
        (
            answer(200, "application/json", &deep),
            "it is not valid JSON",
        ),
        (
            answer(200, "application/json", "[]"),
            "it is not a JSON object",
        ),
        (
            answer(200, "application/json", "{}"),
            "it names no URL for requests",
        ),
        (
            answer(503, "text/plain", "later"),
            "the server answers with 503",
        ),
    ] {
        let (error, server) = failure_of(steps).await;
        let RemoteError::NotACard { reason, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(reason, expected);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn missing_refused_and_silent_cards_have_different_errors() {
    let (error, _) = failure_of(answer(404, "text/plain", "")).await;
    assert!(
        matches!(error, RemoteError::CardNotFound { .. }),
        "{error:?}"
    );
    let (error, server) = failure_of(answer(401, "text/plain", "")).await;
    assert!(
        matches!(error, RemoteError::CardRefused { status: 401, .. }),
        "{error:?}"
    );
    assert_eq!(
        server.requests().len(),
        1,
        "without credentials there is no second attempt"
    );
    let (error, server) = failure_of(vec![RawStep::Hang]).await;
    assert!(
        matches!(error, RemoteError::CardTimeout { .. }),
        "{error:?}"
    );
    assert_eq!(server.requests().len(), 1);
    let unused = Scene::at("http://127.0.0.1:1/card.json".to_owned(), short());
    let error = unused.failure("hello").await;
    assert!(matches!(error, RemoteError::CardFetch { .. }), "{error:?}");
}

#[tokio::test]
async fn a_card_without_end_is_read_up_to_its_limit() {
    let head =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n";
    let steps = vec![
        RawStep::Send(head.to_vec()),
        RawStep::Flood(vec![b' '; 64 * 1024]),
    ];
    let server = RawServer::start(move |_| steps.clone());
    let scene = Scene::at(server.url("/card.json"), super::patient());
    let error = scene.failure("hello").await;
    let RemoteError::NotACard { reason, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(reason, "it has more than 1048576 bytes");
}

#[tokio::test]
async fn a_card_that_redirects_is_not_followed() {
    let elsewhere = RawServer::start(|_| json_answer(&card("http://127.0.0.1:1/")));
    let head = format!(
        "HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        elsewhere.url("/card.json")
    );
    let (error, _) = failure_of(vec![RawStep::Send(head.into_bytes())]).await;
    assert!(error.to_string().contains("redirects"), "{error}");
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_card_of_another_version_or_binding_names_what_it_offers() {
    let grpc = json!({"name": "x", "supportedInterfaces": [
        {"url": "https://a.example", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "9.0"},
    ]});
    let (error, server) = failure_of(json_answer(&grpc)).await;
    assert_eq!(
        error.to_string(),
        "the agent card offers no interface that Lapidary speaks, only GRPC 1.0, JSONRPC 9.0"
    );
    assert_eq!(server.requests().len(), 1);
}

/// An agent whose card comes from `url`, fetched with these settings.
fn scene_with(url: &str, http: HttpSettings) -> Scene {
    let means = RemoteMeans {
        http: HttpClient::new(http).unwrap(),
        credentials: CredentialSource::default(),
        limits: short(),
    };
    Scene::new(AgentCard::Url(url.to_owned()), None, Arc::new(means))
}

fn unsafe_target(card: &str, target: &str) -> RemoteError {
    RemoteError::UnsafeTarget {
        card: card.to_owned(),
        target: target.to_owned(),
    }
}

/// A proxy plays the other machine: it gets the request for the card, for any host name.
#[tokio::test]
async fn a_card_of_another_machine_cannot_lead_to_this_one() {
    let target = RawServer::start(|_| answer(200, "application/json", "{}"));
    let port = target.port;
    for host in [
        "127.0.0.1",
        "127.0.0.2",
        "localhost",
        "api.localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "127.1",
        "2130706433",
    ] {
        let text = card(&format!("http://{host}:{port}/rpc"));
        let elsewhere = RawServer::start(move |_| json_answer(&text));
        let settings = HttpSettings {
            http_proxy: Some(elsewhere.url("")),
            ..HttpSettings::default()
        };
        let scene = scene_with("http://agent.example/card.json", settings);
        let error = scene.failure("hello").await;
        let named = format!("http://{host}:{port}");
        assert_eq!(error, unsafe_target("http://agent.example", &named));
        let requests = elsewhere.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        assert_eq!(
            requests[0].line,
            "GET http://agent.example/card.json HTTP/1.1"
        );
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn an_encrypted_card_cannot_lead_to_an_unencrypted_place() {
    let target = RawServer::start(|_| answer(200, "application/json", "{}"));
    for named in [
        "http://agent.example".to_owned(),
        format!("http://localhost:{}", target.port),
    ] {
        let text = card(&format!("{named}/rpc"));
        let plain = RawServer::start(move |_| json_answer(&text));
        let tls = tls_before(([127, 0, 0, 1], plain.port).into()).await;
        let origin = format!("https://localhost:{}", tls.port);
        let scene = scene_with(&format!("{origin}/card.json"), trusting());
        let error = scene.failure("hello").await;
        assert_eq!(error, unsafe_target(&origin, &named));
        assert!(error.hint().unwrap().contains("agent_card_json"), "{error}");
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn cards_of_this_machine_and_of_the_definition_may_lead_where_they_say() {
    let inline = AgentCard::Json(card("http://agent.example/").to_string());
    let scene = Scene::new(inline, None, super::means(short(), &[]));
    assert!(scene.agent.card().await.is_ok(), "the user vouches for it");
    let target = RawServer::start(|_| answer(200, "application/json", "{}"));
    let text = card(&target.url("/"));
    let server = RawServer::start(move |_| json_answer(&text));
    let scene = Scene::at(server.url("/card.json"), short());
    assert!(scene.agent.card().await.is_ok(), "loopback to loopback");
    assert_eq!(target.connections(), 0);
}
