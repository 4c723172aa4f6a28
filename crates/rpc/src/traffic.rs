//! A line of either side, as it is shown to an observer.

use std::sync::Arc;

use jiff::Timestamp;

use super::message::ReceivedMessage;

/// A line of either side, as an observer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedLine {
    /// Its place among all lines, from 0.
    pub number: u64,
    /// When it was read, or handed to the agent.
    pub at: Timestamp,
    /// The line and its sender.
    pub traffic: TrafficLine,
}

/// A line of either side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrafficLine {
    /// By us: the line, without its end.
    Sent(Arc<str>),
    /// By the agent.
    Received(ReceivedMessage),
    /// By either, but beyond the limit for an observer that does not look, and not recorded so that it could be read again.
    Skipped {
        /// The number of lines.
        lines: u64,
        /// Their bytes.
        bytes: u64,
    },
}

/// How many bytes its line has.
pub(super) fn line_length(traffic: &TrafficLine) -> u64 {
    match traffic {
        TrafficLine::Sent(line) => line.len() as u64,
        TrafficLine::Received(received) => received.line.bytes().len() as u64,
        TrafficLine::Skipped { bytes, .. } => *bytes,
    }
}
