//! The terminal's view: every event is written as it comes, readable without colour.
//!
//! ```text
//! session  gemini-2.5-flash  9881fb80-d833-4da5-84ba-6efc6cee791a
//! > write
//! ● write_file new.txt
//!   ✓ 0.6 s
//! Written.
//! — completed · 220 tokens (200 in, 20 out) · 1.3 s · 1 tool call
//! ```
//!
//! Chunks are written without waiting for the end of a line. Whether to flush after each event is up to the caller.

mod closing;
mod pen;

use std::collections::VecDeque;
use std::io;

use lapidary_vocab::event::{
    PermissionDecision, SessionInit, StreamDelta, StreamDeltaKind, ToolCompletion, ToolInvocation,
    UserInput,
};
use lapidary_vocab::{Body, Event, Text};

use crate::Renderer;
use crate::echo::EchoFilter;
use crate::ink::TextInk;
use crate::live::MarkSet;
use crate::notice::{Notice, NoticeLevel};
use crate::notices;
use crate::permission::{self, OpenRequests, PermissionAnswer};
use crate::plain;
use crate::preview::{self, PreviewLimits};
use crate::times::ShownTimes;
use crate::tool::{CallState, tool_parts};
use crate::totals::{UsageTotals, begins_turn};
use crate::transcript::{ToolCallItem, is_replayed};
use crate::words;
use pen::LinePen;

/// How many calls may wait for their results: behind more, the result of the oldest is shown without its call's name.
const MOST_OPEN: usize = 256;

/// The lines shown of a call: fewer of a success, because the user can ask for more of it.
const LIMITS: PreviewLimits = PreviewLimits {
    change: 8,
    output: 8,
    failure: 20,
};

/// How to write.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextOptions {
    /// Use colours, as ANSI sequences.
    pub colour: bool,
}

/// Writes events for a terminal or a log.
#[derive(Debug)]
pub struct TextRenderer {
    pen: LinePen,
    echo: EchoFilter,
    totals: UsageTotals,
    turn: UsageTotals,
    /// Calls without a result yet, oldest first. Real runs have a handful.
    open_calls: VecDeque<(Text, ToolCallItem)>,
    /// The call whose headline was written last.
    last_call: Option<Text>,
    requests: OpenRequests,
    /// A turn has ended and its facts wait: if the run ends next, one line tells both.
    turn_ended: bool,
    /// A turn's facts were written, so that the sum at the end would mostly repeat them.
    turn_told: bool,
    has_answered: bool,
    last_error: Option<String>,
    last_warning: Option<String>,
    is_over: bool,
    /// The times shown so far, if times are shown.
    times: Option<ShownTimes>,
}

impl TextRenderer {
    /// A renderer for one transcript.
    pub fn new(options: TextOptions) -> Self {
        Self {
            pen: LinePen::new(options.colour),
            echo: EchoFilter::default(),
            totals: UsageTotals::default(),
            turn: UsageTotals::default(),
            open_calls: VecDeque::new(),
            last_call: None,
            requests: OpenRequests::default(),
            turn_ended: false,
            turn_told: false,
            has_answered: false,
            last_error: None,
            last_warning: None,
            is_over: false,
            times: None,
        }
    }

    /// The same with the date of the session and the time of each prompt: for a conversation that is over.
    #[must_use]
    pub fn with_times(mut self) -> Self {
        self.times = Some(ShownTimes::default());
        self
    }

    /// The same in the signs that a terminal can show.
    #[must_use]
    pub fn with_marks(mut self, marks: MarkSet) -> Self {
        self.pen.marks = marks;
        self
    }
}

impl Renderer for TextRenderer {
    fn event(&mut self, event: &Event, out: &mut dyn io::Write) -> io::Result<()> {
        if self.turn_ended && begins_turn(&event.body) {
            self.close_turn(out)?;
        }
        self.totals.count_event(event);
        self.turn.count_event(event);
        if self.echo.note_repetition(&event.body) {
            return Ok(());
        }
        if let Body::PermissionDecision(decision) = &event.body {
            return self.write_decision(decision, out);
        }
        if let Some(notice) = notices::notice_for(event) {
            return self.write_notice(&notice, out);
        }
        match &event.body {
            // The caller asks the user, if there is one.
            Body::PermissionRequest(request) => {
                self.requests.add_request(request);
                Ok(())
            }
            Body::SessionInit(init) => self.write_session(init, event, out),
            // Tool results on their way back to the model: the calls show them.
            Body::UserInput(input) if input.is_synthetic && input.text.is_empty() => Ok(()),
            Body::UserInput(input) => self.write_prompt(input, event, out),
            Body::StreamDelta(delta) => self.write_delta(delta, out),
            Body::Text(text) => {
                self.pen.end_line(out)?;
                self.write_text(text.kind.as_str(), &text.text, out)?;
                self.pen.end_line(out)
            }
            Body::ToolInvocation(call) => self.write_call(call, event, out),
            Body::ToolCompletion(done) => self.write_completion(done, event, out),
            Body::TurnComplete(turn) => self.end_turn(turn, out),
            Body::RunEnd(end) => self.end_run(end, out),
            // Facts for programs: the totals count them, and say so.
            _ => Ok(()),
        }
    }

    fn finish(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        self.pen.end_line(out)?;
        self.close_requests(out)?;
        let facts = self.totals.usage_facts();
        let is_untold = self.turn_ended
            || (!self.turn_told && self.totals.token_sums().total_tokens().is_some());
        if !self.is_over && is_untold && !facts.is_empty() {
            self.pen
                .write_line(TextInk::Faint, &format!("— {}", facts.join(" · ")), out)?;
        }
        match self.totals.not_shown() {
            Some(hidden) => self
                .pen
                .write_line(TextInk::Faint, &format!("  {hidden}"), out),
            None => Ok(()),
        }
    }
}

impl TextRenderer {
    fn write_session(
        &mut self,
        init: &SessionInit,
        event: &Event,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
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
        self.pen.write_line(
            TextInk::Faint,
            &format!("session{}", facts.collect::<String>()),
            out,
        )
    }

    /// Where times are shown, a line above the prompt has its own.
    fn write_time(&mut self, event: &Event, out: &mut dyn io::Write) -> io::Result<()> {
        match self
            .times
            .as_mut()
            .and_then(|times| times.shown_time(event))
        {
            Some(time) => self.pen.write_line(TextInk::Faint, &time, out),
            None => Ok(()),
        }
    }

    fn write_prompt(
        &mut self,
        input: &UserInput,
        event: &Event,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let text = input.text.to_str();
        if input.is_synthetic {
            let folded = words::folded_input(&text, is_replayed(event), 60);
            return self.pen.write_line(TextInk::Faint, &folded, out);
        }
        self.write_time(event, out)?;
        self.pen.write_block("> ", TextInk::Prompt, &text, out)?;
        match input.images.len() {
            0 => Ok(()),
            images => self.pen.write_line(
                TextInk::Prompt,
                &format!("> ({})", words::counted_noun(images as u64, "image")),
                out,
            ),
        }
    }

    fn write_delta(&mut self, delta: &StreamDelta, out: &mut dyn io::Write) -> io::Result<()> {
        match (&delta.kind, &delta.text_delta) {
            (StreamDeltaKind::MessageStart | StreamDeltaKind::MessageStop, _) => {
                self.pen.end_line(out)
            }
            (kind, Some(chunk)) => self.write_text(kind.as_str(), chunk, out),
            // A tool's arguments come whole with its invocation.
            (_, None) => Ok(()),
        }
    }

    fn write_text(&mut self, kind: &str, text: &Text, out: &mut dyn io::Write) -> io::Result<()> {
        self.has_answered |= kind == "text";
        let (margin, ink) = if kind == "text" {
            ("", TextInk::Plain)
        } else {
            ("┆ ", TextInk::Thought)
        };
        let text = text.to_str();
        let text = match kind {
            "thinking" => words::without_empty_title(&text),
            _ => &text,
        };
        self.pen.continue_text(margin, ink, text, out)
    }

    /// An answer stands under its call, or names its subject.
    fn write_decision(
        &mut self,
        decision: &PermissionDecision,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        self.requests.remove_answered(decision);
        let answer = PermissionAnswer::from(decision);
        let is_under_its_call = self.last_call.is_some() && self.last_call == decision.tool_use_id;
        if is_under_its_call && answer.is_allowed() {
            let line = format!("  · {}", answer.in_words());
            return self.pen.write_line(TextInk::Faint, &line, out);
        }
        self.write_notice(&permission::decision_notice(decision), out)
    }

    pub(super) fn close_requests(&mut self, out: &mut dyn io::Write) -> io::Result<()> {
        for notice in self.requests.take_open_notices() {
            self.write_notice(&notice, out)?;
        }
        Ok(())
    }

    fn write_notice(&mut self, notice: &Notice, out: &mut dyn io::Write) -> io::Result<()> {
        let (mark, ink) = match notice.level {
            NoticeLevel::Info => ("·", TextInk::Faint),
            NoticeLevel::Warning => ("!", TextInk::Warning),
            NoticeLevel::Error => ("✗", TextInk::Error),
        };
        match notice.level {
            NoticeLevel::Error => self.last_error = Some(notice.text.clone()),
            NoticeLevel::Warning => self.last_warning = Some(notice.text.clone()),
            NoticeLevel::Info => {}
        }
        let label = plain::first_line(&notice.label, 100);
        let text = if notice.text.is_empty() {
            label
        } else {
            format!("{label}: {}", notice.text)
        };
        self.pen.write_hanging(&format!("{mark} "), ink, &text, out)
    }

    fn write_call(
        &mut self,
        call: &ToolInvocation,
        event: &Event,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let tool = ToolCallItem::from_invocation(call, event);
        // Over ACP an agent sends a call again whenever it knows more about it.
        let known = self
            .open_calls
            .iter_mut()
            .find(|(id, _)| *id == call.call_id);
        if let Some((_, known)) = known {
            if (known.tool_name(), known.call_subject()) == (tool.tool_name(), tool.call_subject())
            {
                *known = tool;
                return Ok(());
            }
            self.open_calls.retain(|(id, _)| *id != call.call_id);
        }
        let mark = if tool.is_nested() { "↳ ● " } else { "● " };
        self.pen
            .write_headline(mark, &tool.tool_name(), tool.call_subject().as_deref(), out)?;
        self.last_call = Some(call.call_id.clone());
        self.open_calls.push_back((call.call_id.clone(), tool));
        if self.open_calls.len() > MOST_OPEN {
            self.open_calls.pop_front();
        }
        Ok(())
    }

    fn write_completion(
        &mut self,
        done: &ToolCompletion,
        event: &Event,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let is_its = |(id, _): &(Text, ToolCallItem)| *id == done.call_id;
        let place = self.open_calls.iter().rposition(is_its);
        let open = place.and_then(|place| self.open_calls.remove(place));
        let mut tool = open.map(|(_, tool)| tool).unwrap_or_default();
        tool.add_completion(done, event);
        // Calls run side by side: a result that does not stand under its call says whose it is.
        let is_under_its_call = self.last_call.take().as_ref() == Some(&done.call_id);
        let mut facts = Vec::new();
        if !is_under_its_call {
            facts.push(
                [Some(tool.tool_name()), tool.call_subject()]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" "),
            );
        }
        if tool.current_state() != CallState::Done {
            facts.push(tool.current_state().state_word().to_owned());
        }
        let parts = tool_parts(&tool);
        facts.extend(tool.duration_millis().map(words::spoken_duration));
        facts.extend(preview::preview_summary(&tool, &parts));
        let ink = if tool.current_state() == CallState::Done {
            TextInk::Good
        } else {
            TextInk::Error
        };
        self.pen.write_line(
            ink,
            format!(
                "  {} {}",
                tool.current_state().state_mark(),
                facts.join(" · ")
            )
            .trim_end(),
            out,
        )?;
        for (ink, line) in preview::preview_lines(&tool, &parts, LIMITS) {
            self.pen.write_line(ink, &format!("  │ {line}"), out)?;
        }
        Ok(())
    }
}
