//! Credentials: from variables and commands, to their own origin, and nowhere else.

use lapidary_gemini::agents::{AgentCard, HttpCredentials, RemoteAuth};
use lapidary_native::a2a::RemoteError;
use lapidary_testkit::raw_server::{RawServer, RawStep, answer, json as json_answer};
use serde_json::json;

use super::{Scene, card, means, patient, result, short};

const SECRET: &str = "sekrit-token-4711";

fn bearer(token: &str) -> RemoteAuth {
    RemoteAuth::Http(HttpCredentials::Bearer {
        token: token.to_owned(),
    })
}

fn scene_at(url: String, auth: RemoteAuth) -> Scene {
    let means = means(patient(), &[("AGENT_TOKEN", SECRET), ("EMPTY", "")]);
    Scene::new(AgentCard::Url(url), Some(auth), means)
}

/// A server with a card that leads to itself, and a message for each prompt.
fn honest(words: &'static str) -> RawServer {
    RawServer::start(move |request| {
        if request.line.starts_with("GET") {
            let host = request
                .head
                .lines()
                .find_map(|line| line.strip_prefix("host: "));
            return json_answer(&card(&format!("http://{}/rpc", host.unwrap())));
        }
        let message =
            json!({"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": words}]});
        json_answer(&result(&message))
    })
}

fn header(server: &RawServer, at: usize, name: &str) -> Option<String> {
    let head = server.requests()[at].head.clone();
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.to_owned())
}

#[tokio::test]
async fn values_come_from_variables_and_commands_and_become_one_header() {
    let basic = |username: &str, password: &str| {
        RemoteAuth::Http(HttpCredentials::Basic {
            username: username.to_owned(),
            password: password.to_owned(),
        })
    };
    let key = |key: &str, header: Option<&str>| RemoteAuth::ApiKey {
        key: key.to_owned(),
        header: header.map(str::to_owned),
    };
    let raw = RemoteAuth::Http(HttpCredentials::Raw {
        scheme: "Digest".to_owned(),
        value: "!!x".to_owned(),
    });
    for (auth, name, expected) in [
        (
            bearer("$AGENT_TOKEN"),
            "authorization",
            format!("Bearer {SECRET}"),
        ),
        (
            bearer("!echo ' from a command '"),
            "authorization",
            "Bearer from a command".to_owned(),
        ),
        (
            bearer("$$literal"),
            "authorization",
            "Bearer $literal".to_owned(),
        ),
        (basic("u", "p"), "authorization", "Basic dTpw".to_owned()),
        (key("k1", None), "x-api-key", "k1".to_owned()),
        (key("k2", Some("X-Key")), "x-key", "k2".to_owned()),
        (raw, "authorization", "Digest !x".to_owned()),
    ] {
        let server = honest("Hi.");
        let scene = scene_at(server.url("/card.json"), auth);
        assert_eq!(scene.answer("hello").await, "Hi.");
        assert_eq!(header(&server, 0, name), None, "the card is public");
        assert_eq!(header(&server, 1, name), Some(expected));
    }
}

#[tokio::test]
async fn values_that_are_not_there_end_the_call_before_any_request_to_the_agent() {
    let google = RemoteAuth::GoogleCredentials { scopes: None };
    for (auth, expected) in [
        (
            bearer("$EMPTY"),
            "the environment variable `EMPTY` is not set or empty",
        ),
        (
            bearer("$MISSING"),
            "the environment variable `MISSING` is not set or empty",
        ),
        (
            bearer("!"),
            "the command for `auth` failed: there is no command behind `!`",
        ),
        (
            bearer("!true"),
            "the command for `auth` failed: it prints nothing",
        ),
        (
            bearer("!echo x; exit 3"),
            "the command for `auth` failed: it does not end with 0",
        ),
        (
            google,
            "`google-credentials` authentication is not supported",
        ),
    ] {
        let server = honest("Hi.");
        let error = scene_at(server.url("/card.json"), auth)
            .failure("hello")
            .await;
        assert_eq!(error.to_string(), expected);
        assert!(error.is_auth());
        assert_eq!(server.requests().len(), 1, "only the card is fetched");
    }
}

#[tokio::test]
async fn credentials_never_leave_for_the_host_that_a_card_names() {
    let elsewhere = RawServer::start(|_| answer(200, "application/json", "{}"));
    let target = card(&elsewhere.url("/rpc"));
    let server = RawServer::start(move |_| json_answer(&target));
    let scene = scene_at(server.url("/card.json"), bearer("$AGENT_TOKEN"));
    let error = scene.failure("hello").await;
    let expected = RemoteError::ForeignOrigin {
        card: server.url(""),
        target: elsewhere.url(""),
    };
    assert_eq!(error, expected);
    assert_eq!(elsewhere.connections(), 0);
    assert!(!format!("{error} {error:?} {scene:?}", scene = scene.agent).contains(SECRET));
}

#[tokio::test]
async fn credentials_are_not_sent_over_plain_http_beyond_this_machine() {
    let inline = AgentCard::Json(card("http://agent.example/rpc").to_string());
    let auth = bearer("$AGENT_TOKEN");
    let scene = Scene::new(
        inline,
        Some(auth),
        means(short(), &[("AGENT_TOKEN", SECRET)]),
    );
    let error = scene.failure("hello").await;
    let expected = RemoteError::PlainHttp {
        origin: "http://agent.example".to_owned(),
    };
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_redirect_gets_neither_the_prompt_nor_the_credentials() {
    let elsewhere = RawServer::start(|_| answer(200, "application/json", "{}"));
    let location = elsewhere.url("/rpc");
    let server = RawServer::start(move |request| {
        if request.line.starts_with("GET") {
            let host = request
                .head
                .lines()
                .find_map(|line| line.strip_prefix("host: "));
            return json_answer(&card(&format!("http://{}/rpc", host.unwrap())));
        }
        let head = format!(
            "HTTP/1.1 307 X\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        vec![RawStep::Send(head.into_bytes())]
    });
    let scene = scene_at(server.url("/card.json"), bearer("$AGENT_TOKEN"));
    let error = scene.failure("hello").await;
    assert!(error.to_string().contains("redirects"), "{error}");
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_server_that_repeats_the_credentials_cannot_bring_them_into_our_texts() {
    let words = "your header was Bearer sekrit-token-4711, thanks";
    let server = honest(words);
    let scene = scene_at(server.url("/card.json"), bearer("$AGENT_TOKEN"));
    let (pieces, answer) = scene.ask("hello").await;
    let expected = "your header was Bearer [redacted], thanks";
    assert_eq!(pieces.concat(), expected);
    assert_eq!(answer.unwrap().text, expected);
}

#[tokio::test]
async fn refused_credentials_are_resolved_again_and_the_card_gets_them_only_when_it_asks() {
    let directory = tempfile::tempdir().unwrap();
    let count = directory.path().join("count");
    let count = count.display();
    // The first token is stale; the command prints a new one each time.
    let auth = bearer(&format!("!echo x >> {count}; wc -l < {count}"));
    let server = RawServer::start(|request| {
        let token = request.head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("authorization")
                .then(|| value.to_owned())
        });
        let is_card = request.line.starts_with("GET");
        match token.as_deref() {
            None => answer(401, "text/plain", ""),
            Some("Bearer 1") if !is_card => answer(401, "text/plain", ""),
            Some(_) if is_card => {
                let host = request
                    .head
                    .lines()
                    .find_map(|line| line.strip_prefix("host: "));
                json_answer(&card(&format!("http://{}/rpc", host.unwrap())))
            }
            Some(_) => json_answer(&result(
                &json!({"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": "Hi."}]}),
            )),
        }
    });
    let scene = scene_at(server.url("/card.json"), auth);
    assert_eq!(scene.answer("hello").await, "Hi.");
    let tokens: Vec<_> = (0..4)
        .map(|at| header(&server, at, "authorization"))
        .collect();
    let bearer = |number: u32| Some(format!("Bearer {number}"));
    assert_eq!(tokens, [None, bearer(1), bearer(1), bearer(2)]);
}
