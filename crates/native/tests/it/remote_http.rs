//! Agents behind streamable HTTP, and servers that mean harm. All of them are on loopback.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapidary_native::remote_acp::{RemoteAgentSettings, RemoteTransport};
use lapidary_rpc::{AgentLoss, AgentLossKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::remote_websocket::{TOKEN, TestClient, read_request, settings, with_token};
use crate::tls::{tls_before, trusting};

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
pub(crate) const NEW: &str = r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}"#;
pub(crate) const PROMPT: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}"#;
const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A request in short: its method, its session, and its body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenRequest {
    head: String,
    body: String,
}

impl SeenRequest {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(known, _)| *known == name)
            .map(|(_, value)| value)
            .next()
    }

    fn short(&self) -> String {
        let method = self.head.split(' ').next().unwrap();
        let session = self.header("acp-session-id").unwrap_or("-");
        let body: Option<serde_json::Value> = serde_json::from_str(&self.body).ok();
        let what = body.map(|body| body["method"].as_str().unwrap_or("answer").to_owned());
        format!("{method} {session} {}", what.unwrap_or_default())
    }
}

/// The server's action on a connection after its answer.
enum Then {
    Close,
    Hold,
}

/// A server that answers each request by a function of it.
struct HttpServer {
    url: String,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    task: JoinHandle<()>,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HttpServer {
    async fn start(answer: impl Fn(&str, usize) -> (String, Then) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/acp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted) = (Arc::new(answer), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                tokio::spawn(async move { serve_one(stream, &*answer, &noted).await });
            }
        });
        Self { url, seen, task }
    }

    fn client(&self) -> TestClient {
        TestClient::new(self.settings())
    }

    /// Where it listens.
    fn address(&self) -> SocketAddr {
        let address = self.url.strip_prefix("http://").unwrap();
        address.strip_suffix("/acp").unwrap().parse().unwrap()
    }

    fn settings(&self) -> RemoteAgentSettings {
        settings(self.url.clone(), RemoteTransport::StreamableHttp)
    }

    fn shorts(&self) -> Vec<String> {
        self.seen
            .lock()
            .unwrap()
            .iter()
            .map(SeenRequest::short)
            .collect()
    }
}

async fn serve_one(
    mut stream: TcpStream,
    answer: &(dyn Fn(&str, usize) -> (String, Then) + Send + Sync),
    seen: &Mutex<Vec<SeenRequest>>,
) {
    loop {
        let mut first = [0; 1];
        if stream.peek(&mut first).await.is_ok_and(|read| read == 0) {
            return;
        }
        let head = read_request(&mut stream).await;
        let request = SeenRequest {
            head: head.clone(),
            body: String::new(),
        };
        let length = request
            .header("content-length")
            .map_or(0, |it| it.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let request = SeenRequest {
            head,
            body: String::from_utf8(body).unwrap(),
        };
        let short = request.short();
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(request);
            seen.iter().filter(|it| it.short() == short).count()
        };
        let (text, then) = answer(&short, number);
        let is_stream = text.starts_with(EVENTS);
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
        match then {
            Then::Hold => std::future::pending().await,
            Then::Close if is_stream => return,
            Then::Close => {}
        }
    }
}

fn json(body: &str, headers: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

fn initialized() -> String {
    json(
        "{\"id\":0,\n\"result\":{}}",
        "acp-connection-id: c1\r\nset-cookie: pod=7; Path=/\r\n",
    )
}

fn events(lines: &[&str]) -> String {
    let events: Vec<_> = lines
        .iter()
        .map(|line| format!("data: {line}\n\n"))
        .collect();
    format!("{EVENTS}: hello\n\n{}", events.concat())
}

pub(crate) const OPENED: &str = r#"{"id":1,"result":{"sessionId":"s"}}"#;

/// An agent that answers as the draft has it.
fn agent(request: &str, _number: usize) -> (String, Then) {
    match request {
        "POST - initialize" => (initialized(), Then::Close),
        "GET - " => (events(&[OPENED]), Then::Hold),
        "GET s " => {
            let asked =
                r#"{"id":"p","method":"session/request_permission","params":{"sessionId":"s"}}"#;
            (events(&[asked, r#"{"id":2,"result":{}}"#]), Then::Hold)
        }
        _ => (ACCEPTED.to_owned(), Then::Close),
    }
}

#[tokio::test]
async fn a_turn_goes_through_posts_and_streams() {
    let server = HttpServer::start(agent).await;
    let mut client = TestClient::new(with_token(server.settings()));
    client.send(INITIALIZE).await;
    assert_eq!(client.line().await, "{\"id\":0, \"result\":{}}");
    client.send(NEW).await;
    assert_eq!(client.line().await, OPENED);
    client.send(PROMPT).await;
    assert!(client.line().await.contains("session/request_permission"));
    assert_eq!(client.line().await, r#"{"id":2,"result":{}}"#);
    client.send(r#"{"id":"p","result":{"outcome":1}}"#).await;
    assert_eq!(client.hang_up().await, Ok(()));
    let mut shorts = server.shorts();
    assert_eq!(shorts.remove(0), "POST - initialize");
    assert_eq!(shorts.pop().unwrap(), "DELETE - ");
    assert_eq!(
        shorts.pop().unwrap(),
        "POST s answer",
        "the answer goes to its session"
    );
    shorts.sort();
    assert_eq!(
        shorts,
        [
            "GET - ",
            "GET s ",
            "POST - session/new",
            "POST s session/prompt"
        ]
    );
    for request in &server.seen.lock().unwrap()[1..] {
        assert_eq!(
            request.header("acp-connection-id"),
            Some("c1"),
            "{request:?}"
        );
        assert_eq!(request.header("cookie"), Some("pod=7"), "{request:?}");
        assert_eq!(
            request.header("authorization"),
            Some(&*format!("Bearer {TOKEN}"))
        );
    }
}

#[tokio::test]
async fn a_server_with_tls_but_without_http_2_is_spoken_to_in_http_1() {
    let server = HttpServer::start(agent).await;
    let tls = tls_before(server.address()).await;
    let mut settings = server.settings();
    settings.url = format!("https://localhost:{}/acp", tls.port);
    settings.http = trusting();
    let mut client = TestClient::new(settings);
    client.send(INITIALIZE).await;
    assert_eq!(client.line().await, "{\"id\":0, \"result\":{}}");
    client.send(NEW).await;
    assert_eq!(client.line().await, OPENED);
    assert_eq!(client.hang_up().await, Ok(()));
    let seen = server.seen.lock().unwrap().clone();
    let is_old = |request: &SeenRequest| {
        let line = request.head.lines().next().unwrap();
        line.ends_with(" HTTP/1.1")
    };
    assert!(seen.len() >= 4 && seen.iter().all(is_old), "{seen:?}");
}

/// How a conversation up to the prompt ends, if each request is answered so.
async fn loss_of(
    answer: impl Fn(&str, usize) -> (String, Then) + Send + Sync + 'static,
) -> AgentLoss {
    let server = HttpServer::start(answer).await;
    let mut settings = with_token(server.settings());
    settings.answer_timeout = Duration::from_millis(500);
    let mut client = TestClient::new(settings);
    client.send(INITIALIZE).await;
    client.send(NEW).await;
    client.send(PROMPT).await;
    let loss = client.loss().await;
    assert!(!format!("{loss:?}").contains(TOKEN), "{loss:?}");
    loss
}

fn check(loss: &AgentLoss, kind: AgentLossKind, reason: &str) {
    assert_eq!(loss.kind, kind, "{loss:?}");
    assert!(loss.message.contains(reason), "{loss:?}");
}

#[tokio::test]
async fn a_server_that_is_no_agent_is_refused_with_the_reason() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
    let away = "HTTP/1.1 302 Away\r\nlocation: http://127.0.0.1:1/x\r\ncontent-length: 0\r\n\r\n";
    let nameless = json("{}", "");
    let endless = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nacp-connection-id: c\r\ncontent-length: 9\r\n\r\n{";
    for (first, kind, reason) in [
        (page, AgentLossKind::Violation, "is not JSON"),
        (&nameless, AgentLossKind::Violation, "names no connection"),
        (away, AgentLossKind::Misconfigured, "redirects"),
        (endless, AgentLossKind::Late, "sent nothing"),
        (
            "HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n",
            AgentLossKind::Unauthorized,
            "401",
        ),
        (
            "HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n",
            AgentLossKind::Missing,
            "404",
        ),
        (
            "HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n",
            AgentLossKind::Unreachable,
            "502",
        ),
    ] {
        let first = first.to_owned();
        let loss = loss_of(move |_, _| (first.clone(), Then::Hold)).await;
        check(&loss, kind, reason);
    }
    let silent = loss_of(|_, _| (String::new(), Then::Hold)).await;
    assert_eq!(silent.kind, AgentLossKind::Late, "{silent:?}");
}

#[tokio::test]
async fn a_stream_that_ends_before_the_answer_is_a_lost_connection() {
    let half = |request: &str, number: usize| match request {
        "GET s " => (format!("{EVENTS}data: {{\"jsonrpc\""), Then::Close),
        _ => agent(request, number),
    };
    check(
        &loss_of(half).await,
        AgentLossKind::Broken,
        "in the middle of an event",
    );
    let early = |request: &str, number: usize| match request {
        "GET s " => (events(&["{}"]), Then::Close),
        _ => agent(request, number),
    };
    check(
        &loss_of(early).await,
        AgentLossKind::Broken,
        "before it had answered",
    );
    let forgetful = |request: &str, number: usize| match request {
        "POST s session/prompt" => (
            "HTTP/1.1 404 Gone\r\ncontent-length: 0\r\n\r\n".to_owned(),
            Then::Close,
        ),
        _ => agent(request, number),
    };
    check(
        &loss_of(forgetful).await,
        AgentLossKind::Broken,
        "has forgotten the connection",
    );
    let hanging = |request: &str, number: usize| match request {
        "POST s session/prompt" => (String::new(), Then::Hold),
        _ => agent(request, number),
    };
    assert_eq!(loss_of(hanging).await.kind, AgentLossKind::Broken);
    let untyped = |request: &str, number: usize| match request {
        "GET - " => (json("{}", ""), Then::Close),
        _ => agent(request, number),
    };
    check(
        &loss_of(untyped).await,
        AgentLossKind::Violation,
        "another type",
    );
}

#[tokio::test]
async fn a_stream_that_ends_while_nothing_waits_is_opened_again() {
    let patient = |request: &str, number: usize| match request {
        "GET - " if number == 1 => (events(&[]), Then::Close),
        _ => agent(request, number),
    };
    let server = HttpServer::start(patient).await;
    let mut client = server.client();
    client.send(INITIALIZE).await;
    assert_eq!(client.line().await, "{\"id\":0, \"result\":{}}");
    assert_eq!(client.line().await, OPENED, "it comes on the second stream");
    assert_eq!(client.hang_up().await, Ok(()));
    let restless = |request: &str, number: usize| match request {
        "GET - " => (events(&[]), Then::Close),
        _ => agent(request, number),
    };
    let server = HttpServer::start(restless).await;
    let mut client = server.client();
    client.send(INITIALIZE).await;
    check(
        &client.loss().await,
        AgentLossKind::Broken,
        "again and again",
    );
    let streams = server.shorts().iter().filter(|it| *it == "GET - ").count();
    assert_eq!(streams, 4);
}

#[tokio::test]
async fn an_endless_event_is_refused_and_not_collected() {
    let server = HttpServer::start(|request, number| match request {
        "GET - " => (
            format!("{EVENTS}data: {}", "x".repeat(65 << 20)),
            Then::Hold,
        ),
        _ => agent(request, number),
    })
    .await;
    let mut client = server.client();
    client.send(INITIALIZE).await;
    check(
        &client.loss().await,
        AgentLossKind::Violation,
        "sends an event of more than 67108864 bytes",
    );
}
