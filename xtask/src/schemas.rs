//! The published schemas, as files that people can read without a build.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// Writes `schemas/`, and removes outdated files.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root.join("schemas");
    fs::create_dir_all(&folder)?;
    let files = lapidary_vocab::schema::files();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        if !files.iter().any(|(name, _)| entry.file_name() == **name) {
            fs::remove_file(entry.path())?;
            println!("removed {}", entry.path().display());
        }
    }
    for (name, text) in files {
        let path = folder.join(&name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote schemas/{name}");
    }
    Ok(())
}

/// Fails if `schemas/` is not what `cargo xtask schemas` would write.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root.join("schemas");
    let files = lapidary_vocab::schema::files();
    let stale: Vec<_> = files
        .iter()
        .filter(|(name, text)| fs::read_to_string(folder.join(name)).ok().as_ref() != Some(text))
        .map(|(name, _)| format!("schemas/{name}"))
        .collect();
    ensure!(
        stale.is_empty(),
        "{} stale: run `cargo xtask schemas`",
        stale.join(", ")
    );
    Ok(())
}
