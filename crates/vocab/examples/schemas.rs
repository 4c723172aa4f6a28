//! Writes the published schemas and the types of our clients, or compares them: `schemas write ROOT`, `schemas check ROOT`.
//! `cargo xtask schemas` calls it.
#![expect(clippy::disallowed_methods, reason = "a program reads its arguments")]

use std::fs;
use std::io::{self, Error, Write as _};
use std::path::{Path, PathBuf};

use lapidary_vocab::schema::generate;

/// The folder that holds schemas, and nothing else.
const SCHEMAS: &str = "schemas";

fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (task, root) = (args.next(), args.next().map(PathBuf::from));
    match (task.as_ref().and_then(|task| task.to_str()), root) {
        (Some("write"), Some(root)) => write(&root),
        (Some("check"), Some(root)) => check(&root),
        _ => Err(Error::other("usage: schemas write|check ROOT")),
    }
}

/// Every generated file: its path from the root, and its text.
fn generated_files() -> Vec<(String, String)> {
    let schemas = generate::files().into_iter();
    let schemas = schemas.map(|(name, text)| (format!("{SCHEMAS}/{name}"), text));
    let clients = generate::client_files().into_iter();
    schemas
        .chain(clients.map(|(path, text)| (path.to_owned(), text)))
        .collect()
}

/// Writes the files that differ, and removes those of no published schema.
fn write(root: &Path) -> io::Result<()> {
    let files = generated_files();
    let mut out = io::stdout().lock();
    fs::create_dir_all(root.join(SCHEMAS))?;
    for entry in fs::read_dir(root.join(SCHEMAS))? {
        let name = format!("{SCHEMAS}/{}", entry?.file_name().display());
        if !files.iter().any(|(known, _)| *known == name) {
            fs::remove_file(root.join(&name))?;
            writeln!(out, "removed {name}")?;
        }
    }
    for (name, text) in files {
        let path = root.join(&name);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&path, text)?;
        writeln!(out, "wrote {name}")?;
    }
    Ok(())
}

fn check(root: &Path) -> io::Result<()> {
    let files = generated_files();
    let is_stale = |(name, text): &&(String, String)| {
        fs::read_to_string(root.join(name)).ok().as_ref() != Some(text)
    };
    let stale = files.iter().filter(is_stale);
    let stale: Vec<_> = stale.map(|(name, _)| name.as_str()).collect();
    if stale.is_empty() {
        return Ok(());
    }
    let stale = stale.join(", ");
    Err(Error::other(format!(
        "{stale} stale: run `cargo xtask schemas`"
    )))
}
