//! The orders to the keeper of an agent.

use std::time::Duration;

use tokio::sync::watch;

/// An order to the keeper of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentOrder {
    /// The agent goes on.
    Live,
    /// It is asked to end, and ended after this grace.
    Stop(Duration),
    /// It is ended at once.
    Kill,
}

/// The next order. It never comes when all that could give one are gone. Can be cancelled.
pub(super) async fn next_order(orders: &mut watch::Receiver<AgentOrder>) -> AgentOrder {
    match orders.changed().await {
        Ok(()) => *orders.borrow_and_update(),
        Err(_) => std::future::pending().await,
    }
}
