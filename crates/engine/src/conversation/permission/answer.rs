//! The answer to a request: the agent's option for the decision, and, where the protocol has room for it, the rule, hook or
//! person that decided and the reason. So the agent sees the reason, and a recording shows which rule decided.

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::Json;
use lapidary_vocab::event::{DecidedBy, PermissionOutcome};

use crate::acp::RpcError;
use crate::policy::{Decision, PermissionEffect, choose, only_always};

/// Why a yes is not said for a caller.
pub(super) const ONLY_ALWAYS: &str =
    "the agent offers only `allow_always`, and would not ask again";

/// The option that the answer to a prompt named, if the agent offers it; else the option that expresses the decision.
pub(super) fn pick_option(
    options: Option<&Json>,
    named: Option<String>,
    decision: &mut Decision,
) -> Option<String> {
    if let Some(named) = named.filter(|id| is_offered(options, id, decision.effect)) {
        return Some(named);
    }
    // The prompt tells a person at the terminal that this is the only yes.
    let is_persons_yes =
        decision.effect == PermissionEffect::Allow && decision.by == DecidedBy::User;
    if is_persons_yes && let Some(always) = only_always(options?) {
        decision.reason = format!("{}; {ONLY_ALWAYS}", decision.reason);
        return Some(always.to_string());
    }
    let choice = choose(options?, decision.effect)?;
    if let Some(note) = choice.note {
        decision.reason = format!("{}; {note}", decision.reason);
    }
    Some(choice.option_id.to_string())
}

/// The denial of an allowed action for which the agent offers no option.
pub(super) fn denial_without_option(decision: Decision, options: Option<&Json>) -> Decision {
    let why = match options.and_then(only_always) {
        Some(_) => ONLY_ALWAYS,
        None => "the agent offers no way to say so",
    };
    Decision {
        effect: PermissionEffect::Deny,
        reason: format!("{}, but {why}", decision.reason),
        is_for_run: false,
        ..decision
    }
}

/// Whether there is such an option, and it does not say the opposite.
fn is_offered(options: Option<&Json>, id: &str, effect: PermissionEffect) -> bool {
    let opposite = match effect {
        PermissionEffect::Allow => "reject",
        PermissionEffect::Deny | PermissionEffect::Ask => "allow",
    };
    let mut offered = options
        .into_iter()
        .flat_map(|options| options.token().elements());
    offered.any(|option| {
        let kind = option.get("kind").and_then(Token::string);
        let is_opposite = kind.is_some_and(|kind| kind.starts_with(opposite));
        option.get("optionId").is_some_and(|offered| offered.is(id)) && !is_opposite
    })
}

pub(super) fn selected_answer(option: &str, decision: &Decision) -> Json {
    let outcome = Json::object([
        ("outcome", Json::from_value(&"selected")),
        ("optionId", Json::from_value(&option)),
    ]);
    Json::object([("outcome", outcome), ("_meta", decision_mark(decision))])
}

pub(super) fn cancelled_answer() -> Json {
    let outcome = Json::object([("outcome", Json::from_value(&"cancelled"))]);
    Json::object([("outcome", outcome)])
}

/// The key of our members in `_meta`.
const OURS: &str = "lapidary";

/// A decision as answers carry it.
fn decision_mark(decision: &Decision) -> Json {
    let outcome = match decision.effect {
        PermissionEffect::Allow => PermissionOutcome::Allowed,
        PermissionEffect::Deny | PermissionEffect::Ask => PermissionOutcome::Denied,
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
pub(super) fn marked_answer(answer: &Json, decision: &Decision) -> Json {
    let members = answer.token().members();
    let members: Vec<_> = members
        .map(|(key, value)| {
            let value = Json::from(SharedToken::from(value));
            (key.string().unwrap_or_default().into_owned(), value)
        })
        .collect();
    let members = members
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    Json::object(members.chain([("_meta", decision_mark(decision))]))
}

/// A refusal of the workspace as a decision: no answer can allow paths outside of it.
pub(super) fn out_of_reach(refused: RpcError) -> RpcError {
    if refused.code != RpcError::DENIED {
        return refused;
    }
    let reason = refused.message.to_string();
    refusal_error(&Decision::new(
        PermissionEffect::Deny,
        DecidedBy::Default,
        reason,
    ))
}

/// A refusal for a decision.
pub(super) fn refusal_error(decision: &Decision) -> RpcError {
    let mut refusal = RpcError::new(RpcError::DENIED, decision.reason.clone());
    refusal.data = Some(decision_mark(decision));
    refusal
}
