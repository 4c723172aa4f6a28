//! The two streams of a server, with signals for their ends.
//!
//! The connection drops every answer that is not written when its input ends. A client may close its end right behind its last
//! request, so the connection sees the end of the input only after the server has written its answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// The client's lines. Its end is signalled and never read: the server drops it.
pub(super) struct InputEnd<R> {
    reads: R,
    ended: CancellationToken,
    is_over: bool,
}

impl<R> InputEnd<R> {
    pub(super) fn new(reads: R, ended: CancellationToken) -> Self {
        Self {
            reads,
            ended,
            is_over: false,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for InputEnd<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_over {
            self.ended.cancel(); // the lines before it have been taken
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = std::task::ready!(Pin::new(&mut self.reads).poll_read(context, buffer));
        if read.is_err() || buffer.filled().len() == before {
            self.is_over = true;
            buffer.put_slice(b"\n"); // the last line may lack it
        }
        Poll::Ready(Ok(()))
    }
}

/// The client's end for our lines. It is signalled when the last one is written.
pub(super) struct OutputEnd<W> {
    writes: W,
    ended: CancellationToken,
}

impl<W> OutputEnd<W> {
    pub(super) fn new(writes: W, ended: CancellationToken) -> Self {
        Self { writes, ended }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for OutputEnd<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writes).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writes).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = std::task::ready!(Pin::new(&mut self.writes).poll_shutdown(context));
        self.ended.cancel();
        Poll::Ready(shut)
    }
}
