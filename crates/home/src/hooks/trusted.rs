//! `trusted_hooks.json`: which hooks of a project Gemini CLI has told the user about.
//!
//! It is not a lock: Gemini CLI runs hooks it sees for the first time, says so once, and writes them down. What it compares is
//! a hook's name and command, not what the script does.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::file;
use crate::places::GeminiHome;

/// The hooks that were seen, by project.
#[derive(Debug)]
pub struct TrustedHooks {
    path: PathBuf,
    projects: Map<String, Value>,
}

impl TrustedHooks {
    /// Reads the file. One that cannot be read is as good as empty, as for Gemini CLI.
    pub fn read(home: &GeminiHome) -> Self {
        let path = home.folder().join("trusted_hooks.json");
        let projects = match file::text(&path) {
            Ok(Some(text)) => serde_json::from_str(&text).unwrap_or_default(),
            _ => Map::new(),
        };
        Self { path, projects }
    }

    /// The hooks of a project's settings that were never seen, by what they are called.
    pub fn unseen(&self, project: &Path, hooks: &Map<String, Value>) -> Vec<String> {
        let known = self.known(project);
        let mut unseen: Vec<String> = Vec::new();
        for hook in all(hooks).filter(|hook| !known.contains(&key(hook))) {
            let text = |key: &str| hook.get(key)?.as_str().filter(|text| !text.is_empty());
            let called = text("name").or_else(|| text("command"));
            let called = called.unwrap_or("unknown-hook").to_owned();
            if !unseen.contains(&called) {
                unseen.push(called);
            }
        }
        unseen
    }

    /// Writes down that the user has been told about the hooks of a project.
    pub fn record(&mut self, project: &Path, hooks: &Map<String, Value>) -> io::Result<()> {
        let mut known = self.known(project);
        for key in all(hooks).map(key) {
            if !known.contains(&key) {
                known.push(key);
            }
        }
        let project = project.to_string_lossy().into_owned();
        self.projects.insert(project, known.into());
        self.save()
    }

    fn known(&self, project: &Path) -> Vec<String> {
        let list = self.projects.get(&*project.to_string_lossy());
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|key| key.as_str().map(str::to_owned))
            .collect()
    }

    fn save(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        let text = serde_json::to_string_pretty(&self.projects)?;
        draft.write_all(text.as_bytes())?;
        draft.persist(&self.path)?;
        Ok(())
    }
}

/// Every hook in a project's `hooks`, those too that cannot run.
fn all(hooks: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let definitions = hooks.values().filter_map(Value::as_array).flatten();
    let lists = definitions.filter_map(|definition| definition.get("hooks")?.as_array());
    let is_ours = |hook: &&Value| hook.get("type").and_then(Value::as_str) != Some("runtime");
    lists.flatten().filter(is_ours)
}

/// What makes a hook the same as one that was seen.
fn key(hook: &Value) -> String {
    let text = |key: &str| hook.get(key).and_then(Value::as_str).unwrap_or_default();
    let command = if text("type") == "command" {
        text("command")
    } else {
        ""
    };
    format!("{}:{command}", text("name"))
}
