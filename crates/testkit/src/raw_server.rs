//! A server on loopback that answers with any bytes, for clients that must survive hostile servers.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct RawRequest {
    /// Method and path.
    pub line: String,
    /// The whole head.
    pub head: String,
    /// The body.
    pub body: String,
}

impl RawRequest {
    /// The host and port that the client asked for; empty if it named none.
    pub fn host(&self) -> &str {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let host = fields.find(|(name, _)| name.eq_ignore_ascii_case("host"));
        host.map_or("", |(_, value)| value)
    }
}

/// A step of an answer.
#[derive(Debug, Clone)]
pub enum RawStep {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends bytes again and again, until the client is gone.
    Flood(Vec<u8>),
    /// Says nothing until the client is gone.
    Hang,
}

/// Makes the steps of an answer. The connection is closed after the last one.
type Script = dyn Fn(&RawRequest) -> Vec<RawStep> + Send + Sync;

/// A server that answers as its script says, until the process ends.
#[derive(Debug, Clone)]
pub struct RawServer {
    /// Its port on 127.0.0.1.
    pub port: u16,
    requests: Arc<Mutex<Vec<RawRequest>>>,
    connections: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

impl RawServer {
    /// Starts a server.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn start(script: impl Fn(&RawRequest) -> Vec<RawStep> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let server = Self {
            port: listener.local_addr().expect("it is bound").port(),
            requests: Arc::default(),
            connections: Arc::default(),
            open: Arc::default(),
        };
        let (script, here): (Arc<Script>, _) = (Arc::new(script), server.clone());
        // The thread ends with the process: a listener has no other end.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                here.connections.fetch_add(1, Ordering::SeqCst);
                here.open.fetch_add(1, Ordering::SeqCst);
                let (script, here) = (Arc::clone(&script), here.clone());
                std::thread::spawn(move || {
                    here.serve(stream, &*script);
                    here.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The requests so far.
    ///
    /// # Panics
    /// If a connection's thread panicked.
    pub fn requests(&self) -> Vec<RawRequest> {
        self.requests.lock().expect("no thread panicked").clone()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub fn open_connections(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    fn serve(&self, mut stream: TcpStream, script: &Script) {
        let Some(request) = read_request(&mut stream) else {
            return;
        };
        let mut requests = self.requests.lock().expect("no thread panicked");
        requests.push(request.clone());
        drop(requests);
        for step in script(&request) {
            let is_gone = match step {
                RawStep::Send(bytes) => stream.write_all(&bytes).is_err(),
                RawStep::Flood(bytes) => {
                    while stream.write_all(&bytes).is_ok() {}
                    true
                }
                RawStep::Hang => {
                    // A test that fails must not hang for longer.
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
                    let _ = stream.read(&mut [0; 1]);
                    true
                }
            };
            if is_gone {
                return;
            }
        }
    }
}

/// A whole answer.
pub fn answer(status: u16, content_type: &str, body: &str) -> Vec<RawStep> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    vec![RawStep::Send((head + body).into_bytes())]
}

/// An answer with JSON.
pub fn json(body: &serde_json::Value) -> Vec<RawStep> {
    answer(200, "application/json", &body.to_string())
}

/// The head of a stream of server-sent events.
pub fn event_stream() -> RawStep {
    RawStep::Send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".to_vec(),
    )
}

/// An event of a stream.
pub fn event(data: &serde_json::Value) -> RawStep {
    RawStep::Send(format!("data: {data}\n\n").into_bytes())
}

fn read_request(stream: &mut TcpStream) -> Option<RawRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break at;
        }
        let mut more = [0; 4096];
        let read = stream.read(&mut more).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&more[..read]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = bytes.split_off(end + 4);
    while body.len() < length.unwrap_or(0) {
        let mut more = [0; 4096];
        let read = stream.read(&mut more).ok().filter(|read| *read > 0)?;
        body.extend_from_slice(&more[..read]);
    }
    Some(RawRequest {
        line: head.lines().next().unwrap_or_default().to_owned(),
        body: String::from_utf8_lossy(&body).into_owned(),
        head,
    })
}
