//! The hooks of all files, one over the other as Gemini CLI merges them, each with the file it is from.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::HookEvent;
use super::definition::place_below;
use super::registry::{HookProblem, LeftOut};
use crate::settings::{SettingsFile, value_kind};

/// What `hooks` held before there were `hooksConfig`: no events.
pub(super) const SWITCHES: [&str; 3] = ["enabled", "disabled", "notifications"];

/// Definitions by event.
#[derive(Debug)]
pub(super) struct HookLayers<'a> {
    pub(super) events: Vec<(HookEvent, Vec<WrittenDefinition<'a>>)>,
    /// Names that are no event's, and the file that has each first.
    pub(super) unknown: Vec<(&'a str, &'a Path)>,
    pub(super) left_out: Vec<LeftOut>,
    /// The names among the unknown ones.
    seen: HashSet<&'a str>,
}

/// A definition and where it is written.
#[derive(Debug, Clone)]
pub(super) struct WrittenDefinition<'a> {
    pub(super) file: &'a SettingsFile,
    pub(super) value: &'a Value,
    pub(super) place: Vec<String>,
}

/// Puts files over one another, the weakest first.
pub(super) fn merge_hooks<'a>(files: impl Iterator<Item = &'a SettingsFile>) -> HookLayers<'a> {
    let mut layers = HookLayers {
        events: HookEvent::ALL.map(|event| (event, Vec::new())).into(),
        unknown: Vec::new(),
        left_out: Vec::new(),
        seen: HashSet::new(),
    };
    for file in files {
        let content = file.content.as_ref().ok();
        match content.and_then(|content| content.get("hooks")) {
            None => {}
            Some(Value::Object(hooks)) => layers.add_hooks(file, hooks),
            Some(odd) => layers.replace_all(file, odd),
        }
    }
    layers
}

impl<'a> HookLayers<'a> {
    fn add_hooks(&mut self, file: &'a SettingsFile, hooks: &'a Map<String, Value>) {
        for (name, value) in hooks {
            if SWITCHES.contains(&name.as_str()) {
                continue;
            }
            if is_unsafe(name) {
                self.left_out.push(LeftOut {
                    what: name.clone(),
                    origin: file.path.clone(),
                    place: vec!["hooks".to_owned(), name.clone()],
                    misfit: HookProblem::Event,
                    why: "there is no hook event of this name".to_owned(),
                });
                continue;
            }
            match name.parse() {
                Ok(event) => self.add_definitions(file, event, value),
                Err(_) if !self.seen.insert(name) => {}
                Err(_) => self.unknown.push((name, &file.path)),
            }
        }
    }

    fn add_definitions(&mut self, file: &'a SettingsFile, event: HookEvent, value: &'a Value) {
        let place = vec!["hooks".to_owned(), event.to_string()];
        let found = self.events.iter().position(|(known, _)| *known == event);
        let index = match (found, value) {
            (Some(index), _) => index,
            (None, Value::Array(_)) => {
                self.events.push((event, Vec::new()));
                self.events.len() - 1
            }
            (None, odd) => {
                return self.left_out.push(LeftOut {
                    what: event.to_string(),
                    origin: file.path.clone(),
                    place,
                    misfit: HookProblem::Shape,
                    why: format!("it is {}, not a list", value_kind(odd)),
                });
            }
        };
        let written = |value, place| WrittenDefinition { file, value, place };
        let list = &mut self.events[index].1;
        match value {
            Value::Array(items) => list.extend(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| written(item, place_below(&place, &[&index.to_string()]))),
            ),
            // The defaults have a list for every event, and a value that is added to a list becomes an item of it.
            one => list.push(written(one, place)),
        }
    }

    /// A value that is no object replaces everything in weaker files.
    fn replace_all(&mut self, file: &'a SettingsFile, odd: &Value) {
        let lost: usize = self.events.iter().map(|(_, list)| list.len()).sum();
        let lost = lost + self.unknown.len();
        self.unknown.clear();
        self.seen.clear();
        // The defaults are gone with it.
        self.events.clear();
        let and_more = if lost > 0 {
            "; it takes the place of the hooks in weaker files, so those are gone too"
        } else {
            ""
        };
        self.left_out.push(LeftOut {
            what: "hooks".to_owned(),
            origin: file.path.clone(),
            place: vec!["hooks".to_owned()],
            misfit: HookProblem::Shape,
            why: format!("`hooks` is {}, not an object{and_more}", value_kind(odd)),
        });
    }
}

/// Gemini CLI steps over these without a word.
fn is_unsafe(name: &str) -> bool {
    matches!(name, "__proto__" | "constructor" | "prototype")
}
