//! The caller's description of the machine. The library does not read the environment of the process itself.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// How programs are named and where they are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchPlatform {
    /// Linux, macOS and their like.
    Unix,
    /// Windows: a program's name ends in one of `PATHEXT`.
    Windows,
}

impl SearchPlatform {
    /// The platform of this build.
    pub const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else {
            Self::Unix
        }
    }
}

/// Where programs are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEnvironment {
    /// The variables.
    pub vars: BTreeMap<OsString, OsString>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directories on PATH, in order.
    pub path: Vec<PathBuf>,
    /// The endings of programs on Windows, such as `.EXE`.
    pub pathext: Vec<String>,
    /// The caller's directory; a relative [`GEMINI_CLI_PATH`](super::GEMINI_CLI_PATH) counts from here.
    pub dir: PathBuf,
    /// Where the file system begins: `/`, except in tests.
    pub root: PathBuf,
    /// The kind of machine.
    pub platform: SearchPlatform,
}

impl SearchEnvironment {
    /// Reads the variables of a process that is in `dir`.
    pub fn from_vars(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        dir: impl Into<PathBuf>,
    ) -> Self {
        let vars: BTreeMap<_, _> = vars.into_iter().collect();
        let get = |name: &str| vars.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let platform = SearchPlatform::current();
        let home = match platform {
            SearchPlatform::Unix => get("HOME"),
            SearchPlatform::Windows => get("USERPROFILE"),
        };
        let pathext =
            get("PATHEXT").map_or(".COM;.EXE;.BAT;.CMD".into(), |text| text.to_string_lossy());
        Self {
            home: home.map(PathBuf::from),
            path: get("PATH").map_or_else(Vec::new, |path| std::env::split_paths(path).collect()),
            pathext: pathext
                .split(';')
                .filter(|ending| !ending.is_empty())
                .map(str::to_owned)
                .collect(),
            dir: dir.into(),
            root: PathBuf::from("/"),
            platform,
            vars,
        }
    }

    /// The file that a variable names.
    pub(super) fn file_in_variable(&self, variable: &str) -> Option<PathBuf> {
        let value = self.vars.get(OsStr::new(variable))?;
        (!value.is_empty()).then(|| self.dir.join(value))
    }

    /// The names that a program may have as a file.
    pub(super) fn file_names(&self, program: &str) -> Vec<String> {
        match self.platform {
            SearchPlatform::Unix => vec![program.to_owned()],
            SearchPlatform::Windows => self
                .pathext
                .iter()
                .map(|ending| format!("{program}{}", ending.to_ascii_lowercase()))
                .collect(),
        }
    }

    /// A place that is the same on every machine.
    pub(super) fn system_path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A place in the user's home.
    pub(super) fn in_home(&self, path: &str) -> Option<PathBuf> {
        let home = self.home.as_deref().filter(|home| home.is_absolute())?;
        Some(home.join(Path::new(path)))
    }
}
