//! Runs that were recorded both ways, as a stream and as a session file, give the same messages from both.

use std::collections::BTreeMap;

use lapidary_normalize::ProcessEnd;
use lapidary_normalize::gemini::session_messages;
use lapidary_normalize::views::messages::MessageFold;
use lapidary_testkit::captures::{self, Capture, CaptureKind};
use lapidary_vocab::message::{Content, Message, MessageBlock};
use lapidary_vocab::{Body, Cause};
use lapidary_wire::gemini::session::ReplayedLog;

use crate::support::{options, translate};

/// What both recordings know of a message. A stream has no thoughts, and its tool output is text for display.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    role: String,
    calls: Vec<Called>,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Called {
    id: String,
    name: String,
    input: String,
    is_error: Option<bool>,
}

impl Said {
    fn of(message: &Message) -> Self {
        let mut said = Self {
            role: message.role.to_string(),
            calls: Vec::new(),
            text: String::new(),
        };
        let Content::Blocks(blocks) = &message.content else {
            return said;
        };
        for block in blocks {
            match block {
                MessageBlock::Text(text) => said.text.push_str(&text.text.to_str()),
                MessageBlock::ToolUse(call) => said.calls.push(Called {
                    id: call.id.to_string(),
                    name: call.name.to_string(),
                    input: call.input.as_str().to_owned(),
                    is_error: None,
                }),
                MessageBlock::ToolResult(result) => {
                    let call = said
                        .calls
                        .iter_mut()
                        .find(|call| result.tool_use_id == *call.id.as_str());
                    call.expect("a result follows its call").is_error = result.is_error;
                }
                _ => {}
            }
        }
        said
    }

    /// Context that the CLI adds, and tool results that it sends back to the model, are in the session file only.
    fn is_said_by_someone(&self) -> bool {
        let is_context = self.text.starts_with("<session_context>");
        !is_context && (!self.text.is_empty() || !self.calls.is_empty())
    }
}

struct Run {
    session_id: String,
    began: String,
    cause: Cause,
    said: Vec<Said>,
}

fn run(capture: &Capture) -> Option<Run> {
    let ending = ProcessEnd {
        exit_code: capture.exit_code,
        ..ProcessEnd::default()
    };
    let events = translate(&capture.bytes(), &options(), &ending);
    let Body::RunEnd(end) = &events.last()?.body else {
        return None;
    };
    let mut fold = MessageFold::new("run");
    let mut messages: Vec<_> = events.iter().flat_map(|event| fold.push(event)).collect();
    messages.extend(fold.finish());
    Some(Run {
        session_id: events
            .iter()
            .find_map(|event| event.base.session_id.clone())?
            .to_string(),
        began: events.first()?.base.timestamp.clone()?.to_string(),
        cause: end.cause.clone(),
        said: messages
            .iter()
            .map(Said::of)
            .filter(Said::is_said_by_someone)
            .collect(),
    })
}

/// A session file: its capture's name, when it was last written, and its messages.
#[derive(Debug)]
struct File {
    name: String,
    updated: String,
    said: Vec<Said>,
}

fn sessions() -> BTreeMap<String, Vec<File>> {
    let mut sessions: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for capture in captures::all()
        .iter()
        .filter(|capture| capture.kind == CaptureKind::Session)
    {
        let bytes = capture.bytes();
        let log = ReplayedLog::read(&bytes);
        let Some(id) = log.get("sessionId").and_then(lapidary_json::Token::string) else {
            continue;
        };
        let said: Vec<_> = session_messages::messages(&log)
            .map(|message| Said::of(&message))
            .filter(Said::is_said_by_someone)
            .collect();
        let updated = log
            .get("lastUpdated")
            .and_then(lapidary_json::Token::string);
        sessions.entry(id.into_owned()).or_default().push(File {
            name: capture.name.clone(),
            updated: updated.unwrap_or_default().into_owned(),
            said,
        });
    }
    sessions
}

/// A stream's messages must stand in one of its session's files, in one piece: a resumed session holds more than one run.
#[test]
fn a_run_recorded_both_ways_gives_the_same_messages() {
    let sessions = sessions();
    let mut paired = Vec::new();
    for capture in captures::all()
        .iter()
        .filter(|capture| capture.kind == CaptureKind::StreamJson)
    {
        let Some(run) = run(capture) else { continue };
        // A prompt that failed is taken out of the session again, and an interrupted run is cut off in either recording.
        let is_whole = matches!(
            run.cause,
            Cause::EndTurn | Cause::LoopDetected | Cause::MaxTurns | Cause::PermissionDenied
        );
        let files = sessions.get(&run.session_id).filter(|_| is_whole);
        // Some files were copied before the session was resumed: a run that began later cannot be in them.
        let files: Vec<_> = files
            .into_iter()
            .flatten()
            .filter(|file| file.updated >= run.began)
            .collect();
        if files.is_empty() {
            continue;
        }
        let is_in = |said: &[Said]| said.windows(run.said.len()).any(|slice| slice == run.said);
        let found = files.iter().find(|file| is_in(&file.said));
        let found = found
            .unwrap_or_else(|| panic!("{}: {:#?}\nis not in {files:#?}", capture.name, run.said));
        paired.push((capture.name.clone(), found.name.clone()));
    }
    assert!(
        paired.len() >= 20,
        "only {} pairs were compared: {paired:?}",
        paired.len()
    );
}
