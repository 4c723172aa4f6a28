//! Files without content that would take others with them when the CLI deletes them.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::{Action, Did, Seen, rename_new};
use crate::vault::error::At as _;
use crate::vault::{Flaw, Vault, VaultError, blobs, names};

/// Moves such files into the vault, where the last look at them has put their content already.
pub(in crate::vault) fn stubs(vault: &Vault, files: &[Seen], flaws: &[Flaw]) -> Vec<Action> {
    let listed = Listed::of(files);
    let mut actions: Vec<_> = listed
        .endangered_by(files)
        .map(|file| set_aside(vault, file))
        .collect();
    for flaw in flaws {
        let name = flaw.path.file_name().unwrap_or_default().to_string_lossy();
        if names::is_session(&name) && listed.has_namesake(&name) {
            actions.push(warning(&flaw.path, &name));
        }
    }
    actions
}

/// What the CLI lists, by the names under which it deletes.
pub(in crate::vault) struct Listed {
    ids: HashSet<String>,
    shorts: HashSet<String>,
}

impl Listed {
    pub(in crate::vault) fn of(files: &[Seen]) -> Self {
        let listed = || files.iter().filter(|file| file.is_listed());
        let short = |file: &Seen| names::short(&file.name()).map(String::from);
        Self {
            ids: listed()
                .filter_map(|file| file.facts.session_id.clone())
                .collect(),
            shorts: listed().filter_map(short).collect(),
        }
    }

    /// The files without content whose deletion would take a session with them.
    pub(in crate::vault) fn endangered_by<'f>(
        &self,
        files: &'f [Seen],
    ) -> impl Iterator<Item = &'f Seen> {
        files.iter().filter(|file| {
            let id = file.facts.session_id.as_ref();
            let is_twin = id.is_some_and(|id| self.ids.contains(id));
            file.is_main && !file.facts.listed && (is_twin || self.has_namesake(&file.name()))
        })
    }

    fn has_namesake(&self, name: &str) -> bool {
        names::short(name).is_some_and(|short| self.shorts.contains(short))
    }
}

fn set_aside(vault: &Vault, file: &Seen) -> Action {
    let name = file.name();
    let (did, sentence) = match remove(vault, file) {
        Ok(()) => (
            Did::SetAside,
            format!(
                "`{name}` has nothing to resume and went into the vault: the CLI's next start would have deleted its namesake with it."
            ),
        ),
        Err(error) => (
            Did::Warned,
            format!("`{name}` endangers its namesake and stays: {error}."),
        ),
    };
    Action {
        did,
        session_id: file.facts.session_id.clone(),
        path: file.path.clone(),
        sentence,
    }
}

/// Renames first, so that whoever appends meanwhile appends to another file, and looks again before it deletes.
pub(in crate::vault) fn remove(vault: &Vault, file: &Seen) -> Result<(), VaultError> {
    vault.check(&file.entry.sha256)?;
    let aside = file
        .path
        .with_file_name(format!(".lapidary-aside-{}", file.name()));
    rename_new(&file.path, &aside)?;
    let bytes = fs::read(&aside).at("read", &aside)?;
    if blobs::sha256(&bytes) != file.entry.sha256 {
        rename_new(&aside, &file.path)?;
        let changed = std::io::Error::other("it is being written to");
        return Err(changed).at("move", &file.path);
    }
    fs::remove_file(&aside).at("remove", &aside)
}

fn warning(path: &Path, name: &str) -> Action {
    Action {
        did: Did::Warned,
        session_id: None,
        path: path.to_owned(),
        sentence: format!(
            "`{name}` is no session, and the CLI's next start will delete its namesakes because of it."
        ),
    }
}
