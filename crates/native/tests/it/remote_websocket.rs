//! Agents behind a WebSocket, and servers that mean harm. All of them are on loopback.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lapidary_native::http::HttpSettings;
use lapidary_native::remote_acp::{
    RemoteAgentSettings, RemoteTransport, SecretText, TokenSource, serve,
};
use lapidary_rpc::{AgentLoss, AgentLossKind};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::tls::{tls_before, trusting};

pub(crate) const TOKEN: &str = "tok-5ecr3t-5ecr3t";

pub(crate) fn settings(url: String, transport: RemoteTransport) -> RemoteAgentSettings {
    RemoteAgentSettings {
        shown_url: url.clone(),
        url,
        transport,
        token: None,
        is_protected: true,
        http: HttpSettings::default(),
        answer_timeout: Duration::from_secs(20),
        keep_alive: Duration::from_secs(20),
    }
}

pub(crate) fn with_token(mut settings: RemoteAgentSettings) -> RemoteAgentSettings {
    settings.token = Some(TokenSource::Variable {
        name: "TOKEN".to_owned(),
        value: Some(SecretText::new(TOKEN)),
    });
    settings
}

/// The client's end of a connection.
pub(crate) struct TestClient {
    pub(crate) pipe: BufReader<DuplexStream>,
    served: JoinHandle<Result<(), AgentLoss>>,
}

impl TestClient {
    pub(crate) fn new(settings: RemoteAgentSettings) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        Self {
            pipe: BufReader::new(ours),
            served: tokio::spawn(serve(theirs, Arc::new(settings))),
        }
    }

    pub(crate) async fn send(&mut self, line: &str) {
        let line = format!("{line}\n");
        let _ = self.pipe.get_mut().write_all(line.as_bytes()).await; // it may be over already
    }

    pub(crate) async fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.pipe.read_until(b'\n', &mut line).await.unwrap();
        let line = String::from_utf8(line).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    /// Hangs up, and waits for the end.
    pub(crate) async fn hang_up(mut self) -> Result<(), AgentLoss> {
        self.pipe.get_mut().shutdown().await.unwrap();
        self.served.await.unwrap()
    }

    /// Reads to the end: why it came.
    pub(crate) async fn loss(mut self) -> AgentLoss {
        let mut rest = vec![0; 16 * 1024];
        while self.pipe.read(&mut rest).await.unwrap() > 0 {}
        self.served.await.unwrap().unwrap_err()
    }
}

/// Reads the head of a request, byte for byte: the bytes behind it are not HTTP.
pub(crate) async fn read_request(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

fn accept_header(head: &str) -> String {
    let key = head
        .lines()
        .find_map(|line| line.strip_prefix("sec-websocket-key: "));
    let proof = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key.unwrap());
    let algorithm = &ring::digest::SHA1_FOR_LEGACY_USE_ONLY;
    STANDARD.encode(ring::digest::digest(algorithm, proof.as_bytes()))
}

/// A server for one connection. Returns its URL; the task's output is the head of the request.
async fn server<F>(
    play: impl FnOnce(TcpStream, String) -> F + Send + 'static,
) -> (String, JoinHandle<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/acp", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_request(&mut stream).await;
        play(stream, head).await;
    });
    (url, task)
}

/// A server that accepts the WebSocket, writes bytes, and then reads until the client is gone.
async fn after_handshake(bytes: Vec<u8>) -> (String, JoinHandle<()>) {
    server(move |mut stream, head| async move {
        open(&mut stream, &head).await;
        stream.write_all(&bytes).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    })
    .await
}

async fn open(stream: &mut TcpStream, head: &str) {
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        accept_header(head)
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
}

fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first, u8::try_from(payload.len()).unwrap()];
    assert!(payload.len() < 126);
    frame.extend_from_slice(payload);
    frame
}

/// A frame of the client, unmasked.
async fn read_frame(stream: &mut TcpStream) -> (u8, String) {
    let first = stream.read_u8().await.unwrap();
    let length = stream.read_u8().await.unwrap();
    assert!(length & 0x80 != 0, "frames of a client are masked");
    let length = match length & 0x7F {
        126 => usize::from(stream.read_u16().await.unwrap()),
        127 => usize::try_from(stream.read_u64().await.unwrap()).unwrap(),
        short => usize::from(short),
    };
    let mut mask = [0; 4];
    stream.read_exact(&mut mask).await.unwrap();
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await.unwrap();
    let payload = payload
        .iter()
        .zip(mask.iter().cycle())
        .map(|(it, mask)| it ^ mask);
    let payload: Vec<u8> = payload.collect();
    (first, String::from_utf8_lossy(&payload).into_owned())
}

fn websocket(url: String) -> RemoteAgentSettings {
    settings(url, RemoteTransport::WebSocket)
}

#[tokio::test]
async fn lines_are_text_messages_in_both_directions() {
    let (url, task) = server(|mut stream, head| async move {
        assert!(head.starts_with("GET /acp HTTP/1.1\r\n"), "{head}");
        assert!(
            head.contains(&format!("authorization: Bearer {TOKEN}\r\n")),
            "{head}"
        );
        open(&mut stream, &head).await;
        assert_eq!(
            read_frame(&mut stream).await,
            (0x81, "{\"a\":1}".to_owned())
        );
        let long = "x".repeat(70_000);
        assert_eq!(read_frame(&mut stream).await, (0x81, long));
        let frames = [
            frame(0x81, b"{\n\"b\": 2\r\n}"),
            frame(0x01, b"in "),
            frame(0x89, b"are you there"),
            frame(0x00, b"three "),
            frame(0x80, b"parts"),
            frame(0x82, b"\x01\n{}"),
        ];
        stream.write_all(&frames.concat()).await.unwrap();
        assert_eq!(
            read_frame(&mut stream).await,
            (0x8A, "are you there".to_owned())
        );
        assert_eq!(read_frame(&mut stream).await.0, 0x88, "the client closes");
    })
    .await;
    let mut client = TestClient::new(with_token(websocket(url)));
    client.send("{\"a\":1}").await;
    client.send(&"x".repeat(70_000)).await;
    assert_eq!(client.line().await, "{ \"b\": 2  }");
    assert_eq!(client.line().await, "in three parts");
    assert_eq!(client.line().await, "[binary WebSocket message] \u{1} {}");
    assert_eq!(client.hang_up().await, Ok(()));
    task.await.unwrap();
}

#[tokio::test]
async fn frames_that_break_the_protocol_end_the_connection_with_the_reason() {
    let close =
        |code: u16, reason: &str| frame(0x88, &[&code.to_be_bytes(), reason.as_bytes()].concat());
    for (bytes, kind, reason) in [
        (frame(0xC1, b"zip"), AgentLossKind::Violation, "compression"),
        (frame(0x83, b""), AgentLossKind::Violation, "unknown kind"),
        (
            vec![0x81, 0x80, 0, 0, 0, 0],
            AgentLossKind::Violation,
            "masks",
        ),
        (
            frame(0x80, b"of what?"),
            AgentLossKind::Violation,
            "two messages",
        ),
        (
            [frame(0x01, b"a"), frame(0x81, b"b")].concat(),
            AgentLossKind::Violation,
            "two messages",
        ),
        (
            vec![0x81, 127, 255, 0, 0, 0, 0, 0, 0, 0],
            AgentLossKind::Violation,
            "impossible",
        ),
        (
            vec![0x89, 126, 1, 0],
            AgentLossKind::Violation,
            "control frame",
        ),
        (
            close(1011, "out of memory"),
            AgentLossKind::Broken,
            "status 1011: out of memory",
        ),
        (
            close(3000, "who are you"),
            AgentLossKind::Unauthorized,
            "status 3000",
        ),
        (frame(0x88, b""), AgentLossKind::Broken, "status 1005"),
    ] {
        let (url, _task) = after_handshake(bytes).await;
        let loss = TestClient::new(websocket(url)).loss().await;
        assert_eq!(loss.kind, kind, "{loss:?}");
        assert!(loss.message.contains(reason), "{loss:?}");
    }
}

#[tokio::test]
async fn a_connection_that_closes_in_the_middle_of_a_message_is_broken() {
    let (url, _task) = server(|mut stream, head| async move {
        open(&mut stream, &head).await;
        stream.write_all(&frame(0x01, b"{\"half\":")).await.unwrap();
    })
    .await;
    let mut client = TestClient::new(websocket(url));
    assert_eq!(client.line().await, "{\"half\":", "the bytes are kept");
    let loss = client.loss().await;
    assert_eq!(loss.kind, AgentLossKind::Broken);
    assert!(
        loss.message.ends_with("in the middle of a message"),
        "{loss:?}"
    );
    assert!(loss.hint.unwrap().contains("--resume"));
}

#[tokio::test]
async fn a_frame_of_a_gigabyte_is_passed_on_while_it_comes() {
    let (url, task) = server(|mut stream, head| async move {
        open(&mut stream, &head).await;
        let mut start = vec![0x81, 127];
        start.extend_from_slice(&(1_u64 << 30).to_be_bytes());
        stream.write_all(&start).await.unwrap();
        // The client hangs up long before the end.
        let part = vec![b'x'; 64 * 1024];
        while stream.write_all(&part).await.is_ok() {}
    })
    .await;
    let mut client = TestClient::new(websocket(url));
    let mut part = vec![0; 4 << 20];
    client.pipe.read_exact(&mut part).await.unwrap();
    assert!(part.iter().all(|byte| *byte == b'x'));
    drop(client.pipe);
    let _ = client.served.await.unwrap(); // it ends; the read or the write notices first
    task.await.unwrap();
}

#[tokio::test]
async fn a_flood_of_pings_is_not_collected() {
    let pings = frame(0x89, &[b'p'; 125]).repeat(20_000);
    let bytes = [pings, frame(0x81, b"{}")].concat();
    let (url, _task) = after_handshake(bytes).await;
    let mut client = TestClient::new(websocket(url));
    assert_eq!(client.line().await, "{}");
    assert_eq!(client.hang_up().await, Ok(()));
}

/// A server that writes the same frame for as long as the connection is there.
async fn flooding(first: Vec<u8>, again: Vec<u8>) -> (String, JoinHandle<()>) {
    server(move |mut stream, head| async move {
        open(&mut stream, &head).await;
        stream.write_all(&first).await.unwrap();
        let part = again.repeat(1000);
        while stream.write_all(&part).await.is_ok() {}
    })
    .await
}

#[tokio::test]
async fn a_message_of_endless_empty_fragments_is_not_collected_and_can_be_hung_up_on() {
    let (url, task) = flooding(frame(0x01, b"{"), frame(0x00, b"")).await;
    let mut client = TestClient::new(websocket(url));
    assert_eq!(client.pipe.read_u8().await.unwrap(), b'{');
    drop(client.pipe);
    let _ = client.served.await.unwrap(); // it ends; the read or the write notices first
    task.await.unwrap();
}

#[tokio::test]
async fn a_flood_of_messages_waits_until_the_client_reads_them() {
    let (url, task) = flooding(Vec::new(), frame(0x81, b"{}")).await;
    let mut client = TestClient::new(websocket(url));
    for _ in 0..50_000 {
        assert_eq!(client.line().await, "{}");
    }
    drop(client.pipe);
    let _ = client.served.await.unwrap();
    task.await.unwrap();
}

#[tokio::test]
async fn a_server_that_never_answers_the_handshake_is_late() {
    let (url, _task) = server(|stream, _| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let mut settings = websocket(url);
    settings.answer_timeout = Duration::from_millis(50);
    let loss = TestClient::new(settings).loss().await;
    assert_eq!(loss.kind, AgentLossKind::Late, "{loss:?}");
}

#[tokio::test]
async fn a_server_that_answers_no_ping_is_gone() {
    let (url, _task) = server(|mut stream, head| async move {
        open(&mut stream, &head).await;
        assert_eq!(read_frame(&mut stream).await.0, 0x89, "it is pinged");
        std::future::pending::<()>().await;
    })
    .await;
    let mut settings = websocket(url);
    settings.keep_alive = Duration::from_millis(50);
    let loss = TestClient::new(settings).loss().await;
    assert_eq!(loss.kind, AgentLossKind::Broken, "{loss:?}");
    assert!(loss.message.contains("no ping"), "{loss:?}");
}

#[tokio::test]
async fn an_answer_in_http_says_why_there_is_no_websocket() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
    let echo = format!(
        "HTTP/1.1 401 No\r\ncontent-length: {}\r\n\r\nbad {TOKEN}!",
        TOKEN.len() + 5
    );
    let away =
        "HTTP/1.1 307 Away\r\nlocation: http://127.0.0.1:1/elsewhere\r\ncontent-length: 0\r\n\r\n";
    let no_proof = "HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";
    for (answer, kind, reason) in [
        (
            page,
            AgentLossKind::Violation,
            "is no WebSocket: it answers with status 200",
        ),
        (
            &echo,
            AgentLossKind::Unauthorized,
            "answers with status 401: bad [token]!",
        ),
        (
            "HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n",
            AgentLossKind::Unauthorized,
            "403",
        ),
        (
            "HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n",
            AgentLossKind::Missing,
            "404",
        ),
        (
            "HTTP/1.1 429 No\r\ncontent-length: 0\r\n\r\n",
            AgentLossKind::RateLimited,
            "429",
        ),
        (
            "HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n",
            AgentLossKind::Unreachable,
            "503",
        ),
        (
            away,
            AgentLossKind::Misconfigured,
            "redirects to `http://127.0.0.1:1/elsewhere`, which is not followed",
        ),
        (no_proof, AgentLossKind::Violation, "its handshake is wrong"),
        ("SSH-2.0-OpenSSH\r\n", AgentLossKind::Broken, "broke"),
    ] {
        let answer = answer.to_owned();
        let (url, _task) = server(move |mut stream, _| async move {
            stream.write_all(answer.as_bytes()).await.unwrap();
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        })
        .await;
        let loss = TestClient::new(with_token(websocket(url))).loss().await;
        assert_eq!(loss.kind, kind, "{loss:?}");
        assert!(loss.message.contains(reason), "{loss:?}");
        assert!(!format!("{loss:?}").contains(TOKEN), "{loss:?}");
    }
}

#[tokio::test]
async fn an_address_where_nothing_listens_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/acp", listener.local_addr().unwrap());
    drop(listener);
    let loss = TestClient::new(websocket(url)).loss().await;
    assert_eq!(loss.kind, AgentLossKind::Unreachable, "{loss:?}");
}

#[tokio::test]
async fn no_token_leaves_this_machine_in_plain_text() {
    let (url, task) = server(|_, head| async move { panic!("a request came: {head}") }).await;
    let mut settings = with_token(websocket(url));
    settings.is_protected = false;
    let loss = TestClient::new(settings).loss().await;
    assert_eq!(loss.kind, AgentLossKind::Misconfigured);
    assert!(loss.message.starts_with("no token is sent to"), "{loss:?}");
    task.abort();
}

#[tokio::test]
async fn a_websocket_is_opened_over_tls_by_a_client_that_trusts_the_authority() {
    let (url, _task) = after_handshake(frame(0x81, b"{}")).await;
    let plain = url.trim_start_matches("http://").trim_end_matches("/acp");
    let tls = tls_before(plain.parse().unwrap()).await;
    let mut secure = with_token(websocket(format!("https://localhost:{}/acp", tls.port)));
    let untrusting = TestClient::new(secure.clone()).loss().await;
    assert_eq!(
        untrusting.kind,
        AgentLossKind::Misconfigured,
        "{untrusting:?}"
    );
    assert!(untrusting.hint.unwrap().contains("NODE_EXTRA_CA_CERTS"));
    secure.http = trusting();
    let mut client = TestClient::new(secure);
    assert_eq!(client.line().await, "{}");
    assert_eq!(client.hang_up().await, Ok(()));
}
