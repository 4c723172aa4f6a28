//! The server's side of a WebSocket: whole messages of text in both directions, within limits.

use std::time::Duration;

use lapidary::native::websocket::{
    FrameError, FrameHead, FrameKind, FrameSender, read_head, whole_frame,
};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf,
    split,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::link::{
    ClientLink, CloseCode, LinkTasks, MessageForm, MessageQueue, OpenLink, WAITING_FRAMES,
    WAITING_MESSAGES,
};
use crate::request_parts::LONGEST_BODY;

/// How long one frame may take to be written.
const WRITE_TIME: Duration = Duration::from_secs(30);

/// A client that is silent for so long is pinged. If it stays silent for as long again, it is gone.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The connection to a client, split in two: messages come from `messages`, frames go to `frames`.
pub(super) struct ClientSocket<S> {
    stream: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientSocket<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ClientLink for ClientSocket<S> {
    fn open(self) -> OpenLink<impl Future<Output = ()> + Send, impl Future<Output = ()> + Send> {
        let (reads, writes) = split(self.stream);
        let (sender, messages) = mpsc::channel(WAITING_MESSAGES);
        let (frames, waiting) = mpsc::channel(WAITING_FRAMES);
        let queue = MessageQueue::new(frames, MessageForm::Frames);
        let reader = FrameReader {
            reads: BufReader::new(reads),
            queue: queue.clone(),
        };
        OpenLink {
            messages,
            queue,
            tasks: LinkTasks {
                reading: reader.run(sender),
                writing: write_frames(writes, waiting),
            },
        }
    }
}

struct FrameReader<S> {
    reads: BufReader<ReadHalf<S>>,
    queue: MessageQueue,
}

impl<S: AsyncRead + AsyncWrite + Unpin> FrameReader<S> {
    /// Passes messages on until the client hangs up, or `messages` are not wanted any more.
    async fn run(mut self, messages: mpsc::Sender<String>) {
        loop {
            let (code, reason) = match self.read_message().await {
                Ok(Some(text)) => {
                    if messages.send(text).await.is_err() {
                        return;
                    }
                    continue;
                }
                Ok(None) => (CloseCode::Normal, ""),
                Err(FrameError::Violation(TOO_LONG)) => (CloseCode::TooLong, TOO_LONG),
                Err(FrameError::Violation(reason)) => (CloseCode::Violation, reason),
                Err(_) => return, // the connection is broken
            };
            return self.queue.close(code, reason).await;
        }
    }

    /// The next message of text. None if the client closes the connection.
    async fn read_message(&mut self) -> Result<Option<String>, FrameError> {
        let mut message: Vec<u8> = Vec::new();
        let mut is_in_message = false;
        loop {
            let head = self.next_head().await?;
            let is_first = matches!(head.kind, FrameKind::Text | FrameKind::Binary);
            match head.kind {
                FrameKind::Close => return Ok(None),
                FrameKind::Ping | FrameKind::Pong => {
                    self.read_control(head).await?;
                    continue;
                }
                FrameKind::Binary => return Err(FrameError::Violation("sends binary messages")),
                _ if is_first == is_in_message => {
                    return Err(FrameError::Violation("mixes the parts of two messages"));
                }
                _ => self.read_payload(head, &mut message).await?,
            }
            is_in_message = !head.is_last;
            if head.is_last {
                let text = String::from_utf8(message);
                return Ok(Some(text.map_err(|_| {
                    FrameError::Violation("sends text that is not UTF-8")
                })?));
            }
        }
    }

    /// The head of the next frame. A silent client is pinged, and is gone if it stays silent.
    async fn next_head(&mut self) -> Result<FrameHead, FrameError> {
        let mut head = std::pin::pin!(read_head(&mut self.reads, FrameSender::Client));
        if let Ok(head) = timeout(KEEP_ALIVE, &mut head).await {
            return head;
        }
        let ping = whole_frame(FrameKind::Ping, b"", None);
        let _ = self.queue.try_send(ping); // a full queue is a client that does not read
        match timeout(KEEP_ALIVE, head).await {
            Ok(head) => head,
            Err(_) => Err(FrameError::Violation("answers no ping")),
        }
    }

    async fn read_payload(
        &mut self,
        head: FrameHead,
        message: &mut Vec<u8>,
    ) -> Result<(), FrameError> {
        let start = message.len();
        let length = usize::try_from(head.length).unwrap_or(usize::MAX);
        if length > LONGEST_BODY - start {
            return Err(FrameError::Violation(TOO_LONG));
        }
        message.resize(start + length, 0);
        self.reads.read_exact(&mut message[start..]).await?;
        if let Some(mask) = head.mask {
            mask.apply(&mut message[start..]);
        }
        Ok(())
    }

    async fn read_control(&mut self, head: FrameHead) -> Result<(), FrameError> {
        let mut payload = Vec::new();
        self.read_payload(head, &mut payload).await?;
        if head.kind == FrameKind::Ping {
            // A later pong answers this ping, too.
            let _ = self
                .queue
                .try_send(whole_frame(FrameKind::Pong, &payload, None));
        }
        Ok(())
    }
}

const TOO_LONG: &str = "sends a message that is longer than 8 MiB";

/// Writes frames until there are no more, or the client does not read.
async fn write_frames<S: AsyncWrite>(
    mut writes: WriteHalf<S>,
    mut frames: mpsc::Receiver<Vec<u8>>,
) {
    while let Some(frame) = frames.recv().await {
        let is_close = frame[0] & 0x0F == 0x8;
        let written = async {
            writes.write_all(&frame).await?;
            writes.flush().await
        };
        if !matches!(timeout(WRITE_TIME, written).await, Ok(Ok(()))) || is_close {
            break;
        }
    }
    let _ = timeout(WRITE_TIME, writes.shutdown()).await; // the client may be gone
}

#[cfg(test)]
mod tests {
    use lapidary::native::websocket::FrameMask;
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    /// A connection whose messages are answered with themselves.
    fn echo_socket() -> DuplexStream {
        let (client, ours) = duplex(1 << 12);
        let mut link = ClientSocket::new(ours).open();
        tokio::spawn(link.tasks.run_with(async move {
            while let Some(text) = link.messages.recv().await {
                if !link.queue.send_text(&text).await {
                    return;
                }
            }
        }));
        client
    }

    fn masked(kind: FrameKind, payload: &[u8]) -> Vec<u8> {
        whole_frame(kind, payload, Some(FrameMask([1, 2, 3, 4])))
    }

    async fn exchange(sent: &[u8]) -> Vec<u8> {
        let mut client = echo_socket();
        client.write_all(sent).await.unwrap();
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        received
    }

    fn close_frame(code: u16, reason: &str) -> Vec<u8> {
        let payload = [&code.to_be_bytes()[..], reason.as_bytes()].concat();
        whole_frame(FrameKind::Close, &payload, None)
    }

    #[tokio::test(start_paused = true)]
    async fn messages_and_pings_are_answered_until_the_client_closes() {
        let mut client = echo_socket();
        let hello = masked(FrameKind::Text, b"hello");
        client.write_all(&hello).await.unwrap();
        let mut echoed = [0; 7];
        client.read_exact(&mut echoed).await.unwrap();
        assert_eq!(echoed[..], whole_frame(FrameKind::Text, b"hello", None));
        let sent = [masked(FrameKind::Ping, b"x"), masked(FrameKind::Close, &[])];
        let answers = [
            whole_frame(FrameKind::Pong, b"x", None),
            close_frame(1000, ""),
        ];
        assert_eq!(exchange(&sent.concat()).await, answers.concat());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_breaks_the_protocol_gets_the_reason() {
        let mut long = masked(FrameKind::Text, &[]);
        long.splice(1..2, [0x80 | 127, 0, 0, 0, 0, 1, 0, 0, 0]);
        for (sent, code) in [
            (whole_frame(FrameKind::Text, b"x", None), 1002),
            (masked(FrameKind::Binary, b"x"), 1002),
            (masked(FrameKind::Continuation, b"x"), 1002),
            (masked(FrameKind::Text, &[0xFF]), 1002),
            (long, 1009),
        ] {
            let received = exchange(&sent).await;
            assert_eq!(received[0], 0x88, "a close frame: {received:?}");
            let told = u16::from_be_bytes([received[2], received[3]]);
            assert_eq!(told, code, "{sent:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_cut_off() {
        let mut client = echo_socket();
        let text = masked(FrameKind::Text, &[b'x'; 1 << 10]);
        while client.write_all(&text).await.is_ok() {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_answers_no_ping_is_cut_off() {
        let received = exchange(&[]).await;
        assert_eq!(received[..2], [0x89, 0], "a ping, then the end");
    }
}
