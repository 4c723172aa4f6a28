//! Whether a hook matches an event.
//!
//! Gemini CLI makes a JavaScript regular expression of a tool's matcher ([`crate::js::regex`]). A hook whose matcher cannot be
//! decided runs: the hook may exist to say no.

use super::{Hook, MatcherKind};
use crate::js;
use crate::js::regex::{PatternMatch, search_pattern};

/// The result of a matcher.
#[derive(Debug)]
pub(super) struct MatcherJudgement {
    pub(super) matches: bool,
    /// Why that is not certain.
    pub(super) doubt: Option<String>,
}

impl From<bool> for MatcherJudgement {
    fn from(matches: bool) -> Self {
        Self {
            matches,
            doubt: None,
        }
    }
}

/// Compares a hook's matcher with a tool's name or a session's word.
pub(super) fn judge_matcher(hook: &Hook, context: Option<&str>) -> MatcherJudgement {
    let (Some(matcher), Some(context)) = (&hook.matcher, context) else {
        return true.into();
    };
    let matcher = js::trim(matcher);
    if matcher.is_empty() || matcher == "*" || context.is_empty() {
        return true.into();
    }
    match hook.event.matching() {
        MatcherKind::Ignored => true.into(),
        MatcherKind::Exact(_) => (matcher == context).into(),
        MatcherKind::ToolName => match search_pattern(matcher, context) {
            PatternMatch::Certain(found) | PatternMatch::Literal(found) => found.into(),
            PatternMatch::Unknown(why) => MatcherJudgement {
                matches: true,
                doubt: Some(format!(
                    "hook `{}` runs: cannot tell whether `{matcher}` matches `{context}`: {why}",
                    hook.display_name()
                )),
            },
        },
    }
}
