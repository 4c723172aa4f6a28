//! Writing the queued lines: one after the other, each of them whole.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::{sleep, timeout};

use super::error::ConnectionError;
use super::limits::LAST_WORDS;
use super::shared_connection::SharedConnection;

/// Writes until no line will follow or the agent does not read. Then the agent's stdin is closed.
pub(super) async fn write_lines(mut to: impl AsyncWrite + Unpin, shared: Arc<SharedConnection>) {
    while let Some(line) = shared.next_line().await {
        if let Err(error) = shared.log.add_sent(&line) {
            shared.close_with_reason(&error);
            return;
        }
        match write_bytes(&mut to, line.as_bytes(), shared.limits.patience).await {
            Ok(()) => {}
            Err(WriteFailure::Late { left }) => {
                let unread = left + shared.unsent_bytes();
                shared.close_with_reason(&ConnectionError::NotReading { unread });
                return;
            }
            Err(WriteFailure::Io(_)) => {
                // Most often because the agent has ended, and how it did is better to know: then this is cancelled.
                sleep(LAST_WORDS).await;
                shared.close_with_reason(&ConnectionError::Deaf);
                return;
            }
        }
    }
    shared.log.hung_up();
    let _ = to.shutdown().await; // it is dropped next
}

enum WriteFailure {
    Late { left: usize },
    Io(#[expect(dead_code, reason = "whatever it is, nobody reads")] io::Error),
}

/// The patience is with an agent that takes nothing at all: one that is slow may be as slow as it likes.
async fn write_bytes(
    to: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    patience: Duration,
) -> Result<(), WriteFailure> {
    while !bytes.is_empty() {
        let written = timeout(patience, to.write(bytes)).await;
        let written = written.map_err(|_| WriteFailure::Late { left: bytes.len() })?;
        match written.map_err(WriteFailure::Io)? {
            0 => return Err(WriteFailure::Io(io::ErrorKind::WriteZero.into())),
            count => bytes = &bytes[count..],
        }
    }
    let flushed = timeout(patience, to.flush()).await;
    flushed
        .map_err(|_| WriteFailure::Late { left: 0 })?
        .map_err(WriteFailure::Io)
}
