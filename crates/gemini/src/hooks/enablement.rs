//! Settings that disable hooks: `hooksConfig` of today, and `hooks.enabled` and `hooks.disabled` of before.
//!
//! Gemini CLI 0.61 no longer honours the old keys. We do: their authors wanted fewer hooks, never more.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::settings::{SettingsFile, value_at};

const ENABLED: [[&str; 2]; 2] = [["hooksConfig", "enabled"], ["hooks", "enabled"]];
const DISABLED: [[&str; 2]; 2] = [["hooksConfig", "disabled"], ["hooks", "disabled"]];

/// The disabled hooks, and the files that disable them.
#[derive(Debug, Default)]
pub(super) struct HookSwitches {
    /// The files that switch off all hooks.
    pub(super) off: Vec<PathBuf>,
    disabled: HashMap<String, Vec<PathBuf>>,
}

impl HookSwitches {
    /// Reads the switches of files, the weakest first.
    pub(super) fn read<'a>(files: impl Iterator<Item = &'a SettingsFile>) -> Self {
        let mut switches = Self::default();
        let mut off: [Option<PathBuf>; 2] = [None, None];
        for file in files {
            let Ok(content) = &file.content else { continue };
            for (generation, keys) in ENABLED.iter().enumerate() {
                if let Some(value) = value_at(content, keys) {
                    let is_off = is_off(value, generation);
                    off[generation] = is_off.then(|| file.path.clone());
                }
            }
            for keys in &DISABLED {
                let off = value_at(content, keys)
                    .map(disabled_names)
                    .unwrap_or_default();
                for name in off {
                    let files = switches.disabled.entry(name).or_default();
                    files.push(file.path.clone());
                }
            }
        }
        switches.off = off.into_iter().flatten().collect();
        switches.off.dedup();
        switches
    }

    /// The files that disable a hook of that name, files that disable all hooks included.
    pub(super) fn disabling_files(&self, name: &str) -> Vec<PathBuf> {
        let mut files = self.off.clone();
        files.extend(self.disabled.get(name).into_iter().flatten().cloned());
        files.dedup();
        files
    }
}

/// What counts as off is what JavaScript takes for false; of the old key only `false` does, which is all it ever was.
fn is_off(value: &Value, generation: usize) -> bool {
    match value {
        Value::Bool(enabled) => !enabled,
        _ if generation > 0 => false,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// A list of names; a single one is a list of one.
fn disabled_names(value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match value {
        Value::Array(items) => items.iter().filter_map(text).collect(),
        one => text(one).into_iter().collect(),
    }
}
