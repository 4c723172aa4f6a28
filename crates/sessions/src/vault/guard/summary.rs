//! The messages of a run about the sessions that were looked after: one line for all repairs, and one for each failure.

use std::collections::BTreeSet;

use super::{GuardAction, RepairKind};
use crate::names;

/// The lines for these actions. Renamed files, files that were removed on purpose, and files without content are not worth a line.
pub fn summary(actions: &[GuardAction]) -> Vec<String> {
    let mut lines: Vec<String> = saved_sentence(actions).into_iter().collect();
    lines.extend(moved_aside(actions));
    let warnings = actions.iter().filter(|it| it.did == RepairKind::Warned);
    lines.extend(warnings.map(|it| it.sentence.clone()));
    lines
}

fn saved_sentence(actions: &[GuardAction]) -> Option<String> {
    let deleted = affected_sessions(actions, |did| did == RepairKind::PutBack);
    let damaged = affected_sessions(actions, |did| {
        matches!(did, RepairKind::Merged | RepairKind::BroughtOut)
    });
    let damaged = damaged.difference(&deleted).count();
    let lost = "tool outputs, plans and logs cannot be restored";
    Some(match (deleted.len(), damaged) {
        (0, 0) => return None,
        (0, damaged) => {
            let sessions = session_count(damaged);
            format!("Restored messages that Gemini CLI had removed from {sessions}.")
        }
        (deleted, 0) => {
            let sessions = session_count(deleted);
            format!("Restored {sessions} that Gemini CLI had deleted; {lost}.")
        }
        (deleted, damaged) => {
            let (deleted, damaged) = (session_count(deleted), session_count(damaged));
            format!(
                "Restored {deleted} that Gemini CLI had deleted, and messages that it had removed from {damaged}; {lost}."
            )
        }
    })
}

fn moved_aside(actions: &[GuardAction]) -> Option<String> {
    let sessions = affected_sessions(actions, |did| did == RepairKind::SetAside);
    let all: Vec<&str> = sessions.iter().copied().collect();
    match all[..] {
        [] => None,
        [session] => Some(one_moved_aside(session)),
        _ => Some(format!(
            "Moved empty session files aside. They would have made Gemini CLI delete sessions {}.",
            all.join(", ")
        )),
    }
}

/// The message about a file without content that went into the vault. The session is named by its eight characters.
pub(super) fn one_moved_aside(session: &str) -> String {
    format!(
        "Moved an empty session file aside. It would have made Gemini CLI delete session {session}."
    )
}

/// The sessions of these actions, by the eight characters in the names of their files. Files of subagents are skipped.
fn affected_sessions(
    actions: &[GuardAction],
    is_meant: impl Fn(RepairKind) -> bool,
) -> BTreeSet<&str> {
    let names = actions.iter().filter(|it| is_meant(it.did));
    let names = names.filter_map(|it| it.path.file_name()?.to_str());
    let names = names.filter(|name| names::is_session(name));
    names
        .map(|name| names::short_id(name).unwrap_or(name))
        .collect()
}

fn session_count(count: usize) -> String {
    match count {
        1 => "1 session".to_owned(),
        _ => format!("{count} sessions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(did: RepairKind, name: &str) -> GuardAction {
        GuardAction {
            did,
            session_id: None,
            path: format!("/chats/{name}").into(),
            sentence: format!("{name} failed."),
        }
    }

    const A: &str = "session-2026-01-01T00-00-aaaaaaaa.jsonl";
    const B: &str = "session-2026-01-01T00-00-bbbbbbbb.jsonl";

    #[test]
    fn all_that_was_saved_is_one_line() {
        let twice = [
            action(RepairKind::PutBack, A),
            action(RepairKind::PutBack, A),
        ];
        let line = "Restored 1 session that Gemini CLI had deleted; tool outputs, plans and logs cannot be restored.";
        assert_eq!(summary(&twice), [line]);
        let both = [
            action(RepairKind::Merged, A),
            action(RepairKind::PutBack, B),
            action(RepairKind::PutBack, "aaaaaaaa-1/agent.jsonl"),
        ];
        let line = "Restored 1 session that Gemini CLI had deleted, and messages that it had removed from 1 session; tool outputs, plans and logs cannot be restored.";
        assert_eq!(summary(&both), [line]);
        let merged = [
            action(RepairKind::Merged, A),
            action(RepairKind::BroughtOut, B),
        ];
        let line = "Restored messages that Gemini CLI had removed from 2 sessions.";
        assert_eq!(summary(&merged), [line]);
    }

    #[test]
    fn the_guard_summary_leaves_out_repairs_without_a_next_step() {
        let quiet = [
            RepairKind::MovedEarlier,
            RepairKind::LeftToRetention,
            RepairKind::LeftRemoved,
        ];
        assert_eq!(summary(&quiet.map(|did| action(did, A))), [] as [String; 0]);
        let loud = [
            action(RepairKind::Warned, B),
            action(RepairKind::SetAside, A),
        ];
        let aside = "Moved an empty session file aside. It would have made Gemini CLI delete session aaaaaaaa.";
        assert_eq!(summary(&loud), [aside, &format!("{B} failed.")]);
    }
}
