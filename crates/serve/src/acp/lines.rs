//! A client on two pipes, such as an editor that has started us: one message per line in both directions.

use lapidary::wire::lines::{LineBuffer, RawLine};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::client_message::{INVALID_REQUEST, error_answer};
use super::link::{
    ClientLink, LinkTasks, MessageForm, MessageQueue, OpenLink, WAITING_FRAMES, WAITING_MESSAGES,
};
use crate::request_parts::LONGEST_BODY;

/// Bytes of one read.
const READ: usize = 64 << 10;

/// Two pipes.
pub(super) struct ClientLines<R, W> {
    pub(super) reads: R,
    pub(super) writes: W,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send> ClientLink for ClientLines<R, W> {
    fn open(self) -> OpenLink<impl Future<Output = ()> + Send, impl Future<Output = ()> + Send> {
        let (sender, messages) = mpsc::channel(WAITING_MESSAGES);
        let (bytes, waiting) = mpsc::channel(WAITING_FRAMES);
        let queue = MessageQueue::new(bytes, MessageForm::Lines);
        OpenLink {
            messages,
            tasks: LinkTasks {
                reading: read_lines(self.reads, sender, queue.clone()),
                writing: write_lines(self.writes, waiting),
            },
            queue,
        }
    }
}

/// Passes lines on until the client closes its pipe, or they are not wanted any more.
async fn read_lines<R: AsyncRead + Unpin>(
    mut reads: R,
    messages: mpsc::Sender<String>,
    queue: MessageQueue,
) {
    let mut lines = LineBuffer::with_limit(LONGEST_BODY);
    let mut bytes = vec![0; READ];
    while let Ok(count @ 1..) = reads.read(&mut bytes).await {
        lines.push(&bytes[..count]);
        while let Some(line) = lines.next_line() {
            let text = match line {
                RawLine::Whole(bytes) => String::from_utf8(bytes.to_vec()).ok(),
                RawLine::TooLong { .. } => None,
            };
            let is_open = match text {
                Some(text) if text.trim().is_empty() => true,
                Some(text) => messages.send(text).await.is_ok(),
                None => {
                    let reason = "a line is longer than 8 MiB, or not UTF-8";
                    let answer = error_answer(RawValue::NULL, INVALID_REQUEST, reason);
                    queue.send_text(&answer).await
                }
            };
            if !is_open {
                return;
            }
        }
    }
}

/// Writes lines until there are no more, or the client does not read.
async fn write_lines<W: AsyncWrite + Unpin>(mut writes: W, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        let written = async {
            writes.write_all(&line).await?;
            writes.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    /// The answers to lines whose messages are answered with themselves.
    async fn exchange(sent: &[u8]) -> String {
        let (mut client, reads) = duplex(1 << 12);
        let (writes, mut answers) = duplex(1 << 12);
        let mut link = ClientLines { reads, writes }.open();
        let serving = link.tasks.run_with(async move {
            while let Some(text) = link.messages.recv().await {
                assert!(link.queue.send_text(&text).await);
            }
        });
        let sending = async {
            client.write_all(sent).await.unwrap();
            drop(client);
        };
        let mut read = String::new();
        let reading = answers.read_to_string(&mut read);
        tokio::join!(serving, sending, async { reading.await.unwrap() });
        read
    }

    #[tokio::test]
    async fn lines_are_answered_until_the_client_closes_its_pipe() {
        assert_eq!(exchange(b"{}\n\n{\"a\":1}\r\n{}").await, "{}\n{\"a\":1}\n");
        let refused = exchange(b"\xFF\n{}\n").await;
        assert!(
            refused.contains("not UTF-8") && refused.ends_with("\n{}\n"),
            "{refused}"
        );
        let mut long = vec![b'x'; LONGEST_BODY + 1];
        long.extend_from_slice(b"\n{}\n");
        let refused = exchange(&long).await;
        assert!(
            refused.contains("longer than 8 MiB") && refused.ends_with("\n{}\n"),
            "{refused}"
        );
    }

    #[tokio::test]
    async fn the_end_of_the_run_ends_the_connection_also_if_the_client_keeps_it() {
        let (_client, reads) = duplex(64);
        let (writes, mut answers) = duplex(64);
        let link = ClientLines { reads, writes }.open();
        let last = async move { assert!(link.queue.send_text("last").await) };
        link.tasks.run_with(last).await;
        let mut read = String::new();
        answers.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "last\n");
    }
}
