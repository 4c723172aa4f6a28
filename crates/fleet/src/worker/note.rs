//! Remarks of a worker for the person who started it.

use std::fmt;
use std::path::PathBuf;

use crate::{TicketFate, TicketId};

/// What a worker reports while it works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerNote {
    /// An attempt at a ticket ended.
    AttemptEnded {
        /// The ticket.
        ticket: TicketId,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The outcome and the cause of the attempt.
        verdict: String,
        /// The reason in words.
        message: Option<String>,
        /// The next step, if one is known.
        hint: Option<String>,
        /// The next state of the ticket; none if this worker has lost it.
        fate: Option<TicketFate>,
    },
    /// The disk has too little space, so no ticket is claimed.
    DiskShort {
        /// A directory on the disk.
        directory: PathBuf,
        /// How many bytes are free.
        free: u64,
    },
    /// The store cannot be reached, or takes no changes. The worker tries again.
    StoreAway {
        /// The reason in words.
        reason: String,
    },
    /// The store answers again.
    StoreBack,
}

impl WorkerNote {
    /// The next step for the user, if one is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::AttemptEnded { hint, .. } => hint.as_deref(),
            Self::DiskShort { .. } => Some("make room, or allow less with `--min-free`"),
            Self::StoreAway { .. } | Self::StoreBack => None,
        }
    }
}

impl fmt::Display for WorkerNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AttemptEnded {
                ticket,
                attempt,
                verdict,
                message,
                fate,
                ..
            } => {
                write!(f, "ticket {ticket}, attempt {attempt}: {verdict}")?;
                if let Some(message) = message {
                    write!(f, ": {message}")?;
                }
                match fate {
                    Some(TicketFate::Waiting) => {
                        f.write_str("; the ticket waits for the next attempt")
                    }
                    Some(TicketFate::Done { .. }) => Ok(()),
                    None => f.write_str("; this worker had lost the ticket"),
                }
            }
            Self::DiskShort { directory, free } => write!(
                f,
                "no ticket is claimed: {free} bytes are free in `{}`",
                directory.display()
            ),
            Self::StoreAway { reason } => {
                write!(f, "the heartbeat failed: {reason}; the worker tries again")
            }
            Self::StoreBack => f.write_str("the store answers heartbeats again"),
        }
    }
}
