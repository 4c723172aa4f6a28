//! The tool calls of a past run, and their ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::engine::policy::{ToolAction, ToolActions};
use lapidary::engine::recording::MANIFEST;
use lapidary::engine::replay::RecordingReader;
use lapidary::vocab::event::{PermissionDecision, PermissionOutcome, ToolCallStatus};
use lapidary::vocab::policy_report::{Happened, RecordedAnswer};
use lapidary::vocab::recording::Recording;
use lapidary::vocab::{Body, Event, Text};

use crate::commands::translate::{FileHandling, each_event};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// A run, as far as its permissions go.
pub(super) struct RecordedPermissions {
    pub(super) name: String,
    /// The names of the agent: its own, and that of its family.
    pub(super) agents: Vec<String>,
    pub(super) calls: Vec<PastCall>,
}

/// A call of a tool.
pub(super) struct PastCall {
    pub(super) id: Text,
    pub(super) tool: Text,
    pub(super) title: Option<Text>,
    pub(super) action: ToolAction,
    /// The agent's working directory.
    pub(super) dir: PathBuf,
    pub(super) happened: Happened,
    /// The decision, if the agent asked.
    pub(super) answer: Option<RecordedAnswer>,
    /// The agent has asked about it: later facts about the call were not known when it had to be decided.
    is_asked: bool,
}

impl RecordedPermissions {
    /// Reads a recording, or a file with an agent's output. The agent's directory is the user's (`given`), else the recording's,
    /// else `here`.
    pub(super) fn read_recording(
        path: &Path,
        given: Option<&Path>,
        here: &Path,
        invocation: &Arc<Invocation>,
    ) -> Result<Self, Failure> {
        let recorded = path.is_dir().then(|| read_manifest(path)).transpose()?;
        let recorded_dir = || Some(PathBuf::from(&recorded.as_ref()?.directory));
        let dir = given.map(Path::to_owned).or_else(recorded_dir);
        let mut reading = PermissionReading {
            is_given: given.is_some(),
            actions: ToolActions::new(dir.as_deref().unwrap_or(here)),
            dir: dir.unwrap_or_else(|| here.to_owned()),
            agents: recorded
                .map(|recorded| recorded.agent)
                .into_iter()
                .collect(),
            calls: Vec::new(),
            places: HashMap::new(),
        };
        each_event(path, FileHandling::Hidden, invocation, |event| {
            reading.take_event(&event);
        })?;
        Ok(Self {
            name: path.display().to_string(),
            agents: reading.agents,
            calls: reading.calls,
        })
    }
}

/// The manifest of a recording.
fn read_manifest(path: &Path) -> Result<Recording, Failure> {
    if !RecordingReader::is_in(path) {
        let name = path.display();
        let failure = Failure::bad_input(anyhow!("`{name}` is a directory, and no recording"));
        return Err(failure.with_hint(format!("a recording has a file `{MANIFEST}`")));
    }
    let past = RecordingReader::open(path).map_err(Failure::bad_input)?;
    Ok(past.manifest().clone())
}

struct PermissionReading {
    is_given: bool,
    dir: PathBuf,
    actions: ToolActions,
    agents: Vec<String>,
    calls: Vec<PastCall>,
    /// Which call has which place among them.
    places: HashMap<(String, String), usize>,
}

impl PermissionReading {
    fn take_event(&mut self, event: &Event) {
        let family = event.base.provider.as_str();
        if !self.agents.iter().any(|known| known == family) {
            self.agents.push(family.to_owned());
        }
        let action = self.actions.note(event);
        match (&event.body, action) {
            (Body::SessionInit(init), _) => self.note_directory(event, init.cwd.as_ref()),
            (Body::ToolInvocation(call), Some(action)) => {
                let at = self.update_call(event, &call.call_id, &call.tool_name, action);
                self.calls[at].title.clone_from(&call.title);
                self.calls[at].tool = call.tool_name.clone();
            }
            (Body::PermissionRequest(request), Some(action)) => {
                let id = request.tool_use_id.as_ref().unwrap_or(&request.request_id);
                let at = self.update_call(event, id, &request.tool_name, action);
                self.calls[at].is_asked = true;
            }
            (Body::ToolCompletion(completion), _) => {
                self.end_call(event, &completion.call_id, call_end(&completion.status));
            }
            (Body::PermissionDecision(decision), _) => {
                let outcome = match decision.decision {
                    PermissionOutcome::Denied => Some(Happened::Denied),
                    PermissionOutcome::Cancelled => Some(Happened::Cancelled),
                    _ => None,
                };
                let id = decision.tool_use_id.as_ref();
                let id = id.unwrap_or(&decision.request_id);
                if let Some(at) = self.places.get(&call_key(event, id)).copied() {
                    self.calls[at].answer = Some(recorded_answer(decision));
                }
                if let Some(outcome) = outcome {
                    self.end_call(event, id, outcome);
                }
            }
            (Body::TurnComplete(turn), _) => {
                let denied = turn.permission_denials.iter();
                let denied = denied.filter_map(|denial| denial.tool_use_id.as_ref());
                denied.for_each(|id| self.end_call(event, id, Happened::Denied));
            }
            _ => {}
        }
    }

    /// A session says where its agent works. The user knows better.
    fn note_directory(&mut self, event: &Event, dir: Option<&Text>) {
        let Some(dir) = dir.filter(|dir| !self.is_given && !dir.is_empty()) else {
            return;
        };
        let dir = self.dir.join(dir.to_str().as_ref());
        self.actions.works_in(event.base.session_id.as_ref(), &dir);
    }

    /// The place of a call, updated with its latest facts. After the agent has asked, the facts stay as they were.
    fn update_call(
        &mut self,
        event: &Event,
        id: &Text,
        tool: &Text,
        mut action: ToolAction,
    ) -> usize {
        let key = call_key(event, id);
        if let Some(at) = self.places.get(&key).copied() {
            let call = &mut self.calls[at];
            if !call.is_asked {
                if action.paths.is_empty() {
                    action.paths = std::mem::take(&mut call.action.paths);
                }
                call.action = action;
            }
            return at;
        }
        self.calls.push(PastCall {
            id: id.clone(),
            tool: tool.clone(),
            title: None,
            action,
            dir: self
                .actions
                .dir_of(event.base.session_id.as_ref())
                .to_owned(),
            happened: Happened::Unknown,
            answer: None,
            is_asked: false,
        });
        self.places.insert(key, self.calls.len() - 1);
        self.calls.len() - 1
    }

    /// A denied call stays denied, even if the agent reports another end.
    fn end_call(&mut self, event: &Event, id: &Text, happened: Happened) {
        if let Some(at) = self.places.get(&call_key(event, id)).copied()
            && self.calls[at].happened != Happened::Denied
        {
            self.calls[at].happened = happened;
        }
    }
}

fn recorded_answer(decision: &PermissionDecision) -> RecordedAnswer {
    RecordedAnswer {
        decision: decision.decision.clone(),
        decided_by: decision.decided_by.clone(),
        rule: decision.rule.clone(),
        reason: decision.reason.clone(),
        for_run: decision.for_run,
    }
}

fn call_key(event: &Event, id: &Text) -> (String, String) {
    let session = event.base.session_id.as_ref().map(Text::to_str);
    (session.unwrap_or_default().into_owned(), id.to_string())
}

fn call_end(status: &ToolCallStatus) -> Happened {
    match status {
        ToolCallStatus::Completed => Happened::Completed,
        ToolCallStatus::Failed => Happened::Failed,
        ToolCallStatus::Cancelled => Happened::Cancelled,
        other => Happened::from(other.as_str()),
    }
}
