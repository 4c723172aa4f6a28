//! `trusted_hooks.json`: the hooks of a project that Gemini CLI has shown to the user.
//!
//! It is not a lock: Gemini CLI runs hooks it sees for the first time, says so once, and writes them down. It compares a hook's
//! name and command, not the script.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::file;
use crate::paths::GeminiHome;
use crate::settings::{EditError, edit};

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

    /// The names of hooks in a project's settings that were never seen.
    pub fn unseen(&self, project: &Path, hooks: &Map<String, Value>) -> Vec<String> {
        let known: HashSet<String> = self.known_keys(project).into_iter().collect();
        let mut told = HashSet::new();
        let mut unseen: Vec<String> = Vec::new();
        for hook in all_hooks(hooks).filter(|hook| !known.contains(&hook_key(hook))) {
            let text = |key: &str| hook.get(key)?.as_str().filter(|text| !text.is_empty());
            let called = text("name").or_else(|| text("command"));
            let called = called.unwrap_or("unknown-hook");
            if told.insert(called) {
                unseen.push(called.to_owned());
            }
        }
        unseen
    }

    /// Writes down that the hooks of a project were shown to the user.
    pub fn record(&mut self, project: &Path, hooks: &Map<String, Value>) -> Result<(), EditError> {
        let mut known = self.known_keys(project);
        let mut seen: HashSet<String> = known.iter().cloned().collect();
        known.extend(
            all_hooks(hooks)
                .map(hook_key)
                .filter(|key| seen.insert(key.clone())),
        );
        let project = project.to_string_lossy().into_owned();
        let known = Value::from(known);
        edit(&self.path, |file| file.set(&[&project], known.clone()))?;
        self.projects.insert(project, known);
        Ok(())
    }

    fn known_keys(&self, project: &Path) -> Vec<String> {
        let list = self.projects.get(&*project.to_string_lossy());
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|key| key.as_str().map(str::to_owned))
            .collect()
    }
}

/// Every hook in a project's `hooks`, those too that cannot run.
fn all_hooks(hooks: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let definitions = hooks.values().filter_map(Value::as_array).flatten();
    let lists = definitions.filter_map(|definition| definition.get("hooks")?.as_array());
    let is_ours = |hook: &&Value| hook.get("type").and_then(Value::as_str) != Some("runtime");
    lists.flatten().filter(is_ours)
}

/// The key by which a hook counts as seen.
fn hook_key(hook: &Value) -> String {
    let text = |key: &str| hook.get(key).and_then(Value::as_str).unwrap_or_default();
    let command = if text("type") == "command" {
        text("command")
    } else {
        ""
    };
    format!("{}:{command}", text("name"))
}
