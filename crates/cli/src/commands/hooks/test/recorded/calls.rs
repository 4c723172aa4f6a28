//! The calls of a recording: what was known of each when it had to be decided, and when it was done.

use std::collections::HashMap;

use lapidary::drive::hooks::{Wanted, tool_response};
use lapidary::drive::policy::Deed;
use lapidary::vocab::event::{
    PermissionOutcome, PermissionRequest, ToolCallStatus, ToolCompletion,
};
use lapidary::vocab::{Body, Event as Told, Json, Text};
use lapidary::wire::gemini::hooks::{Details, ToolCall};
use serde_json::Value;

/// Who tells the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Teller {
    /// Gemini CLI itself: its own names, and its own arguments.
    Gemini,
    /// Lapidary, around an agent that is spoken to.
    Lapidary,
}

/// What is known of a call.
#[derive(Clone)]
pub(super) struct Known {
    deed: Deed,
    input: Json,
}

/// A call of a tool.
pub(super) struct Call {
    /// What was known when it had to be decided.
    pub(super) asked: Known,
    /// What is known by now.
    latest: Known,
    pub(super) is_asked: bool,
    is_held_back: bool,
}

/// A session, and a call in it.
type Key = (String, String);

#[derive(Default)]
pub(super) struct Calls {
    /// In the order in which they were first heard of.
    pub(super) all: Vec<Call>,
    /// Requests for permission.
    pub(super) questions: Vec<Known>,
    /// What is done, and what came of it. Nothing comes of what was held back, but Gemini CLI does not tell what was.
    pub(super) done: Vec<(Known, Value)>,
    /// The places of those that have not ended.
    open: HashMap<Key, usize>,
    /// The agent has its client do things for it, which belong to some call: not even the agent says to which.
    pub(super) is_served: bool,
}

impl Known {
    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            deed: &self.deed,
            input: &self.input,
        }
    }

    /// What hooks are told of it, once for each name that its tool goes by.
    pub(super) fn told(&self, teller: Teller) -> Vec<ToolCall> {
        let wanted = self.wanted();
        match teller {
            Teller::Gemini => vec![ToolCall {
                name: self.deed.tool.clone().unwrap_or_default(),
                input: value(&self.input),
                ..ToolCall::default()
            }],
            Teller::Lapidary => {
                let names = wanted.names().into_iter();
                names.map(|name| wanted.call(name)).collect()
            }
        }
    }

    pub(super) fn notice(&self) -> Details {
        self.wanted().notice()
    }

    /// A file or a terminal of the client's.
    fn is_service(&self) -> bool {
        self.is_file() || self.tool().starts_with("terminal/")
    }

    fn is_file(&self) -> bool {
        self.tool().starts_with("fs/")
    }

    fn tool(&self) -> &str {
        self.deed.tool.as_deref().unwrap_or_default()
    }
}

impl Call {
    fn new(known: Known, is_asked: bool) -> Self {
        Self {
            asked: known.clone(),
            latest: known,
            is_asked,
            is_held_back: false,
        }
    }
}

impl Calls {
    /// Takes in an event, and what it comes to.
    pub(super) fn note(&mut self, told: &Told, deed: Option<Deed>) {
        match (&told.body, deed) {
            (Body::ToolInvocation(call), Some(deed)) => {
                let input = call.input.clone();
                self.called(key(told, &call.call_id), Known { deed, input });
            }
            (Body::PermissionRequest(request), Some(deed)) => self.asked(told, request, deed),
            (Body::PermissionDecision(decision), _)
                if decision.decision != PermissionOutcome::Allowed =>
            {
                let call = decision.tool_use_id.as_ref();
                let at = call.and_then(|call| self.open.get(&key(told, call)));
                if let Some(at) = at {
                    self.all[*at].is_held_back = true;
                }
            }
            (Body::ToolCompletion(done), _) => self.ended(&key(told, &done.call_id), done),
            _ => {}
        }
    }

    /// A call may be told of several times, each time with more of it.
    fn called(&mut self, key: Key, known: Known) {
        self.is_served |= known.is_service();
        let Some(at) = self.open.get(&key) else {
            let is_asked = known.is_service();
            self.open.insert(key, self.all.len());
            self.all.push(Call::new(known, is_asked));
            return;
        };
        let call = &mut self.all[*at];
        if !call.is_asked {
            call.asked = known.clone();
        }
        call.latest = known;
    }

    /// Hooks are asked each time the agent asks.
    fn asked(&mut self, told: &Told, request: &PermissionRequest, deed: Deed) {
        let input = request.tool_input.clone();
        let known = Known { deed, input };
        self.questions.push(known.clone());
        let id = request.tool_use_id.as_ref().unwrap_or(&request.request_id);
        let key = key(told, id);
        let call = Call::new(known, true);
        match self.open.get(&key) {
            Some(at) if !self.all[*at].is_asked => self.all[*at] = call,
            _ => {
                self.open.insert(key, self.all.len());
                self.all.push(call);
            }
        }
    }

    fn ended(&mut self, key: &Key, done: &ToolCompletion) {
        let Some(at) = self.open.remove(key) else {
            return;
        };
        let call = &self.all[at];
        // An agent may go on with what was denied.
        let is_held_back = call.is_held_back && done.status != ToolCallStatus::Completed;
        // A file belongs to some call, which has an end of its own.
        if !is_held_back && !call.latest.is_file() {
            self.done.push((call.latest.clone(), tool_response(done)));
        }
    }
}

fn key(told: &Told, id: &Text) -> Key {
    let session = told.base.session_id.as_ref().map(Text::to_str);
    (session.unwrap_or_default().into_owned(), id.to_string())
}

/// What serde cannot hold is a text here.
fn value(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap_or_else(|_| json.as_str().into())
}
