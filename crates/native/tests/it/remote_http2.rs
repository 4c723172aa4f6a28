//! Agents behind streamable HTTP over HTTP/2, which the server chooses in the handshake of TLS. All of them are on loopback.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use lapidary_native::remote_acp::{RemoteAgentSettings, RemoteTransport};
use lapidary_rpc::AgentLossKind;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;

use crate::remote_http::{INITIALIZE, NEW, OPENED, PROMPT};
use crate::remote_websocket::{TOKEN, TestClient, settings, with_token};
use crate::tls::{tls_acceptor, trusting};

/// A body that has one part, and then ends or stays open.
struct TestBody {
    part: Option<Bytes>,
    is_held: bool,
}

impl Body for TestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.part.take() {
            Some(part) => Poll::Ready(Some(Ok(Frame::data(part)))),
            None if self.is_held => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

/// A request, as far as tests look at it: version, method, session and method of ACP.
type SeenRequest = (Version, String);

#[derive(Default)]
struct SeenTraffic {
    requests: Mutex<Vec<SeenRequest>>,
    connections: Mutex<usize>,
}

/// The behaviour of a server towards a connection.
#[derive(Clone, Copy)]
struct ServerTerms {
    most_streams: u32,
    /// The connection is cut once this request came.
    cut_at: Option<&'static str>,
}

const HONEST: ServerTerms = ServerTerms {
    most_streams: 100,
    cut_at: None,
};

/// A server that offers HTTP/2 alone.
struct Http2Server {
    url: String,
    seen: Arc<SeenTraffic>,
    _tasks: JoinSet<()>,
}

impl Http2Server {
    async fn start(terms: ServerTerms) -> Self {
        let seen = Arc::new(SeenTraffic::default());
        let noted = Arc::clone(&seen);
        Self::serve(seen, move |stream| {
            *noted.connections.lock().unwrap() += 1;
            serve_agent(stream, terms, Arc::clone(&noted))
        })
        .await
    }

    async fn serve<F>(
        seen: Arc<SeenTraffic>,
        serve: impl Fn(TlsStream<TcpStream>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let acceptor = tls_acceptor(&["h2"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let stream = acceptor.accept(stream).await.unwrap();
                connections.spawn(serve(stream));
            }
        });
        Self {
            url: format!("https://localhost:{port}/acp"),
            seen,
            _tasks: tasks,
        }
    }

    fn settings(&self) -> RemoteAgentSettings {
        let mut settings = settings(self.url.clone(), RemoteTransport::StreamableHttp);
        settings.http = trusting();
        with_token(settings)
    }
}

/// Serves an agent as the draft has it.
async fn serve_agent(stream: TlsStream<TcpStream>, terms: ServerTerms, seen: Arc<SeenTraffic>) {
    let cut = watch::Sender::new(false);
    let service = service_fn(|request: Request<Incoming>| {
        let (seen, cut) = (Arc::clone(&seen), cut.clone());
        async move {
            let answer = answer_request(request, &seen).await;
            if terms.cut_at.is_some() && terms.cut_at == answer.as_ref().ok().map(|(it, _)| &**it) {
                cut.send_replace(true);
            }
            answer.map(|(_, answer)| answer)
        }
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.max_concurrent_streams(terms.most_streams);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut is_cut = cut.subscribe();
    tokio::select! {
        _ = connection => {}
        _ = is_cut.wait_for(|is_cut| *is_cut) => {}
    }
}

async fn answer_request(
    request: Request<Incoming>,
    seen: &SeenTraffic,
) -> Result<(String, Response<TestBody>), Infallible> {
    let (head, body) = request.into_parts();
    let text = |name: &str| head.headers.get(name).and_then(|it| it.to_str().ok());
    assert_eq!(text("authorization"), Some(&*format!("Bearer {TOKEN}")));
    let session = text("acp-session-id").unwrap_or("-").to_owned();
    let body = body.collect().await.unwrap().to_bytes();
    let body: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
    let called = body.as_ref().and_then(|body| body["method"].as_str());
    let short = format!("{} {session} {}", head.method, called.unwrap_or_default());
    seen.requests
        .lock()
        .unwrap()
        .push((head.version, short.clone()));
    let (kind, part, is_held) = match (&head.method, called, &*session) {
        (&Method::POST, Some("initialize"), _) => (
            "application/json",
            r#"{"id":0,"result":{}}"#.to_owned(),
            false,
        ),
        (&Method::GET, _, "-") => ("text/event-stream", format!("data: {OPENED}\n\n"), true),
        (&Method::GET, _, _) => {
            let done = "data: {\"id\":2,\"result\":{}}\n\n";
            ("text/event-stream", done.to_owned(), true)
        }
        _ => ("text/plain", String::new(), false),
    };
    let answer = Response::builder()
        .header("content-type", kind)
        .header("acp-connection-id", "c1")
        .body(TestBody {
            part: Some(part.into()).filter(|part: &Bytes| !part.is_empty()),
            is_held,
        });
    Ok((short, answer.unwrap()))
}

#[tokio::test]
async fn a_turn_goes_over_one_connection_of_http_2() {
    let server = Http2Server::start(HONEST).await;
    let mut client = TestClient::new(server.settings());
    client.send(INITIALIZE).await;
    assert_eq!(client.line().await, r#"{"id":0,"result":{}}"#);
    client.send(NEW).await;
    assert_eq!(client.line().await, OPENED);
    client.send(PROMPT).await;
    assert_eq!(client.line().await, r#"{"id":2,"result":{}}"#);
    assert_eq!(client.hang_up().await, Ok(()));
    let seen = server.seen.requests.lock().unwrap().clone();
    let is_new = |(version, _): &SeenRequest| *version == Version::HTTP_2;
    assert!(seen.iter().all(is_new), "{seen:?}");
    let mut shorts: Vec<_> = seen.into_iter().map(|(_, short)| short).collect();
    assert_eq!(shorts.pop().as_deref(), Some("DELETE - "));
    shorts.sort();
    let expected = [
        "GET - ",
        "GET s ",
        "POST - initialize",
        "POST - session/new",
        "POST s session/prompt",
    ];
    assert_eq!(shorts, expected);
    assert_eq!(*server.seen.connections.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_connection_of_http_2_that_is_cut_in_mid_turn_is_broken() {
    for cut_at in ["POST - session/new", "POST s session/prompt"] {
        let server = Http2Server::start(ServerTerms {
            cut_at: Some(cut_at),
            ..HONEST
        })
        .await;
        let mut client = TestClient::new(server.settings());
        client.send(INITIALIZE).await;
        client.send(NEW).await;
        client.send(PROMPT).await;
        let loss = client.loss().await;
        assert_eq!(loss.kind, AgentLossKind::Broken, "{loss:?}");
        assert!(!format!("{loss:?}").contains(TOKEN), "{loss:?}");
    }
}

#[tokio::test]
async fn a_server_of_http_2_that_allows_no_second_stream_does_not_hang_the_client() {
    let server = Http2Server::start(ServerTerms {
        most_streams: 1,
        ..HONEST
    })
    .await;
    let mut settings = server.settings();
    settings.answer_timeout = Duration::from_millis(300);
    let mut client = TestClient::new(settings);
    client.send(INITIALIZE).await;
    client.send(NEW).await;
    let loss = client.loss().await;
    assert_eq!(loss.kind, AgentLossKind::Broken, "{loss:?}");
    assert!(
        loss.message.contains("sent nothing") || loss.message.contains("did not answer"),
        "{loss:?}"
    );
}

#[tokio::test]
async fn a_server_that_agrees_to_http_2_and_speaks_something_else_is_refused() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"[..],
        b"\0\0\0\x04\0\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF\xFF",
        b"",
    ] {
        let server = Http2Server::serve(Arc::default(), move |mut stream| async move {
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
        })
        .await;
        let mut client = TestClient::new(server.settings());
        client.send(INITIALIZE).await;
        let loss = client.loss().await;
        assert_eq!(loss.kind, AgentLossKind::Broken, "{loss:?}");
        assert!(!format!("{loss:?}").contains(TOKEN), "{loss:?}");
    }
}
