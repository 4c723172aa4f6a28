//! Extensions of Gemini CLI: the installed ones, whether each is active here, and its manifest.

mod enablement;
mod hydrate;
mod load;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::notice::FileNotice;
use crate::paths::{GeminiHome, Vars};
use crate::settings;
use crate::trust::Trust;

use enablement::ExtensionRules;
use load::ExtensionLoader;

/// An installed extension.
#[derive(Debug, Clone)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where its files are: for a linked one, where the link leads.
    pub directory: PathBuf,
    /// Why it is not active here, if it is not.
    pub inactive: Option<String>,
    /// Where it came from, if it was installed and not just put there.
    pub install: Option<ExtensionInstall>,
    /// Its manifest, with variables filled in.
    pub manifest: Map<String, Value>,
    /// The variables of its settings that have a value, for the environment of its hooks. Secrets in a keychain are not among
    /// them.
    pub env: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
}

/// Where an extension came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionInstall {
    /// How: `local`, `link`, `git`, `github-release`, or a newer word.
    pub kind: String,
    /// From where.
    pub source: String,
}

impl Extension {
    /// Whether it is active in the workspace.
    pub fn is_active(&self) -> bool {
        self.inactive.is_none()
    }

    /// Fills in `${extensionPath}`, `${workspacePath}`, `${/}` and the settings of the extension. Unknown names stay.
    pub fn hydrate(&self, text: &str) -> String {
        hydrate::hydrate_text(text, &self.variables)
    }

    /// Does the same in every string of a value.
    pub fn hydrate_all(&self, value: &Value) -> Value {
        hydrate::hydrate_value(value, &self.variables)
    }
}

/// The extensions of a home, in the order in which Gemini CLI loads them, and what there is to say about those it does not.
pub(crate) fn read_extensions(
    home: &GeminiHome,
    workspace: &Path,
    vars: Vars<'_>,
    merged: &Map<String, Value>,
    trust: &Trust,
) -> (Vec<Extension>, Vec<FileNotice>) {
    let folder = home.folder().join("extensions");
    let directories = extension_directories(&folder);
    if directories.is_empty() {
        return (Vec::new(), Vec::new());
    }
    // The CLI resolves links in its own directory.
    let real = workspace.canonicalize();
    let workspace = real.as_deref().unwrap_or(workspace);
    let (enablement, mut notices) = ExtensionRules::read(&folder);
    let reads_settings = settings::value_at(merged, &["experimental", "extensionConfig"]);
    let loader = ExtensionLoader {
        folder: &folder,
        workspace,
        vars,
        merged,
        enablement,
        reads_settings: reads_settings.is_some_and(settings::is_truthy),
        is_trusted: matches!(trust, Trust::Trusted(_)),
    };
    let mut extensions: Vec<Extension> = Vec::new();
    for directory in directories {
        match loader.load(&directory) {
            Ok(found) if extensions.iter().any(|known| known.name == found.name) => {
                let why = "another extension has its name, and Gemini CLI does not start with both";
                notices.push(not_loaded(directory, why));
            }
            Ok(found) => extensions.push(found),
            Err(why) => notices.push(not_loaded(directory, &why)),
        }
    }
    (extensions, notices)
}

fn not_loaded(directory: PathBuf, why: &str) -> FileNotice {
    FileNotice {
        path: directory,
        place: None,
        key: None,
        sentence: format!("is not loaded: {why}"),
    }
}

/// The directories of installed extensions, by name.
fn extension_directories(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name())
        .filter(|name| folder.join(name).is_dir())
        .collect();
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}
