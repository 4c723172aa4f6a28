//! Where Gemini CLI keeps its things.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variables of the process that Gemini CLI would run in.
#[derive(Debug, Clone, Copy)]
pub struct Vars<'a>(&'a BTreeMap<OsString, OsString>);

impl<'a> Vars<'a> {
    /// These variables.
    pub fn new(vars: &'a BTreeMap<OsString, OsString>) -> Self {
        Self(vars)
    }

    /// The value of a variable. One that is empty says nothing, as in JavaScript.
    pub(crate) fn get(self, name: &str) -> Option<&'a OsStr> {
        let value = self.0.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value)
    }

    /// The same, but one that is empty is a value too.
    pub(crate) fn raw_value(self, name: &str) -> Option<&'a OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    pub(crate) fn all_variables(self) -> &'a BTreeMap<OsString, OsString> {
        self.0
    }

    pub(crate) fn has_value(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn is(self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|found| found == value)
    }
}

/// The files of Gemini CLI: the user's and the system's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeminiHome {
    /// The directory that `.gemini` lies in.
    pub home: PathBuf,
    /// Settings that overrule everybody's.
    pub system_settings: PathBuf,
    /// Settings that everybody overrules.
    pub system_defaults: PathBuf,
    /// Which folders the user trusts.
    pub trusted_folders: PathBuf,
}

impl GeminiHome {
    /// The usual places below a home directory.
    pub fn at(home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        let system = Path::new(system_directory());
        Self {
            system_settings: system.join("settings.json"),
            system_defaults: system.join("system-defaults.json"),
            trusted_folders: home.join(".gemini/trustedFolders.json"),
            home,
        }
    }

    /// The places as the variables have them; `home` is the user's, for when `GEMINI_CLI_HOME` names no other. None without any.
    pub fn from_vars(vars: Vars<'_>, home: Option<&Path>) -> Option<Self> {
        let named = vars.get("GEMINI_CLI_HOME").map(PathBuf::from);
        let mut places = Self::at(named.or_else(|| home.map(Path::to_owned))?);
        if let Some(path) = vars.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") {
            places.system_settings = path.into();
            places.system_defaults = Path::new(path).with_file_name("system-defaults.json");
        }
        if let Some(path) = vars.get("GEMINI_CLI_SYSTEM_DEFAULTS_PATH") {
            places.system_defaults = path.into();
        }
        if let Some(path) = vars.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") {
            places.trusted_folders = path.into();
        }
        Some(places)
    }

    /// The user's settings.
    pub fn user_settings(&self) -> PathBuf {
        self.folder().join("settings.json")
    }

    /// The credentials of a sign-in with Google, if there was one and no keychain holds them.
    pub fn oauth_credentials(&self) -> PathBuf {
        self.folder().join("oauth_creds.json")
    }

    /// `.gemini` in the home.
    pub fn folder(&self) -> PathBuf {
        self.home.join(".gemini")
    }
}

fn system_directory() -> &'static str {
    if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli"
    } else if cfg!(windows) {
        r"C:\ProgramData\gemini-cli"
    } else {
        "/etc/gemini-cli"
    }
}
