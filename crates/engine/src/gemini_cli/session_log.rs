//! The log that Gemini CLI writes of a session while it runs: it has details that its streams lack.
//!
//! Measured with 0.61: the record of a call is written within a few milliseconds behind the line that ends the call, and the
//! model's answer before the line that ends the turn. Over ACP one record has all calls of a turn, and is written again with each
//! of them.
//!
//! The log is a file of the agent's, so it is read as hostile input: only a regular file whose header has the whole id of the
//! session, never through a link, and with a limit for each quantity that grows.

mod log_files;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_json::Token;
use lapidary_normalize::gemini::session_log::{TurnInLog, entry, turn_entry};
use lapidary_sessions::SessionStore;
use tokio::time::{Instant, sleep};

use self::log_files::SessionLog;

/// How long the log may lag behind the stream.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long it may lag once an entry was missing in this turn.
const IMPATIENCE: Duration = Duration::from_millis(100);

/// How often the log is read while an entry is missing.
const POLL: Duration = Duration::from_millis(5);

/// How many bytes of the log are used in one run. Calls beyond that are not completed.
const MOST_BYTES: usize = 48 << 20;

/// How many sessions of one connection are followed.
const MOST_SESSIONS: usize = 64;

/// How many calls of a session without a log look for it, one after the other. A look costs as much as ten calls.
const EAGER_LOOKS: u32 = 8;

/// Where Gemini CLI keeps its sessions.
#[derive(Debug, Clone)]
pub struct LogPlace {
    /// The sessions of the home that the agent sees.
    pub store: SessionStore,
    /// Where the agent works, unless a session says otherwise.
    pub directory: PathBuf,
}

/// The logs of all sessions of one connection.
#[derive(Debug)]
pub(crate) struct SessionLogs {
    place: LogPlace,
    logs: HashMap<String, SessionLog>,
    /// The last session that had no log yet, and how many of its calls wanted it.
    absent: Option<(String, u32)>,
    /// How long the log is waited for. Less once an entry was missing in this turn.
    patience: Duration,
    /// How often it was looked at again.
    waits: usize,
    used: usize,
}

/// The record of a call in the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallRecord {
    /// Its entry, for the recording and the normaliser.
    Entry(String),
    /// The log does not have it, or not in time.
    Missing,
    /// There is no log.
    NoLog,
    /// It is none of the model's calls, and not logged.
    NotLogged,
}

impl SessionLogs {
    pub(crate) fn new(place: LogPlace) -> Self {
        Self {
            place,
            logs: HashMap::new(),
            absent: None,
            patience: PATIENCE,
            waits: 0,
            used: 0,
        }
    }

    /// A session works in another directory, and its log lies with that.
    pub(crate) fn works_in(&mut self, directory: &Path) {
        directory.clone_into(&mut self.place.directory);
    }

    /// Whether a call that has ended is worth a look. Gemini CLI begins the log before the first call: an agent that has none after
    /// a few calls writes none, and its later calls look ever more seldom.
    pub(crate) fn count_look(&mut self, session: &str) -> bool {
        if self.logs.contains_key(session) {
            return true;
        }
        match &mut self.absent {
            Some((absent, calls)) if absent == session => {
                *calls += 1;
                *calls <= EAGER_LOOKS || calls.is_power_of_two()
            }
            absent => {
                *absent = Some((session.to_owned(), 1));
                true
            }
        }
    }

    /// The entry of a call that has just ended. Waits for the log if it is late.
    pub(crate) async fn call_record(&mut self, session: &str, id: &str) -> CallRecord {
        if self.used > MOST_BYTES {
            return CallRecord::Missing;
        }
        let began = Instant::now();
        loop {
            let Some(log) = self.log_of_session(session) else {
                return CallRecord::NoLog;
            };
            log.read_new_lines();
            if let Some((call, response)) = log.take_call(id) {
                self.used += call.len();
                let call = Token::parse(&call).map(|call| entry(session, call, response));
                return call.map_or(CallRecord::Missing, CallRecord::Entry);
            }
            // Before the prompt is recorded no model was asked: the CLI itself reads files that the prompt names, and logs none of it.
            if !log.has_prompt() {
                return CallRecord::NotLogged;
            }
            if began.elapsed() >= self.patience {
                self.patience = self.patience.min(IMPATIENCE);
                return CallRecord::Missing;
            }
            self.wait_for_log().await;
        }
    }

    /// The turn is over: its request of this id was answered. Returns the entry for the turn from the log.
    pub(crate) async fn turn_ended(&mut self, session: &str, request: &str) -> Option<String> {
        let began = Instant::now();
        let is_unanswered = loop {
            let log = self.log_of_session(session)?;
            log.read_new_lines();
            if log.is_answered() || !log.has_prompt() {
                break false;
            }
            if began.elapsed() >= self.patience {
                break true;
            }
            self.wait_for_log().await;
        };
        let log = self.log_of_session(session)?;
        let turn = TurnInLog {
            is_unanswered,
            ..log.turn()
        };
        log.start_turn();
        self.patience = PATIENCE;
        Some(turn_entry(session, request, turn))
    }

    /// A turn ended without an answer. Its missing entries do not matter to the next.
    pub(crate) fn turn_given_up(&mut self, session: &str) {
        if let Some(log) = self.log_of_session(session) {
            log.read_new_lines();
            log.start_turn();
        }
        self.patience = PATIENCE;
    }

    async fn wait_for_log(&mut self) {
        self.waits += 1;
        sleep(POLL).await;
    }

    /// The log of a session. None if there is no file of it.
    fn log_of_session(&mut self, session: &str) -> Option<&mut SessionLog> {
        if !self.logs.contains_key(session) {
            if self.logs.len() >= MOST_SESSIONS {
                return None;
            }
            let log = SessionLog::find_log(&self.place, session)?;
            self.logs.insert(session.to_owned(), log);
        }
        self.logs.get_mut(session)
    }
}
