//! Which layer holds a rule that denies each kind of action.

use lapidary_vocab::capabilities::RuleSupport;
use lapidary_vocab::doctor::{Check, CheckName, CheckState};

use crate::agents::own_policy::denial_words;

/// The enforcement of denials over ACP, and without it.
pub(super) fn check(rules: &RuleSupport) -> Option<Check> {
    let acp = denial_words(rules.acp_denials.as_ref()?);
    let without = rules.stream_json_denials.as_ref().map(denial_words);
    let without = without.map(|words| format!("with stream-json: {words}"));
    let message = format!("denials are {acp}");
    Some(Check::new(CheckName::Rules, CheckState::Ok, message).details(without))
}
