//! Completes tool calls of Gemini CLI over ACP: its session log has the arguments and outputs that its messages leave out.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use lapidary_json::Token;
use lapidary_wire::acp::envelope::{Envelope, RpcMessage, parse};
use lapidary_wire::acp::tool_call::AcpToolCall;
use lapidary_wire::acp::update::{SessionUpdate, UpdateBody};

use crate::acp::TrafficLine;
use crate::gemini_cli::{FoundInLog, LogPlace, SessionLogs};
use crate::recording::{SESSION_LOG, private_file};

/// How many prompts may be without an answer at once.
const MOST_PROMPTS: usize = 256;

/// Reads the session log beside a connection.
#[derive(Debug)]
pub(super) struct AcpCompletion {
    logs: SessionLogs,
    /// Where the entries that were used are kept: the recording gives the same events as the run.
    record: Option<File>,
    /// Sessions of the prompts under way, by the ids of their requests.
    prompts: HashMap<String, String>,
    /// Calls of this turn that the log does not have.
    missing: usize,
}

/// An event that is inserted before a line.
#[derive(Debug)]
pub(super) enum AddedEvent {
    /// An entry of the session log.
    Entry(String),
    /// A remark of our own.
    Note(String),
}

impl AcpCompletion {
    pub(super) fn new(place: LogPlace, recording: &Path) -> Self {
        Self {
            logs: SessionLogs::new(place),
            record: private_file(&recording.join(SESSION_LOG)).ok(),
            prompts: HashMap::new(),
            missing: 0,
        }
    }

    /// The entries of the session log for the call or the turn that a line ends.
    pub(super) async fn entries_before_line(&mut self, traffic: &TrafficLine) -> Vec<AddedEvent> {
        match traffic {
            TrafficLine::Sent(line) => self.note_sent_line(line),
            TrafficLine::Received(received) => {
                return self.entries_for_received(received.line.text()).await;
            }
            TrafficLine::Skipped { .. } => {}
        }
        Vec::new()
    }

    fn note_sent_line(&mut self, line: &str) {
        if !line.contains("\"session/") {
            return;
        }
        let Some(RpcMessage::Request { id, method, params }) = parse_message(line) else {
            return;
        };
        let text = |name| params.and_then(|params| params.get(name)?.string());
        if let Some(cwd) = text("cwd") {
            self.logs.works_in(Path::new(&*cwd));
        }
        if let Some(session) = text("sessionId")
            && method.is("session/prompt")
            && self.prompts.len() < MOST_PROMPTS
        {
            self.prompts
                .insert(id.key().into_owned(), session.into_owned());
        }
    }

    async fn entries_for_received(&mut self, line: &str) -> Vec<AddedEvent> {
        let ends_call = line.contains("\"tool_call");
        if !ends_call && !line.contains("\"stopReason\"") {
            return Vec::new();
        }
        match parse_message(line) {
            Some(RpcMessage::Notification {
                params: Some(params),
                ..
            }) if ends_call => {
                self.entries_for_update(&SessionUpdate::from_token(params))
                    .await
            }
            Some(RpcMessage::Result { id, result }) => {
                let Some(session) = self.prompts.remove(&*id.key()) else {
                    return Vec::new();
                };
                let ended_well = result.get("stopReason").is_some_and(|it| it.is("end_turn"));
                self.entries_for_turn(&session, &id.shown(), ended_well)
                    .await
            }
            _ => Vec::new(),
        }
    }

    async fn entries_for_update(&mut self, update: &SessionUpdate<'_>) -> Vec<AddedEvent> {
        let (UpdateBody::ToolCall(call) | UpdateBody::ToolCallUpdate(call)) = &update.update else {
            return Vec::new();
        };
        let text = |token: Option<Token<'_>>| token?.string().map(std::borrow::Cow::into_owned);
        let (Some(session), Some(id)) = (text(update.session_id), text(call.tool_call_id)) else {
            return Vec::new();
        };
        if !is_over(call) {
            return Vec::new();
        }
        match self.logs.call_record(&session, &id).await {
            FoundInLog::Entry(entry) => vec![self.record_entry(entry)],
            FoundInLog::Missing | FoundInLog::NoLog => {
                self.missing += 1;
                Vec::new()
            }
            FoundInLog::NotLogged => Vec::new(),
        }
    }

    /// The turn is over. A prompt that the model has not answered has failed, even if the agent reports success.
    async fn entries_for_turn(
        &mut self,
        session: &str,
        request: &str,
        ended_well: bool,
    ) -> Vec<AddedEvent> {
        let mut added = Vec::new();
        if !ended_well {
            self.logs.turn_given_up(session);
        } else if let Some(entry) = self.logs.turn_ended(session, request).await {
            added.push(self.record_entry(entry));
        }
        let missing = std::mem::take(&mut self.missing);
        if missing > 0 {
            let calls = match missing {
                1 => "1 tool call".to_owned(),
                count => format!("{count} tool calls"),
            };
            added.push(AddedEvent::Note(format!(
                "arguments or outputs of {calls} may be missing: Gemini CLI's session log does not have them"
            )));
        }
        added
    }

    /// Records an entry that is used.
    fn record_entry(&mut self, entry: String) -> AddedEvent {
        if let Some(record) = &mut self.record {
            let _ = record.write_all(format!("{entry}\n").as_bytes()); // the run reports a full disk
        }
        AddedEvent::Entry(entry)
    }
}

fn parse_message(line: &str) -> Option<RpcMessage<'_>> {
    match parse(line) {
        Envelope::Object { message, .. } => Some(message),
        Envelope::NotAnObject(_) | Envelope::NotJson(_) => None,
    }
}

fn is_over(call: &AcpToolCall<'_>) -> bool {
    let is = |word| call.status.is_some_and(|status| status.is(word));
    is("completed") || is("failed")
}
