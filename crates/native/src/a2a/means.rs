//! The means to reach remote agents, and their limits.

use std::time::Duration;

use super::auth::CredentialSource;
use crate::http::HttpClient;

/// The bounds of the work with remote agents.
#[derive(Debug, Clone, Copy)]
pub struct RemoteLimits {
    /// How long a card may take.
    pub card: Duration,
    /// How long a task may take.
    pub task: Duration,
    /// How long its cancellation may take.
    pub cancel: Duration,
    /// The wait before a task is asked for the first time, where the server does not stream.
    pub first_poll: Duration,
    /// The longest wait between two such requests.
    pub most_poll: Duration,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            card: Duration::from_secs(30),
            task: Duration::from_mins(30),
            cancel: Duration::from_secs(2),
            first_poll: Duration::from_millis(100),
            most_poll: Duration::from_secs(2),
        }
    }
}

/// The means to reach remote agents.
#[derive(Debug)]
pub struct RemoteMeans {
    /// Sends the requests.
    pub http: HttpClient,
    /// The values of `auth`.
    pub credentials: CredentialSource,
    /// The bounds.
    pub limits: RemoteLimits,
}
