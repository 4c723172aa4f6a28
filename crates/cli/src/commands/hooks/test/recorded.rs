//! The moments of a recording: the inputs that hooks would have received.
//!
//! Gemini CLI runs its hooks itself. Around an ACP agent Lapidary runs them (`--hooks`), and the same functions as here make
//! their inputs.

mod calls;
mod displays;
mod questions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::engine::hooks::HookContext;
use lapidary::engine::policy::ToolActions;
use lapidary::engine::replay::RecordingReader;
use lapidary::vocab::event::{Provider, TextKind};
use lapidary::vocab::{Body, Event, Text};
use lapidary::wire::gemini::hooks::{EventDetails, HookEvent, HookToolCall};

use self::calls::{HookHost, RecordedCalls};
use super::moments::TestMoment;
use crate::commands::translate::{FileHandling, InputSource, each_event};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// The note on a call that an agent did not ask about.
const UNASKED: &str =
    "the agent did not ask about this call: hooks around it could not have held it back";

pub(super) fn recorded_report(
    recording: &Path,
    event: HookEvent,
    around: &HookContext,
    invocation: &Arc<Invocation>,
) -> Result<Vec<TestMoment>, Failure> {
    if !can_tell(event) {
        let error = anyhow!("a recording does not have the input of `{event}` hooks");
        return Err(Failure::usage(error).with_hint("pass it with `--input`"));
    }
    let dir = recorded_directory(recording).unwrap_or_else(|| around.cwd.clone());
    let mut reading = RecordedTest {
        event,
        actions: ToolActions::new(&dir),
        dir,
        calls: RecordedCalls::default(),
        others: Vec::new(),
        prompt: String::new(),
        answer: String::new(),
    };
    let source = each_event(recording, FileHandling::Shown, invocation, |event| {
        reading.take_event(&event);
    })?;
    let host = match source {
        InputSource::Acp
        | InputSource::ClaudeSession
        | InputSource::CodexSession
        | InputSource::QwenSession
        | InputSource::OpencodeSession => HookHost::Lapidary,
        InputSource::Written(dialect) if dialect.provider != Provider::Gemini => HookHost::Lapidary,
        InputSource::Written(_) | InputSource::Session => HookHost::Gemini,
        InputSource::Events => return Err(only_events(recording)),
    };
    Ok(reading.into_moments(host, around))
}

/// Events may lack parts of an input: `--no-raw`, and files that the agent reads through us, leave them out.
fn only_events(path: &Path) -> Failure {
    let error = anyhow!("`{}` holds events, not a recording", path.display());
    Failure::bad_input(error).with_hint("name the directory of the recording that they are of")
}

fn can_tell(event: HookEvent) -> bool {
    !matches!(
        event,
        HookEvent::PreCompress
            | HookEvent::BeforeModel
            | HookEvent::AfterModel
            | HookEvent::BeforeToolSelection
    )
}

/// Where the agent of a recording ran.
fn recorded_directory(recording: &Path) -> Option<PathBuf> {
    let past =
        RecordingReader::is_in(recording).then(|| RecordingReader::open(recording).ok())??;
    Some(PathBuf::from(&past.manifest().directory))
}

struct RecordedTest {
    event: HookEvent,
    /// Where the agent works.
    dir: PathBuf,
    actions: ToolActions,
    calls: RecordedCalls,
    /// Inputs that are about no call.
    others: Vec<EventDetails>,
    prompt: String,
    answer: String,
}

impl RecordedTest {
    fn into_moments(self, host: HookHost, around: &HookContext) -> Vec<TestMoment> {
        let RecordedCalls {
            all,
            questions,
            done,
            is_served,
            ..
        } = self.calls;
        let moment = |details: EventDetails| TestMoment::new(vec![vec![around.input(details)]]);
        let rounds = |inputs: Vec<Vec<HookToolCall>>,
                      details: &dyn Fn(HookToolCall) -> EventDetails| {
            let round = |round: Vec<_>| {
                let calls = round.into_iter();
                calls.map(|call| around.input(details(call))).collect()
            };
            TestMoment::new(inputs.into_iter().map(round).collect())
        };
        match self.event {
            HookEvent::BeforeTool => {
                let is_unasked =
                    |is_asked: bool| host == HookHost::Lapidary && !is_asked && !is_served;
                let all = all.iter().map(|call| TestMoment {
                    notes: is_unasked(call.is_asked)
                        .then(|| UNASKED.to_owned())
                        .into_iter()
                        .chain(call.asked.left_out(host))
                        .collect(),
                    is_fixed: host == HookHost::Lapidary,
                    ..rounds(call.asked.hook_inputs(host), &EventDetails::BeforeTool)
                });
                all.collect()
            }
            HookEvent::AfterTool => {
                let done = done.iter().map(|(call, response)| {
                    let details = |call| EventDetails::AfterTool(call, response.clone());
                    rounds(call.hook_inputs(host), &details)
                });
                done.collect()
            }
            HookEvent::Notification => {
                let asked = questions.asked_calls();
                asked
                    .map(|known| moment(known.permission_notice()))
                    .collect()
            }
            _ => self.others.into_iter().map(moment).collect(),
        }
    }

    fn take_event(&mut self, event: &Event) {
        if event.base.extensions.contains_key("acp.replay") {
            return; // it was done long ago
        }
        let action = self.actions.note(event);
        self.calls.note_event(event, action);
        match &event.body {
            Body::SessionInit(init) => self.begin_session(event, init.cwd.as_ref()),
            Body::UserInput(input) if !input.is_synthetic => {
                self.prompt = input.text.to_string();
                self.answer.clear();
                let prompt = self.prompt.clone();
                self.add_moment(EventDetails::BeforeAgent { prompt });
            }
            Body::StreamDelta(delta) => {
                let text = delta.text_delta.as_ref().map(Text::to_str);
                self.answer.push_str(&text.unwrap_or_default());
            }
            Body::Text(text) if text.kind == TextKind::Text => {
                self.answer.push_str(&text.text.to_str());
            }
            Body::TurnComplete(_) => self.end_turn(),
            Body::RunEnd(_) => self.add_moment(EventDetails::SessionEnd {
                reason: "exit".to_owned(),
            }),
            _ => {}
        }
    }

    fn add_moment(&mut self, details: EventDetails) {
        if details.event() == self.event {
            self.others.push(details);
        }
    }

    /// A session says where its agent works.
    fn begin_session(&mut self, event: &Event, dir: Option<&Text>) {
        if let Some(dir) = dir.filter(|dir| !dir.is_empty()) {
            let dir = self.dir.join(dir.to_str().as_ref());
            self.actions.works_in(event.base.session_id.as_ref(), &dir);
        }
        self.add_moment(EventDetails::SessionStart {
            source: "startup".to_owned(),
        });
    }

    fn end_turn(&mut self) {
        let answer = std::mem::take(&mut self.answer);
        let silent = "[no response text]".to_owned();
        self.add_moment(EventDetails::AfterAgent {
            prompt: self.prompt.clone(),
            prompt_response: Some(answer).filter(|it| !it.is_empty()).unwrap_or(silent),
            stop_hook_active: false,
        });
    }
}
