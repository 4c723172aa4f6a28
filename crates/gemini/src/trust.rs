//! Folder trust: whether Gemini CLI takes a folder for trusted, and why.
//!
//! The order is that of 0.61: a variable, whether trust is asked for at all, an IDE, the user's list of folders. Headless, a
//! folder that is not certainly trusted ends the run with exit code 55.

mod rules;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::file::{ReadError, UpstreamReaction};
use crate::paths::{GeminiHome, Vars};
use crate::settings::{Settings, SettingsScope, WorkspaceTrust};

pub use rules::{TrustLevel, TrustRule, set};

/// The setting that switches folder trust off.
const ENABLED: [&str; 3] = ["security", "folderTrust", "enabled"];

const TRUST_WORKSPACE: &str = "GEMINI_CLI_TRUST_WORKSPACE";
const RESTRICTED_MODE: &str = "GEMINI_RESTRICTED_MODE";
/// An IDE that has this terminal open says so with it, and may vouch for the folder.
const IDE_PORT: &str = "GEMINI_CLI_IDE_SERVER_PORT";

/// The features that are withheld in an untrusted folder.
const WITHHELD: [&str; 5] = [
    "the settings of the workspace do not count",
    "the skills of the workspace are not loaded",
    "no hook of any settings is run, those of the user included",
    "the agents of the workspace are not loaded",
    "of a `.env` file only what signs in is read, and none in `.gemini`",
];

/// Whether a folder is trusted, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// It is.
    Trusted(TrustReason),
    /// It is not.
    Untrusted(TrustReason),
    /// Only Gemini CLI itself can tell.
    Unknown(TrustDoubt),
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustReason {
    /// A variable, by its name and value.
    Variable(&'static str, &'static str),
    /// Settings that switch folder trust off.
    SwitchedOff,
    /// The longest rule that holds for the folder.
    Rule(TrustRule),
    /// No rule holds for the folder.
    NoRule,
}

/// Why trust cannot be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustDoubt {
    /// A file is invalid, and Gemini CLI will refuse it too.
    BadFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// We do not read a file, but Gemini CLI may.
    UnreadFile {
        /// The file.
        path: PathBuf,
        /// Why we do not.
        problem: String,
    },
    /// Gemini CLI leaves out a file of the system's that others can write, and judges that by more than we see.
    OpenFile(PathBuf),
    /// The setting is neither true nor false.
    OddSetting(String),
    /// An IDE may vouch for it.
    Ide,
}

impl Trust {
    /// Judges a folder as Gemini CLI would if it ran there headless with these variables: it refuses to run in an untrusted folder.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::path::Path;
    /// use lapidary_gemini::trust::{Trust, TrustReason};
    /// use lapidary_gemini::{GeminiHome, Vars};
    ///
    /// let vars = BTreeMap::from([("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into())]);
    /// let trust = Trust::for_folder(Path::new("/srv/project"), &GeminiHome::at("/home/me"), Vars::new(&vars));
    /// assert_eq!(trust, Trust::Trusted(TrustReason::Variable("GEMINI_CLI_TRUST_WORKSPACE", "true")));
    /// ```
    pub fn for_folder(folder: &Path, home: &GeminiHome, vars: Vars<'_>) -> Self {
        Self::with_settings(folder, home, vars, &Settings::read(home, folder))
    }

    /// The same for settings that have been read already.
    pub fn with_settings(
        folder: &Path,
        home: &GeminiHome,
        vars: Vars<'_>,
        settings: &Settings,
    ) -> Self {
        let judged = |workspace| match read_enabled(settings, workspace) {
            Ok(true) => judge_folder(folder, home, vars),
            // Then nothing is checked before a run, and no variable changes that.
            Ok(false) => Self::Trusted(TrustReason::SwitchedOff),
            Err(doubt) => Self::Unknown(doubt),
        };
        match judged(WorkspaceTrust::IsIgnored) {
            // The settings of a workspace that is trusted count too, and may ask for more.
            Self::Trusted(_) if denial_reason(vars).is_none() => judged(WorkspaceTrust::Counts),
            decided => decided,
        }
    }

    /// Judges a folder as Gemini CLI does when it decides which of its files count; `is_enabled` is the merged setting.
    pub(crate) fn check(
        folder: &Path,
        home: &GeminiHome,
        vars: Vars<'_>,
        is_enabled: bool,
    ) -> Self {
        if is_enabled || denial_reason(vars).is_some() || vars.is(TRUST_WORKSPACE, "true") {
            judge_folder(folder, home, vars)
        } else {
            Self::Trusted(TrustReason::SwitchedOff)
        }
    }

    /// What Gemini CLI does not do in a folder that is not trusted. Nothing is missing in one that is.
    pub fn effects(&self) -> &'static [&'static str] {
        match self {
            Self::Trusted(_) => &[],
            Self::Untrusted(_) | Self::Unknown(_) => &WITHHELD,
        }
    }

    /// Whether the settings of the workspace count.
    pub fn workspace(&self) -> WorkspaceTrust {
        match self {
            Self::Trusted(_) => WorkspaceTrust::Counts,
            Self::Untrusted(_) | Self::Unknown(_) => WorkspaceTrust::IsIgnored,
        }
    }
}

fn judge_folder(folder: &Path, home: &GeminiHome, vars: Vars<'_>) -> Trust {
    if let Some(reason) = denial_reason(vars) {
        Trust::Untrusted(reason)
    } else if vars.is(TRUST_WORKSPACE, "true") {
        Trust::Trusted(TrustReason::Variable(TRUST_WORKSPACE, "true"))
    } else if vars.has_value(IDE_PORT) {
        Trust::Unknown(TrustDoubt::Ide)
    } else {
        rules::judge_by_rules(folder, &home.trusted_folders)
    }
}

/// The variable that denies trust, if one does.
fn denial_reason(vars: Vars<'_>) -> Option<TrustReason> {
    let denials = [(RESTRICTED_MODE, "true"), (TRUST_WORKSPACE, "false")];
    let denial = denials
        .into_iter()
        .find(|(name, value)| vars.is(name, value));
    denial.map(|(name, value)| TrustReason::Variable(name, value))
}

/// Whether folders need trust, which is the default. Settings that Gemini CLI may see otherwise are a doubt.
fn read_enabled(settings: &Settings, workspace: WorkspaceTrust) -> Result<bool, TrustDoubt> {
    for file in &settings.files {
        if let Err(error) = &file.content {
            return Err(TrustDoubt::from_read_error(&file.path, error));
        }
        let is_systems = matches!(
            file.scope,
            SettingsScope::System | SettingsScope::SystemDefaults
        );
        if is_systems && file.is_open_to_others {
            return Err(TrustDoubt::OpenFile(file.path.clone()));
        }
    }
    match settings.get(&ENABLED, workspace) {
        None => Ok(true),
        Some(Value::Bool(enabled)) => Ok(*enabled),
        Some(odd) => Err(TrustDoubt::OddSetting(odd.to_string())),
    }
}

impl TrustDoubt {
    /// The doubt that an unusable file leaves.
    pub(crate) fn from_read_error(path: &Path, error: &ReadError) -> Self {
        let (path, problem) = (path.to_owned(), error.to_string());
        match error.verdict(&path) {
            UpstreamReaction::Refuses => Self::BadFile { path, problem },
            UpstreamReaction::MayRead | UpstreamReaction::Misses => {
                Self::UnreadFile { path, problem }
            }
        }
    }
}

impl fmt::Display for TrustReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name, value) => write!(f, "{name} is {value}"),
            Self::SwitchedOff => f.write_str("settings switch folder trust off"),
            Self::Rule(rule) => write!(f, "trustedFolders.json has {rule}"),
            Self::NoRule => f.write_str("it is not in the list of trusted folders"),
        }
    }
}

impl fmt::Display for TrustDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadFile { path, problem } | Self::UnreadFile { path, problem } => {
                write!(f, "`{}` {problem}", path.display())
            }
            Self::OpenFile(path) => write!(
                f,
                "`{}` can be written by users other than root, and may be skipped",
                path.display()
            ),
            Self::OddSetting(value) => {
                write!(
                    f,
                    "`{}` is {value}, neither true nor false",
                    ENABLED.join(".")
                )
            }
            Self::Ide => f.write_str("an IDE may vouch for it"),
        }
    }
}
