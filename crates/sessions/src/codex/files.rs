//! The rollouts of Codex CLI.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_vocab::session::{HiddenFile, HiddenReason};

/// Below `sessions`, rollouts are in directories of year, month and day.
const DEEPEST: usize = 4;

/// A rollout.
#[derive(Debug)]
pub(super) struct RolloutFile {
    pub(super) path: PathBuf,
    /// Its name, without the ending of a compressed file.
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) modified: SystemTime,
}

impl RolloutFile {
    fn new(path: PathBuf, name: String, about: &Metadata) -> Self {
        Self {
            size: about.len(),
            modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            path,
            name,
        }
    }
}

/// The rollouts of a home.
#[derive(Debug, Default)]
pub(super) struct FoundRollouts {
    pub(super) files: Vec<RolloutFile>,
    pub(super) hidden: Vec<HiddenFile>,
    pub(super) warnings: Vec<String>,
}

impl FoundRollouts {
    /// Looks for rollouts. A home without Codex CLI has none.
    pub(super) fn find_in_home(home: &Path) -> Self {
        let mut found = Self::default();
        for place in ["sessions", "archived_sessions"] {
            let place = home.join(place);
            if place.is_dir() {
                found.add_directory(&place, 0);
            }
        }
        found
    }

    fn add_directory(&mut self, directory: &Path, depth: usize) {
        let entries = match directory_entries(directory) {
            Ok(entries) => entries,
            Err(error) => {
                let directory = directory.display();
                let warning = format!("sessions in `{directory}` are not listed: {error}");
                return self.warnings.push(warning);
            }
        };
        let names: HashSet<String> = entries.iter().map(|(name, ..)| name.clone()).collect();
        for (name, path, about) in entries {
            let is_rollout = name.starts_with("rollout-");
            match name.strip_suffix(".zst") {
                _ if about.is_dir() && depth < DEEPEST => self.add_directory(&path, depth + 1),
                _ if !is_rollout => {}
                _ if about.is_symlink() => {
                    let why = "it is a link, which is not followed";
                    self.hide_file(&path, &about, HiddenReason::LinkOutside, why);
                }
                _ if !about.is_file() => {
                    self.hide_file(&path, &about, HiddenReason::NotAFile, "it is not a file");
                }
                // Codex CLI compresses a rollout after a week, and has both for a moment.
                Some(plain) if names.contains(plain) => {
                    let why = "the same session is there uncompressed";
                    self.hide_file(&path, &about, HiddenReason::Duplicate, why);
                }
                Some(plain) if Path::new(plain).extension().is_some_and(|it| it == "jsonl") => {
                    let name = plain.to_owned();
                    self.files.push(RolloutFile::new(path, name, &about));
                }
                None if path.extension().is_some_and(|it| it == "jsonl") => {
                    self.files.push(RolloutFile::new(path, name, &about));
                }
                Some(_) | None => {}
            }
        }
    }

    fn hide_file(&mut self, path: &Path, about: &Metadata, reason: HiddenReason, why: &str) {
        self.hidden.push(HiddenFile {
            path: path.to_string_lossy().into_owned(),
            project_id: String::new(),
            reason,
            explanation: why.to_owned(),
            session_id: None,
            size: about.len(),
        });
    }
}

/// The entries of a directory, by name.
fn directory_entries(directory: &Path) -> io::Result<Vec<(String, PathBuf, Metadata)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // One that is gone since is none.
        entries.extend(
            entry
                .metadata()
                .ok()
                .map(|about| (name, entry.path(), about)),
        );
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}
