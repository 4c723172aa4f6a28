//! The messages of the client that talks to the replay, as they come.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _};
use std::thread;

use lapidary_wire::lines::{LineBuffer, RawLine};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::replay::message::MessageKind;
use lapidary_process::platform::wait_for_input;

/// How many lines may lie there unheard. More wait in the client's pipe.
const LINES: usize = 256;

/// Listens until the client hangs up, which ends the channel. The thread is never joined: a read cannot be interrupted.
pub(super) fn listen_to_client(input: File) -> io::Result<Receiver<MessageKind>> {
    let (sender, heard) = channel(LINES);
    let name = "lapidary-client".to_owned();
    let body = move || {
        hear_client(input, &sender);
    };
    thread::Builder::new().name(name).spawn(body)?;
    Ok(heard)
}

/// None once the receiver is gone.
fn hear_client(mut input: File, sender: &Sender<MessageKind>) -> Option<()> {
    let mut lines = LineBuffer::default();
    loop {
        match input.read(lines.room()) {
            Ok(0) => break,
            Ok(count) => lines.filled(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for_input(&input),
            Err(_) => break, // a closed or broken input is one that has ended
        }
        while let Some(line) = lines.next_line() {
            sender.blocking_send(understand_line(line)).ok()?;
        }
    }
    let last = lines.last_line()?;
    sender.blocking_send(understand_line(last)).ok()
}

/// The messages of a client at the other end of a stream, and the future that reads them: it has to be polled beside the replay,
/// and never ends.
pub(super) fn hear_stream(
    reads: impl AsyncRead + Unpin,
) -> (Receiver<MessageKind>, impl Future<Output = Infallible>) {
    let (sender, heard) = channel(LINES);
    let hearing = async move {
        hear_all(reads, sender).await;
        std::future::pending().await
    };
    (heard, hearing)
}

async fn hear_all(mut reads: impl AsyncRead + Unpin, sender: Sender<MessageKind>) -> Option<()> {
    let mut lines = LineBuffer::default();
    // A stream that cannot be read any more is one that has ended.
    while let Ok(count @ 1..) = reads.read(lines.room()).await {
        lines.filled(count);
        while let Some(line) = lines.next_line() {
            let said = understand_line(line);
            sender.send(said).await.ok()?;
        }
    }
    let last = understand_line(lines.last_line()?);
    sender.send(last).await.ok()
}

fn understand_line(line: RawLine<'_>) -> MessageKind {
    match line {
        RawLine::Whole(line) => MessageKind::from_line(line),
        RawLine::TooLong { .. } => MessageKind::Noise,
    }
}
