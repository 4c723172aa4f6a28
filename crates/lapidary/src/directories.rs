//! Where a user's files of ours are, as the XDG specification has it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use lapidary_engine::agents::KNOWN;
use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::process::platform::{make_private_directory, private_name};
use lapidary_engine::recording::private_directories;

/// Why there is no directory in which something can be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}`", directory.display())]
pub struct StateError {
    /// The directory.
    pub directory: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

impl StateError {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        "set LAPIDARY_STATE_DIR to a directory of your own".to_owned()
    }
}

/// What the user configures.
pub fn config(environment: &SearchEnvironment) -> Option<PathBuf> {
    below(environment, "XDG_CONFIG_HOME", ".config")
}

/// What we can do without, and make again. None for users without a home.
pub fn cache(environment: &SearchEnvironment) -> Option<PathBuf> {
    let named = environment.vars.get(OsStr::new("LAPIDARY_CACHE_DIR"));
    let named = named.filter(|value| !value.is_empty());
    let named = named.map(|named| environment.dir.join(named));
    named.or_else(|| below(environment, "XDG_CACHE_HOME", ".cache"))
}

/// What we keep. Nothing is made there yet: before that, ask for [`safe_state`].
pub fn state(environment: &SearchEnvironment) -> PathBuf {
    own_state(environment).unwrap_or_else(shared_state)
}

/// What we keep, where nobody else can have a hand in it.
pub fn safe_state(environment: &SearchEnvironment) -> Result<PathBuf, StateError> {
    if let Some(own) = own_state(environment) {
        return Ok(own);
    }
    safe_shared_state()
}

/// Where runs work of which nothing is kept: beside those that are, or among temporary files if nothing can be written there.
pub fn unrecorded(environment: &SearchEnvironment) -> Result<PathBuf, StateError> {
    let usual = safe_state(environment)?.join("unrecorded");
    // Whether something can be written shows when it is.
    let can_write = private_directories(&usual).is_ok() && tempfile::tempdir_in(&usual).is_ok();
    if can_write {
        return Ok(usual);
    }
    Ok(safe_shared_state()?.join("unrecorded"))
}

/// The adapters that `doctor --install` has installed.
pub fn adapters(environment: &SearchEnvironment) -> PathBuf {
    state(environment).join("adapters")
}

/// The surroundings in which agents are looked for: behind PATH come the adapters that are installed below the state directory.
/// The PATH that programs inherit stays as it is.
pub fn surroundings(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
    here: impl Into<PathBuf>,
) -> SearchEnvironment {
    let mut environment = SearchEnvironment::from_vars(vars, here);
    // Other users can write to the shared temporary directory: no program is started from below it.
    if own_state(&environment).is_some() {
        let root = adapters(&environment);
        let adapters = KNOWN.iter().filter_map(|known| known.adapter);
        let programs = adapters.map(|adapter| adapter.programs(&root));
        environment.path.extend(programs);
    }
    environment
}

fn safe_shared_state() -> Result<PathBuf, StateError> {
    let directory = shared_state();
    match make_private_directory(&directory) {
        Ok(()) => Ok(directory),
        Err(source) => Err(StateError { directory, source }),
    }
}

fn own_state(environment: &SearchEnvironment) -> Option<PathBuf> {
    let named = environment.vars.get(OsStr::new("LAPIDARY_STATE_DIR"));
    let named = named.filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| below(environment, "XDG_STATE_HOME", ".local/state"))
}

/// For users without a home, among everybody's temporary files.
fn shared_state() -> PathBuf {
    std::env::temp_dir().join(private_name())
}

/// Our own below one of the user's directories. A relative path in a variable counts for nothing.
fn below(environment: &SearchEnvironment, variable: &str, usual: &str) -> Option<PathBuf> {
    let named = environment
        .vars
        .get(OsStr::new(variable))
        .map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute());
    let base = named.or_else(|| Some(environment.home.as_ref()?.join(usual)))?;
    Some(base.join("lapidary"))
}
