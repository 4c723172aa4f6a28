//! Files without content that would take others with them when the CLI deletes them.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use super::hidden::HiddenMessages;
use super::set_aside;
use super::summary::one_moved_aside;
use super::{GuardAction, RepairKind, SeenFile, with_cause};
use crate::names;
use crate::vault::{GatherFlaw, Vault, VaultError};

/// Moves such files into the vault, where the last look at them has put their content already. Where there are messages in one
/// that the CLI does not list, they are brought out instead.
pub(in crate::vault) fn move_stubs(
    vault: &Vault,
    files: &[SeenFile],
    flaws: &[GatherFlaw],
    now: SystemTime,
) -> Vec<GuardAction> {
    let danger = DeletionRisk::from_files(files);
    let hidden = HiddenMessages { vault, files, now };
    let mut actions = Vec::new();
    for file in files.iter().filter(|it| it.is_main && !it.facts.listed) {
        match HiddenMessages::find_content(vault, file) {
            Ok(true) => {
                let done = hidden.bring_out(file, &actions);
                actions.extend(done.unwrap_or_else(|error| Some(unmoved_warning(file, &error))));
            }
            Ok(false) if danger.is_from(file) => actions.push(set_aside(vault, file)),
            Err(error) if danger.is_from(file) => actions.push(unmoved_warning(file, &error)),
            _ => {}
        }
    }
    for flaw in flaws {
        let name = flaw.path.file_name().unwrap_or_default().to_string_lossy();
        if names::is_session(&name) && danger.is_from_name(&name) {
            actions.push(foreign_file_warning(&flaw.path, &name));
        }
    }
    actions
}

/// The sessions that the CLI would delete together with a file.
pub(in crate::vault) struct DeletionRisk {
    ids: HashSet<String>,
    shorts: HashSet<String>,
}

impl DeletionRisk {
    pub(in crate::vault) fn from_files<'a>(files: impl IntoIterator<Item = &'a SeenFile>) -> Self {
        let (mut ids, mut shorts) = (HashSet::new(), HashSet::new());
        for file in files.into_iter().filter(|file| file.is_listed()) {
            ids.extend(file.facts.session_id.clone());
            shorts.extend(names::short_id(&file.file_name()).map(String::from));
        }
        Self { ids, shorts }
    }

    pub(in crate::vault) fn is_from(&self, file: &SeenFile) -> bool {
        let id = file.facts.session_id.as_ref();
        id.is_some_and(|id| self.ids.contains(id)) || self.is_from_name(&file.file_name())
    }

    /// The files without content whose deletion would take a session with them.
    pub(in crate::vault) fn risky_stubs<'f>(
        &self,
        files: &'f [SeenFile],
    ) -> impl Iterator<Item = &'f SeenFile> {
        let unlisted = files
            .iter()
            .filter(|file| file.is_main && !file.facts.listed);
        unlisted.filter(|file| self.is_from(file))
    }

    fn is_from_name(&self, name: &str) -> bool {
        names::short_id(name).is_some_and(|short| self.shorts.contains(short))
    }
}

fn set_aside(vault: &Vault, file: &SeenFile) -> GuardAction {
    if let Err(error) = remove_stub(vault, file) {
        return unmoved_warning(file, &error);
    }
    GuardAction {
        did: RepairKind::SetAside,
        session_id: file.facts.session_id.clone(),
        path: file.path.clone(),
        sentence: one_moved_aside(names::short_id(&file.file_name()).unwrap_or("of the same id")),
    }
}

fn unmoved_warning(file: &SeenFile, error: &VaultError) -> GuardAction {
    GuardAction {
        did: RepairKind::Warned,
        session_id: file.facts.session_id.clone(),
        path: file.path.clone(),
        sentence: format!(
            "Cannot move the empty session file `{}` aside: {}. It makes Gemini CLI delete sessions with the same eight characters.",
            file.file_name(),
            with_cause(error)
        ),
    }
}

/// Renames first, so that another process appends to another file meanwhile, and checks the content again before it deletes.
pub(in crate::vault) fn remove_stub(vault: &Vault, file: &SeenFile) -> Result<(), VaultError> {
    vault.check(&file.entry.sha256)?;
    set_aside::remove_if_unchanged(&file.path, &file.entry.sha256)
}

fn foreign_file_warning(path: &Path, name: &str) -> GuardAction {
    GuardAction {
        did: RepairKind::Warned,
        session_id: None,
        path: path.to_owned(),
        sentence: format!(
            "`{name}` is not a session file. It makes Gemini CLI delete sessions with the same eight characters."
        ),
    }
}
