//! Our side of the socket to a supervisor, for orders. An agent's handle and its lease both use it.

use rustix::net::SendFlags;
use tokio::net::unix::OwnedWriteHalf;

use super::protocol::{SupervisorOrder, message_line};
use crate::BootTime;
use crate::lease::LeaseHolder;

/// The socket is closed for orders when this is dropped, and the supervisor ends the agent.
#[derive(Debug)]
pub(super) struct OrderLine {
    socket: OwnedWriteHalf,
}

impl OrderLine {
    pub(super) fn new(socket: OwnedWriteHalf) -> Self {
        Self { socket }
    }

    /// Sends an order. If the supervisor is gone, so is the agent.
    pub(super) async fn send(&self, order: &SupervisorOrder) {
        let line = message_line(order);
        let mut rest = &line[..];
        while !rest.is_empty() {
            if self.socket.writable().await.is_err() {
                return;
            }
            match self.socket.try_write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}

impl LeaseHolder for OrderLine {
    /// Does not wait: a socket that is full belongs to a supervisor that does not read, and the lease's end is the remedy. Orders
    /// are far smaller than the socket's buffer, and the supervisor takes half an order for one to kill.
    fn extend_lease(&self, until: BootTime) {
        let line = message_line(&SupervisorOrder::Lease { until });
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = rustix::net::send(self.socket.as_ref(), &line, flags);
    }
}
