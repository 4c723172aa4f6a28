//! The way between the bridge and a client: messages of text in both directions, within limits.

use std::pin::pin;

use lapidary::native::websocket::{FrameKind, LONGEST_CONTROL, whole_frame};
use tokio::sync::mpsc;

/// Messages of the client that wait to be handled. More wait in the connection.
pub(super) const WAITING_MESSAGES: usize = 16;

/// Messages that wait for the client to read.
pub(super) const WAITING_FRAMES: usize = 64;

/// A connection to a client.
pub(super) trait ClientLink {
    /// Splits the connection in the ends of the bridge and the two tasks that read and write for it.
    fn open(self) -> OpenLink<impl Future<Output = ()> + Send, impl Future<Output = ()> + Send>;
}

/// A connection to a client that is in use.
pub(super) struct OpenLink<R, W> {
    pub(super) messages: ClientMessages,
    pub(super) queue: MessageQueue,
    pub(super) tasks: LinkTasks<R, W>,
}

/// The tasks of a connection.
pub(super) struct LinkTasks<R, W> {
    /// Ends when the client hangs up, or breaks the protocol.
    pub(super) reading: R,
    /// Ends when the client does not read any more, or when no message can come any more and all are out.
    pub(super) writing: W,
}

impl<R: Future<Output = ()>, W: Future<Output = ()>> LinkTasks<R, W> {
    /// Reads and writes until the connection is over, while `exchange` handles the messages.
    pub(super) async fn run_with(self, exchange: impl Future<Output = ()>) {
        let handled = async {
            let mut exchange = pin!(exchange);
            tokio::select! {
                // The run has ended: the client may keep its connection open.
                () = &mut exchange => {}
                // The end of the messages ends the exchange.
                () = self.reading => exchange.await,
            }
        };
        let mut writing = pin!(self.writing);
        tokio::select! {
            // The client reads no more: nothing else is of use then.
            () = &mut writing => return,
            () = handled => {}
        }
        writing.await; // the messages that still wait
    }
}

/// Messages of a client. It ends when the client hangs up, or breaks the protocol.
pub(super) type ClientMessages = mpsc::Receiver<String>;

/// The reasons for the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseCode {
    Normal,
    Violation,
    TooLong,
    /// The run ended badly.
    Failed,
}

impl CloseCode {
    fn number(self) -> u16 {
        match self {
            Self::Normal => 1000,
            Self::Violation => 1002,
            Self::TooLong => 1009,
            Self::Failed => 1011,
        }
    }
}

/// How a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageForm {
    /// A frame of a WebSocket.
    Frames,
    /// A line.
    Lines,
}

/// Sends messages to a client. Closed when the client is gone.
#[derive(Debug, Clone)]
pub(super) struct MessageQueue {
    bytes: mpsc::Sender<Vec<u8>>,
    form: MessageForm,
}

impl MessageQueue {
    pub(super) fn new(bytes: mpsc::Sender<Vec<u8>>, form: MessageForm) -> Self {
        Self { bytes, form }
    }

    /// Sends a message. False if the client is gone. Waits while the client does not read.
    pub(super) async fn send_text(&self, text: &str) -> bool {
        let message = match self.form {
            MessageForm::Frames => whole_frame(FrameKind::Text, text.as_bytes(), None),
            MessageForm::Lines => [text.as_bytes(), b"\n"].concat(),
        };
        self.bytes.send(message).await.is_ok()
    }

    /// Sends bytes if there is room: a full queue is a client that does not read.
    pub(super) fn try_send(
        &self,
        bytes: Vec<u8>,
    ) -> Result<(), mpsc::error::TrySendError<Vec<u8>>> {
        self.bytes.try_send(bytes)
    }

    /// Sends the last frame. Lines just end.
    pub(super) async fn close(&self, code: CloseCode, reason: &str) {
        if self.form == MessageForm::Lines {
            return;
        }
        let mut end = reason.len().min(LONGEST_CONTROL - 2);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let mut payload = code.number().to_be_bytes().to_vec();
        payload.extend_from_slice(&reason.as_bytes()[..end]);
        let frame = whole_frame(FrameKind::Close, &payload, None);
        let _ = self.bytes.send(frame).await; // it may be gone
    }
}
