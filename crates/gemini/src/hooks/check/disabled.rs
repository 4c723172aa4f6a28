//! What switches hooks off, and what only looks as if it did.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::HookRegistry;
use super::{FindingReport, LintSeverity, UnplacedFinding};
use crate::settings::{value_at, value_kind};

pub(super) fn check_disabled(report: &mut FindingReport<'_>, registry: &HookRegistry) {
    let files = report.setup.settings.files.iter();
    let files: Vec<(PathBuf, _)> = files
        .filter_map(|file| Some((file.path.clone(), file.content.as_ref().ok()?.clone())))
        .collect();
    for (path, content) in &files {
        let get = |keys: &[&str]| value_at(content, keys);
        if registry.switched_off_by.contains(path) && get(&["hooksConfig", "enabled"]).is_some() {
            let all = UnplacedFinding {
                severity: LintSeverity::Warning,
                code: "all_disabled",
                subject: "hooks",
                sentence: match registry.hooks.len() {
                    1 => "`hooksConfig.enabled` switches off the only hook".to_owned(),
                    count => format!("`hooksConfig.enabled` switches off all {count} hooks"),
                },
                hint: None,
            };
            report.add_finding(path, &owned_keys(&["hooksConfig", "enabled"]), all);
        }
        report_odd_switches(report, path, content.get("hooksConfig"));
        check_disabled_names(report, registry, path, get(&["hooksConfig", "disabled"]));
        report_old_keys(report, path, &get);
    }
}

/// Switches of a wrong type.
fn report_odd_switches(report: &mut FindingReport<'_>, path: &Path, config: Option<&Value>) {
    const NOTHING: (LintSeverity, &str) = (LintSeverity::Error, "it switches nothing off");
    // A value that is added to the list of the defaults becomes an item of it.
    const ONE: (LintSeverity, &str) = (
        LintSeverity::Warning,
        "Gemini CLI complains, and takes it for a list of that one name",
    );
    let ((severity, so), place, what) = match config {
        None => return,
        Some(Value::Object(config)) => match config.get("disabled") {
            None | Some(Value::Array(_)) => return,
            Some(odd) => {
                let place = owned_keys(&["hooksConfig", "disabled"]);
                let so = if odd.is_string() { ONE } else { NOTHING };
                (
                    so,
                    place,
                    format!("{}, not a list of names", value_kind(odd)),
                )
            }
        },
        Some(odd) => {
            let place = owned_keys(&["hooksConfig"]);
            (
                NOTHING,
                place,
                format!("{}, not an object", value_kind(odd)),
            )
        }
    };
    let name = place.join(".");
    let found = UnplacedFinding {
        severity,
        code: "bad_config",
        subject: &name,
        sentence: format!("`{name}` is {what}: {so}"),
        hint: Some(r#"write `"hooksConfig": {"enabled": true, "disabled": ["name"]}`"#.to_owned()),
    };
    report.add_finding(path, &place, found);
}

/// Names in the list: of hooks, or of none.
fn check_disabled_names(
    report: &mut FindingReport<'_>,
    registry: &HookRegistry,
    path: &Path,
    list: Option<&Value>,
) {
    let hooks = registry.hooks.iter();
    let known: HashSet<&str> = hooks.map(|entry| entry.hook.display_name()).collect();
    let alone = list.filter(|list| list.is_string()).into_iter();
    let list = list.and_then(Value::as_array).into_iter().flatten();
    for (index, name) in list.chain(alone).enumerate() {
        let place = owned_keys(&["hooksConfig", "disabled", &index.to_string()]);
        let Some(name) = name.as_str() else { continue };
        let is_known = known.contains(name);
        let (code, sentence, hint) = if is_known {
            let hint = format!("`lapidary hooks enable '{name}'` switches it on");
            ("disabled", format!("hook `{name}` is disabled"), Some(hint))
        } else {
            let sentence = format!("no hook here is called `{name}`");
            ("disabled_unknown", sentence, None)
        };
        let severity = LintSeverity::Note;
        report.add_finding(
            path,
            &place,
            UnplacedFinding {
                severity,
                code,
                subject: name,
                sentence,
                hint,
            },
        );
    }
}

/// Keys of older versions.
fn report_old_keys<'v>(
    report: &mut FindingReport<'_>,
    path: &Path,
    get: &impl Fn(&[&str]) -> Option<&'v Value>,
) {
    let moved = |key: &str| Some(format!("write `hooksConfig.{key}`"));
    if let Some(value) = get(&["hooks", "enabled"]) {
        let is_off = value == &Value::Bool(false);
        let sentence = if is_off {
            "`hooks.enabled` no longer switches anything off in Gemini CLI, which runs all hooks; Lapidary runs none"
        } else {
            "`hooks.enabled` is of an older version, and Gemini CLI passes over it"
        };
        report.add_finding(
            path,
            &owned_keys(&["hooks", "enabled"]),
            UnplacedFinding {
                severity: if is_off {
                    LintSeverity::Error
                } else {
                    LintSeverity::Warning
                },
                code: "old_key",
                subject: "hooks.enabled",
                sentence: sentence.to_owned(),
                hint: moved("enabled"),
            },
        );
    }
    if let Some(value) = get(&["hooks", "disabled"]) {
        let is_off = value.as_array().is_some_and(|list| !list.is_empty());
        report.add_finding(path, &owned_keys(&["hooks", "disabled"]), UnplacedFinding {
            severity: if is_off { LintSeverity::Error } else { LintSeverity::Warning },
            code: "old_key",
            subject: "hooks.disabled",
            sentence: "`hooks.disabled` no longer switches anything off in Gemini CLI, which runs those hooks; Lapidary does not".to_owned(),
            hint: moved("disabled"),
        });
    }
    if get(&["hooks", "notifications"]).is_some() {
        report.add_finding(
            path,
            &owned_keys(&["hooks", "notifications"]),
            UnplacedFinding {
                severity: LintSeverity::Warning,
                code: "old_key",
                subject: "hooks.notifications",
                sentence:
                    "`hooks.notifications` is of an older version, and Gemini CLI passes over it"
                        .to_owned(),
                hint: moved("notifications"),
            },
        );
    }
}

fn owned_keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}
