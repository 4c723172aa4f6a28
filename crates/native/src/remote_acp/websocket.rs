//! An agent behind a WebSocket: each line of ours is one text message, each text message of the agent one line.
//!
//! Messages are passed on while they come in, in parts of a few kilobytes, so a message of any size needs no memory here. The draft has
//! binary messages ignored: they are passed on as lines that are no JSON, which are reported and never obeyed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, UPGRADE};
use lapidary_rpc::{AgentLoss, AgentLossKind};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    DuplexStream, ReadHalf, WriteHalf, split,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::RemoteLink;
use crate::http::{HttpMethod, HttpRequest, HttpSwitch};
use crate::websocket::{
    FrameError, FrameHead, FrameKind, FrameMask, FrameSender, LONGEST_CONTROL, handshake_proof,
    read_head, whole_frame,
};

/// How many bytes of a message are passed on at once.
const PART_BYTES: usize = 16 * 1024;
/// How many answers to pings wait. Further pings are not answered: one pong answers all before it.
const WAITING_CONTROLS: usize = 4;
/// How long the server has for its close frame once we have sent ours.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a message of ours may take to be written.
const WRITE_TIMEOUT: Duration = Duration::from_mins(2);
/// Stands before a binary message, so that it is not valid JSON.
const BINARY_PREFIX: &[u8] = b"[binary WebSocket message] ";
/// The status of a normal close.
const NORMAL_CLOSE: [u8; 2] = 1000_u16.to_be_bytes();

/// Connects, and passes lines on until one side hangs up.
pub(super) async fn serve_websocket(
    pipe: DuplexStream,
    link: &RemoteLink,
) -> Result<(), AgentLoss> {
    let stream = open_websocket(link).await?;
    let (reads, writes) = split(stream);
    let (lines, to_client) = split(pipe);
    let (controls, waiting) = mpsc::channel(WAITING_CONTROLS);
    let signs = SignsOfLife::new();
    let inbound = WebSocketReader {
        link,
        reads: BufReader::with_capacity(PART_BYTES, reads),
        part: Vec::new(),
        to_client,
        controls,
        signs: &signs,
    };
    let outbound = WebSocketWriter {
        link,
        writes,
        random: SystemRandom::new(),
        signs: &signs,
    };
    let mut inbound = std::pin::pin!(inbound.run());
    // Both futures live as long as the connection: none is ever started anew.
    let hung_up = tokio::select! {
        loss = &mut inbound => return Err(loss),
        hung_up = outbound.run(BufReader::new(lines), waiting) => hung_up,
    };
    // A server that cannot be written to may still say why. One that does not close is left.
    let said = timeout(CLOSE_TIMEOUT, inbound).await;
    hung_up.map_err(|loss| said.unwrap_or(loss))
}

/// The moment of the last byte from the server, in milliseconds since the connection was opened.
struct SignsOfLife {
    opened: Instant,
    last: AtomicU64,
}

impl SignsOfLife {
    fn new() -> Self {
        Self {
            opened: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    fn note_sign(&self) {
        let millis = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(millis, Ordering::Relaxed);
    }

    fn silent_time(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.opened.elapsed().saturating_sub(last)
    }
}

/// Opens the WebSocket.
async fn open_websocket(
    link: &RemoteLink,
) -> Result<impl AsyncRead + AsyncWrite + Unpin, AgentLoss> {
    let settings = &link.settings;
    let mut key = [0; 16];
    fill_random(&SystemRandom::new(), &mut key, link)?;
    let key = STANDARD.encode(key);
    let own = link.request_headers();
    let mut headers: Vec<(&str, &str)> = vec![
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", &key),
    ];
    headers.extend(own.iter().map(|(name, value)| (*name, value.as_str())));
    let request = HttpRequest {
        method: HttpMethod::Get,
        url: &settings.url,
        headers: &headers,
        json: None,
        idle_timeout: None,
    };
    let switch = link.client.upgrade(request, settings.answer_timeout).await;
    match switch.map_err(|error| link.failed_request(&error, false))? {
        HttpSwitch::Upgraded(upgraded) => {
            check_answer(link, &upgraded.headers, &key)?;
            Ok(upgraded.into_stream())
        }
        HttpSwitch::Declined(answer)
            if (200..300).contains(&answer.status) || answer.status == 426 =>
        {
            let reason = format!("is no WebSocket: it answers with status {}", answer.status);
            let hint = "an agent behind `https://` is another transport: try that scheme";
            Err(link
                .agent_loss(AgentLossKind::Violation, &reason)
                .hint(hint))
        }
        HttpSwitch::Declined(answer) => Err(link.refused_request(answer, false).await),
    }
}

/// The server must prove that it speaks WebSocket, and must not use extensions: none was offered.
fn check_answer(link: &RemoteLink, headers: &HeaderMap, key: &str) -> Result<(), AgentLoss> {
    let proof = handshake_proof(key);
    let accept = headers.get(SEC_WEBSOCKET_ACCEPT);
    let is_proven = accept.is_some_and(|accept| accept.as_bytes() == proof.as_bytes());
    let upgrade = headers.get(UPGRADE);
    let is_upgraded = upgrade.is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
    let violation = |reason| Err(link.agent_loss(AgentLossKind::Violation, reason));
    if !is_proven || !is_upgraded {
        return violation("is no WebSocket: its handshake is wrong");
    }
    if headers.contains_key(SEC_WEBSOCKET_EXTENSIONS) {
        return violation("uses a WebSocket extension that was not offered");
    }
    Ok(())
}

fn fill_random(
    random: &SystemRandom,
    bytes: &mut [u8],
    link: &RemoteLink,
) -> Result<(), AgentLoss> {
    let filled = random.fill(bytes);
    filled.map_err(|_| {
        link.agent_loss(
            AgentLossKind::Broken,
            "cannot be reached: the system has no random bytes",
        )
    })
}

/// Passes messages on to the client.
struct WebSocketReader<'a, S> {
    link: &'a RemoteLink,
    reads: BufReader<ReadHalf<S>>,
    /// The part of a message that is passed on.
    part: Vec<u8>,
    to_client: WriteHalf<DuplexStream>,
    controls: mpsc::Sender<(FrameKind, Vec<u8>)>,
    signs: &'a SignsOfLife,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocketReader<'_, S> {
    /// Until the connection is over: why.
    async fn run(mut self) -> AgentLoss {
        let mut is_in_message = false;
        loop {
            let head = match read_head(&mut self.reads, FrameSender::Server).await {
                Ok(head) => head,
                Err(FrameError::Violation(reason)) => return self.violation_loss(reason),
                Err(FrameError::Read(error)) => return self.broken_loss(&error, is_in_message),
            };
            self.signs.note_sign();
            let is_first = matches!(head.kind, FrameKind::Text | FrameKind::Binary);
            let passed = match head.kind {
                FrameKind::Close => return self.read_close_frame(head).await,
                FrameKind::Ping | FrameKind::Pong => self.read_control_frame(head).await,
                _ if is_first == is_in_message => {
                    return self.violation_loss("mixes the parts of two messages");
                }
                _ => {
                    is_in_message = !head.is_last;
                    self.pass_on(head).await
                }
            };
            if let Err(error) = passed {
                return self.broken_loss(&error, true);
            }
        }
    }

    /// Passes the payload of a data frame on, as it comes. A line break in it is white space between tokens of JSON.
    async fn pass_on(&mut self, head: FrameHead) -> std::io::Result<()> {
        if head.kind == FrameKind::Binary {
            self.to_client.write_all(BINARY_PREFIX).await?;
        }
        let mut left = head.length;
        while left > 0 {
            let waiting = self.reads.fill_buf().await?;
            if waiting.is_empty() {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let most = usize::try_from(left).unwrap_or(usize::MAX);
            let part = &waiting[..waiting.len().min(most)];
            let read = part.len();
            self.signs.note_sign();
            self.part.clear();
            let bytes = part.iter().copied();
            self.part.extend(bytes.map(|byte| {
                if matches!(byte, b'\n' | b'\r') {
                    b' '
                } else {
                    byte
                }
            }));
            self.reads.consume(read);
            self.to_client.write_all(&self.part).await?;
            left -= read as u64;
        }
        if head.is_last {
            self.to_client.write_all(b"\n").await?;
        }
        Ok(())
    }

    async fn read_control_frame(&mut self, head: FrameHead) -> std::io::Result<()> {
        let payload = self.control_payload(head).await?;
        if head.kind == FrameKind::Ping {
            let _ = self.controls.try_send((FrameKind::Pong, payload)); // a later pong answers this ping, too
        }
        Ok(())
    }

    /// The payload of a control frame, whose length was checked.
    async fn control_payload(&mut self, head: FrameHead) -> std::io::Result<Vec<u8>> {
        let length = usize::try_from(head.length).unwrap_or(LONGEST_CONTROL);
        let mut payload = vec![0; length.min(LONGEST_CONTROL)];
        self.reads.read_exact(&mut payload).await?;
        Ok(payload)
    }

    async fn read_close_frame(&mut self, head: FrameHead) -> AgentLoss {
        let payload = self.control_payload(head).await.unwrap_or_default();
        let (code, reason) = match payload.split_first_chunk::<2>() {
            Some((code, reason)) => (u16::from_be_bytes(*code), String::from_utf8_lossy(reason)),
            None => (1005, "".into()),
        };
        let reason = if reason.is_empty() {
            format!("closed the connection with status {code}")
        } else {
            format!("closed the connection with status {code}: {reason}")
        };
        let kind = match code {
            // The registered numbers for credentials, and the usual ones for 401 and 403.
            3000 | 3003 | 4401 | 4403 => AgentLossKind::Unauthorized,
            1002 | 1003 | 1007 | 1010 => AgentLossKind::Violation,
            _ => AgentLossKind::Broken,
        };
        self.link
            .agent_loss(kind, &reason)
            .hint(super::loss::RESUME_HINT)
    }

    fn violation_loss(&self, reason: &str) -> AgentLoss {
        self.link.agent_loss(AgentLossKind::Violation, reason)
    }

    fn broken_loss(&self, error: &std::io::Error, is_in_message: bool) -> AgentLoss {
        let reason = match (error.kind(), is_in_message) {
            (std::io::ErrorKind::UnexpectedEof, true) => {
                "closed the connection in the middle of a message".to_owned()
            }
            (std::io::ErrorKind::UnexpectedEof, false) => "closed the connection".to_owned(),
            _ => format!("cannot be heard any more: {error}"),
        };
        self.link
            .agent_loss(AgentLossKind::Broken, &reason)
            .hint(super::loss::RESUME_HINT)
    }
}

/// Sends the client's lines, answers to pings, and pings.
struct WebSocketWriter<'a, S> {
    link: &'a RemoteLink,
    writes: WriteHalf<S>,
    random: SystemRandom,
    signs: &'a SignsOfLife,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocketWriter<'_, S> {
    /// Until the client hangs up.
    async fn run(
        mut self,
        mut lines: BufReader<ReadHalf<DuplexStream>>,
        mut controls: mpsc::Receiver<(FrameKind, Vec<u8>)>,
    ) -> Result<(), AgentLoss> {
        let mut line = Vec::new();
        let mut pings = interval(self.link.settings.keep_alive);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // A line that is only read in part stays in `line`, and is read on.
            tokio::select! {
                biased;
                Some((kind, payload)) = controls.recv() => self.send_frame(kind, &payload).await?,
                read = lines.read_until(b'\n', &mut line) => {
                    let is_over = !matches!(read, Ok(1..));
                    let text = line.strip_suffix(b"\n").unwrap_or(&line);
                    if !text.is_empty() {
                        self.send_frame(FrameKind::Text, text).await?;
                    }
                    line.clear();
                    if is_over {
                        return self.send_frame(FrameKind::Close, &NORMAL_CLOSE).await;
                    }
                }
                _ = pings.tick() => self.ping_silent_server().await?,
            }
        }
    }

    /// Pings a silent server. One that stays silent is gone.
    async fn ping_silent_server(&mut self) -> Result<(), AgentLoss> {
        let keep_alive = self.link.settings.keep_alive;
        let silence = self.signs.silent_time();
        if silence >= keep_alive * 2 {
            let reason = format!("answered no ping for {} s", silence.as_secs());
            let loss = self.link.agent_loss(AgentLossKind::Broken, &reason);
            return Err(loss.hint(super::loss::RESUME_HINT));
        }
        if silence >= keep_alive / 2 {
            self.send_frame(FrameKind::Ping, b"").await?;
        }
        Ok(())
    }

    async fn send_frame(&mut self, kind: FrameKind, payload: &[u8]) -> Result<(), AgentLoss> {
        let mut mask = [0; 4];
        fill_random(&self.random, &mut mask, self.link)?;
        let frame = whole_frame(kind, payload, Some(FrameMask(mask)));
        let written = async {
            self.writes.write_all(&frame).await?;
            self.writes.flush().await
        };
        let reason = match timeout(WRITE_TIMEOUT, written).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => format!("cannot be written to any more: {error}"),
            Err(_) => format!("read nothing for {} s", WRITE_TIMEOUT.as_secs()),
        };
        Err(self.link.agent_loss(AgentLossKind::Broken, &reason))
    }
}
