//! Progress of a call: `notifications/progress` for a client that asked for them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapidary_rpc::Connection;
use lapidary_vocab::Json;
use serde_json::{Value, json};
use tokio::time::Instant;

/// The least time between two reports. A report that comes earlier is skipped: a client has no use for thousands.
const LEAST_PAUSE: Duration = Duration::from_millis(200);
/// How many characters of a message are sent.
const LONGEST_MESSAGE: usize = 200;

/// Tells a client how far a call is. Clones report on the same call. Without a token in the request, reports go nowhere.
#[derive(Clone, Default)]
pub struct CallProgress(Option<Arc<ReportedCall>>);

struct ReportedCall {
    connection: Connection,
    token: Value,
    state: Mutex<ReportState>,
}

#[derive(Debug, Default)]
struct ReportState {
    count: u64,
    last: Option<Instant>,
    is_finished: bool,
}

impl CallProgress {
    /// Progress for the token of a request. Only a string or a whole number is one.
    pub(super) fn new(connection: &Connection, token: &Value) -> Self {
        if !(token.is_string() || token.is_u64() || token.is_i64()) {
            return Self::default();
        }
        Self(Some(Arc::new(ReportedCall {
            connection: connection.clone(),
            token: token.clone(),
            state: Mutex::default(),
        })))
    }

    /// Whether the client wants reports.
    pub fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Reports one step. The count grows with every report, as the protocol demands; there is no total.
    pub fn report(&self, message: &str) {
        let Some(call) = &self.0 else { return };
        let Some(count) = call.next_count() else {
            return;
        };
        let message: String = message.chars().take(LONGEST_MESSAGE).collect();
        let params = json!({"progressToken": call.token, "progress": count, "message": message});
        // A client that is gone is noticed by the server.
        let params = Json::from_value(&params);
        let _ = call
            .connection
            .notify("notifications/progress", Some(&params));
    }

    /// Sends nothing from now on: a report after the answer breaks the protocol.
    pub(super) fn stop_reporting(&self) {
        if let Some(call) = &self.0 {
            let mut state = call.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.is_finished = true;
        }
    }
}

impl ReportedCall {
    /// The number of the next report, unless it is too early or too late for one.
    fn next_count(&self) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_early = state.last.is_some_and(|last| last.elapsed() < LEAST_PAUSE);
        if is_early || state.is_finished {
            return None;
        }
        state.last = Some(Instant::now());
        state.count += 1;
        Some(state.count)
    }
}

impl fmt::Debug for CallProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("CallProgress");
        debug.field("is_wanted", &self.is_wanted());
        debug.finish()
    }
}
