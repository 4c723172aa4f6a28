//! Writes the published schemas, or compares them: `schemas write FOLDER`, `schemas check FOLDER`. `cargo xtask schemas` calls it.
#![expect(clippy::disallowed_methods, reason = "a program reads its arguments")]

use std::fs;
use std::io::{self, Error, Write as _};
use std::path::{Path, PathBuf};

use lapidary_vocab::schema::generate;

fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (task, folder) = (args.next(), args.next().map(PathBuf::from));
    match (task.as_ref().and_then(|task| task.to_str()), folder) {
        (Some("write"), Some(folder)) => write(&folder),
        (Some("check"), Some(folder)) => check(&folder),
        _ => Err(Error::other("usage: schemas write|check FOLDER")),
    }
}

/// Writes the files that differ, and removes those of no published schema.
fn write(folder: &Path) -> io::Result<()> {
    let files = generate::files();
    let mut out = io::stdout().lock();
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !files.iter().any(|(name, _)| entry.file_name() == **name) {
            fs::remove_file(entry.path())?;
            writeln!(out, "removed {}", entry.path().display())?;
        }
    }
    for (name, text) in files {
        let path = folder.join(&name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&path, text)?;
        writeln!(out, "wrote schemas/{name}")?;
    }
    Ok(())
}

fn check(folder: &Path) -> io::Result<()> {
    let files = generate::files();
    let is_stale = |(name, text): &&(String, String)| {
        fs::read_to_string(folder.join(name)).ok().as_ref() != Some(text)
    };
    let stale: Vec<_> = files.iter().filter(is_stale).collect();
    let stale: Vec<_> = stale
        .iter()
        .map(|(name, _)| format!("schemas/{name}"))
        .collect();
    if stale.is_empty() {
        return Ok(());
    }
    let stale = stale.join(", ");
    Err(Error::other(format!(
        "{stale} stale: run `cargo xtask schemas`"
    )))
}
