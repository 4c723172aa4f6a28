//! Keys of older versions, read with their meaning of today. The file stays as it is; Gemini CLI itself would rewrite it.

use serde_json::{Map, Value};

use super::check::SettingsMisfit;
use super::edit::value_kind;
use super::merge::spread_keys;

/// Keys whose meaning was turned around: section, old name, new name.
const TURNED: [(&[&str], &str, &str); 4] = [
    (&["general"], "disableAutoUpdate", "enableAutoUpdate"),
    (
        &["general"],
        "disableUpdateNag",
        "enableAutoUpdateNotification",
    ),
    (
        &["ui", "accessibility"],
        "disableLoadingPhrases",
        "enableLoadingPhrases",
    ),
    (
        &["context", "fileFiltering"],
        "disableFuzzySearch",
        "enableFuzzySearch",
    ),
];

/// Keys that had another place, or that older versions of Gemini CLI knew.
const MOVED: [(&[&str], &str); 9] = [
    (&["tools", "approvalMode"], "general.defaultApprovalMode"),
    (&["experimental", "plan"], "general.plan.enabled"),
    (
        &["experimental", "codebaseInvestigatorSettings"],
        "agents.overrides.codebase_investigator",
    ),
    (
        &["experimental", "cliHelpAgentSettings"],
        "agents.overrides.cli_help",
    ),
    (&["hooks", "enabled"], "hooksConfig.enabled"),
    (&["hooks", "disabled"], "hooksConfig.disabled"),
    (&["hooks", "notifications"], "hooksConfig.notifications"),
    (&["agents", "enabled"], "agents.overrides"),
    (&["agents", "disabled"], "agents.overrides"),
];

/// Whether a path is one of an older version.
pub(super) fn is_old_path(path: &[&str]) -> bool {
    let is_turned = TURNED
        .iter()
        .any(|(section, old, _)| path.split_last() == Some((old, section)));
    is_turned || MOVED.iter().any(|(old, _)| *old == path)
}

/// Reads old keys as new ones, and says so.
pub(super) fn migrate_keys(object: &mut Map<String, Value>) -> Vec<SettingsMisfit> {
    let mut found = old_keys(object);
    for (section, old, new) in TURNED {
        turn_switch(object, section, old, new);
    }
    migrate_phrases(object);
    approval_mode(object);
    migrate_experimental(object);
    found.sort_by(|one, other| one.keys.cmp(&other.keys));
    found
}

fn old_keys(object: &Map<String, Value>) -> Vec<SettingsMisfit> {
    let moved = MOVED.iter().filter_map(|(path, new)| {
        super::value_at(object, path)?;
        let sentence = match path[0] {
            "hooks" => format!(
                "is of an older version; Gemini CLI reads `{new}` instead, and passes over this"
            ),
            "agents" => format!("is not read by Gemini CLI; it reads `{new}`"),
            _ => format!("is of an older version, and read as `{new}`"),
        };
        Some(key_misfit(path, sentence))
    });
    let turned = TURNED.iter().filter_map(|(section, old, new)| {
        let path = [*section, &[*old]].concat();
        let value = super::value_at(object, &path)?;
        let sentence = match value {
            Value::Bool(_) => {
                format!("is of an older version, and read as `{new}`, turned around")
            }
            odd => format!(
                "is of an older version and {}, not true or false",
                value_kind(odd)
            ),
        };
        Some(key_misfit(&path, sentence))
    });
    moved.chain(turned).collect()
}

fn key_misfit(path: &[&str], sentence: String) -> SettingsMisfit {
    SettingsMisfit {
        keys: path.iter().map(|&key| key.to_owned()).collect(),
        sentence,
    }
}

fn section_at<'a>(
    object: &'a mut Map<String, Value>,
    path: &[&str],
) -> Option<&'a mut Map<String, Value>> {
    path.iter()
        .try_fold(object, |object, key| object.get_mut(*key)?.as_object_mut())
}

/// Today's key wins if both are there.
fn turn_switch(object: &mut Map<String, Value>, path: &[&str], old: &str, new: &str) {
    let Some(section) = section_at(object, path) else {
        return;
    };
    let Some(Value::Bool(disabled)) = section.get(old) else {
        return;
    };
    let enabled = !disabled;
    section.shift_remove(old);
    if !matches!(section.get(new), Some(Value::Bool(_))) {
        section.insert(new.to_owned(), enabled.into());
    }
}

/// Phrases that were switched off still are.
fn migrate_phrases(object: &mut Map<String, Value>) {
    let enabled = super::value_at(object, &["ui", "accessibility", "enableLoadingPhrases"]);
    let is_off = enabled == Some(&Value::Bool(false));
    if let Some(ui) = section_at(object, &["ui"])
        && is_off
        && !ui.contains_key("loadingPhrases")
    {
        ui.insert("loadingPhrases".to_owned(), "off".into());
    }
}

fn approval_mode(object: &mut Map<String, Value>) {
    let Some(mode) =
        section_at(object, &["tools"]).and_then(|tools| tools.shift_remove("approvalMode"))
    else {
        return;
    };
    let general = object_at(object, "general");
    general.entry("defaultApprovalMode").or_insert(mode);
}

fn migrate_experimental(object: &mut Map<String, Value>) {
    let Some(section) = section_at(object, &["experimental"]) else {
        return;
    };
    let plan = section.shift_remove("plan");
    let investigator = section.shift_remove("codebaseInvestigatorSettings");
    let help = section.shift_remove("cliHelpAgentSettings");
    if plan.is_none() && investigator.is_none() && help.is_none() {
        return;
    }
    let overrides = object_at(object_at(object, "agents"), "overrides");
    if let Some(old) = investigator {
        migrate_investigator(object_at(overrides, "codebase_investigator"), &old);
    }
    if let Some(old) = help {
        let agent = object_at(overrides, "cli_help");
        carry_value(&old, "enabled", agent, "enabled");
    }
    if let Some(plan) = plan {
        let today = object_at(object_at(object, "general"), "plan");
        today.entry("enabled").or_insert(plan);
    }
}

fn migrate_investigator(agent: &mut Map<String, Value>, old: &Value) {
    carry_value(old, "enabled", agent, "enabled");
    for (name, new) in [
        ("maxNumTurns", "maxTurns"),
        ("maxTimeMinutes", "maxTimeMinutes"),
    ] {
        if old.get(name).is_some() {
            carry_value(old, name, object_at(agent, "runConfig"), new);
        }
    }
    if old.get("model").is_some() {
        carry_value(old, "model", object_at(agent, "modelConfig"), "model");
    }
    if old.get("thinkingBudget").is_some() {
        let config = object_at(object_at(agent, "modelConfig"), "generateContentConfig");
        let thinking = object_at(config, "thinkingConfig");
        carry_value(old, "thinkingBudget", thinking, "thinkingBudget");
    }
}

fn carry_value(from: &Value, old: &str, to: &mut Map<String, Value>, new: &str) {
    if let Some(value) = from.get(old) {
        to.insert(new.to_owned(), value.clone());
    }
}

/// The object at a key, made if there is none, or from a list.
fn object_at<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = object
        .entry(key)
        .or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(spread_keys(value.take()));
    }
    value
        .as_object_mut()
        .expect("it was made an object just now")
}
