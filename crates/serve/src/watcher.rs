//! The body of a response that is sent while it is made.
//!
//! A watcher has a bounded channel of its own: a client that does not read stops the task that makes its pieces, and neither the
//! agent nor another watcher.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures_core::Stream;
use tokio::sync::mpsc;

struct PieceStream {
    first: Option<Bytes>,
    pieces: mpsc::Receiver<Bytes>,
}

impl Stream for PieceStream {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        self.pieces.poll_recv(context).map(|piece| piece.map(Ok))
    }
}

/// A body of these pieces.
pub(crate) fn body_of(first: Option<Bytes>, pieces: mpsc::Receiver<Bytes>) -> Body {
    Body::from_stream(PieceStream { first, pieces })
}
