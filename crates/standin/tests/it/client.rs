//! A client that hides nothing: one request per connection, and the response byte for byte.

use std::io::{Read, Write};
use std::net::TcpStream;

use lapidary_standin::api::{FakeApi, Script};
use lapidary_testkit::patience::HANG;
use serde_json::{Value, json};

pub(crate) const STREAM: &str = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse";
pub(crate) const GENERATE: &str = "/v1beta/models/gemini-2.5-flash:generateContent";

/// A response of the stand-in.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: String,
    /// Whether the body ended as it should.
    pub(crate) complete: bool,
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The server-sent events of the body.
    pub(crate) fn events(&self) -> Vec<Value> {
        let events = self.body.split("\r\n\r\n").filter(|part| !part.is_empty());
        let data = events.map(|event| event.strip_prefix("data: ").unwrap());
        data.map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

pub(crate) fn start(script: Script) -> FakeApi {
    FakeApi::start_in_thread(script).unwrap()
}

/// Sends a prompt to the model.
pub(crate) fn ask(api: &FakeApi, path: &str) -> Answer {
    post(
        api,
        path,
        &json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] }),
    )
}

pub(crate) fn post(api: &FakeApi, path: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: stand-in\r\nContent-Length: {length}\r\n");
    send(api, &format!("{head}Connection: close\r\n\r\n{body}"))
}

pub(crate) fn get(api: &FakeApi, path: &str) -> Answer {
    send(
        api,
        &format!("GET {path} HTTP/1.1\r\nHost: stand-in\r\nConnection: close\r\n\r\n"),
    )
}

/// Sends a request as it is written, and reads until the connection is closed.
pub(crate) fn send(api: &FakeApi, request: &str) -> Answer {
    let mut stream = connect(api);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    parse(&String::from_utf8(answer).unwrap())
}

pub(crate) fn connect(api: &FakeApi) -> TcpStream {
    let url = api.base_url();
    let stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream.set_write_timeout(Some(HANG)).unwrap();
    stream
}

fn parse(answer: &str) -> Answer {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let (status_line, headers) = head.split_once("\r\n").unwrap();
    let header = |name: &str| {
        let headers = headers
            .split("\r\n")
            .filter_map(|line| line.split_once(": "));
        let mut named = headers.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.to_owned())
    };
    assert_eq!(header("transfer-encoding").as_deref(), Some("chunked"));
    let (body, complete) = join_chunks(body);
    Answer {
        status: status_line.split(' ').nth(1).unwrap().parse().unwrap(),
        content_type: header("content-type").unwrap_or_default(),
        body,
        complete,
    }
}

/// Undoes the chunked encoding. Only the chunk of length 0 makes it complete.
fn join_chunks(mut encoded: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((length, rest)) = encoded.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return (body, true);
        }
        body += &rest[..length];
        encoded = rest[length..].strip_prefix("\r\n").unwrap();
    }
    (body, false)
}
