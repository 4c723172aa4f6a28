//! Memory: the `GEMINI.md` files of a user, of extensions and of a project, which a model gets.
//!
//! Found as Gemini CLI 0.61 finds them when a session begins. It also reads files of directories that tools touch later, and replaces
//! `@file` in a memory file by that file; both are not done here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::file;
use crate::notice::FileNotice;
use crate::setup::Setup;

/// The name of a memory file, unless the settings name others.
const FILE_NAME: &str = "GEMINI.md";
/// The entry that marks the root of a project, unless the settings name others.
const ROOT_MARKER: &str = ".git";

/// The texts of memory files, each with the path of its file.
#[derive(Debug, Default)]
pub struct MemoryText {
    /// The user's own, from `~/.gemini`.
    pub global: String,
    /// Those of active extensions.
    pub extensions: String,
    /// The project's: from the root of the repository down to the workspace. Empty if the workspace is not trusted.
    pub project: String,
    /// Files that were passed over, and why.
    pub notices: Vec<FileNotice>,
}

impl MemoryText {
    /// Reads the memory files that count in a workspace.
    pub fn read(setup: &Setup) -> Self {
        let names = names_in(setup.get(&["context", "fileName"]), FILE_NAME);
        let mut reader = MemoryReader::default();
        let global = setup.home.folder();
        let global = reader.join_files(names.iter().map(|name| global.join(name)));
        let extensions = reader.join_files(extension_files(setup));
        let is_trusted = setup.is_trusted();
        let project = is_trusted.then(|| reader.project_memory(setup, &names));
        Self {
            global,
            extensions,
            project: project.unwrap_or_default(),
            notices: reader.notices,
        }
    }

    /// The part that belongs to the first message of a conversation; empty if there is none.
    pub fn session_memory(&self) -> String {
        loaded_context(&[
            ("extension_context", &self.extensions),
            ("project_context", &self.project),
        ])
    }

    /// The same without the memory of extensions.
    pub fn project_memory(&self) -> String {
        loaded_context(&[("project_context", &self.project)])
    }
}

/// Sections of memory under their tags; empty if all are.
fn loaded_context(sections: &[(&str, &str)]) -> String {
    let sections = sections.iter().filter(|(_, text)| !text.is_empty());
    let sections = sections.map(|(tag, text)| format!("<{tag}>\n{text}\n</{tag}>"));
    let sections: Vec<_> = sections.collect();
    if sections.is_empty() {
        return String::new();
    }
    format!(
        "\n<loaded_context>\n{}\n</loaded_context>",
        sections.join("\n")
    )
}

/// Reads each file once.
#[derive(Debug, Default)]
struct MemoryReader {
    seen: BTreeSet<PathBuf>,
    notices: Vec<FileNotice>,
}

impl MemoryReader {
    /// The texts of files, each between lines that name it. Files that are not there have none.
    fn join_files(&mut self, files: impl IntoIterator<Item = PathBuf>) -> String {
        let texts = files
            .into_iter()
            .filter_map(|path| self.read_section(&path));
        texts.collect::<Vec<_>>().join("\n\n")
    }

    fn read_section(&mut self, path: &Path) -> Option<String> {
        let real = path.canonicalize().ok()?;
        if !self.seen.insert(real) {
            return None;
        }
        let text = match file::text(path) {
            Ok(text) => text?,
            Err(error) => {
                self.skip_file(path, error.to_string());
                return None;
            }
        };
        let (text, path) = (text.trim(), path.display());
        let is_empty = text.is_empty();
        (!is_empty).then(|| {
            format!("--- Context from: {path} ---\n{text}\n--- End of Context from: {path} ---")
        })
    }

    /// The files from the root of the repository down to the workspace; without a repository, those of the workspace.
    fn project_memory(&mut self, setup: &Setup, names: &[String]) -> String {
        let markers = names_in(
            setup.get(&["context", "memoryBoundaryMarkers"]),
            ROOT_MARKER,
        );
        let workspace = setup.workspace.as_path();
        let is_root = |directory: &&Path| markers.iter().any(|it| directory.join(it).exists());
        let ceiling = workspace.ancestors().find(is_root).unwrap_or(workspace);
        let global = setup.home.folder();
        let directories = workspace.ancestors();
        let directories = directories.take_while(|it| it.starts_with(ceiling) && *it != global);
        let files = directories.flat_map(|directory| names.iter().map(|name| directory.join(name)));
        let mut files: Vec<_> = files
            .filter(|file| self.check_inside(file, ceiling))
            .collect();
        files.sort();
        self.join_files(files)
    }

    /// Whether a file is one of the project. A link of a hostile project could lead to any file of the user.
    fn check_inside(&mut self, path: &Path, ceiling: &Path) -> bool {
        let Ok(real) = path.canonicalize() else {
            return false;
        };
        let is_inside = ceiling.canonicalize().is_ok_and(|it| real.starts_with(it));
        if !is_inside {
            let why = "it is a link that leads out of the project".to_owned();
            self.skip_file(path, why);
        }
        is_inside
    }

    fn skip_file(&mut self, path: &Path, sentence: String) {
        self.notices.push(FileNotice {
            path: path.to_owned(),
            place: None,
            key: None,
            sentence,
        });
    }
}

/// The memory files of active extensions, in the order of their paths.
fn extension_files(setup: &Setup) -> Vec<PathBuf> {
    let active = setup.extensions.iter().filter(|it| it.is_active());
    let files = active.flat_map(|extension| {
        let names = names_in(extension.manifest.get("contextFileName"), FILE_NAME);
        let directory = &extension.directory;
        names.into_iter().map(|name| directory.join(name))
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    files
}

/// The names of a setting that is one name or a list; the usual one if there is none. An absolute path, or a name with `..`, is
/// skipped.
fn names_in(setting: Option<&Value>, usual: &str) -> Vec<String> {
    let named: Vec<_> = match setting {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let named = named.into_iter().map(str::trim);
    let is_path = |name: &str| Path::new(name).is_absolute() || name.contains("..");
    let named: Vec<_> = named
        .filter(|name| !name.is_empty() && !is_path(name))
        .map(str::to_owned)
        .collect();
    if named.is_empty() {
        return vec![usual.to_owned()];
    }
    named
}
