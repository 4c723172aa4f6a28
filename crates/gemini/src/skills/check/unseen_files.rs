//! Files that look like skills to a user, and that Gemini CLI does not see.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::FILE;
use super::super::discover::is_passed_over;
use super::super::staging;

/// How deep to look. A skill that was misplaced by mistake is not deeper.
const DEEPEST: usize = 5;
/// How many entries are looked at. Behind that, the mistake is another one.
const MOST: usize = 20_000;

/// The message about a staging directory whose owner was killed, or is still at work.
const INTERRUPTED: &str = "is what an install, link or uninstall left that was interrupted, or is under way: the next one finishes it";

/// What lies below a directory of skills and is never looked for, each with a reason.
pub(super) fn find_unseen(root: &Path) -> Vec<(PathBuf, String)> {
    let mut strays = Vec::new();
    let mut left = MOST;
    let mut waiting = VecDeque::from([StrayFolder {
        path: root.to_owned(),
        depth: 0,
        hidden: None,
    }]);
    while let Some(folder) = waiting.pop_front() {
        let mut names: Vec<_> = fs::read_dir(&folder.path)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .take(left)
            .collect();
        left -= names.len();
        names.sort_unstable();
        let has_skill = names.iter().any(|name| name.eq_ignore_ascii_case(FILE));
        let has_folders = names.iter().any(|name| folder.path.join(name).is_dir());
        if folder.depth == 1 && folder.hidden.is_none() && !has_skill && !has_folders {
            strays.push((folder.path.clone(), format!("there is no `{FILE}` in it")));
        }
        for name in names {
            let path = folder.path.join(&name);
            if let Some(why) = folder.stray_reason(&name, &path) {
                strays.push((path, why));
            } else if is_worth_a_look(&path, folder.depth) {
                let hidden = is_passed_over(&name).then(|| name.to_string_lossy().into_owned());
                waiting.push_back(StrayFolder {
                    path,
                    depth: folder.depth + 1,
                    hidden: folder.hidden.clone().or(hidden),
                });
            }
        }
    }
    strays
}

struct StrayFolder {
    path: PathBuf,
    depth: usize,
    /// The first on the way to it that is passed over.
    hidden: Option<String>,
}

impl StrayFolder {
    fn stray_reason(&self, name: &std::ffi::OsStr, path: &Path) -> Option<String> {
        let shown = name.to_string_lossy();
        if self.depth == 0 && staging::is_desk(path) {
            return Some(INTERRUPTED.to_owned());
        }
        if self.depth == 0 && shown.to_ascii_lowercase().ends_with(".skill") && path.is_file() {
            return Some("is a package: `lapidary skills install` unpacks it".to_owned());
        }
        if self.depth == 0 && path.is_symlink() && path.is_file() && name != FILE {
            let leads_to = fs::read_link(path).ok()?;
            let is_skill = leads_to.file_name() == Some(FILE.as_ref());
            return is_skill.then(|| "is a link to a file: link its directory".to_owned());
        }
        if self.depth > 0 && path.is_symlink() && path.join(FILE).is_file() {
            return Some(too_deep(self.depth + 1));
        }
        if !name.eq_ignore_ascii_case(FILE) || path.is_dir() {
            return None;
        }
        if let Some(hidden) = &self.hidden {
            return Some(format!("what is in `{hidden}` is passed over"));
        }
        if self.depth > 1 {
            return Some(too_deep(self.depth));
        }
        (name != FILE).then(|| format!("is called `{shown}`, and only `{FILE}` is looked for"))
    }
}

fn too_deep(depth: usize) -> String {
    format!(
        "lies {depth} directories deep, and only one is looked into: move or link its directory up"
    )
}

/// Links are followed where Gemini CLI follows them, and no further: they could lead around in circles.
fn is_worth_a_look(path: &Path, depth: usize) -> bool {
    depth < DEEPEST && path.is_dir() && (depth == 0 || !path.is_symlink())
}
