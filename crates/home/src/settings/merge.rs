//! One object from several files, by the rule of each key.

use serde_json::{Map, Value};

use super::{Scope, Settings, Workspace};

/// The settings that hold.
pub(crate) fn merge(settings: &Settings, workspace: Workspace) -> Map<String, Value> {
    let mut merged = Map::new();
    for file in &settings.files {
        let counts = file.scope != Scope::Workspace || workspace == Workspace::Counts;
        if let Ok(content) = &file.content
            && counts
        {
            into(&mut merged, content, &mut Vec::new());
        }
    }
    merged
}

fn into<'a>(
    target: &mut Map<String, Value>,
    source: &'a Map<String, Value>,
    path: &mut Vec<&'a str>,
) {
    for (key, value) in source {
        path.push(key);
        match (target.get_mut(key), value) {
            (Some(Value::Object(target)), Value::Object(source)) => into(target, source, path),
            (Some(Value::Array(target)), Value::Array(source)) if is_added(path) => {
                for item in source {
                    if path[0] == "hooks" || !target.contains(item) {
                        target.push(item.clone());
                    }
                }
            }
            _ => {
                target.insert(key.clone(), value.clone());
            }
        }
        path.pop();
    }
}

/// Whether a list adds to that of a weaker file instead of taking its place.
fn is_added(path: &[&str]) -> bool {
    matches!(path, ["hooks", _] | ["skills" | "hooksConfig", "disabled"])
}
