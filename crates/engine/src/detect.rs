//! Finds an agent on this machine, and reports the searched places.
//!
//! If a variable names it, only that place counts: a program other than the named one would be a surprise. Otherwise PATH is
//! searched, then the usual directories of installers. Each rejected place is kept with the reason, because "not found" alone
//! does not help the user.

mod environment;
mod package;
mod places;
mod refusal;
mod version;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

pub use environment::{SearchEnvironment, SearchPlatform};
pub use package::{parse_version_output, version_of_package};
pub use refusal::PlaceRefusal;
pub use version::AgentVersion;

/// The variable that names the Gemini CLI to use.
pub const GEMINI_CLI_PATH: &str = "GEMINI_CLI_PATH";

/// Where people get Gemini CLI.
pub const INSTALL_URL: &str = "https://github.com/google-gemini/gemini-cli";

/// The name of the program.
const PROGRAM: &str = "gemini";

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// The program, as it was found: links are not followed.
    pub path: PathBuf,
    /// Where it was looked for.
    pub how: SearchReason,
    /// The version that its package names. Where there is none, the program can be asked: see [`parse_version_output`].
    pub version: Option<AgentVersion>,
    /// Where it was looked for before.
    pub tried: Vec<RejectedPlace>,
}

/// Nowhere was there a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// Where it was looked for.
    pub tried: Vec<RejectedPlace>,
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((variable, tried)) = self.named_place() else {
            let url = INSTALL_URL;
            return write!(f, "Gemini CLI not found. Install from: {url}");
        };
        let (path, refused) = (tried.path.display(), &tried.refused);
        write!(
            f,
            "cannot use `{path}`, which {variable} names as Gemini CLI: {refused}"
        )
    }
}

impl NotFound {
    /// A step that the user can take.
    pub fn hint(&self) -> String {
        match self.named_place() {
            Some((variable, _)) => {
                format!("correct {variable}, or unset it: then PATH is searched")
            }
            None => format!(
                "install it with `npm install -g @google/gemini-cli`, or set {GEMINI_CLI_PATH} to where it is"
            ),
        }
    }

    /// The place that a variable names, if one does.
    fn named_place(&self) -> Option<(&'static str, &RejectedPlace)> {
        self.tried.iter().find_map(|tried| match tried.how {
            SearchReason::Variable(name) => Some((name, tried)),
            SearchReason::Path | SearchReason::CommonPlace => None,
        })
    }
}

/// A place that was looked at in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedPlace {
    /// The place.
    pub path: PathBuf,
    /// Why it was looked at.
    pub how: SearchReason,
    /// The reason for the rejection.
    pub refused: PlaceRefusal,
}

/// Why a place is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchReason {
    /// This variable names it.
    Variable(&'static str),
    /// It is on PATH.
    Path,
    /// Installers like to put programs there.
    CommonPlace,
}

impl fmt::Display for SearchReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "named by {name}"),
            Self::Path => f.write_str("on PATH"),
            Self::CommonPlace => f.write_str("in a common place"),
        }
    }
}

/// Finds Gemini CLI. Nothing is started.
pub fn gemini(environment: &SearchEnvironment) -> Result<FoundProgram, NotFound> {
    let mut tried = Vec::new();
    for (how, path) in candidate_places(environment) {
        match refusal::check(&path, &how) {
            None => {
                let version = version_of_package(&path);
                return Ok(FoundProgram {
                    path,
                    how,
                    version,
                    tried,
                });
            }
            Some(refused) => {
                let is_named = matches!(how, SearchReason::Variable(_));
                tried.push(RejectedPlace { path, how, refused });
                if is_named {
                    break;
                }
            }
        }
    }
    Err(NotFound { tried })
}

/// All other installations of Gemini CLI, in the order in which they would be found without `found`.
pub fn others(environment: &SearchEnvironment, found: &FoundProgram) -> Vec<FoundProgram> {
    let usable = candidate_places(environment)
        .into_iter()
        .filter(|(how, path)| refusal::check(path, how).is_none() && *path != found.path);
    usable
        .map(|(how, path)| FoundProgram {
            version: version_of_package(&path),
            path,
            how,
            tried: Vec::new(),
        })
        .collect()
}

/// A program on PATH.
pub fn on_path(program: &str, environment: &SearchEnvironment) -> Option<PathBuf> {
    let names = environment.file_names(program);
    let files = environment
        .path
        .iter()
        .flat_map(|dir| names.iter().map(|name| dir.join(name)));
    files
        .into_iter()
        .find(|path| refusal::check(path, &SearchReason::Path).is_none())
}

/// Every place, in the order in which they are looked at, once each.
fn candidate_places(environment: &SearchEnvironment) -> Vec<(SearchReason, PathBuf)> {
    let variable = environment.file_in_variable(GEMINI_CLI_PATH);
    let variable = variable.map(|path| (SearchReason::Variable(GEMINI_CLI_PATH), path));
    let on_path = programs_in(&environment.path, environment);
    let elsewhere = programs_in(&places::search_directories(environment), environment);
    let mut seen = BTreeSet::new();
    variable
        .into_iter()
        .chain(on_path.into_iter().map(|path| (SearchReason::Path, path)))
        .chain(
            elsewhere
                .into_iter()
                .map(|path| (SearchReason::CommonPlace, path)),
        )
        .filter(|(_, path)| seen.insert(path.clone()))
        .collect()
}

/// The files that would be the program, in each directory.
fn programs_in(dirs: &[PathBuf], environment: &SearchEnvironment) -> Vec<PathBuf> {
    let names = environment.file_names(PROGRAM);
    let in_dir = |dir: &PathBuf| names.iter().map(|name| dir.join(name)).collect::<Vec<_>>();
    dirs.iter().flat_map(in_dir).collect()
}
