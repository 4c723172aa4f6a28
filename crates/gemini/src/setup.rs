//! The setup of a workspace, read once: settings, trust, extensions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::dotenv;
use crate::extensions::{self, Extension};
use crate::file::UpstreamReaction;
use crate::notice::FileNotice;
use crate::paths::{GeminiHome, Vars};
use crate::settings::{
    self, EditError, EditOutcome, Settings, SettingsDocument, SettingsFile, SettingsReading,
    SettingsScope,
};
use crate::trust::{Trust, TrustDoubt};

/// The setup of a workspace: settings, trust, extensions.
///
/// ```
/// use std::collections::BTreeMap;
/// use lapidary_gemini::setup::Setup;
/// use lapidary_gemini::{GeminiHome, Vars};
///
/// let home = tempfile::tempdir()?;
/// let project = home.path().join("project");
/// std::fs::create_dir_all(project.join(".gemini"))?;
/// std::fs::create_dir_all(home.path().join(".gemini"))?;
/// std::fs::write(home.path().join(".gemini/settings.json"), r#"{"skills": {"disabled": ["a"]}}"#)?;
/// std::fs::write(project.join(".gemini/settings.json"), r#"{"skills": {"disabled": ["$WHICH"]}}"#)?;
///
/// let vars = BTreeMap::from([
///     ("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()),
///     ("WHICH".into(), "b".into()),
/// ]);
/// let setup = Setup::read(&GeminiHome::at(home.path()), &project, Vars::new(&vars));
/// assert!(setup.is_trusted());
/// assert_eq!(setup.get(&["skills", "disabled"]), Some(&serde_json::json!(["a", "b"])));
/// assert_eq!(setup.get(&["hooksConfig", "enabled"]), Some(&true.into()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Setup {
    /// Where the user's and the system's files are.
    pub home: GeminiHome,
    /// The workspace.
    pub workspace: PathBuf,
    /// The files of settings that are there, with their variables filled in and old keys read as new ones. The workspace's is
    /// among them even if it does not count.
    pub settings: Settings,
    /// Whether the workspace is trusted, and why.
    pub trust: Trust,
    /// The installed extensions, inactive ones included.
    pub extensions: Vec<Extension>,
    /// Notices about the files.
    pub notices: Vec<FileNotice>,
    merged: Map<String, Value>,
}

impl Setup {
    /// Reads the files. Bad files are notices; they stay where they are in `settings`.
    pub fn read(home: &GeminiHome, workspace: &Path, vars: Vars<'_>) -> Self {
        let mut reading = SettingsReading::from_files(home, workspace, vars);
        // The workspace has no say in whether it is trusted.
        let before = judge_trust(
            &reading.settings,
            settings::WorkspaceTrust::IsIgnored,
            |enabled| Trust::check(workspace, home, vars, enabled),
        );
        reading.migrate_files(before.workspace());
        let SettingsReading {
            settings,
            mut notices,
        } = reading;
        notices.extend(ignored_notice(&settings, &before));
        let merged = settings::merge_files(settings.file_contents(before.workspace()));
        // Once it is, it may ask for more.
        let trust = judge_trust(&settings, before.workspace(), |enabled| {
            Trust::check(workspace, home, vars, enabled)
        });
        notices.extend(bad_rules(home, &trust));
        let (extensions, more) =
            extensions::read_extensions(home, workspace, vars, &merged, &trust);
        notices.extend(more);
        Self {
            home: home.clone(),
            workspace: workspace.to_owned(),
            settings,
            trust,
            extensions,
            notices,
            merged,
        }
    }

    /// Whether the workspace counts as trusted: what only Gemini CLI itself can tell does not.
    pub fn is_trusted(&self) -> bool {
        matches!(self.trust, Trust::Trusted(_))
    }

    /// The settings that hold, merged by the rules of each key, defaults included (those of `modelConfigs` are not).
    pub fn merged(&self) -> &Map<String, Value> {
        &self.merged
    }

    /// What holds at a path of keys.
    pub fn get(&self, keys: &[&str]) -> Option<&Value> {
        settings::value_at(&self.merged, keys)
    }

    /// One file of settings on its own, if it is there.
    pub fn in_scope(&self, scope: SettingsScope) -> Option<&SettingsFile> {
        self.settings.files.iter().find(|file| file.scope == scope)
    }

    /// Changes the file of settings of a scope. A workspace may be another author's work: if a link leads its file out of it,
    /// nothing is changed.
    pub fn edit<E: From<EditError>>(
        &self,
        scope: SettingsScope,
        path: &Path,
        change: impl FnOnce(&mut SettingsDocument) -> Result<(), E>,
    ) -> Result<EditOutcome, E> {
        match scope {
            SettingsScope::Workspace => settings::edit_within(&self.workspace, path, change),
            SettingsScope::User | SettingsScope::System | SettingsScope::SystemDefaults => {
                settings::edit(path, change)
            }
        }
    }

    /// The variables that Gemini CLI has after its start, and hands to its commands: its own environment, and the variables of
    /// the `.env` file that counts, which replace no others.
    pub fn environment(&self, vars: Vars<'_>) -> BTreeMap<OsString, OsString> {
        let mut all = vars.all_variables().clone();
        let ignores_local = self.get(&["advanced", "ignoreLocalEnv"]);
        let file = dotenv::DotenvSearch {
            is_trusted: self.is_trusted(),
            ignores_local: ignores_local.is_some_and(settings::is_truthy),
        };
        let Some(path) = file.find_file(&self.workspace, &self.home) else {
            return all;
        };
        let is_projects = !path.to_string_lossy().contains(".gemini");
        let excluded = self.get(&["advanced", "excludedEnvVars"]);
        let excluded = excluded.and_then(Value::as_array);
        let is_excluded = |name: &str| {
            let mut names = excluded.into_iter().flatten();
            is_projects && names.any(|excluded| excluded == name)
        };
        for (name, value) in dotenv::read_variables(&path) {
            let value = dotenv::admitted_value(&name, value, self.is_trusted());
            if let Some(value) = value.filter(|_| !is_excluded(&name)) {
                all.entry(name.into()).or_insert_with(|| value.into());
            }
        }
        all
    }

    /// The extensions that count.
    pub fn active_extensions(&self) -> impl Iterator<Item = &Extension> {
        self.extensions.iter().filter(|found| found.is_active())
    }
}

/// Whether the workspace is trusted, by the settings that count. With a file that cannot be read Gemini CLI does not start.
fn judge_trust(
    settings: &Settings,
    workspace: settings::WorkspaceTrust,
    check: impl FnOnce(bool) -> Trust,
) -> Trust {
    let mut files = settings.files.iter();
    let bad = files.find_map(|file| Some((&file.path, file.content.as_ref().err()?)));
    if let Some((path, error)) = bad {
        return Trust::Unknown(TrustDoubt::from_read_error(path, error));
    }
    let merged = settings::merge_files(settings.file_contents(workspace));
    let enabled = settings::value_at(&merged, &["security", "folderTrust", "enabled"]);
    let enabled = enabled.filter(|value| !value.is_null());
    check(enabled.is_none_or(settings::is_truthy))
}

/// That the list of trusted folders is none, if it was asked.
fn bad_rules(home: &GeminiHome, trust: &Trust) -> Option<FileNotice> {
    let (path, problem, verdict) = match trust {
        Trust::Unknown(TrustDoubt::BadFile { path, problem }) => {
            (path, problem, UpstreamReaction::Refuses)
        }
        Trust::Unknown(TrustDoubt::UnreadFile { path, problem }) => {
            (path, problem, UpstreamReaction::MayRead)
        }
        _ => return None,
    };
    // Problems of settings are reported already.
    (*path == home.trusted_folders).then(|| FileNotice {
        path: path.clone(),
        place: None,
        key: None,
        sentence: format!("{problem}; {verdict}"),
    })
}

/// That the workspace's settings do not count, if there are any.
fn ignored_notice(settings: &Settings, trust: &Trust) -> Option<FileNotice> {
    let why = match trust {
        Trust::Trusted(_) => return None,
        Trust::Untrusted(reason) => format!("the folder is not trusted: {reason}"),
        Trust::Unknown(doubt) => format!("whether the folder is trusted is not certain: {doubt}"),
    };
    let mut files = settings.files.iter();
    let file = files.find(|file| file.scope == SettingsScope::Workspace && file.content.is_ok())?;
    Some(FileNotice {
        path: file.path.clone(),
        place: None,
        key: None,
        sentence: format!("does not count, because {why}"),
    })
}
