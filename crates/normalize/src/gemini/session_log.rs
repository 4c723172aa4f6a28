//! Tool calls as Gemini CLI's session log has them, for fields that its streams omit.
//!
//! Over ACP Gemini CLI (0.61) sends no arguments, and the output of few tools; in stream-json, structured outputs are missing.
//! The log that it writes meanwhile has both. The caller reads the log and hands over one [`entry`] for each call, before the
//! line that ends the call.

use std::collections::HashMap;

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::DiffBlock;
use lapidary_vocab::{Json, Number, Text};
use lapidary_wire::gemini::session::{SessionToolCall, ToolCallResult};

use crate::own;

/// The extension that names the fields of an event that come from the log.
pub(crate) const DERIVED: &str = "gemini.sessionLog";

/// The extension that has the number of the model's response that a call belongs to.
pub(crate) const RESPONSE: &str = "gemini.response";

/// A call as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoggedCall {
    /// The arguments, if they are an object.
    pub(crate) input: Option<Json>,
    /// The result that the model got.
    pub(crate) output: Option<Json>,
    /// The change of a file.
    pub(crate) diff: Option<DiffBlock>,
    /// Which of the model's responses made it: calls of one response belong together.
    pub(crate) response: Option<u64>,
}

impl LoggedCall {
    fn from_call(call: &SessionToolCall<'_>, response: Option<u64>) -> Self {
        let text = |name| {
            let value = call.result_display.and_then(|display| display.get(name));
            own::string_token(value).map(own::owned_text)
        };
        let diff = text("fileDiff").map(|unified| DiffBlock {
            path: text("filePath").or_else(|| text("fileName")),
            old_text: text("originalContent"),
            new_text: text("newContent"),
            unified: Some(unified),
        });
        let args = call.args.and_then(|args| args.if_kind(TokenKind::Object));
        let said = call.result().map(ToolCallResult::token);
        let said = said.and_then(|said| said.if_kind(TokenKind::String));
        Self {
            input: args.map(own::owned_json),
            output: said.filter(|said| !said.is("")).map(own::owned_json),
            diff,
            response,
        }
    }
}

/// A turn as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoggedTurn {
    /// The log has the prompt, and no answer of the model to it.
    pub(crate) is_unanswered: bool,
    /// Tokens that were read from a cache, and tokens in all.
    pub(crate) cached: Option<Number>,
    pub(crate) total: Option<Number>,
}

impl LoggedTurn {
    fn from_token(entry: Token<'_>) -> Self {
        let count = |name| Some(Number::from(entry.get(name)?.u64()?));
        Self {
            is_unanswered: entry.get("isUnanswered").and_then(Token::bool) == Some(true),
            cached: count("cached"),
            total: count("total"),
        }
    }
}

/// Calls and turns that wait for the line that ends them.
#[derive(Debug, Default)]
pub(crate) struct LoggedCalls {
    /// Under their sessions and ids.
    calls: HashMap<(String, String), LoggedCall>,
    /// Turns, under their sessions and the ids of their requests over ACP.
    turns: HashMap<(String, String), LoggedTurn>,
}

impl LoggedCalls {
    /// Takes in an entry. A line of another form is ignored.
    pub(crate) fn push(&mut self, entry: &str) {
        let Ok(entry) = Token::parse(entry) else {
            return;
        };
        let Some(session) = own::string_token(entry.get("sessionId")).and_then(Token::string)
        else {
            return;
        };
        if let Some(call) = entry.get("toolCall") {
            let call = SessionToolCall::from_token(call);
            if let Some(id) = own::string_token(call.id).and_then(Token::string) {
                let key = (session.into_owned(), id.into_owned());
                let response = entry.get("response").and_then(Token::u64);
                self.calls
                    .insert(key, LoggedCall::from_call(&call, response));
            }
        } else if let Some(turn) = entry.get("turn")
            && let Some(id) = own::string_token(turn.get("request")).and_then(Token::string)
        {
            let key = (session.into_owned(), id.into_owned());
            self.turns.insert(key, LoggedTurn::from_token(turn));
        }
    }

    /// The turn that the answer to this request ends.
    pub(crate) fn take_turn(&mut self, session: Option<&Text>, id: &str) -> Option<LoggedTurn> {
        if self.turns.is_empty() {
            return None;
        }
        let session = session.map(Text::to_string).unwrap_or_default();
        self.turns.remove(&(session, id.to_owned()))
    }

    /// The call, which is needed once.
    pub(crate) fn take_call(&mut self, session: Option<&Text>, id: &Text) -> Option<LoggedCall> {
        if self.calls.is_empty() {
            return None;
        }
        let session = session.map(Text::to_string).unwrap_or_default();
        self.calls.remove(&(session, id.to_string()))
    }
}

/// A turn in the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnInLog {
    /// It has the prompt, and no answer of the model to it.
    pub is_unanswered: bool,
    /// Tokens that were read from a cache, if they were counted.
    pub cached: Option<u64>,
    /// All tokens, if they were counted.
    pub total: Option<u64>,
}

/// The entry of a turn, by the id of its request over ACP.
pub fn turn_entry(session: &str, request: &str, turn: TurnInLog) -> String {
    let text = |it: &str| Json::from(&Text::from(it.to_owned()));
    let mut members = vec![("request", text(request))];
    if turn.is_unanswered {
        members.push(("isUnanswered", Json::from_value(&true)));
    }
    let counts = [("cached", turn.cached), ("total", turn.total)].into_iter();
    members.extend(counts.filter_map(|(name, count)| Some((name, Json::from_value(&count?)))));
    let members = [
        ("sessionId", text(session)),
        ("turn", Json::object(members)),
    ];
    Json::object(members).as_str().to_owned()
}

/// The entry of a call, on one line: the call is an element of `toolCalls` of a record, and `response` the number of the model's response
/// that made it.
pub fn entry(session: &str, tool_call: Token<'_>, response: u64) -> String {
    let members = [
        ("sessionId", Json::from(&Text::from(session.to_owned()))),
        ("response", Json::from_value(&response)),
        ("toolCall", own::owned_json(tool_call)),
    ];
    Json::object(members).as_str().to_owned()
}
