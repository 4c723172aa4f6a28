//! Everything that is said, by both sides, in order: written to the recording at once, and kept for the one who watches.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;

use super::error::ConnectionError;
use super::message::Received;
use super::tape::Tape;
use crate::recording::Manifest;

/// What an item costs beside its line: so that even a million empty lines cannot be kept for free.
const ITEM: usize = 256;

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Its place among all that was said, from 0.
    pub number: u64,
    /// When it was read, or handed to the agent.
    pub at: Timestamp,
    /// What it was.
    pub traffic: Traffic,
}

/// Something that was said, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Traffic {
    /// By us: the line, without its end.
    Sent(Arc<str>),
    /// By the agent.
    Received(Received),
    /// By either, but more than is kept for somebody who does not look. The recording has it.
    Skipped {
        /// How many lines.
        lines: u64,
        /// How many bytes they have.
        bytes: u64,
    },
}

/// Sees all that is said, at its own pace. Nobody has to look: what is said is recorded anyway, and a dropped observer costs nothing.
#[derive(Debug)]
pub struct Observer(Arc<Log>);

impl Observer {
    pub(super) fn of(log: &Arc<Log>) -> Self {
        log.state().is_watched = true;
        Self(Arc::clone(log))
    }

    /// What was said next. None when the connection is over. Can be cancelled.
    pub async fn next(&mut self) -> Option<Observed> {
        loop {
            {
                let mut state = self.0.state();
                if let Some(observed) = state.kept.pop_front() {
                    state.bytes -= size(&observed.traffic);
                    return Some(observed);
                }
                if state.is_over {
                    return None;
                }
            }
            self.0.news.notified().await;
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_watched = false;
        state.kept = VecDeque::new();
        state.bytes = 0;
    }
}

/// Sees each line at once, before anybody acts on it: with its number, and while everything else waits. It must be quick.
#[derive(Clone)]
pub struct Tap(pub Arc<dyn Fn(u64, &Traffic) + Send + Sync>);

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
}

/// What was said so far.
#[derive(Debug)]
pub(super) struct Log {
    state: Mutex<State>,
    news: Notify,
    tap: Option<Tap>,
    /// How many bytes are kept for somebody who does not look.
    most: usize,
}

#[derive(Debug)]
struct State {
    kept: VecDeque<Observed>,
    bytes: usize,
    /// The number of what is said next.
    next: u64,
    is_watched: bool,
    is_over: bool,
    tape: Option<Tape>,
}

impl Log {
    pub(super) fn new(most: usize, tape: Option<Tape>) -> Self {
        Self {
            state: Mutex::new(State {
                kept: VecDeque::new(),
                bytes: 0,
                next: 0,
                is_watched: false,
                is_over: false,
                tape,
            }),
            news: Notify::new(),
            tap: None,
            most,
        }
    }

    /// Shown to this as well.
    pub(super) fn tapped(self, tap: Option<Tap>) -> Self {
        Self { tap, ..self }
    }

    /// The agent wrote these bytes. They are recorded before anybody looks what they are.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<(), ConnectionError> {
        match &mut self.state().tape {
            Some(tape) => tape.read(bytes),
            None => Ok(()),
        }
    }

    /// The agent said this.
    pub(super) fn received(&self, received: Received) -> u64 {
        self.add(&mut self.state(), Traffic::Received(received))
    }

    /// We say this. It is noted before it is written, so that no answer can come before its question.
    pub(super) fn sent(&self, line: &str) -> Result<(), ConnectionError> {
        let mut state = self.state();
        let told = match &mut state.tape {
            Some(tape) => tape.told(line.as_bytes()),
            None => Ok(()),
        };
        let line = Arc::from(line.trim_end_matches('\n'));
        self.add(&mut state, Traffic::Sent(line));
        told
    }

    /// Notes how far the agent's stderr has grown.
    #[cfg_attr(
        windows,
        expect(dead_code, reason = "agents are not started there yet")
    )]
    pub(super) fn look_at_stderr(&self) -> Result<(), ConnectionError> {
        match &mut self.state().tape {
            Some(tape) => tape.look_at_stderr(),
            None => Ok(()),
        }
    }

    /// Writes the manifest of the recording, if there is one.
    #[cfg_attr(
        windows,
        expect(dead_code, reason = "agents are not started there yet")
    )]
    pub(super) fn describe(&self, manifest: &Manifest) -> io::Result<()> {
        match &self.state().tape {
            Some(tape) => tape.describe(manifest),
            None => Ok(()),
        }
    }

    /// Tells whoever watches that this was all.
    pub(super) fn finish(&self) {
        self.state().is_over = true;
        self.news.notify_one();
    }

    fn add(&self, state: &mut State, traffic: Traffic) -> u64 {
        let number = state.next;
        state.next += 1;
        if let Some(Tap(see)) = &self.tap {
            see(number, &traffic);
        }
        if state.is_watched {
            let is_full = state.bytes + size(&traffic) > self.most && !state.kept.is_empty();
            state.keep(number, traffic, is_full);
            self.news.notify_one();
        }
        number
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, number: u64, traffic: Traffic, is_full: bool) {
        let length = length(&traffic);
        if let (true, Some(last)) = (is_full, self.kept.back_mut())
            && let Traffic::Skipped { lines, bytes } = &mut last.traffic
        {
            *lines += 1;
            *bytes += length;
            return;
        }
        let first_skipped = Traffic::Skipped {
            lines: 1,
            bytes: length,
        };
        let traffic = if is_full { first_skipped } else { traffic };
        self.bytes += size(&traffic);
        self.kept.push_back(Observed {
            number,
            at: Timestamp::now(),
            traffic,
        });
    }
}

fn length(traffic: &Traffic) -> u64 {
    match traffic {
        Traffic::Sent(line) => line.len() as u64,
        Traffic::Received(received) => received.line.bytes().len() as u64,
        Traffic::Skipped { bytes, .. } => *bytes,
    }
}

/// What an item takes in memory, about.
fn size(traffic: &Traffic) -> usize {
    let held = match traffic {
        Traffic::Skipped { .. } => 0,
        held @ (Traffic::Sent(_) | Traffic::Received(_)) => length(held),
    };
    ITEM + usize::try_from(held).unwrap_or(usize::MAX / 2)
}
