//! The settings files, as far as somebody has asked: which there are, whether they can be read, and what they say.

mod edit;
mod merge;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::file::{self, ReadError};
use crate::notice::Place;
use crate::places::GeminiHome;

pub use edit::{Changed, Document, EditError, edit};
pub(crate) use merge::merge;

/// The settings files of a workspace, the weakest first.
#[derive(Debug)]
pub struct Settings {
    /// Those that are there.
    pub files: Vec<SettingsFile>,
}

/// A settings file.
#[derive(Debug)]
pub struct SettingsFile {
    /// Whose it is.
    pub scope: Scope,
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub content: Result<Map<String, Value>, ReadError>,
    /// Whether somebody other than the system's owner can write it. Gemini CLI then leaves out a file of the system's.
    pub is_open_to_others: bool,
}

/// Whose settings they are, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The system's defaults.
    SystemDefaults,
    /// The user's.
    User,
    /// The workspace's. They count only if it is trusted.
    Workspace,
    /// The system's, which overrule all others.
    System,
}

impl SettingsFile {
    /// Where the value at a path of keys stands in the file. The items of a list are keys too: `"0"`, `"1"`.
    pub fn place(&self, keys: &[&str]) -> Option<Place> {
        let _ = (self, keys);
        None
    }
}

impl Settings {
    /// Reads the files that are there.
    pub fn read(home: &GeminiHome, workspace: &Path) -> Self {
        let user = home.user_settings();
        let mut places = vec![
            (Scope::SystemDefaults, home.system_defaults.clone()),
            (Scope::User, user),
        ];
        if !is_same(&home.home, workspace) {
            let path = workspace.join(".gemini/settings.json");
            places.push((Scope::Workspace, path));
        }
        places.push((Scope::System, home.system_settings.clone()));
        let files = places.into_iter().filter_map(|(scope, path)| {
            let content = file::object(&path).transpose()?;
            let is_open_to_others = is_open_to_others(&path);
            Some(SettingsFile {
                scope,
                path,
                content,
                is_open_to_others,
            })
        });
        Self {
            files: files.collect(),
        }
    }

    /// What the strongest of the files says at a path of keys. The workspace's file is asked only if it counts.
    pub fn get(&self, keys: &[&str], workspace: Workspace) -> Option<&Value> {
        let asked =
            |file: &&SettingsFile| file.scope != Scope::Workspace || workspace == Workspace::Counts;
        let files = self.files.iter().rev().filter(asked);
        files
            .filter_map(|file| file.content.as_ref().ok())
            .find_map(|content| at(content, keys))
    }
}

/// Whether a workspace's settings count: only those of a trusted one do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workspace {
    /// They do.
    Counts,
    /// They do not.
    IsIgnored,
}

pub(crate) fn at<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    let (first, rest) = keys.split_first()?;
    let start = object.get(*first)?;
    rest.iter().try_fold(start, |value, key| value.get(key))
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    let safe = |path: &Path| {
        let about = path.metadata();
        about.is_ok_and(|about| about.uid() == 0 && about.mode() & OTHERS_WRITE == 0)
    };
    !path.ancestors().all(safe)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    true
}
