//! Several files of one session.

use lapidary_vocab::session::{HiddenFile, HiddenReason};

use crate::listing::ListedSession;

/// The later updated one of several files with one id counts: a project that was copied or moved has its sessions twice.
pub(crate) fn newest_of_each(
    mut sessions: Vec<ListedSession>,
    hidden: &mut Vec<HiddenFile>,
) -> Vec<ListedSession> {
    sessions.sort_by(|one, other| {
        let newest_first = other.updated_ms.cmp(&one.updated_ms);
        one.id().cmp(other.id()).then(newest_first)
    });
    let mut kept: Vec<ListedSession> = Vec::with_capacity(sessions.len());
    for session in sessions {
        match kept.last().filter(|last| last.id() == session.id()) {
            None => kept.push(session),
            Some(newer) => hidden.push(HiddenFile {
                path: session.path.to_string_lossy().into_owned(),
                project_id: String::new(),
                reason: HiddenReason::Duplicate,
                explanation: format!("`{}` is the same session", newer.path.display()),
                session_id: Some(session.id().to_owned()),
                size: session.info().size,
            }),
        }
    }
    kept
}
