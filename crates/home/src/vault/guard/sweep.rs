//! Files without content that would take others with them when the CLI deletes them.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::{Action, Did, Seen, rename_new};
use crate::vault::error::At as _;
use crate::vault::{Flaw, Vault, VaultError, blobs, names};

/// Moves such files into the vault, where the last look at them has put their content already.
pub(in crate::vault) fn stubs(vault: &Vault, files: &[Seen], flaws: &[Flaw]) -> Vec<Action> {
    let listed = || files.iter().filter(|file| file.is_listed());
    let ids: HashSet<_> = listed()
        .filter_map(|file| file.facts.session_id.clone())
        .collect();
    let shorts: HashSet<_> = listed()
        .filter_map(|file| names::short(&file.name()).map(String::from))
        .collect();
    let endangers = |name: &str| names::short(name).is_some_and(|short| shorts.contains(short));
    let mut actions = Vec::new();
    for file in files.iter().filter(|it| it.is_main && !it.facts.listed) {
        let is_twin = file.facts.session_id.as_ref();
        if is_twin.is_some_and(|id| ids.contains(id)) || endangers(&file.name()) {
            actions.push(set_aside(vault, file));
        }
    }
    for flaw in flaws {
        let name = flaw.path.file_name().unwrap_or_default().to_string_lossy();
        if names::is_session(&name) && endangers(&name) {
            actions.push(warning(&flaw.path, &name));
        }
    }
    actions
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
