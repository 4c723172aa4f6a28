//! Sessions of which no file is left that could be resumed, and of which the vault has a copy.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use lapidary_vocab::session::UnlistedPlace;

use super::candidates::{CandidateName, SessionCandidate};
use super::listing::{FromFiles, ListedSession, SessionListing};
use super::projects::SessionProject;
use super::search::{SearchHits, SessionSearch};
use crate::vault::{SnapshotEntry, Vault, project_of};

/// Such sessions of some projects, as files of the vault.
#[derive(Debug, Default)]
pub struct OnlyInVault {
    ids: Vec<String>,
    files: Vec<SessionCandidate>,
}

impl OnlyInVault {
    /// Those whose file is not where it was. Nothing is written.
    pub fn find(vault: &Vault, projects: &[SessionProject]) -> Self {
        let mut found = Self::default();
        let mut known = HashSet::new();
        for (place, project) in projects.iter().enumerate() {
            let mut chats: Vec<_> = project.chats().collect();
            let used = project.directory.join("chats");
            if !chats.contains(&used) {
                chats.push(used);
            }
            for chats in chats {
                let folder = project_of(&chats).to_owned();
                for (id, entry) in vault.sessions_of(&chats) {
                    let is_there = folder.join(&entry.path).symlink_metadata().is_ok();
                    let file = (!is_there)
                        .then(|| vault_candidate(vault, &entry, place))
                        .flatten();
                    if let Some(file) = file.filter(|_| known.insert(id.clone())) {
                        found.ids.push(id);
                        found.files.push(file);
                    }
                }
            }
        }
        found
    }

    /// Drops the sessions that `listing` already has, perhaps in a file of another name.
    #[must_use]
    pub fn without(self, listing: &SessionListing) -> Self {
        if self.is_empty() {
            return self;
        }
        let listed = listing.sessions.iter().map(ListedSession::id);
        let listed: HashSet<&str> = listed.collect();
        let all = self.ids.into_iter().zip(self.files);
        let (ids, files) = all.filter(|(id, _)| !listed.contains(&**id)).unzip();
        Self { ids, files }
    }

    /// True if a session is among them.
    pub fn has(&self, id: &str) -> bool {
        self.ids.iter().any(|known| known == id)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The sessions as entries of a list, project by project, the oldest first. They have no numbers.
    pub fn listed(&self, projects: &[SessionProject], now: SystemTime) -> Vec<ListedSession> {
        let mut listing =
            SessionListing::of_files(self.files.clone(), projects, now, &mut FromFiles);
        for session in &mut listing.sessions {
            mark_vault_only(session);
        }
        listing
            .sessions
            .sort_by_key(|it| (it.project, it.started_ms));
        listing.sessions
    }

    /// Looks through them.
    pub fn search(
        &self,
        search: &SessionSearch,
        projects: &[SessionProject],
        now: SystemTime,
    ) -> SearchHits {
        let mut found = search.of_candidates(&self.files, projects, now);
        for hit in &mut found.hits {
            mark_vault_only(&mut hit.session);
        }
        found
    }
}

fn mark_vault_only(session: &mut ListedSession) {
    session.info_mut().index = 0;
    session.info_mut().unlisted = Some(UnlistedPlace::Vault);
    session.info_mut().endangered_by = None;
}

/// None if its content is damaged or gone, or only part of another one.
fn vault_candidate(
    vault: &Vault,
    entry: &SnapshotEntry,
    project: usize,
) -> Option<SessionCandidate> {
    let path = vault.content_path(entry)?;
    let about = path.metadata().ok()?;
    let name = Path::new(&entry.path).file_name()?.to_string_lossy();
    Some(SessionCandidate {
        path,
        name: CandidateName::Other(name.into()),
        project,
        size: entry.size,
        modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        inode: 0,
        refused: None,
    })
}
