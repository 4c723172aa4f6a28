//! The files as Gemini CLI takes them: variables filled in, texts read kindly, old keys as new ones.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::check::{self, SettingsMisfit};
use super::{
    Settings, SettingsFile, SettingsScope, VariableSource, WorkspaceTrust, migrate, unknown,
    value_at,
};
use crate::jsonc::{JsoncTree, LineIndex};
use crate::notice::FileNotice;
use crate::paths::{GeminiHome, Vars};

/// Settings on their way, and what there is to say about them.
#[derive(Debug)]
pub(crate) struct SettingsReading {
    pub(crate) settings: Settings,
    pub(crate) notices: Vec<FileNotice>,
}

impl SettingsReading {
    /// Reads the files that count, with any trust of the workspace.
    pub(crate) fn from_files(home: &GeminiHome, workspace: &Path, vars: Vars<'_>) -> Self {
        let mut reading = Self {
            settings: Settings::read(home, workspace),
            notices: Vec::new(),
        };
        reading.leave_out();
        for file in &mut reading.settings.files {
            let Ok(content) = &mut file.content else {
                continue;
            };
            let odd = unknown::unknown_keys(content);
            let written = content.clone();
            VariableSource::from_vars(vars).fill_object(content);
            let mut misfits = check::check(content, &written);
            for misfit in &mut misfits {
                say_what_it_ends(misfit, content);
            }
            rename_theme(file.scope, content);
            // A mistake that the CLI reports itself is not reported twice.
            misfits.extend(new(odd, &misfits));
            reading.notices.extend(misfit_notices(file, misfits));
        }
        reading
    }

    /// Skips the system's files that others can write, and names unreadable ones.
    fn leave_out(&mut self) {
        let notices = &mut self.notices;
        self.settings.files.retain(|file| {
            let is_systems = matches!(file.scope, SettingsScope::System | SettingsScope::SystemDefaults);
            let is_left_out = is_systems && file.is_open_to_others;
            if is_left_out {
                notices.push(file_notice(
                    file,
                    "is skipped: a user other than root can write it, or a directory on the way to it",
                ));
            } else if let Err(error) = &file.content {
                // The notice has the place already.
                let sentence = format!("{}; {}", error.problem_text(), error.verdict(&file.path));
                notices.push(FileNotice {
                    place: error.place(),
                    ..file_notice(file, &sentence)
                });
            }
            !is_left_out
        });
    }

    /// Reads old keys as new ones in the files that count.
    pub(crate) fn migrate_files(&mut self, workspace: WorkspaceTrust) {
        for file in &mut self.settings.files {
            if file.scope == SettingsScope::Workspace && workspace == WorkspaceTrust::IsIgnored {
                continue;
            }
            if let Ok(content) = &mut file.content {
                let old = migrate::migrate_keys(content);
                self.notices.extend(misfit_notices(file, old));
            }
        }
    }
}

/// Those of which nothing is said yet.
fn new(mut odd: Vec<SettingsMisfit>, told: &[SettingsMisfit]) -> Vec<SettingsMisfit> {
    let told: HashSet<_> = told.iter().map(|misfit| &misfit.keys).collect();
    odd.retain(|misfit| !told.contains(&misfit.keys));
    odd
}

/// An entry of the disabled skills that is no text ends Gemini CLI: it converts each to small letters, and a number in the place
/// of the list too.
fn say_what_it_ends(misfit: &mut SettingsMisfit, content: &Map<String, Value>) {
    const DISABLED: [&str; 2] = ["skills", "disabled"];
    let Some(rest) = misfit.keys.strip_prefix(&DISABLED.map(str::to_owned)) else {
        return;
    };
    let list = value_at(content, &DISABLED);
    if !rest.is_empty() || list.is_some_and(Value::is_number) {
        let end = "; where that counts, Gemini CLI ends with an error";
        misfit.sentence.push_str(end);
    }
}

/// Two themes have other names now.
fn rename_theme(scope: SettingsScope, content: &mut Map<String, Value>) {
    if !matches!(scope, SettingsScope::User | SettingsScope::Workspace) {
        return;
    }
    let theme = content.get_mut("ui").and_then(|ui| ui.get_mut("theme"));
    if let Some(Value::String(name)) = theme {
        match name.as_str() {
            "VS" => "Default Light".clone_into(name),
            "VS2015" => "Default".clone_into(name),
            _ => {}
        }
    }
}

fn misfit_notices(file: &SettingsFile, misfits: Vec<SettingsMisfit>) -> Vec<FileNotice> {
    if misfits.is_empty() {
        return Vec::new();
    }
    let tree = JsoncTree::parse(&file.text);
    let lines = LineIndex::new(&file.text);
    let told = misfits.into_iter().map(|misfit| {
        let start = tree
            .as_ref()
            .and_then(|tree| tree.entry_start(&misfit.keys));
        FileNotice {
            place: start.map(|start| lines.byte_position(start)),
            key: Some(misfit.keys.join(".")),
            ..file_notice(file, &misfit.sentence)
        }
    });
    told.collect()
}

/// A remark about the file as a whole.
pub(crate) fn file_notice(file: &SettingsFile, sentence: &str) -> FileNotice {
    FileNotice {
        path: file.path.clone(),
        place: None,
        key: None,
        sentence: sentence.to_owned(),
    }
}
