//! The transport of a connection.

use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

use super::error::ConnectionError;
use lapidary_process::Exit;

/// How the other side went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerDeparture {
    /// How it ended, if it is a process and that is known.
    pub exit: Option<Exit>,
    /// The end of its stderr.
    pub stderr_tail: String,
    /// Why it had to go, if it did not go by itself.
    pub sent_away: Option<ConnectionError>,
}

/// Resolves when the other side is gone.
pub type GoneFuture = Pin<Box<dyn Future<Output = PeerDeparture> + Send>>;

/// Two directions, and a signal that the other end is gone.
///
/// The stdin and stdout of a process are one, and so is any pair of a reader and a writer. HTTP and WebSocket are drafts of the
/// protocol; either could be one.
pub trait Transport: Send + 'static {
    /// The stream of the agent's lines.
    type Reads: AsyncRead + Send + Unpin + 'static;
    /// The stream for our lines.
    type Writes: AsyncWrite + Send + Unpin + 'static;

    /// Its parts. All of them are dropped when the connection is. Where nothing tells that the other side is gone, it is when there is
    /// nothing more to read.
    fn open(self) -> (Self::Reads, Self::Writes, Option<GoneFuture>);
}

/// A reader and a writer, and no process behind them.
impl<R, W> Transport for (R, W)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Reads = R;
    type Writes = W;

    fn open(self) -> (R, W, Option<GoneFuture>) {
        (self.0, self.1, None)
    }
}
