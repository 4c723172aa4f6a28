//! Elicitations, the agent's questions to the user: a form to be filled in, a page to be opened.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{DecidedBy, ElicitationAction, ElicitationRequest, ElicitationResult};
use lapidary_vocab::{Body, Text};

use super::AcpNormalizer;
use super::line::AcpLine;
use super::permission_result::{RpcAnswer, decision_mark};
use super::requests::RequestedAction;
use crate::{EventBuffer, own};

/// The method.
pub(super) const ELICITATION: &str = "elicitation/create";

impl AcpNormalizer {
    pub(super) fn request_elicitation(
        &mut self,
        wish: &mut RequestedAction,
        params: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(params) = params.and_then(|params| params.if_kind(TokenKind::Object)) else {
            return current.complain_of_missing("elicitation/create.params", params);
        };
        wish.request_id = self.request_ids.unique_id(&wish.request_id);
        let text = |name: &str| Some(current.shared_text(own::string_token(params.get(name))?));
        let schema = params.get("requestedSchema").and_then(Token::non_null);
        let body = Body::ElicitationRequest(Box::new(ElicitationRequest {
            request_id: wish.request_id.clone(),
            mode: text("mode").unwrap_or_default(),
            message: text("message").unwrap_or_default(),
            requested_schema: schema.map(|schema| current.shared_json(schema)),
            url: text("url"),
            elicitation_id: text("elicitationId"),
            tool_use_id: text("toolCallId"),
        }));
        self.emit_event(body, Vec::new(), current, out);
    }

    /// The client answers. A refusal is no answer of a user's.
    pub(super) fn answer_elicitation(
        &mut self,
        wish: &RequestedAction,
        answer: RpcAnswer<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Ok(result) = answer else { return };
        let Some(action) = own::string_token(result.get("action")).and_then(Token::string) else {
            return;
        };
        let mark = decision_mark(answer);
        let said = |name| -> Option<Text> {
            Some(current.shared_text(own::string_token(mark?.get(name))?))
        };
        let content = result.get("content").and_then(Token::non_null);
        let body = Body::ElicitationResult(Box::new(ElicitationResult {
            request_id: wish.request_id.clone(),
            action: ElicitationAction::from(action.as_ref()),
            content: content.map(|content| current.shared_json(content)),
            decided_by: said("decidedBy").map(|word| DecidedBy::from(word.to_str().as_ref())),
            reason: said("reason"),
        }));
        self.emit_event(body, Vec::new(), current, out);
    }
}
