//! The prompt and the calls that `codex exec --json` leaves out, from the rollout that Codex CLI writes meanwhile.
//!
//! Measured with 0.166: the record of an item is written within milliseconds of its line in the stream, and the record of its
//! result after it. A call that Codex refuses has a record and a result, and no item.
//!
//! The rollout is a file of the agent's, so it is read as hostile input: only a regular file whose name has the whole id of the
//! thread, never through a link, and with a limit for each quantity that grows.

mod rollout_file;
mod rollout_turn;

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use lapidary_json::Token;
use lapidary_normalize::codex::exec::logged_calls::StreamPlace;
use lapidary_wire::codex::exec::{ExecLine, ExecLineType};
use tokio::time::{Instant, sleep};

use self::rollout_file::RolloutFile;
use self::rollout_turn::RolloutTurn;

/// How long the rollout may lag behind the stream.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long it may lag once it lagged longer.
const IMPATIENCE: Duration = Duration::from_millis(100);

/// How often the rollout is read while a record is missing.
const POLL: Duration = Duration::from_millis(5);

/// Reads the rollout beside a stream.
#[derive(Debug)]
pub(super) struct RolloutCompletion {
    /// The directory with the rollouts.
    sessions: PathBuf,
    /// Earlier records belong to turns before this run.
    since: Timestamp,
    thread: Option<String>,
    file: Option<RolloutFile>,
    turn: RolloutTurn,
    progress: StreamProgress,
    patience: Duration,
    /// There is no rollout, or it cannot be found: it is not looked for again.
    is_absent: bool,
}

/// How far the stream is. The rollout has to be as far.
#[derive(Debug, Clone, Copy, Default)]
struct StreamProgress {
    /// The items that are completed.
    items: StreamPlace,
    /// Actions that have begun and are not completed.
    open: usize,
    is_over: bool,
}

impl RolloutCompletion {
    pub(super) fn new(home: &std::path::Path, since: Timestamp) -> Self {
        Self {
            sessions: home.join("sessions"),
            since,
            thread: None,
            file: None,
            turn: RolloutTurn::default(),
            progress: StreamProgress::default(),
            patience: PATIENCE,
            is_absent: false,
        }
    }

    /// The entries that come before a line.
    pub(super) async fn entries_before_line(&mut self, line: &[u8]) -> Vec<String> {
        let text = std::str::from_utf8(line).ok();
        let Some(whole) = text.and_then(|text| Token::parse(text).ok()) else {
            return Vec::new();
        };
        let line = ExecLine::from_token(whole);
        match line.line_type() {
            Some(ExecLineType::ThreadStarted) => {
                let id = line.thread_id.and_then(Token::string);
                self.thread = id.map(std::borrow::Cow::into_owned);
                Vec::new()
            }
            Some(kind) if kind.is_item() || kind.is_turn_end() => {
                self.progress.note_line(kind, &line);
                self.wait_for_records().await;
                self.turn.take_entries()
            }
            _ => Vec::new(),
        }
    }

    /// Reads the rollout until it is as far as the stream.
    async fn wait_for_records(&mut self) {
        let began = Instant::now();
        while !self.is_absent {
            self.read_new_records();
            if self.file.is_some() && self.turn.has_reached(&self.progress) {
                return;
            }
            if began.elapsed() >= self.patience {
                self.is_absent = self.file.is_none();
                self.patience = IMPATIENCE;
                return;
            }
            sleep(POLL).await;
        }
    }

    fn read_new_records(&mut self) {
        if self.file.is_none()
            && let Some(thread) = &self.thread
        {
            self.file = RolloutFile::find(&self.sessions, thread);
        }
        let (turn, since) = (&mut self.turn, self.since);
        if let Some(file) = &mut self.file {
            file.read_new_lines(|record| turn.note_record(record, since));
        }
    }
}

impl StreamProgress {
    fn note_line(&mut self, kind: ExecLineType, line: &ExecLine<'_>) {
        if kind.is_turn_end() {
            self.is_over = true;
            return;
        }
        let Some(item) = line.item_type() else {
            return;
        };
        if kind == ExecLineType::ItemStarted {
            self.open += usize::from(item.is_recorded_action());
        } else {
            self.items.add_item(item);
            let was_open = usize::from(item.is_recorded_action());
            self.open = self.open.saturating_sub(was_open);
        }
    }
}

#[cfg(test)]
mod tests;
