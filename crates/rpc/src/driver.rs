//! The task behind a connection: it reads, writes and listens for the agent's end, all at once.

use std::sync::Arc;

use tokio::time::timeout;

use super::error::ConnectionError;
use super::limits::LAST_WORDS;
use super::reader::read_messages;
use super::shared_connection::SharedConnection;
use super::transport::{PeerDeparture, Transport};
use super::writer::write_lines;

/// Drives a connection to its end. Dropping it ends the connection, and with its transport the agent.
pub(super) async fn drive_connection(transport: impl Transport, over: DriverGuard) {
    let shared = &over.0;
    let (reads, writes, gone) = transport.open();
    let has_process = gone.is_some();
    let mut gone = gone.unwrap_or_else(|| Box::pin(std::future::pending()));
    let mut reading = Box::pin(read_messages(reads, Arc::clone(shared)));
    let mut writing = Box::pin(write_lines(writes, Arc::clone(shared)));
    let (mut is_written, mut is_read, mut departure) = (false, false, None);
    // All three go on where they were when another one comes first.
    while !is_read && departure.is_none() {
        tokio::select! {
            () = &mut reading => is_read = true,
            departed = &mut gone => departure = Some(departed),
            () = &mut writing, if !is_written => is_written = true,
        }
    }
    // Lines from before its end still count; and its exit status is worth a moment of waiting.
    if departure.is_some() {
        let _ = timeout(LAST_WORDS, reading).await; // a process that we could not end may have its stdout
    } else if has_process {
        departure = timeout(LAST_WORDS, &mut gone).await.ok();
    }
    let lives_on = has_process && departure.is_none();
    shared.close_with_reason(&departure_error(departure.unwrap_or_default()));
    shared.log.finish_traffic();
    drop(writing);
    if lives_on {
        gone.await; // it has closed its stdout, and may yet be ended
    }
}

fn departure_error(departure: PeerDeparture) -> ConnectionError {
    departure.sent_away.unwrap_or(ConnectionError::Closed {
        exit: departure.exit,
        stderr_tail: departure.stderr_tail,
    })
}

/// Closes the connection however driving ends, even before it has begun, so that no caller waits for ever.
pub(super) struct DriverGuard(pub(super) Arc<SharedConnection>);

impl Drop for DriverGuard {
    fn drop(&mut self) {
        self.0.close_with_reason(&ConnectionError::Released);
        self.0.log.finish_traffic();
    }
}
