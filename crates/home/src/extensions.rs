//! Extensions of Gemini CLI: what is installed, whether it is active here, and what its manifest says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::file;
use crate::notice::Notice;
use crate::places::GeminiHome;

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
    /// What its manifest says, with variables filled in.
    pub manifest: Map<String, Value>,
    /// The variables of its settings that have a value: what its hooks get in their environment.
    pub env: BTreeMap<String, String>,
    variables: Vec<(String, String)>,
}

impl Extension {
    /// Whether it is active in the workspace.
    pub fn is_active(&self) -> bool {
        self.inactive.is_none()
    }

    /// Fills in `${extensionPath}`, `${workspacePath}`, `${/}` and the settings of the extension. Unknown names stay.
    pub fn hydrate(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.variables {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        text
    }

    /// Does the same in every string of a value.
    pub fn hydrate_all(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hydrate(text)),
            Value::Array(items) => items.iter().map(|item| self.hydrate_all(item)).collect(),
            Value::Object(object) => {
                let pairs = object.iter();
                let pairs = pairs.map(|(key, value)| (key.clone(), self.hydrate_all(value)));
                Value::Object(pairs.collect())
            }
            other => other.clone(),
        }
    }
}

/// The extensions of a home, in the order in which Gemini CLI loads them.
pub(crate) fn read(home: &GeminiHome, workspace: &Path) -> (Vec<Extension>, Vec<Notice>) {
    let folder = home.folder().join("extensions");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    names.sort();
    let found = names.iter().filter_map(|path| build(path, workspace));
    (found.collect(), Vec::new())
}

fn build(directory: &Path, workspace: &Path) -> Option<Extension> {
    let manifest = file::object(&directory.join("gemini-extension.json")).ok()??;
    let text = |key: &str| Some(manifest.get(key)?.as_str()?.to_owned());
    let variables = [
        ("extensionPath", directory.display().to_string()),
        ("workspacePath", workspace.display().to_string()),
        ("/", std::path::MAIN_SEPARATOR.to_string()),
        ("pathSeparator", std::path::MAIN_SEPARATOR.to_string()),
    ];
    Some(Extension {
        name: text("name")?,
        version: text("version")?,
        directory: directory.to_owned(),
        inactive: None,
        env: BTreeMap::new(),
        variables: variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        manifest,
    })
}
