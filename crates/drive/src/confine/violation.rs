//! Protected files that changed without permission.

use lapidary_vocab::Text;
use lapidary_vocab::event::{PermissionViolation, ToolKind};

use super::{FileChange, ProtectedChange};
use crate::policy::{Deed, Effect, Policy};
use crate::violations::violation;

/// The violation by a change of a protected file. None if rules and mode allow an edit of this file without a question.
pub(super) fn by_change(change: &ProtectedChange, policy: &Policy) -> Option<PermissionViolation> {
    let kind = match change.change {
        FileChange::Created | FileChange::Changed => ToolKind::Edit,
        FileChange::Removed => ToolKind::Delete,
    };
    let deed = Deed {
        paths: vec![change.path.clone()],
        ..Deed::new(kind)
    };
    let decision = policy.decide(&deed);
    if decision.effect == Effect::Allow {
        return None;
    }
    let happened = format!("was {} without permission", change.change.as_str());
    let (path, reason) = (change.path.display(), &decision.reason);
    Some(PermissionViolation {
        message: Text::from(format!("`{path}` {happened}: {reason}")),
        ..violation(&deed, None, &decision, &happened)
    })
}
