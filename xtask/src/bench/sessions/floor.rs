//! The floor: reads every session and does nothing with it.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Reads every session below a folder, one after the other, and says how many there were and how large they are together.
pub(crate) fn read_floor(folder: &Path) -> Result<()> {
    let (files, bytes) = read_all(folder)?;
    println!("{files} {bytes}");
    Ok(())
}

/// Reads all of them into one buffer.
pub(super) fn read_all(folder: &Path) -> Result<(usize, usize)> {
    let mut buffer = Vec::new();
    let mut bytes = 0;
    let paths = sessions_below(folder)?;
    for path in &paths {
        buffer.clear();
        let mut file = File::open(path).with_context(|| path.display().to_string())?;
        bytes += file.read_to_end(&mut buffer)?;
        std::hint::black_box(&buffer);
    }
    Ok((paths.len(), bytes))
}

/// How large the sessions below a folder are together.
pub(super) fn size_of(folder: &Path) -> Result<u64> {
    let sizes = sessions_below(folder)?;
    let sizes = sizes.iter().map(|path| Ok(fs::metadata(path)?.len()));
    sizes.sum()
}

/// Whether a file is one that sessions are read from.
fn is_session(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default();
    name.starts_with("session-") || ending == "jsonl" || ending == "db"
}

fn sessions_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if is_session(&entry.path()) {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}
