//! Calls that the stream leaves out, from the rollout that Codex CLI writes meanwhile.
//!
//! `codex exec --json` (0.166) has no line for a call that Codex refuses, nor for a tool that is neither a command, a patch, a search
//! nor an MCP server's; nor does it have the prompt, the ids of calls, and which of them the model made together. The rollout has
//! all of it. The caller reads it and hands over an entry for each prompt, action and missing call, before the line that it precedes.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use lapidary_json::Token;
use lapidary_vocab::event::{PermissionDenial, ToolInvocation};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::codex::exec::ExecItemType;
use lapidary_wire::codex::rollout::RolloutRecord;

use super::super::{calls, rollout};
use super::ExecNormalizer;
use crate::{EventBuffer, TextJoint, own};

/// The extension of an event that comes from the rollout, not from the stream.
const FROM_ROLLOUT: &str = "codex.fromRollout";

/// The extension of a result that numbers the response of the model to which its call belongs.
pub(crate) const RESPONSE: &str = "codex.response";

/// The extension of a result that has the id of its call in the rollout. The stream has numbers of its own.
const CALL_ID: &str = "codex.callId";

/// Entries that wait for their place in the stream.
#[derive(Debug, Default)]
pub(super) struct LoggedExecCalls {
    prompts: VecDeque<Json>,
    calls: VecDeque<LoggedCall>,
    /// Actions of the stream, by their number.
    actions: HashMap<u64, LoggedAction>,
}

/// Facts of the rollout about an action in the stream.
#[derive(Debug)]
pub(super) struct LoggedAction {
    call_id: Json,
    response: Option<Json>,
    pub(super) sandbox: Option<CodexSandbox>,
}

/// The sandbox in which commands of a turn run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodexSandbox {
    /// Nothing can be written.
    ReadOnly,
    /// Files can be written in the workspace.
    WorkspaceWrite,
}

impl CodexSandbox {
    /// The sandbox by its name in the rollout. None if there is none, or one that is not known.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "read-only" => Some(Self::ReadOnly),
            "workspace-write" => Some(Self::WorkspaceWrite),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
        }
    }

    /// The reason why a command failed, if the sandbox denied it a write. Only the system's own sentence in its output tells.
    pub(super) fn refusal(self, output: &str) -> Option<String> {
        let mut lines = output.lines();
        let told = lines.find(|line| line.ends_with("Read-only file system"))?;
        Some(format!("the {} sandbox of Codex: {told}", self.as_str()))
    }
}

/// A place in a turn: so many items come before it. The stream and the rollout count the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamPlace {
    /// Texts and thoughts.
    pub words: u64,
    /// Commands, patches and calls of MCP servers that are completed.
    pub actions: u64,
}

impl StreamPlace {
    /// Counts an item that is completed.
    pub fn add_item(&mut self, kind: ExecItemType) {
        self.words += u64::from(kind.is_words());
        self.actions += u64::from(kind.is_recorded_action());
    }

    /// Whether all items of another place are among these.
    pub fn is_behind(self, other: Self) -> bool {
        self.words >= other.words && self.actions >= other.actions
    }
}

/// A call that the stream leaves out.
#[derive(Debug)]
struct LoggedCall {
    place: StreamPlace,
    call: Json,
    output: Json,
    response: Option<Json>,
    sandbox: Option<CodexSandbox>,
}

impl LoggedExecCalls {
    /// Takes in an entry. A line of another form is ignored.
    pub(super) fn push(&mut self, entry: &str) {
        let Ok(entry) = Token::parse(entry) else {
            return;
        };
        let field = |name| entry.get(name).map(own::owned_json);
        let count = |name| entry.get(name).and_then(Token::u64);
        let response = field("response");
        let sandbox = entry.get("sandbox").and_then(Token::string);
        let sandbox = sandbox.and_then(|name| CodexSandbox::from_name(&name));
        if let Some(prompt) = field("prompt") {
            self.prompts.push_back(prompt);
        } else if let (Some(number), Some(call_id)) = (count("action"), field("callId")) {
            let action = LoggedAction {
                call_id,
                response,
                sandbox,
            };
            self.actions.insert(number, action);
        } else if let (Some(call), Some(output)) = (field("call"), field("output")) {
            let place = StreamPlace {
                words: count("words").unwrap_or_default(),
                actions: count("actions").unwrap_or_default(),
            };
            self.calls.push_back(LoggedCall {
                place,
                call,
                output,
                response,
                sandbox,
            });
        }
    }

    fn take_due(&mut self, reached: StreamPlace, is_over: bool) -> Option<LoggedCall> {
        let next = self.calls.front()?;
        let is_due = is_over || reached.is_behind(next.place);
        is_due.then(|| self.calls.pop_front()).flatten()
    }
}

impl ExecNormalizer {
    /// Tells the prompt and the calls that come before the line in hand: all that are left if it ends the turn.
    pub(super) fn emit_logged_calls(&mut self, is_over: bool, out: &mut EventBuffer) {
        while let Some(prompt) = self.logged.prompts.pop_front() {
            let prompt = RolloutRecord {
                payload: Some(prompt.token()),
                ..RolloutRecord::default()
            };
            let body = Body::UserInput(rollout::user_input(&prompt, TextJoint::Direct));
            self.run.emit_derived(body, derived(None), out);
        }
        while let Some(logged) = self.logged.take_due(self.reached, is_over) {
            self.emit_logged_call(&logged, out);
        }
    }

    fn emit_logged_call(&mut self, logged: &LoggedCall, out: &mut EventBuffer) {
        let record = |payload| RolloutRecord {
            payload: Some(payload),
            ..RolloutRecord::default()
        };
        let output = record(logged.output.token());
        let (call, summary) = calls::invocation(&record(logged.call.token()), None);
        let mut completion = calls::completion(&output, None);
        completion.locations.clone_from(&summary.locations);
        summary.add_derived_fields(&mut completion);
        self.run.has_spoken = true;
        self.run
            .denials
            .note_sandbox(logged.sandbox == Some(CodexSandbox::ReadOnly));
        let reason = output.refusal().map(Cow::into_owned).or_else(|| {
            let printed = completion.command_output.as_ref()?;
            logged.sandbox?.refusal(&printed.to_str())
        });
        let denial = reason.map(|reason| self.denial(&call, reason));
        for body in [
            Body::ToolInvocation(Box::new(call)),
            Body::ToolCompletion(Box::new(completion)),
        ] {
            let marks = derived(logged.response.as_ref());
            self.run.emit_derived(body, marks, out);
        }
        if let Some(denial) = denial {
            self.run.denials.add_reported(denial);
        }
    }

    /// Facts of the rollout about the action that the current line completes.
    pub(super) fn take_logged_action(&mut self) -> Option<LoggedAction> {
        let action = self.logged.actions.remove(&self.reached.actions)?;
        let is_read_only = action.sandbox == Some(CodexSandbox::ReadOnly);
        self.run.denials.note_sandbox(is_read_only);
        Some(action)
    }

    /// A call that Codex refused, or that its sandbox denied.
    pub(super) fn denial(&self, call: &ToolInvocation, reason: String) -> PermissionDenial {
        PermissionDenial {
            tool_name: call.tool_name.clone(),
            tool_use_id: Some(call.call_id.clone()),
            tool_input: Some(call.input.clone()),
            title: None,
            rule: None,
            reason: Text::from(reason),
            unattended: !self.is_planning,
        }
    }
}

impl LoggedAction {
    /// The extensions of its result.
    pub(super) fn into_extensions(self) -> impl Iterator<Item = (String, Json)> {
        let response = self.response.map(|it| (RESPONSE.to_owned(), it));
        let id = (CALL_ID.to_owned(), self.call_id);
        std::iter::once(id).chain(response)
    }
}

/// The extensions of an event that comes from the rollout.
fn derived(response: Option<&Json>) -> Vec<(String, Json)> {
    let mark = (FROM_ROLLOUT.to_owned(), Json::from_value(&true));
    let response = response.map(|it| (RESPONSE.to_owned(), it.clone()));
    std::iter::once(mark).chain(response).collect()
}

/// The entry of a prompt, on one line.
pub fn prompt_entry(prompt: Token<'_>) -> String {
    let members = [("prompt", own::owned_json(prompt))];
    Json::object(members).as_str().to_owned()
}

/// The circumstances of a call in the rollout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallContext {
    /// The number of the model's response that made it, where responses are counted.
    pub response: Option<u64>,
    /// The sandbox of the turn.
    pub sandbox: Option<CodexSandbox>,
}

impl CallContext {
    fn members(self) -> impl Iterator<Item = (&'static str, Json)> {
        let response = self.response.map(|it| ("response", Json::from_value(&it)));
        let sandbox = self.sandbox.map(CodexSandbox::as_str);
        let sandbox = sandbox.map(|it| ("sandbox", Json::from_value(&it)));
        response.into_iter().chain(sandbox)
    }
}

/// The entry of an action that the stream has as its item of this number, on one line.
pub fn action_entry(number: u64, call_id: &str, context: CallContext) -> String {
    let members = [
        ("action", Json::from_value(&number)),
        ("callId", Json::from_value(&call_id)),
    ];
    Json::object(members.into_iter().chain(context.members()))
        .as_str()
        .to_owned()
}

/// The entry of a call that the stream leaves out, on one line. `call` and `output` are payloads of the rollout.
pub fn call_entry(
    place: StreamPlace,
    context: CallContext,
    call: Token<'_>,
    output: Token<'_>,
) -> String {
    let members = [
        ("words", Json::from_value(&place.words)),
        ("actions", Json::from_value(&place.actions)),
        ("call", own::owned_json(call)),
        ("output", own::owned_json(output)),
    ];
    Json::object(members.into_iter().chain(context.members()))
        .as_str()
        .to_owned()
}
