//! The directories of our files, after the XDG specification.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use lapidary_engine::agents::KNOWN;
use lapidary_engine::detect::SearchEnvironment;
use lapidary_engine::process::platform::{make_private_directory, private_name};
use lapidary_engine::recording::private_directories;

/// No state directory can be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}`", directory.display())]
pub struct StateError {
    /// The directory.
    pub directory: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

impl StateError {
    /// The next step for the user.
    pub fn hint(&self) -> String {
        "set LAPIDARY_STATE_DIR to a directory of your own".to_owned()
    }
}

/// The directory of the user's configuration.
pub fn config(environment: &SearchEnvironment) -> Option<PathBuf> {
    own_directory(environment, "XDG_CONFIG_HOME", ".config")
}

/// The directory of files that Lapidary can make again. None for users without a home.
pub fn cache(environment: &SearchEnvironment) -> Option<PathBuf> {
    let named = environment.vars.get(OsStr::new("LAPIDARY_CACHE_DIR"));
    let named = named.filter(|value| !value.is_empty());
    let named = named.map(|named| environment.dir.join(named));
    named.or_else(|| own_directory(environment, "XDG_CACHE_HOME", ".cache"))
}

/// The state directory. It may not exist yet: to write to it, use [`safe_state`].
pub fn state(environment: &SearchEnvironment) -> PathBuf {
    own_state(environment).unwrap_or_else(|| shared_state(environment))
}

/// The state directory, private to this user.
pub fn safe_state(environment: &SearchEnvironment) -> Result<PathBuf, StateError> {
    if let Some(own) = own_state(environment) {
        return Ok(own);
    }
    safe_shared_state(environment)
}

/// The directory for runs that are not recorded: beside the recordings, or among temporary files if it cannot be written to.
pub fn unrecorded(environment: &SearchEnvironment) -> Result<PathBuf, StateError> {
    let usual = safe_state(environment)?.join("unrecorded");
    // Only an attempt to write shows whether the directory can be written to.
    let can_write = private_directories(&usual).is_ok() && tempfile::tempdir_in(&usual).is_ok();
    if can_write {
        return Ok(usual);
    }
    Ok(safe_shared_state(environment)?.join("unrecorded"))
}

/// The directory for temporary files of a process whose `TMPDIR` has this value.
pub fn temporary(tmpdir: Option<&OsStr>) -> PathBuf {
    match tmpdir {
        Some(named) if cfg!(unix) => named.into(),
        None if cfg!(unix) => "/tmp".into(),
        Some(_) | None => std::env::temp_dir(),
    }
}

/// The directory for temporary files in this environment.
pub(crate) fn temporary_in(environment: &SearchEnvironment) -> PathBuf {
    let named = environment.vars.get(OsStr::new("TMPDIR"));
    temporary(named.map(OsString::as_os_str))
}

/// The adapters that `doctor --install` has installed.
pub fn adapters(environment: &SearchEnvironment) -> PathBuf {
    state(environment).join("adapters")
}

/// The environment in which agents are searched: behind PATH come the adapters that are installed below the state directory. The
/// PATH that programs inherit stays as it is.
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

fn safe_shared_state(environment: &SearchEnvironment) -> Result<PathBuf, StateError> {
    let directory = shared_state(environment);
    match make_private_directory(&directory) {
        Ok(()) => Ok(directory),
        Err(source) => Err(StateError { directory, source }),
    }
}

fn own_state(environment: &SearchEnvironment) -> Option<PathBuf> {
    let named = environment.vars.get(OsStr::new("LAPIDARY_STATE_DIR"));
    let named = named.filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| own_directory(environment, "XDG_STATE_HOME", ".local/state"))
}

/// For users without a home, among everybody's temporary files.
fn shared_state(environment: &SearchEnvironment) -> PathBuf {
    temporary_in(environment).join(private_name())
}

/// Our own below one of the user's directories. A relative path in a variable counts for nothing.
fn own_directory(environment: &SearchEnvironment, variable: &str, usual: &str) -> Option<PathBuf> {
    let named = environment
        .vars
        .get(OsStr::new(variable))
        .map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute());
    let base = named.or_else(|| Some(environment.home.as_ref()?.join(usual)))?;
    Some(base.join("lapidary"))
}
