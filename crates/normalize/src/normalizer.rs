//! What every normaliser of a run can do: translate lines, take in events of ours, judge, and end.

use lapidary_vocab::event::{Diagnostic, DiagnosticKind, RunEnd};
use lapidary_vocab::{Body, Event, Text};
use lapidary_wire::lines::RawLine;

use crate::{EventBuffer, ProcessEnd};

/// The direction of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineDirection {
    /// The agent, on its stdout.
    FromAgent,
    /// The client, to the agent's stdin.
    FromClient,
}

/// Turns the lines of one run into events. Pure state: the same calls give the same events.
pub trait Normalizer: std::fmt::Debug {
    /// Translates one line. `received` is when it came, for lines that do not say so themselves. Lines of a client mean nothing to an
    /// agent that only writes.
    fn push_line(
        &mut self,
        from: LineDirection,
        line: RawLine<'_>,
        received: Option<&str>,
        out: &mut EventBuffer,
    );

    /// Takes in an entry of Gemini CLI's session log ([`crate::gemini::session_log`]), before the line that ends the call.
    fn session_log(&mut self, entry: &str);

    /// Adds an event of ours between the lines. Over ACP `session` is the session that it is about; a diagnostic is always about that
    /// of the last line.
    fn insert(
        &mut self,
        body: Body,
        session: Option<Text>,
        at: Option<&str>,
        out: &mut EventBuffer,
    );

    /// Whether another attempt may follow this one. Then the end of a turn that failed is held back until that is known.
    fn may_restart(&mut self, may: bool);

    /// The agent is started once more within the same run: the last attempt's report about its end no longer counts.
    fn restart(&mut self, message: String, now: &str, out: &mut EventBuffer);

    /// True once the agent has done any work that a second attempt would repeat.
    fn has_spoken(&self) -> bool;

    /// True once the agent has reported how it went.
    fn has_result(&self) -> bool;

    /// How the run would end now.
    fn judge(&self, ending: &ProcessEnd) -> RunEnd;

    /// Ends the run: text that is still held back, then the one `run_end`.
    fn end(&mut self, end: RunEnd, at: Option<&str>, out: &mut EventBuffer);

    /// Judges and ends the run.
    fn finish(&mut self, ending: &ProcessEnd, out: &mut EventBuffer) {
        let end = self.judge(ending);
        self.end(end, ending.at.as_deref(), out);
    }

    /// Adds a diagnostic of ours between the lines.
    fn note(
        &mut self,
        kind: DiagnosticKind,
        message: String,
        at: Option<&str>,
        out: &mut EventBuffer,
    ) {
        let note = Diagnostic {
            kind,
            message,
            count: None,
        };
        self.insert(Body::Diagnostic(note), None, at, out);
    }

    /// Adds an event that was inserted when the run was live: an insertion, a restart, or the `run_end`.
    fn insert_again(&mut self, event: Event, out: &mut EventBuffer) {
        let at = event.base.timestamp.as_ref().map(Text::to_string);
        match event.body {
            Body::Diagnostic(retry) if retry.kind == DiagnosticKind::Retry => {
                self.restart(retry.message, at.as_deref().unwrap_or_default(), out);
            }
            Body::RunEnd(end) => {
                self.end(end, at.as_deref(), out);
                if let Some(last) = out.last_mut() {
                    last.base.extensions.extend(event.base.extensions);
                }
            }
            body => self.insert(body, event.base.session_id, at.as_deref(), out),
        }
    }
}
