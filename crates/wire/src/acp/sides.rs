//! Which side wrote a message that stands alone, without a record around it.
//!
//! The method of a request or a notification belongs to one side. An answer belongs to the side that was asked: it carries the id of a
//! request that is still open. Both sides count their own ids, so one id can be open on both; then the result's members decide, and
//! where they do not, the later request.

use lapidary_json::{Token, TokenKind};

use super::envelope::{Envelope, RpcId, RpcMessage, parse};
use super::transcript::LineAuthor;

/// How many requests of a side may be open. Of more, the oldest is forgotten.
const MOST_OPEN: usize = 1024;

/// The methods that a client calls. Everything else is the agent's: `session/update`, `session/request_permission`, files, terminals,
/// and extensions of which nothing is known.
const OF_CLIENT: &[&str] = &[
    "initialize",
    "authenticate",
    "logout",
    "auth/login",
    "auth/logout",
    "session/new",
    "session/load",
    "session/resume",
    "session/fork",
    "session/list",
    "session/close",
    "session/delete",
    "session/prompt",
    "session/cancel",
    "_lapidary/steer",
    "session/set_mode",
    "session/set_model",
    "session/set_config_option",
    "providers/list",
    "providers/set",
    "providers/disable",
];

/// Follows a conversation of bare messages.
#[derive(Debug, Default)]
pub struct SideTracker {
    /// Requests without an answer yet, the oldest first.
    open: Vec<OpenRequest>,
    /// Whether there was a line of the client: else these are the lines of an agent alone.
    has_client: bool,
}

#[derive(Debug)]
struct OpenRequest {
    author: LineAuthor,
    id: String,
    method: String,
}

impl SideTracker {
    /// Which side wrote a line: the agent, if nothing tells.
    pub fn author(&mut self, line: &str) -> LineAuthor {
        let Envelope::Object { message, .. } = parse(line) else {
            return LineAuthor::Agent;
        };
        match message {
            RpcMessage::Request { id, method, .. } => {
                let author = self.caller(method);
                self.opens(author, id, method);
                author
            }
            RpcMessage::Notification { method, params } if method.is("$/cancel_request") => {
                let id = params.and_then(|params| params.get("requestId"));
                self.canceller(id)
            }
            RpcMessage::Notification { method, .. } => self.caller(method),
            RpcMessage::Result { id, result } => self.answerer(id, Some(result)),
            RpcMessage::Error { id, .. } => self.answerer(id, None),
            RpcMessage::Unknown => LineAuthor::Agent,
        }
    }

    fn caller(&mut self, method: Token<'_>) -> LineAuthor {
        if OF_CLIENT.iter().any(|known| method.is(known)) {
            self.has_client = true;
            LineAuthor::Client
        } else {
            LineAuthor::Agent
        }
    }

    fn opens(&mut self, author: LineAuthor, id: RpcId<'_>, method: Token<'_>) {
        if self.open.len() >= MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(OpenRequest {
            author,
            id: id.key().into_owned(),
            method: method.string().unwrap_or_default().into_owned(),
        });
    }

    /// The side that made a request may cancel it.
    fn canceller(&self, id: Option<Token<'_>>) -> LineAuthor {
        let key = id
            .and_then(RpcId::from_token)
            .map(RpcId::key)
            .unwrap_or_default();
        let asked = self.open.iter().rev().find(|request| request.id == key);
        asked.map_or(LineAuthor::Agent, |request| request.author)
    }

    fn answerer(&mut self, id: RpcId<'_>, result: Option<Token<'_>>) -> LineAuthor {
        let key = id.key();
        let latest = |author| {
            let mut open = self.open.iter();
            open.rposition(|request| request.author == author && request.id == key)
        };
        let answered = match (latest(LineAuthor::Client), latest(LineAuthor::Agent)) {
            (Some(client), Some(agent)) => {
                let fits = |place: usize| {
                    result.is_some_and(|it| result_fits_method(&self.open[place].method, it))
                };
                match (fits(client), fits(agent)) {
                    (true, false) => client,
                    (false, true) => agent,
                    _ => client.max(agent),
                }
            }
            (Some(client), None) => client,
            // The answer of an agent to a request that is not here may have the id of one of its own.
            (None, Some(agent)) => {
                let is_fitting =
                    result.is_some_and(|it| result_fits_method(&self.open[agent].method, it));
                if !self.has_client && !is_fitting {
                    return LineAuthor::Agent;
                }
                agent
            }
            (None, None) => return LineAuthor::Agent,
        };
        match self.open.remove(answered).author {
            LineAuthor::Client => LineAuthor::Agent,
            _ => LineAuthor::Client,
        }
    }
}

/// Whether a result has what only the answer to this method has.
fn result_fits_method(method: &str, result: Token<'_>) -> bool {
    let has = |name: &str, kind: TokenKind| {
        let member = result.get(name);
        member.is_some_and(|member| member.kind() == kind)
    };
    match method {
        "initialize" => result.get("protocolVersion").is_some(),
        "session/new" | "session/fork" => has("sessionId", TokenKind::String),
        "session/prompt" => has("stopReason", TokenKind::String),
        "session/list" => has("sessions", TokenKind::Array),
        "session/set_config_option" => has("configOptions", TokenKind::Array),
        "session/request_permission" => has("outcome", TokenKind::Object),
        "fs/read_text_file" => has("content", TokenKind::String),
        "terminal/create" => has("terminalId", TokenKind::String),
        "terminal/output" => has("output", TokenKind::String),
        "terminal/wait_for_exit" => ["exitCode", "signal", "exitStatus"]
            .iter()
            .any(|name| result.get(name).is_some()),
        "elicitation/create" => has("action", TokenKind::String),
        _ => false,
    }
}
