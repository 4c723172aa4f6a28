//! One definition of hooks as it is written: a matcher and the hooks it is for.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::registry::{HookProblem, LeftOut};
use super::{Hook, HookEvent, HookSource, MatcherKind};
use crate::settings::{SettingsScope, is_truthy, value_kind};

/// The longest that Node's timers wait. A longer, negative or invalid timeout ends at once.
const LONGEST_TIMER: f64 = 2_147_483_647.0;

/// Where hooks are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct HookOrigin<'a> {
    pub(super) source: &'a HookSource,
    pub(super) scope: Option<SettingsScope>,
    pub(super) path: &'a Path,
}

/// A definition as it was read: hooks, and invalid entries.
#[derive(Debug, Default)]
pub(super) struct ParsedDefinition {
    pub(super) hooks: Vec<Hook>,
    pub(super) left_out: Vec<LeftOut>,
}

/// Reads one definition.
pub(super) fn read_definition(
    event: HookEvent,
    value: &Value,
    origin: HookOrigin<'_>,
    place: &[String],
) -> ParsedDefinition {
    let mut read = ParsedDefinition::default();
    let hooks = match definition_hooks(value) {
        Ok(hooks) => hooks,
        Err(why) => {
            let left =
                origin.left_out_entry(event.as_str(), place.to_vec(), (HookProblem::Shape, why));
            read.left_out.push(left);
            return read;
        }
    };
    let matcher = match matcher_text(event, value.get("matcher")) {
        Ok(matcher) => matcher,
        Err(why) => {
            let place = place_below(place, &["matcher"]);
            let left = origin.left_out_entry(event.as_str(), place, (HookProblem::Matcher, why));
            read.left_out.push(left);
            return read;
        }
    };
    let frame = DefinitionFrame {
        event,
        matcher,
        sequential: value.get("sequential") == Some(&Value::Bool(true)),
        origin,
    };
    for (index, hook) in hooks.iter().enumerate() {
        let place = place_below(place, &["hooks", &index.to_string()]);
        match frame.read_hook(hook, place.clone()) {
            Ok(hook) => read.hooks.push(hook),
            Err(why) => {
                let what = invalid_hook_name(hook).unwrap_or(event.as_str());
                read.left_out.push(origin.left_out_entry(what, place, why));
            }
        }
    }
    read
}

/// The problem, and its sentence.
type InvalidDetail = (HookProblem, String);

impl HookOrigin<'_> {
    fn left_out_entry(
        self,
        what: &str,
        place: Vec<String>,
        (misfit, why): InvalidDetail,
    ) -> LeftOut {
        LeftOut {
            what: what.to_owned(),
            origin: self.path.to_owned(),
            place,
            misfit,
            why,
        }
    }
}

fn definition_hooks(definition: &Value) -> Result<&Vec<Value>, String> {
    let hooks = match definition {
        Value::Object(definition) => definition.get("hooks"),
        other => {
            let found = value_kind(other);
            return Err(format!(
                "a definition is an object with `hooks`, this is {found}"
            ));
        }
    };
    match hooks {
        Some(Value::Array(hooks)) => Ok(hooks),
        odd => Err(format!(
            "its `hooks` is {}, not a list",
            odd.map_or("missing", value_kind)
        )),
    }
}

/// A matcher. A value that JavaScript takes for false is none; a value that is no text breaks Gemini CLI where it is looked at.
fn matcher_text(event: HookEvent, value: Option<&Value>) -> Result<Option<String>, String> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(odd) if !is_truthy(odd) || event.matching() == MatcherKind::Ignored => Ok(None),
        Some(odd) => Err(format!(
            "its `matcher` is {}, not a text; Gemini CLI then runs no hook at all for {event}",
            value_kind(odd)
        )),
    }
}

/// The fields that the hooks of a definition share.
struct DefinitionFrame<'a> {
    event: HookEvent,
    matcher: Option<String>,
    sequential: bool,
    origin: HookOrigin<'a>,
}

impl DefinitionFrame<'_> {
    fn read_hook(&self, value: &Value, place: Vec<String>) -> Result<Hook, InvalidDetail> {
        let Value::Object(hook) = value else {
            let why = format!("a hook is an object, this is {}", value_kind(value));
            return Err((HookProblem::Shape, why));
        };
        check_type(hook).map_err(|why| (HookProblem::Type, why))?;
        let text = |key: &str| hook.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Hook {
            event: self.event,
            name: text("name").filter(|name| !name.is_empty()),
            description: text("description"),
            command: command_text(hook).map_err(|why| (HookProblem::Command, why))?,
            timeout: hook.get("timeout").and_then(timer_duration),
            env: hook.get("env").map(hook_variables).unwrap_or_default(),
            fail_open: hook.get("failOpen") == Some(&Value::Bool(true)),
            matcher: self.matcher.clone(),
            sequential: self.sequential,
            source: self.origin.source.clone(),
            scope: self.origin.scope,
            origin: self.origin.path.to_owned(),
            place,
        })
    }
}

/// `plugin` is let through by Gemini CLI and then treated as a command.
fn check_type(hook: &Map<String, Value>) -> Result<(), String> {
    match hook.get("type") {
        Some(Value::String(word)) if word == "command" || word == "plugin" => Ok(()),
        Some(Value::String(word)) if word == "runtime" => {
            Err("its `type` is `runtime`, which only a program can register".to_owned())
        }
        Some(Value::String(word)) => Err(format!("its `type` is `{word}`, not `command`")),
        None => Err("it has no `type`; it should be `command`".to_owned()),
        Some(odd) => Err(format!("its `type` is {}, not `command`", value_kind(odd))),
    }
}

fn command_text(hook: &Map<String, Value>) -> Result<String, String> {
    match hook.get("command") {
        Some(Value::String(command)) if !command.is_empty() => Ok(command.clone()),
        Some(Value::String(_)) => Err("its `command` is empty".to_owned()),
        None => Err("it has no `command`".to_owned()),
        Some(odd) => Err(format!("its `command` is {}, not a text", value_kind(odd))),
    }
}

/// What JavaScript's timer makes of it, in milliseconds.
fn timer_duration(value: &Value) -> Option<Duration> {
    let number = match value {
        Value::Null => return None,
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Value::String(text) => text.trim().parse().unwrap_or(f64::NAN),
        Value::Bool(it) => f64::from(u8::from(*it)),
        Value::Array(_) | Value::Object(_) => f64::NAN,
    };
    let is_kept = (1.0..=LONGEST_TIMER).contains(&number);
    let milliseconds = if is_kept { number.trunc() } else { 1.0 };
    Some(Duration::from_secs_f64(milliseconds / 1000.0))
}

fn hook_variables(value: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

/// A name for an invalid hook.
fn invalid_hook_name(value: &Value) -> Option<&str> {
    let text = |key: &str| value.get(key)?.as_str().filter(|text| !text.is_empty());
    text("name").or_else(|| text("command"))
}

pub(super) fn place_below(place: &[String], steps: &[&str]) -> Vec<String> {
    let steps = steps.iter().map(|step| (*step).to_owned());
    place.iter().cloned().chain(steps).collect()
}
