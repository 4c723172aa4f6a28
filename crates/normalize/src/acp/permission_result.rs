//! The client's answers to the agent's permission requests.
//!
//! Our own client marks them with the reason of its decision, under `_meta.lapidary` of a result and `data.lapidary` of an error.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::Body;
use lapidary_vocab::event::{DecidedBy, PermissionDecision, PermissionOutcome};

use super::AcpNormalizer;
use super::line::AcpLine;
use super::permission::PERMISSION;
use super::requests::{PendingRequest, RequestedAction};
use crate::{EventBuffer, own};

/// An answer: a result, or an error.
pub(super) type RpcAnswer<'a> = Result<Token<'a>, Token<'a>>;

impl AcpNormalizer {
    /// Emits the decision, if the answer is one: an error about a missing file is none.
    pub(super) fn emit_decision(
        &mut self,
        asked: &PendingRequest,
        wish: &RequestedAction,
        answer: RpcAnswer<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let mark = decision_mark(answer);
        let is_permission = asked.method == PERMISSION;
        let on_the_wire = || {
            is_permission
                .then(|| permission_outcome(wish, answer))
                .flatten()
        };
        let Some(decision) = marked_outcome(mark).or_else(on_the_wire) else {
            return;
        };
        if is_permission && answer.is_err() && decision == PermissionOutcome::Denied {
            let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
            session.denials.could_not_refuse(); // else an option would say so
        }
        let said = |name| {
            let token = own::string_token(mark?.get(name))?;
            Some(current.shared_text(token)).filter(|text| !text.is_empty())
        };
        let refusal = || own::string_token(answer.err()?.get("message"));
        let reason = said("reason").or_else(|| Some(current.shared_text(refusal()?)));
        let body = Body::PermissionDecision(Box::new(PermissionDecision {
            request_id: wish.request_id.clone(),
            tool_use_id: wish.tool_use_id.clone(),
            tool_name: wish.tool_name.clone(),
            tool_kind: wish.tool_kind.clone(),
            tool_input: wish.input.clone(),
            title: wish.title.clone(),
            command: wish.command.clone(),
            content: wish.content.clone(),
            options: wish.options.clone(),
            decision,
            decided_by: said("decidedBy").map(|word| DecidedBy::from(word.to_str().as_ref())),
            rule: said("rule"),
            reason,
            unattended: is_marked(mark, "unattended"),
            for_run: is_marked(mark, "forRun"),
            option_id: chosen_option(answer).map(|id| current.shared_text(id)),
        }));
        let extra = wish.derived_extra().into_iter().collect();
        self.emit_event(body, extra, current, out);
    }
}

fn is_marked(mark: Option<Token<'_>>, name: &str) -> bool {
    let value = mark.and_then(|mark| mark.get(name)?.bool());
    value.unwrap_or_default()
}

pub(super) fn decision_mark(answer: RpcAnswer<'_>) -> Option<Token<'_>> {
    let mark = match answer {
        Ok(result) => result.get("_meta")?.get("lapidary"),
        Err(error) => error.get("data")?.get("lapidary"),
    };
    mark?.if_kind(TokenKind::Object)
}

/// Our own mark counts for more than the selected option: where an agent offers no way to refuse, a denial has to be sent as
/// another answer.
fn marked_outcome(mark: Option<Token<'_>>) -> Option<PermissionOutcome> {
    let word = own::string_token(mark?.get("decision"))?.string()?;
    Some(PermissionOutcome::from(word.as_ref()))
}

fn permission_outcome(wish: &RequestedAction, answer: RpcAnswer<'_>) -> Option<PermissionOutcome> {
    let Ok(result) = answer else {
        return Some(PermissionOutcome::Denied);
    };
    let word = own::string_token(result.get("outcome")?.get("outcome"))?.string()?;
    if word != "selected" {
        return Some(PermissionOutcome::from(word.as_ref()));
    }
    let id = chosen_option(answer).map(own::owned_text);
    let option = id.and_then(|id| wish.options.iter().find(|option| option.id == id));
    let kind = option.map_or("".into(), |option| option.kind.to_str());
    Some(if kind.starts_with("allow") {
        PermissionOutcome::Allowed
    } else if kind.starts_with("reject") {
        PermissionOutcome::Denied
    } else {
        // An option that was not offered, or of an unknown kind: its meaning is unknown.
        PermissionOutcome::Other(word.into_owned())
    })
}

fn chosen_option(answer: RpcAnswer<'_>) -> Option<Token<'_>> {
    own::string_token(answer.ok()?.get("outcome")?.get("optionId"))
}
