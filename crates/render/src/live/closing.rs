//! The ends of turns and of the run.

use lapidary_vocab::Outcome;
use lapidary_vocab::event::{RunEnd, TurnComplete};

use super::row::UNBROKEN;
use super::{LineKind, Narrator};
use crate::ink::TextInk;
use crate::plain;
use crate::words;

/// How many files are named.
const MOST_FILES: usize = 5;

const FINISHING: &str = "finishing";

impl Narrator {
    pub(super) fn end_turn(&mut self, turn: &TurnComplete) {
        if let Some(result) = turn.result.as_ref().filter(|_| !self.has_answered) {
            self.end_prose();
            self.narrate_text("text", result);
        }
        self.end_prose();
        self.has_answered = false;
        self.turn_ended = true;
        for error in &turn.errors {
            self.push_error(&error.to_str());
        }
        self.doing = FINISHING;
    }

    pub(super) fn close_turn(&mut self) {
        self.turn_ended = false;
        let facts = self.turn.take_turn().usage_facts();
        let facts = if facts.is_empty() {
            "turn complete".to_owned()
        } else {
            facts.join(" · ")
        };
        self.push_facts(TextInk::Faint, &facts);
    }

    pub(super) fn end_run(&mut self, end: &RunEnd) {
        self.is_over = true;
        self.turn_ended = false;
        self.give_up_calls();
        let is_good = end.outcome == Outcome::Completed;
        if let Some(message) = end.message.as_ref().filter(|_| !is_good)
            && message.to_str() != end.cause.described()
        {
            self.push_error(&message.to_str());
        }
        let ink = if is_good {
            TextInk::Good
        } else {
            TextInk::Error
        };
        let verdict = self.totals.outcome_line(end);
        self.push_facts(ink, &verdict);
        for evidence in end.evidence.iter().filter(|_| !is_good) {
            self.push_marked(LineKind::Closing, "│ ", TextInk::Faint, evidence);
        }
        self.name_files();
        for warning in &end.warnings {
            self.push_marked(LineKind::Closing, "! warning: ", TextInk::Plain, warning);
        }
        if let Some(hint) = &end.hint {
            self.push_marked(LineKind::Closing, "hint: ", TextInk::Plain, hint);
        }
        self.doing = FINISHING;
    }

    /// Writes the remaining rows. To be called once, after the last event.
    pub fn finish(&mut self) {
        self.end_prose();
        self.give_up_calls();
        let facts = self.totals.usage_facts();
        if !self.is_over && !facts.is_empty() {
            self.push_facts(TextInk::Faint, &facts.join(" · "));
            self.name_files();
        }
        // A transcript says what it does not show; a person who watches can do nothing with it.
        let is_transcript = self.times.is_some();
        if let Some(hidden) = self.totals.not_shown().filter(|_| is_transcript) {
            self.push_marked(LineKind::Closing, "· ", TextInk::Faint, &hidden);
        }
    }

    /// Calls and requests that nothing will answer any more.
    fn give_up_calls(&mut self) {
        let rows = self.calls.give_up(&self.page);
        self.add_rows(LineKind::Tools, rows);
        for notice in self.requests.take_open_notices() {
            self.narrate_notice(&notice);
        }
    }

    /// Facts stay whole where rows end, if they are short enough.
    fn push_facts(&mut self, ink: TextInk, facts: &str) {
        let unbroken = |fact: &str| {
            if fact.len() * 2 < self.page.text_columns() {
                fact.replace(' ', &UNBROKEN.to_string())
            } else {
                fact.to_owned()
            }
        };
        let facts: Vec<_> = facts.split(" · ").map(unbroken).collect();
        self.push_marked(LineKind::Closing, "— ", ink, &facts.join(" · "));
    }

    fn name_files(&mut self) {
        let files = &self.calls.files;
        if files.is_empty() {
            return;
        }
        let shown = files.iter().take(MOST_FILES);
        let mut names: Vec<_> = shown.map(|path| plain::first_line(path, 200)).collect();
        if files.len() > MOST_FILES {
            names.push(format!("{} more", files.len() - MOST_FILES));
        }
        let count = words::counted_noun(files.len() as u64, "file");
        let line = format!("{count} written: {}", names.join(", "));
        self.push_marked(LineKind::Closing, "· ", TextInk::Faint, &line);
    }

    /// An error is often reported twice, by the turn and by the run. It is shown once.
    fn push_error(&mut self, error: &str) {
        let is_told = |last: &Option<String>| last.as_deref() == Some(error);
        if is_told(&self.last_error) || is_told(&self.last_warning) {
            return;
        }
        self.last_error = Some(error.to_owned());
        self.push_marked(
            LineKind::Notice,
            "✘ ",
            TextInk::Error,
            &format!("error: {error}"),
        );
    }
}
