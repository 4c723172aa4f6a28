//! Tool calls as Gemini CLI's session log has them, for what its streams leave out.
//!
//! Over ACP Gemini CLI (0.61) sends no arguments, and the output of few tools; in stream-json, structured outputs are missing. The log
//! that it writes meanwhile has both. The caller reads the log and hands over one [`entry`] for each call, before the line that
//! ends the call.

use std::collections::{HashMap, HashSet};

use lapidary_json::{Kind, Token};
use lapidary_vocab::content::DiffBlock;
use lapidary_vocab::{Json, Text};
use lapidary_wire::gemini::session::ToolCall;

use crate::own;

/// The extension that names the fields of an event that come from the log.
pub(crate) const DERIVED: &str = "gemini.sessionLog";

/// A call as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoggedCall {
    /// The arguments, if they are an object.
    pub(crate) input: Option<Json>,
    /// What the model was told.
    pub(crate) output: Option<Json>,
    /// What was changed in a file.
    pub(crate) diff: Option<DiffBlock>,
}

impl LoggedCall {
    fn of(call: &ToolCall<'_>) -> Self {
        let text = |name| {
            let value = call.result_display.and_then(|display| display.get(name));
            own::string(value).map(own::text)
        };
        let diff = text("fileDiff").map(|unified| DiffBlock {
            path: text("filePath").or_else(|| text("fileName")),
            old_text: text("originalContent"),
            new_text: text("newContent"),
            unified: Some(unified),
        });
        let args = call.args.and_then(|args| args.of(Kind::Object));
        let said = call.result().map(|result| result.token());
        let said = said.and_then(|said| said.of(Kind::String));
        Self {
            input: args.map(own::json),
            output: said.filter(|said| !said.is("")).map(own::json),
            diff,
        }
    }
}

/// Calls that wait for the line that ends them.
#[derive(Debug, Default)]
pub(crate) struct LoggedCalls {
    /// Under their sessions and ids.
    calls: HashMap<(String, String), LoggedCall>,
    /// Prompts that the model has not answered: their sessions and the ids of their requests.
    unanswered: HashSet<(String, String)>,
}

impl LoggedCalls {
    /// Takes in an entry. Anything else is no entry of ours, and ignored.
    pub(crate) fn push(&mut self, entry: &str) {
        let Ok(entry) = Token::parse(entry) else {
            return;
        };
        let Some(session) = own::string(entry.get("sessionId")).and_then(Token::string) else {
            return;
        };
        if let Some(call) = entry.get("toolCall") {
            let call = ToolCall::of(call);
            if let Some(id) = own::string(call.id).and_then(Token::string) {
                let key = (session.into_owned(), id.into_owned());
                self.calls.insert(key, LoggedCall::of(&call));
            }
        } else if let Some(id) = own::string(entry.get("unansweredPrompt")).and_then(Token::string) {
            let key = (session.into_owned(), id.into_owned());
            self.unanswered.insert(key);
        }
    }

    /// True if the log has no answer of the model to this prompt, though it has the prompt.
    pub(crate) fn is_unanswered(&self, session: Option<&Text>, id: &str) -> bool {
        let session = session.map(Text::to_string).unwrap_or_default();
        self.unanswered.contains(&(session, id.to_owned()))
    }

    /// The call, which is needed once.
    pub(crate) fn take(&mut self, session: Option<&Text>, id: &str) -> Option<LoggedCall> {
        if self.calls.is_empty() {
            return None;
        }
        let session = session.map(Text::to_string).unwrap_or_default();
        self.calls.remove(&(session, id.to_owned()))
    }
}

/// The entry of a prompt that the model has not answered, by the id of its request over ACP.
pub fn unanswered_entry(session: &str, request: &str) -> String {
    let members = [
        ("sessionId", Json::from(&Text::from(session.to_owned()))),
        ("unansweredPrompt", Json::from(&Text::from(request.to_owned()))),
    ];
    Json::object(members).as_str().to_owned()
}

/// The entry of a call, on one line: the call is an element of `toolCalls` of a record.
pub fn entry(session: &str, tool_call: Token<'_>) -> String {
    let members = [
        ("sessionId", Json::from(&Text::from(session.to_owned()))),
        ("toolCall", own::json(tool_call)),
    ];
    Json::object(members).as_str().to_owned()
}
