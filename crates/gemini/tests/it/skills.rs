//! Skills as a library user meets them.

mod desks;
mod forged;
mod installing;
mod loading;
mod peers;
mod recovering;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};

/// A `SKILL.md` below a directory.
fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n---\nDo {name}.\n")
}
