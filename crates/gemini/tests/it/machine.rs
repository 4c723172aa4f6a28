//! A home, a project in it, and the variables of a process there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use lapidary_gemini::auth::SignInMethod;
use lapidary_gemini::settings::Settings;
use lapidary_gemini::setup::Setup;
use lapidary_gemini::trust::Trust;
use lapidary_gemini::{GeminiHome, Vars};
use tempfile::TempDir;

pub(crate) struct Machine {
    root: TempDir,
    vars: BTreeMap<OsString, OsString>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let vars = BTreeMap::new();
        let machine = Self { root, vars };
        fs::create_dir_all(machine.project()).unwrap();
        // The machine that the tests run on may have settings of its own.
        let nowhere = machine.path("etc/settings.json");
        machine.with("GEMINI_CLI_SYSTEM_SETTINGS_PATH", nowhere)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.vars.insert(name.into(), value.into());
        self
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            text.replace('~', &self.path("home").display().to_string()),
        )
        .unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("home/code/project")
    }

    pub(crate) fn home(&self) -> GeminiHome {
        let home = self.path("home");
        GeminiHome::from_vars(Vars::new(&self.vars), Some(&home)).unwrap()
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup::read(&self.home(), &self.project(), Vars::new(&self.vars))
    }

    pub(crate) fn trust(&self) -> Trust {
        self.trust_of(&self.project())
    }

    pub(crate) fn trust_of(&self, folder: &Path) -> Trust {
        Trust::for_folder(folder, &self.home(), Vars::new(&self.vars))
    }

    pub(crate) fn vars(&self) -> &BTreeMap<OsString, OsString> {
        &self.vars
    }

    pub(crate) fn auth(&self) -> SignInMethod {
        let (project, home, vars) = (self.project(), self.home(), Vars::new(&self.vars));
        let settings = Settings::read(&home, &project);
        let counts = self.trust().workspace();
        SignInMethod::detect(&project, &home, vars, &settings, counts)
    }
}

/// Drops the capabilities of this thread, so that root has no more rights to files and directories than another user.
#[cfg(target_os = "linux")]
pub(crate) fn without_privileges() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, sets).unwrap();
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn without_privileges() {}
