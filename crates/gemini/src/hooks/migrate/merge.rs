//! Adding translated hooks to existing ones: existing hooks stay, missing ones are added once.

use serde_json::{Map, Value};

use super::{ClaudeHooks, TranslatedDefinition};
use crate::settings::value_kind;

impl ClaudeHooks {
    /// Adds missing hooks to the `hooks` of settings, and returns them. Existing ones stay as they are. An error names the value
    /// that is in the way.
    pub fn merge_into(
        &self,
        hooks: &mut Map<String, Value>,
    ) -> Result<Vec<TranslatedDefinition>, String> {
        let mut added = Vec::new();
        for definition in &self.definitions {
            let event = definition.event.as_str();
            let there = definition_list(hooks.get(event))
                .map_err(|odd| format!("`hooks.{event}` is {odd}, not a list"))?;
            let missing = definition
                .hooks
                .iter()
                .filter(|hook| !is_there(&there, definition, hook));
            let new = TranslatedDefinition {
                hooks: missing.cloned().collect(),
                ..definition.clone()
            };
            if new.hooks.is_empty() {
                continue;
            }
            let list = there.into_iter().chain([new.to_value()]);
            hooks.insert(event.to_owned(), list.collect());
            added.push(new);
        }
        Ok(added)
    }
}

/// The definitions of an event. One without a list around it counts all the same.
fn definition_list(value: Option<&Value>) -> Result<Vec<Value>, &'static str> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list.clone()),
        Some(one @ Value::Object(_)) => Ok(vec![one.clone()]),
        Some(odd) => Err(value_kind(odd)),
    }
}

impl TranslatedDefinition {
    /// The form for settings.
    pub fn to_value(&self) -> Value {
        let mut value = Map::new();
        if let Some(matcher) = &self.matcher {
            value.insert("matcher".to_owned(), matcher.as_str().into());
        }
        let hooks = self.hooks.iter().cloned().map(Value::Object);
        value.insert("hooks".to_owned(), hooks.collect());
        value.into()
    }
}

/// Whether a hook is in a list of definitions, for the same occasions. A timeout that the user has changed since does not matter.
fn is_there(list: &[Value], definition: &TranslatedDefinition, hook: &Map<String, Value>) -> bool {
    list.iter().any(|known| {
        let matcher = known.get("matcher").and_then(Value::as_str);
        let hooks = known.get("hooks").and_then(Value::as_array);
        let same = |other: &Value| other.get("command") == hook.get("command");
        effective_matcher(matcher) == effective_matcher(definition.matcher.as_deref())
            && hooks.is_some_and(|hooks| hooks.iter().any(same))
    })
}

/// A matcher, or none if it matches everything.
fn effective_matcher(matcher: Option<&str>) -> Option<&str> {
    matcher
        .map(str::trim)
        .filter(|matcher| !matcher.is_empty() && *matcher != "*")
}
