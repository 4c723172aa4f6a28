//! Protected files that changed without permission.

use lapidary_vocab::Text;
use lapidary_vocab::event::{PermissionViolation, ToolKind};

use super::{FileChange, ProtectedChange};
use crate::policy::{PermissionEffect, Policy, ToolAction};
use crate::violations::unasked_violation;

/// The violation by a change of a protected file. None if rules and mode allow an edit of this file without a question.
pub(super) fn by_change(change: &ProtectedChange, policy: &Policy) -> Option<PermissionViolation> {
    let kind = match change.change {
        FileChange::Created | FileChange::Changed => ToolKind::Edit,
        FileChange::Removed => ToolKind::Delete,
    };
    let action = ToolAction {
        paths: vec![change.path.clone()],
        ..ToolAction::new(kind)
    };
    let decision = policy.decide(&action);
    if decision.effect == PermissionEffect::Allow {
        return None;
    }
    let happened = format!("was {} without permission", change.change.as_str());
    let (path, reason) = (change.path.display(), &decision.reason);
    Some(PermissionViolation {
        message: Text::from(format!("`{path}` {happened}: {reason}")),
        ..unasked_violation(&action, None, &decision, &happened)
    })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::policy::{PermissionMode, Rule, Rules};

    /// The tool that the violation by a change names, if it is one.
    fn tool(change: FileChange, rule: (PermissionEffect, &str)) -> Option<String> {
        let rule = Rule::parse_flag(rule.0, rule.1, Path::new("/p")).unwrap();
        let policy = Policy::new(Rules::new([rule]), PermissionMode::Default).with_roots(["/p"]);
        let path = PathBuf::from("/p/.envrc");
        let violation = by_change(&ProtectedChange { path, change }, &policy);
        violation.map(|violation| violation.tool_name.to_string())
    }

    #[test]
    fn a_removed_file_is_deleted_and_every_other_change_is_an_edit() {
        let may_edit = (PermissionEffect::Allow, "edit:.envrc");
        assert_eq!(tool(FileChange::Created, may_edit), None);
        assert_eq!(tool(FileChange::Changed, may_edit), None);
        assert_eq!(
            tool(FileChange::Removed, may_edit).as_deref(),
            Some("delete")
        );
        let may_delete = (PermissionEffect::Allow, "delete:.envrc");
        assert_eq!(tool(FileChange::Removed, may_delete), None);
        assert_eq!(
            tool(FileChange::Changed, may_delete).as_deref(),
            Some("edit")
        );
    }
}
