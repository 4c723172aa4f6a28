//! Which session a message belongs to, and which requests wait: the draft of streamable HTTP routes by headers, not by content.

use std::collections::HashMap;

use lapidary_json::Token;

/// How many unanswered requests of the server are remembered. An answer to a further one goes to no session.
const MOST_REQUESTS: usize = 1024;

/// Requests whose answer names a session that we then listen to.
const OPENING: [&str; 2] = ["session/new", "session/fork"];

/// Requests about a session whose answer comes on the stream of the connection.
const ANSWERED_BESIDE: [&str; 2] = ["session/load", "session/resume"];

/// The session of a message, or none if it is of the connection as a whole.
pub(super) type SessionScope = Option<String>;

/// The requests of both sides that have no answer yet, by the text of their ids.
#[derive(Debug, Default)]
pub(super) struct MessageRoutes {
    ours: HashMap<String, OpenRequest>,
    theirs: HashMap<String, SessionScope>,
}

#[derive(Debug)]
struct OpenRequest {
    scope: SessionScope,
    opens_session: bool,
    /// Whether the answer comes on the stream of the connection.
    is_of_connection: bool,
}

/// A message of ours.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutgoingRoute {
    /// Where it goes.
    pub(super) scope: SessionScope,
    /// Whether it is the first request of a connection.
    pub(super) is_initialize: bool,
}

impl MessageRoutes {
    /// Takes note of a message of ours.
    pub(super) fn note_sent(&mut self, message: Token<'_>) -> OutgoingRoute {
        let method = message.get("method").and_then(Token::string);
        let id = message.get("id").map(|id| id.as_str().to_owned());
        let Some(method) = method else {
            let scope = id.and_then(|id| self.theirs.remove(&id)).flatten();
            return OutgoingRoute {
                scope,
                is_initialize: false,
            };
        };
        let scope = session_id(message.get("params"));
        if let Some(id) = id {
            let request = OpenRequest {
                scope: scope.clone(),
                opens_session: OPENING.contains(&&*method),
                is_of_connection: scope.is_none() || ANSWERED_BESIDE.contains(&&*method),
            };
            self.ours.insert(id, request);
        }
        OutgoingRoute {
            scope,
            is_initialize: method == "initialize",
        }
    }

    /// Takes note of a message of the server, which came on the stream of this scope. Returns a session to listen to.
    pub(super) fn note_received(
        &mut self,
        message: Token<'_>,
        stream: &SessionScope,
    ) -> SessionScope {
        let id = message.get("id")?.as_str();
        if message.get("method").is_some() {
            if self.theirs.len() < MOST_REQUESTS {
                self.theirs.insert(id.to_owned(), stream.clone());
            }
            return None;
        }
        let request = self.ours.remove(id)?;
        let opened = session_id(message.get("result"));
        opened.filter(|_| request.opens_session)
    }

    /// Whether a request waits for an answer on the stream of this scope.
    pub(super) fn is_waiting(&self, stream: &SessionScope) -> bool {
        let mut requests = self.ours.values();
        match stream {
            None => requests.any(|request| request.is_of_connection),
            Some(_) => requests.any(|request| request.scope == *stream),
        }
    }
}

fn session_id(object: Option<Token<'_>>) -> SessionScope {
    Some(object?.get("sessionId")?.string()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Token<'_> {
        Token::parse(text).unwrap()
    }

    #[test]
    fn an_answer_goes_to_the_session_whose_stream_brought_the_request() {
        let mut routes = MessageRoutes::default();
        let session = Some("s".to_owned());
        let asked = r#"{"id": "p1", "method": "session/request_permission", "params": {}}"#;
        assert_eq!(routes.note_received(token(asked), &session), None);
        assert_eq!(
            routes
                .note_sent(token(r#"{"id": "p1", "result": 1}"#))
                .scope,
            session
        );
        assert_eq!(
            routes
                .note_sent(token(r#"{"id": "p1", "result": 1}"#))
                .scope,
            None
        );
    }

    #[test]
    fn only_an_answer_to_our_own_request_opens_a_session() {
        let mut routes = MessageRoutes::default();
        let opened = r#"{"id": 2, "result": {"sessionId": "s"}}"#;
        assert_eq!(routes.note_received(token(opened), &None), None);
        routes.note_sent(token(r#"{"id": 2, "method": "session/new", "params": {}}"#));
        assert!(routes.is_waiting(&None) && !routes.is_waiting(&Some("s".to_owned())));
        assert_eq!(
            routes.note_received(token(opened), &None),
            Some("s".to_owned())
        );
        assert!(!routes.is_waiting(&None));
        let prompt = r#"{"id": 3, "method": "session/prompt", "params": {"sessionId": "s"}}"#;
        assert_eq!(routes.note_sent(token(prompt)).scope, Some("s".to_owned()));
        assert!(routes.is_waiting(&Some("s".to_owned())) && !routes.is_waiting(&None));
    }
}
