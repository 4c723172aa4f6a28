//! The events of the records of one session file, for agents that keep one record per line and one file per sub-agent (Claude Code,
//! Qwen Code). An event of a sub-agent names the call that started it. A record without an event is counted.

use lapidary_json::Token;
use lapidary_vocab::event::{
    Diagnostic, DiagnosticKind, SessionInit, SubagentComplete, SubagentSpawn,
};
use lapidary_vocab::{Body, Event, Json, Text};
use lapidary_wire::lines::RawLine;
use lapidary_wire::record_tree::RecordFate;

use crate::SubagentTranscripts;
use crate::own::{self, string_token};
use crate::parent_call::set_parent;
use crate::raw::{RawContent, too_long_message};
use crate::skipped_counts::SkippedCounts;
use crate::stamp::EventStamp;

/// The message about the last line of a file if its agent was killed while it wrote.
pub(crate) const CUT_OFF: &str = "the last record is cut off";

/// The message about a line that is no record.
pub(crate) const NO_OBJECT: &str = "a line of the session file is not a JSON object";

/// How deep sub-agents may be nested. Files that name each other would have no end.
const DEEPEST_SUBAGENT: usize = 6;

/// Makes the events of one session file and of its sub-agents' files.
pub(crate) struct RecordEvents<'s> {
    pub(crate) stamp: EventStamp,
    pub(crate) subagents: &'s dyn SubagentTranscripts,
    /// The calls that started the sub-agents under translation, the innermost last.
    pub(crate) parents: Vec<Text>,
    /// Sub-agents that have their events.
    emitted_agents: Vec<String>,
    pub(crate) skipped: SkippedCounts,
}

/// A line of a file whose lines were all surveyed.
pub(crate) struct SurveyedLine<'l> {
    pub(crate) line: RawLine<'l>,
    /// Its number in the file, from 0.
    pub(crate) number: usize,
    pub(crate) fate: RecordFate,
    /// It may be cut off: the agent was killed while it wrote.
    pub(crate) is_last: bool,
}

/// A record under translation.
pub(crate) struct CurrentRecord<'l> {
    raw: Option<RawContent>,
    /// The number of its line.
    pub(crate) line: usize,
    /// Facts of the record that only this agent has.
    pub(crate) extensions: Vec<(&'static str, Json)>,
    /// An event was made of it.
    pub(crate) has_event: bool,
    pub(crate) sink: &'l mut dyn FnMut(Event),
}

impl<'l> CurrentRecord<'l> {
    pub(crate) fn new(raw: RawContent, line: usize, sink: &'l mut dyn FnMut(Event)) -> Self {
        Self {
            raw: Some(raw),
            line,
            extensions: Vec::new(),
            has_event: false,
            sink,
        }
    }
}

/// A sub-agent whose records come next.
pub(crate) struct EnteredSubagent {
    /// Its file.
    pub(crate) bytes: Vec<u8>,
    id: String,
    call_id: Text,
    /// The time of the call. The records of the sub-agent have later ones.
    began: Option<Text>,
}

impl<'s> RecordEvents<'s> {
    pub(crate) fn new(stamp: EventStamp, subagents: &'s dyn SubagentTranscripts) -> Self {
        Self {
            stamp,
            subagents,
            parents: Vec::new(),
            emitted_agents: Vec::new(),
            skipped: SkippedCounts::default(),
        }
    }

    pub(crate) fn emit_event(&mut self, mut body: Body, current: &mut CurrentRecord<'_>) {
        current.has_event = true;
        set_parent(&mut body, self.parents.last());
        let mut event = self.stamp.next_event(body, &mut current.raw);
        for (key, value) in &current.extensions {
            let extensions = &mut event.base.extensions;
            extensions.insert((*key).to_owned(), value.clone());
        }
        (current.sink)(event);
    }

    pub(crate) fn emit_diagnostic(
        &mut self,
        kind: DiagnosticKind,
        message: impl Into<String>,
        current: &mut CurrentRecord<'_>,
    ) {
        let body = Diagnostic {
            kind,
            message: message.into(),
            count: None,
        };
        self.emit_event(Body::Diagnostic(body), current);
    }

    /// Emits the `session_init`, with facts that only this agent has.
    pub(crate) fn emit_session_init<'f>(
        &mut self,
        init: SessionInit,
        facts: impl IntoIterator<Item = (&'static str, Option<Token<'f>>)>,
        sink: &mut dyn FnMut(Event),
    ) {
        let body = Body::SessionInit(Box::new(init));
        let mut event = self.stamp.next_event(body, &mut None);
        for (key, value) in facts {
            let value = value.map(|value| (key.to_owned(), own::owned_json(value)));
            event.base.extensions.extend(value);
        }
        sink(event);
    }

    /// The record of a line, if it is to have events. A line without a record is reported, and a record that was taken back counted.
    pub(crate) fn kept_record<'l>(
        &mut self,
        surveyed: &SurveyedLine<'l>,
        sink: &mut dyn FnMut(Event),
    ) -> Option<Token<'l>> {
        let Some(record) = surveyed.line.object() else {
            self.report_unreadable(surveyed, sink);
            return None;
        };
        match surveyed.fate {
            RecordFate::Kept => {}
            RecordFate::InCircle => self.skipped.in_circle += 1,
            RecordFate::Abandoned => {
                self.skipped.abandoned += 1;
                return None;
            }
            RecordFate::Repeated => {
                self.skipped.repeated += 1;
                return None;
            }
        }
        Some(record)
    }

    fn report_unreadable(&mut self, surveyed: &SurveyedLine<'_>, sink: &mut dyn FnMut(Event)) {
        let bytes = surveyed.line.bytes();
        let raw = RawContent::from_other_bytes(bytes);
        let mut current = CurrentRecord::new(raw, surveyed.number, sink);
        let (kind, message) = match surveyed.line {
            RawLine::TooLong { head, length, .. } => {
                let message = too_long_message(head, length);
                (DiagnosticKind::LineTooLong, message)
            }
            RawLine::Whole(_) if surveyed.is_last && bytes.starts_with(b"{") => {
                (DiagnosticKind::MalformedLine, CUT_OFF.to_owned())
            }
            RawLine::Whole(_) => (DiagnosticKind::MalformedLine, NO_OBJECT.to_owned()),
        };
        self.emit_diagnostic(kind, message, &mut current);
    }

    /// Begins the records of the sub-agent that a call started; none if there is no file of them, or if they have their events.
    pub(crate) fn enter_subagent(
        &mut self,
        call_id: &Text,
        agent: Option<String>,
        input: Option<Token<'_>>,
        current: &mut CurrentRecord<'_>,
    ) -> Option<EnteredSubagent> {
        let id = agent.filter(|agent| !self.emitted_agents.contains(agent))?;
        if self.parents.len() >= DEEPEST_SUBAGENT {
            return None;
        }
        let bytes = self.subagents.read(&id)?;
        self.emitted_agents.push(id.clone());
        let argument = |key| string_token(input?.get(key)).map(own::owned_text);
        let spawn = SubagentSpawn {
            call_id: call_id.clone(),
            agent_type: argument("subagent_type"),
            description: argument("description"),
            is_resume: false,
            resume_agent_id: None,
        };
        self.emit_event(Body::SubagentSpawn(spawn), current);
        let began = self.stamp.timestamp.clone();
        self.parents.push(call_id.clone());
        Some(EnteredSubagent {
            bytes,
            id,
            call_id: call_id.clone(),
            began,
        })
    }

    /// Ends the records of a sub-agent.
    pub(crate) fn leave_subagent(
        &mut self,
        entered: EnteredSubagent,
        current: &mut CurrentRecord<'_>,
    ) {
        self.parents.pop();
        self.stamp.timestamp = entered.began;
        let complete = SubagentComplete {
            call_id: entered.call_id,
            agent_id: Some(entered.id.into()),
            status: None,
            summary: None,
        };
        self.emit_event(Body::SubagentComplete(complete), current);
    }

    /// Counts the records that no event carries in one closing diagnostic, with the details under `key`.
    pub(crate) fn emit_skipped_counts(&mut self, key: &str, sink: &mut dyn FnMut(Event)) {
        let ids = self.subagents.ids();
        let is_unnamed = |id: &&String| !self.emitted_agents.contains(id);
        self.skipped.unnamed_agents = ids.iter().filter(is_unnamed).count() as u64;
        let Some((body, detail)) = self.skipped.closing_diagnostic() else {
            return;
        };
        let mut event = self.stamp.next_event(Body::Diagnostic(body), &mut None);
        let extensions = &mut event.base.extensions;
        extensions.insert(key.to_owned(), detail);
        sink(event);
    }
}
