//! The ends of turns and of the run.

use std::io;

use lapidary_vocab::Outcome;
use lapidary_vocab::event::{RunEnd, TurnComplete};

use super::TextRenderer;
use crate::ink::TextInk;

impl TextRenderer {
    pub(super) fn end_turn(
        &mut self,
        turn: &TurnComplete,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        if let Some(result) = turn.result.as_ref().filter(|_| !self.has_answered) {
            self.pen.end_line(out)?;
            self.write_text("text", result, out)?;
        }
        self.has_answered = false;
        self.turn_ended = true;
        self.pen.end_line(out)?;
        for error in &turn.errors {
            self.write_error(&error.to_str(), out)?;
        }
        Ok(())
    }

    pub(super) fn close_turn(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        self.turn_ended = false;
        self.turn_told = true;
        let facts = self.turn.take_turn().usage_facts();
        let facts = if facts.is_empty() {
            "turn complete".to_owned()
        } else {
            facts.join(" · ")
        };
        self.pen
            .write_line(TextInk::Faint, &format!("— {facts}"), out)
    }

    pub(super) fn end_run(&mut self, end: &RunEnd, out: &mut dyn io::Write) -> io::Result<()> {
        self.is_over = true;
        self.turn_ended = false;
        self.close_requests(out)?;
        let is_good = end.outcome == Outcome::Completed;
        if let Some(message) = end.message.as_ref().filter(|_| !is_good) {
            self.write_error(&message.to_str(), out)?;
        }
        let line = self.totals.outcome_line(end);
        self.pen.write_line(
            if is_good {
                TextInk::Good
            } else {
                TextInk::Error
            },
            &format!("— {line}"),
            out,
        )?;
        for evidence in end.evidence.iter().filter(|_| !is_good) {
            self.pen
                .write_hanging("  ", TextInk::Faint, evidence, out)?;
        }
        for warning in &end.warnings {
            self.pen
                .write_hanging("! warning: ", TextInk::Plain, warning, out)?;
        }
        match &end.hint {
            Some(hint) => self
                .pen
                .write_hanging("  hint: ", TextInk::Plain, hint, out),
            None => Ok(()),
        }
    }

    /// An error is often reported twice, by the turn and by the run. It is shown once.
    fn write_error(&mut self, error: &str, out: &mut dyn io::Write) -> io::Result<()> {
        let is_told = |last: &Option<String>| last.as_deref() == Some(error);
        if is_told(&self.last_error) || is_told(&self.last_warning) {
            return Ok(());
        }
        self.last_error = Some(error.to_owned());
        self.pen
            .write_hanging("✗ error: ", TextInk::Error, error, out)
    }
}
