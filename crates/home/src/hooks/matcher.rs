//! Whether a hook is for what is happening.

use super::{Hook, Matching};

/// What a matcher says.
pub(super) struct Judged {
    pub(super) matches: bool,
    pub(super) doubt: Option<String>,
}

impl From<bool> for Judged {
    fn from(matches: bool) -> Self {
        Self {
            matches,
            doubt: None,
        }
    }
}

/// Compares a hook's matcher with a tool's name or a session's word.
pub(super) fn judge(hook: &Hook, context: Option<&str>) -> Judged {
    let (Some(matcher), Some(context)) = (&hook.matcher, context) else {
        return true.into();
    };
    let matcher = matcher.trim();
    if matcher.is_empty() || matcher == "*" || context.is_empty() {
        return true.into();
    }
    match hook.event.matching() {
        Matching::Ignored => true.into(),
        Matching::Exact(_) => (matcher == context).into(),
        Matching::ToolName => (matcher == context).into(),
    }
}
