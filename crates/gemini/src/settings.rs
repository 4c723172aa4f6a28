//! The settings files: which there are, whether they can be read, their contents, and the merged settings.

mod check;
mod edit;
mod interpolate;
mod merge;
mod migrate;
mod owners;
mod read;
mod schema;
mod unknown;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::file::{self, ReadError};
use crate::jsonc::{JsoncTree, LineIndex};
use crate::notice::TextPosition;
use crate::paths::GeminiHome;

pub use edit::{EditError, EditOutcome, SettingsDocument, edit, edit_within};
pub(crate) use edit::{edit_private, value_kind};
pub(crate) use interpolate::VariableSource;
pub(crate) use lapidary_wire::gemini::hooks::is_truthy;
pub(crate) use merge::merge_files;
pub(crate) use read::SettingsReading;

/// The settings files of a workspace, the weakest first.
#[derive(Debug)]
pub struct Settings {
    /// The existing files.
    pub files: Vec<SettingsFile>,
}

/// A settings file.
#[derive(Debug)]
pub struct SettingsFile {
    /// Its scope.
    pub scope: SettingsScope,
    /// Where it is.
    pub path: PathBuf,
    /// Its content.
    pub content: Result<Map<String, Value>, ReadError>,
    /// Whether another user than the system's owner can write it. Gemini CLI then skips a file of the system's.
    pub is_open_to_others: bool,
    text: String,
}

/// The scope of settings, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingsScope {
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
    /// A file, if it is there.
    fn read(scope: SettingsScope, path: PathBuf) -> Option<Self> {
        let (text, content) = match file::json_text(&path).transpose()? {
            Ok(text) => {
                let content = file::parse(&text);
                (text, content)
            }
            Err(error) => (String::new(), Err(error)),
        };
        Some(Self {
            scope,
            is_open_to_others: owners::is_open_to_others(&path),
            path,
            content,
            text,
        })
    }

    /// Where the value at a path of keys stands in the file, with its key. The items of a list are keys too: `"0"`, `"1"`.
    pub fn place(&self, keys: &[impl AsRef<str>]) -> Option<TextPosition> {
        let start = JsoncTree::parse(&self.text)?.entry_start(keys)?;
        Some(LineIndex::new(&self.text).byte_position(start))
    }
}

impl Settings {
    /// Reads the files that are there, as they are written: no variable is filled in.
    pub fn read(home: &GeminiHome, workspace: &Path) -> Self {
        let mut places = vec![
            (SettingsScope::SystemDefaults, home.system_defaults.clone()),
            (SettingsScope::User, home.user_settings()),
        ];
        if !is_same(&home.home, workspace) {
            places.push((SettingsScope::Workspace, workspace_settings(workspace)));
        }
        places.push((SettingsScope::System, home.system_settings.clone()));
        let files = places.into_iter();
        let files = files.filter_map(|(scope, path)| SettingsFile::read(scope, path));
        Self {
            files: files.collect(),
        }
    }

    /// The value of the strongest file at a path of keys. The workspace's file is read only if it counts.
    pub fn get(&self, keys: &[&str], workspace: WorkspaceTrust) -> Option<&Value> {
        let contents: Vec<_> = self.file_contents(workspace).collect();
        let strongest = contents.into_iter().rev();
        strongest
            .into_iter()
            .find_map(|content| value_at(content, keys))
    }

    /// The contents of the files, the weakest first.
    pub(crate) fn file_contents(
        &self,
        workspace: WorkspaceTrust,
    ) -> impl Iterator<Item = &Map<String, Value>> {
        let counts = move |file: &&SettingsFile| {
            file.scope != SettingsScope::Workspace || workspace == WorkspaceTrust::Counts
        };
        let files = self.files.iter().filter(counts);
        files.filter_map(|file| file.content.as_ref().ok())
    }
}

/// Reads the text of a settings file: an object, with comments.
pub fn parse(text: &str) -> Result<Map<String, Value>, ReadError> {
    file::parse(text)
}

/// Whether a workspace's settings count: only those of a trusted one do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceTrust {
    /// They do.
    Counts,
    /// They do not.
    IsIgnored,
}

/// The settings of a workspace.
pub fn workspace_settings(workspace: &Path) -> PathBuf {
    workspace.join(".gemini/settings.json")
}

pub(crate) fn value_at<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    let (first, rest) = keys.split_first()?;
    let start = object.get(*first)?;
    rest.iter().try_fold(start, |value, key| value.get(key))
}

/// Whether two directories are one. In a workspace that is the home the user's settings are the only ones.
pub fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
