//! The floor of `cargo xtask bench --only serve`: sends a file by axum as it is, on the same runtime as the server.
//!
//! `plain_file FILE` prints its address, and answers every request with the file until it is killed.

use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use futures_core::Stream;
use tokio::sync::mpsc;

/// As large as the pieces of events.
const PIECE: usize = 32 << 10;

struct FilePieces(mpsc::Receiver<Bytes>);

impl Stream for FilePieces {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|piece| piece.map(Ok))
    }
}

fn send_file(path: String) -> Body {
    let (sender, pieces) = mpsc::channel(2);
    tokio::task::spawn_blocking(move || {
        let Ok(mut file) = std::fs::File::open(path) else {
            return;
        };
        let mut piece = vec![0; PIECE];
        while let Ok(read @ 1..) = file.read(&mut piece) {
            if sender
                .blocking_send(Bytes::copy_from_slice(&piece[..read]))
                .is_err()
            {
                return;
            }
        }
    });
    Body::from_stream(FilePieces(pieces))
}

#[expect(
    clippy::disallowed_methods,
    reason = "an example is a program of its own"
)]
fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
        let router = Router::new().fallback(move || {
            let path = path.clone();
            async move { send_file(path) }
        });
        axum::serve(listener, router).await
    })
}
