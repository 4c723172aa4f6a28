//! The rollouts of Codex CLI.

use std::collections::HashSet;
use std::path::Path;

use lapidary_vocab::session::HiddenReason;

use crate::store_files::{FoundFiles, NOT_FOLLOWED, StoreFile};

/// Below `sessions`, rollouts are in directories of year, month and day.
const DEEPEST: usize = 4;

/// Looks for the rollouts of a home. A home without Codex CLI has none.
pub(super) fn find_in_home(home: &Path) -> FoundFiles {
    let mut found = FoundFiles::default();
    for place in ["sessions", "archived_sessions"] {
        let place = home.join(place);
        if found.reach(&place).is_some() {
            add_directory(&mut found, &place, 0);
        }
    }
    found
}

fn add_directory(found: &mut FoundFiles, directory: &Path, depth: usize) {
    let entries = found.directory_entries(directory);
    let name_of = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let names: HashSet<String> = entries.iter().map(|(path, _)| name_of(path)).collect();
    for (path, about) in entries {
        let name = name_of(&path);
        let plain = name.strip_suffix(".zst").unwrap_or(&name);
        let is_packed = plain.len() < name.len();
        if about.is_dir() && depth < DEEPEST {
            add_directory(found, &path, depth + 1);
        } else if !name.starts_with("rollout-") {
            // Notes of the program, and links to directories.
            found.hide_linked_directory(&path, &about);
        } else if about.is_symlink() {
            let why = NOT_FOLLOWED.to_owned();
            found.hide_file(&path, &about, HiddenReason::LinkOutside, why);
        } else if !about.is_file() {
            let why = "it is not a file".to_owned();
            found.hide_file(&path, &about, HiddenReason::NotAFile, why);
        } else if is_packed && names.contains(plain) {
            // Codex CLI compresses a rollout after a week, and has both for a moment.
            let why = "the same session is there uncompressed".to_owned();
            found.hide_file(&path, &about, HiddenReason::Duplicate, why);
        } else if let Some(id) = plain.strip_suffix(".jsonl") {
            let id = id.to_owned();
            found.files.push(StoreFile::new(path, id, &about));
        }
    }
}
