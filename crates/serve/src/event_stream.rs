//! The events of a run of this server on their way to one client.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use lapidary::engine::run::{SubscribeError, Subscription};
use lapidary::normalize::EventBuffer;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::event_encoder::EventEncoder;

/// A client that hears nothing for longer takes the connection for dead.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);

/// Sends the events of a run of this server until its end, or until the client is gone.
pub(crate) async fn send_live(
    mut events: Subscription,
    mut encoder: EventEncoder,
    pieces: mpsc::Sender<Bytes>,
) {
    let mut batch = EventBuffer::new();
    loop {
        // Events that are there already are sent together, without the timers of a wait.
        let next = if let Some(next) = poll_now(&mut events, &mut batch).await {
            next
        } else {
            // Each branch can be cancelled.
            tokio::select! {
                biased;
                next = events.next_batch(&mut batch) => next,
                () = sleep(encoder.pace()), if encoder.has_news() => {
                    if !send_piece(encoder.take(), &pieces).await {
                        return;
                    }
                    continue;
                }
                () = pieces.closed() => return,
                () = sleep(HEARTBEAT) => {
                    encoder.push_heartbeat();
                    continue;
                }
            }
        };
        let Some(Ok(())) = next else { break };
        for event in &batch {
            encoder.push(event);
            if !send_piece(encoder.take_if_full(), &pieces).await {
                return;
            }
        }
    }
    send_piece(encoder.take(), &pieces).await;
}

/// The next events, if they are there.
async fn poll_now(
    events: &mut Subscription,
    batch: &mut EventBuffer,
) -> Option<Option<Result<(), SubscribeError>>> {
    poll_fn(|context| match events.poll_batch(context, batch) {
        Poll::Ready(next) => Poll::Ready(Some(next)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// False if the client is gone.
async fn send_piece(piece: Option<Bytes>, pieces: &mpsc::Sender<Bytes>) -> bool {
    match piece {
        Some(piece) => pieces.send(piece).await.is_ok(),
        None => true,
    }
}
