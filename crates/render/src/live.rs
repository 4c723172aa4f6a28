//! The live view of an agent at work, as rows for a terminal.
//!
//! A [`Narrator`] takes events and tells two sorts of rows apart: rows that are written for good, and rows that are drawn anew
//! until they are settled, namely the line that is being said and the calls that are running. Where they stand on the
//! screen, and when they are drawn, is up to the caller.
//!
//! ```text
//! ✔ write_file  new.txt  +2 −0  0.6 s
//! │ +one
//! │ +two
//!
//!   Written. Two lines, as you
//! ⠹ run_shell_command  cargo test  12 s
//! ```
//!
//! The first column is ours: an agent's words begin in the third one, so that no answer can pass for a line of ours.

pub mod approval;
mod block;
mod calls;
mod closing;
mod code;
mod halves;
mod inline;
mod marks;
mod page;
mod prose;
mod row;
mod table;
mod wrap;

use std::io;
use std::time::Duration;

use anstyle::Style;
use lapidary_vocab::event::{SessionInit, StreamDelta, StreamDeltaKind, UserInput};
use lapidary_vocab::{Body, Event, Text};

use crate::Renderer;
use crate::echo::EchoFilter;
use crate::ink::TextInk;
use crate::notice::{Notice, NoticeLevel};
use crate::notices;
use crate::permission::{OpenRequests, PermissionAnswer};
use crate::plain;
use crate::times::ShownTimes;
use crate::totals::{UsageTotals, begins_turn};
use crate::transcript::is_replayed;
use crate::words;
use calls::CallTable;
use page::TerminalPage;
use prose::{LiveProse, TextSpeaker};

pub use marks::MarkSet;
pub use page::TerminalSize;
pub use row::ScreenRow;

/// How to show a run.
#[derive(Debug, Clone, Copy)]
pub struct LiveOptions {
    /// The terminal's size.
    pub size: TerminalSize,
    /// Use colours; without them, Markdown is shown as it was written.
    pub colour: bool,
    /// The signs that the terminal can show.
    pub marks: MarkSet,
}

/// After so long without an event the status line says so.
const LONG_SILENCE: Duration = Duration::from_secs(20);

/// How many rows of a prompt or a notice are shown while a run goes on.
const MOST_ROWS: usize = 8;

const ANSWER: TextSpeaker = TextSpeaker {
    sort: LineKind::Answer,
    margin: "  ",
    style: Style::new(),
};
const THOUGHT: TextSpeaker = TextSpeaker {
    sort: LineKind::Thought,
    margin: "┆ ",
    style: Style::new().dimmed().italic(),
};

/// Tells a run.
#[derive(Debug)]
pub struct Narrator {
    page: TerminalPage,
    /// How many rows of a prompt or a notice are shown.
    most_rows: usize,
    echo: EchoFilter,
    totals: UsageTotals,
    turn: UsageTotals,
    calls: CallTable,
    requests: OpenRequests,
    prose: Option<LiveProse>,
    settled: Vec<ScreenRow>,
    /// The kind of the last row.
    last: Option<LineKind>,
    doing: &'static str,
    /// When the last event came.
    last_event: Duration,
    last_error: Option<String>,
    last_warning: Option<String>,
    has_answered: bool,
    turn_ended: bool,
    is_over: bool,
    /// The times shown so far, if times are shown.
    times: Option<ShownTimes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Start,
    Prompt,
    Answer,
    Thought,
    Tools,
    Notice,
    Closing,
}

impl Narrator {
    /// A narrator for one run.
    pub fn new(options: LiveOptions) -> Self {
        Self {
            page: TerminalPage::new(options.size, options.colour, options.marks),
            most_rows: MOST_ROWS,
            echo: EchoFilter::default(),
            totals: UsageTotals::default(),
            turn: UsageTotals::default(),
            calls: CallTable::default(),
            requests: OpenRequests::default(),
            prose: None,
            settled: Vec::new(),
            last: None,
            doing: "starting",
            last_event: Duration::ZERO,
            last_error: None,
            last_warning: None,
            has_answered: false,
            turn_ended: false,
            is_over: false,
            times: None,
        }
    }

    /// A narrator for a run that is over: prompts are shown whole and with their times, and more of what tools printed.
    pub fn for_reading(options: LiveOptions) -> Self {
        let mut narrator = Self::new(options);
        narrator.most_rows = usize::MAX;
        narrator.calls.limits = calls::READING;
        narrator.times = Some(ShownTimes::default());
        narrator
    }

    /// Takes the next event, which came when the run had taken `now`.
    pub fn event(&mut self, event: &Event, now: Duration) {
        self.last_event = now;
        if self.turn_ended && begins_turn(&event.body) {
            self.close_turn();
        }
        self.totals.count_event(event);
        self.turn.count_event(event);
        if self.echo.note_repetition(&event.body) {
            return;
        }
        if let Body::PermissionDecision(decision) = &event.body {
            self.requests.remove_answered(decision);
            let is_allowed = PermissionAnswer::from(&**decision).is_allowed();
            // The call itself tells that it was allowed.
            if self.calls.attach_decision(decision) && is_allowed {
                return;
            }
        }
        if let Some(notice) = notices::notice_for(event) {
            return self.narrate_notice(&notice);
        }
        match &event.body {
            Body::SessionInit(init) => self.narrate_session(init, event),
            // Tool results on their way back to the model: the calls show them.
            Body::UserInput(input) if input.is_synthetic && input.text.is_empty() => {}
            Body::UserInput(input) => self.narrate_prompt(input, event),
            Body::StreamDelta(delta) => self.narrate_delta(delta),
            Body::Text(text) => {
                self.end_prose();
                self.narrate_text(text.kind.as_str(), &text.text);
                self.end_prose();
            }
            Body::ToolInvocation(call) => {
                self.end_prose();
                self.calls.begin_call(call, event, now);
            }
            Body::ToolCompletion(done) => {
                let rows = self.calls.end_call(done, event, &self.page);
                self.add_rows(LineKind::Tools, rows);
            }
            // The caller asks the user, below the text so far.
            Body::PermissionRequest(request) => {
                self.end_prose();
                self.requests.add_request(request);
            }
            Body::TurnComplete(turn) => self.end_turn(turn),
            Body::RunEnd(end) => self.end_run(end),
            // Facts for programs: the totals count them, and say so.
            _ => {}
        }
    }

    /// The terminal has another size from now on.
    pub fn resize(&mut self, size: TerminalSize) {
        self.page.resize(size);
    }

    /// The rows that are settled, since this was last asked.
    pub fn take_rows(&mut self) -> Vec<ScreenRow> {
        if let Some(prose) = &mut self.prose {
            let (sort, rows) = (prose.voice.sort, prose.take_rows());
            self.settle_rows(sort, rows);
        }
        std::mem::take(&mut self.settled)
    }

    /// The rows that may still change, and a last one with the current activity.
    pub fn changing_rows(&self, frame: usize, now: Duration) -> Vec<ScreenRow> {
        let spinner = self.page.marks.spinner();
        let spinner = spinner[frame % spinner.len()];
        let prose = self.prose.as_ref();
        let tail = prose.map(|prose| (prose.voice.sort, prose.tail_rows(&self.page)));
        let calls = (
            LineKind::Tools,
            self.calls.running_rows(spinner, now, &self.page),
        );
        let mut last = self.last;
        let mut all = Vec::new();
        for (sort, rows) in tail.into_iter().chain([calls]) {
            if !rows.is_empty() {
                all.extend(blank_row_between(last.replace(sort), sort));
                all.extend(rows);
            }
        }
        all
    }

    /// The status line: for how long it has been going on, and what `doing` or else the agent is at.
    pub fn status(&self, frame: usize, now: Duration, doing: Option<&str>) -> ScreenRow {
        let spinner = self.page.marks.spinner();
        let spinner = spinner[frame % spinner.len()];
        let running = || {
            self.calls
                .running_summary()
                .unwrap_or_else(|| self.waiting_text(now))
        };
        let doing = doing.map_or_else(running, str::to_owned);
        let time = words::running_clock(now);
        self.page.cut_row(&[
            (TextInk::Tool, spinner),
            (TextInk::Faint, &format!(" {time} · {doing}")),
        ])
    }

    /// The status while no call runs. Gemini CLI 0.61 retries for minutes in silence if it cannot reach its API.
    fn waiting_text(&self, now: Duration) -> String {
        match now.saturating_sub(self.last_event) {
            silence if silence >= LONG_SILENCE => format!(
                "{}, silent for {} (Ctrl-C cancels)",
                self.doing,
                words::running_clock(silence)
            ),
            _ => self.doing.to_owned(),
        }
    }
}

/// Writes the rows of a run that is over to a terminal.
#[derive(Debug)]
pub struct RowRenderer(Narrator);

impl RowRenderer {
    /// For a terminal of this size.
    pub fn new(options: LiveOptions) -> Self {
        Self(Narrator::for_reading(options))
    }

    fn write_rows(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        for row in self.0.take_rows() {
            writeln!(out, "{}", row.text)?;
        }
        Ok(())
    }
}

impl Renderer for RowRenderer {
    fn event(&mut self, event: &Event, out: &mut dyn io::Write) -> io::Result<()> {
        self.0.event(event, Duration::ZERO);
        self.write_rows(out)
    }

    fn finish(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        self.0.finish();
        self.write_rows(out)
    }
}

const THINKING: &str = "thinking";

impl Narrator {
    fn narrate_session(&mut self, init: &SessionInit, event: &Event) {
        let facts = [&init.model, &event.base.session_id, &init.cwd];
        let facts = facts
            .into_iter()
            .flatten()
            .map(|fact| format!("  {}", plain::first_line(&fact.to_str(), 200)));
        let began = self
            .times
            .as_mut()
            .and_then(|times| times.shown_time(event));
        let facts = facts.chain(began.map(|began| format!("  {began}")));
        let line = format!("session{}", facts.collect::<String>());
        let row = self.page.cut_row(&[(TextInk::Faint, &line)]);
        self.add_rows(LineKind::Start, vec![row]);
    }

    fn narrate_prompt(&mut self, input: &UserInput, event: &Event) {
        let text = input.text.to_str();
        let images = match input.images.len() {
            0 => String::new(),
            images => format!("\n({})", words::counted_noun(images as u64, "image")),
        };
        let rows = if input.is_synthetic {
            let folded = words::folded_input(&text, is_replayed(event), 200);
            vec![self.page.cut_row(&[(TextInk::Faint, &folded)])]
        } else {
            let said = format!("{}{images}", text.trim_end());
            let mark = (TextInk::Prompt, "> ");
            let time = self
                .times
                .as_mut()
                .and_then(|times| times.shown_time(event));
            let time = time.map(|time| self.page.cut_row(&[(TextInk::Faint, &time)]));
            let said = self
                .page
                .hanging_rows([mark; 2], TextInk::Prompt, &said, self.most_rows);
            time.into_iter().chain(said).collect()
        };
        self.add_rows(LineKind::Prompt, rows);
    }

    fn narrate_delta(&mut self, delta: &StreamDelta) {
        match (&delta.kind, &delta.text_delta) {
            (StreamDeltaKind::MessageStart | StreamDeltaKind::MessageStop, _) => self.end_prose(),
            (kind, Some(chunk)) => self.narrate_text(kind.as_str(), chunk),
            // A tool's arguments come whole with its invocation.
            (_, None) => {}
        }
    }

    fn narrate_text(&mut self, kind: &str, text: &Text) {
        let is_answer = kind == "text";
        self.has_answered |= is_answer;
        let (voice, doing) = if is_answer {
            (ANSWER, "writing")
        } else {
            (THOUGHT, THINKING)
        };
        if self.prose.as_ref().is_none_or(|prose| prose.voice != voice) {
            self.end_prose();
            self.prose = Some(LiveProse::new(voice));
        }
        self.doing = doing;
        let untitled =
            (kind == "thinking").then(|| words::without_empty_title(&text.to_str()).to_owned());
        let is_untitled = |untitled: &String| untitled.len() < text.to_str().len();
        let untitled = untitled.filter(is_untitled).map(Text::from);
        if let Some(prose) = &mut self.prose {
            prose.push(untitled.as_ref().unwrap_or(text), &self.page);
        }
    }

    fn end_prose(&mut self) {
        if let Some(mut prose) = self.prose.take() {
            prose.end_text(&self.page);
            self.settle_rows(prose.voice.sort, prose.take_rows());
            self.doing = THINKING;
        }
    }

    /// Ends the agent's text, and adds rows of another kind.
    fn add_rows(&mut self, sort: LineKind, rows: Vec<ScreenRow>) {
        self.end_prose();
        self.settle_rows(sort, rows);
        self.doing = THINKING;
    }

    fn settle_rows(&mut self, sort: LineKind, rows: Vec<ScreenRow>) {
        if !rows.is_empty() {
            let before = self.last.replace(sort);
            self.settled.extend(blank_row_between(before, sort));
            self.settled.extend(rows);
        }
    }

    fn narrate_notice(&mut self, notice: &Notice) {
        let (mark, ink) = match notice.level {
            NoticeLevel::Info => ("· ", TextInk::Faint),
            NoticeLevel::Warning => ("! ", TextInk::Warning),
            NoticeLevel::Error => ("✘ ", TextInk::Error),
        };
        match notice.level {
            NoticeLevel::Error => self.last_error = Some(notice.text.clone()),
            NoticeLevel::Warning => self.last_warning = Some(notice.text.clone()),
            NoticeLevel::Info => {}
        }
        let label = plain::first_line(&notice.label, 100);
        let text = match notice.text.trim() {
            "" => label,
            text => format!("{label}: {text}"),
        };
        self.push_marked(LineKind::Notice, mark, ink, &text);
    }

    /// Adds a text of ours behind a mark. What continues it is marked too, because the agent may have written it.
    fn push_marked(&mut self, sort: LineKind, mark: &str, ink: TextInk, text: &str) {
        let marks = [(ink, mark), (TextInk::Faint, "│ ")];
        let rows = self.page.hanging_rows(marks, ink, text, self.most_rows);
        self.add_rows(sort, rows);
    }
}

/// A blank row stands between things of different sorts.
fn blank_row_between(before: Option<LineKind>, next: LineKind) -> Option<ScreenRow> {
    before
        .filter(|before| *before != next)
        .map(|_| ScreenRow::default())
}
