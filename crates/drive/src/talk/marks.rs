//! Our answers to an agent say who decided and why, where the protocol leaves room for it: so the agent sees the reason, and a
//! recording tells which rule decided.

use lapidary_vocab::Json;
use lapidary_vocab::event::{DecidedBy, PermissionOutcome};

use crate::acp::Refusal;
use crate::policy::{Decision, Effect};

/// The key of what is ours.
const OURS: &str = "lapidary";

/// A decision as answers carry it.
pub(super) fn mark(decision: &Decision) -> Json {
    let outcome = match decision.effect {
        Effect::Allow => PermissionOutcome::Allowed,
        Effect::Deny | Effect::Ask => PermissionOutcome::Denied,
    };
    let rule = decision.rule.as_ref();
    let rule = rule.map(|rule| ("rule", Json::from_value(rule)));
    let members = [
        ("decision", Json::from_value(&outcome)),
        ("decidedBy", Json::from_value(&decision.by)),
        ("reason", Json::from_value(&decision.reason)),
    ];
    let unattended = decision
        .is_unattended
        .then(|| ("unattended", Json::from_value(&true)));
    let for_run = decision
        .is_for_run
        .then(|| ("forRun", Json::from_value(&true)));
    let more = rule.into_iter().chain(unattended).chain(for_run);
    let mark = Json::object(members.into_iter().chain(more));
    Json::object([(OURS, mark)])
}

/// An answer with its decision.
pub(super) fn marked(answer: &Json, decision: &Decision) -> Json {
    let members = answer.token().members();
    let members: Vec<_> = members
        .map(|(key, value)| {
            let value = Json::from(lapidary_json::SharedToken::from(value));
            (key.string().unwrap_or_default().into_owned(), value)
        })
        .collect();
    let members = members
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    Json::object(members.chain([("_meta", mark(decision))]))
}

/// What is out of reach whatever anybody says is a decision too.
pub(super) fn out_of_reach(refused: Refusal) -> Refusal {
    if refused.code != Refusal::DENIED {
        return refused;
    }
    let reason = refused.message.to_string();
    refusal(&Decision::new(Effect::Deny, DecidedBy::Default, reason))
}

/// A refusal for a decision.
pub(super) fn refusal(decision: &Decision) -> Refusal {
    let mut refusal = Refusal::new(Refusal::DENIED, decision.reason.clone());
    refusal.data = Some(mark(decision));
    refusal
}
