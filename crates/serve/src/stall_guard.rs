//! A connection whose client does not read is broken after a while. Otherwise it would keep its place for ever: HTTP has no limit for
//! the time that a response takes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The longest time that a write may wait for the client to read.
const STALL_TIME: Duration = Duration::from_mins(1);

/// The bytes of a connection, with a limit for writes that do not get on.
pub(crate) struct StallGuard<S> {
    stream: S,
    /// Runs while a write waits for the client.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> StallGuard<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            stalled: None,
        }
    }

    /// Passes the result of a write on, unless it has waited for too long.
    fn judge<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(sleep(STALL_TIME)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(closed, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_cut_off() {
        let (ours, _client) = duplex(16);
        let mut guarded = StallGuard::new(ours);
        let error = guarded.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_is_served() {
        let (ours, mut client) = duplex(16);
        let writer = tokio::spawn(async move {
            let mut guarded = StallGuard::new(ours);
            guarded.write_all(&[7; 64]).await
        });
        let mut read = Vec::new();
        let mut piece = [0; 16];
        while read.len() < 64 {
            sleep(STALL_TIME / 2).await;
            let count = client.read(&mut piece).await.unwrap();
            read.extend_from_slice(&piece[..count]);
        }
        writer.await.unwrap().unwrap();
        assert_eq!(read, [7; 64]);
    }
}
