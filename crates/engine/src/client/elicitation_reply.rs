//! The answer to an elicitation: the client's, or ours where no client answers.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::Json;
use lapidary_vocab::command::ElicitationResponse;
use lapidary_vocab::event::{DecidedBy, ElicitationAction};

/// The answer to an elicitation, as the agent gets it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ElicitationReply {
    action: ElicitationAction,
    content: Option<Json>,
    by: DecidedBy,
    reason: Option<&'static str>,
}

impl ElicitationReply {
    pub(crate) fn by_us(action: ElicitationAction, reason: &'static str) -> Self {
        Self {
            action,
            content: None,
            by: DecidedBy::Default,
            reason: Some(reason),
        }
    }

    pub(crate) fn declined_by_us(reason: &'static str) -> Self {
        Self::by_us(ElicitationAction::Decline, reason)
    }

    /// A command as a reply, or the reason why it is invalid.
    pub(crate) fn from_response(response: ElicitationResponse) -> Result<Self, String> {
        let action = ElicitationAction::from(&*response.action.to_str());
        if let ElicitationAction::Other(word) = &action {
            let word: String = word.chars().take(40).collect();
            return Err(format!(
                "`{word}` is not an answer: use `accept`, `decline` or `cancel`"
            ));
        }
        let content = response
            .content
            .filter(|it| it.token().non_null().is_some());
        if content.is_some() && action != ElicitationAction::Accept {
            return Err(format!("`{action}` has no `content`"));
        }
        if content.as_ref().is_some_and(|it| !is_content(it.token())) {
            let wanted = "an object whose values are texts, numbers, booleans or lists of texts";
            return Err(format!("`content` has to be {wanted}"));
        }
        Ok(Self {
            action,
            content,
            by: DecidedBy::Peer,
            reason: None,
        })
    }

    pub(crate) fn into_json(self) -> Json {
        let reason = self.reason.map(|it| ("reason", Json::from_value(&it)));
        let mark = [("decidedBy", Json::from_value(&self.by))];
        let mark = Json::object(mark.into_iter().chain(reason));
        let action = [("action", Json::from_value(&self.action))];
        let content = self.content.map(|content| ("content", content));
        let ours = [("_meta", Json::object([("lapidary", mark)]))];
        Json::object(action.into_iter().chain(content).chain(ours))
    }
}

/// Whether an agent can read this as the content of a form.
fn is_content(content: Token<'_>) -> bool {
    let is_text = |token: Token<'_>| token.kind() == TokenKind::String;
    let is_value = |value: Token<'_>| match value.kind() {
        TokenKind::String | TokenKind::Number | TokenKind::Bool => true,
        TokenKind::Array => value.elements().all(is_text),
        TokenKind::Object | TokenKind::Null => false,
    };
    content.kind() == TokenKind::Object && content.members().all(|(_, value)| is_value(value))
}
