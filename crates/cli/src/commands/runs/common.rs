//! The directory of recordings, and the resolution of a run's name.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::recording::{
    self, FindRunError, LATEST, ListedRun, ListingMode, RunName, find_run, list_runs,
};

use crate::failure::Failure;
use crate::invocation::Invocation;
use lapidary::prepare::recorded_in;

/// A directory of recordings.
pub(in crate::commands) struct RunStore {
    pub(in crate::commands) root: PathBuf,
    pub(in crate::commands) environment: SearchEnvironment,
    mode: ListingMode,
}

impl RunStore {
    /// The directory that the user names, or the usual one.
    pub(in crate::commands) fn open(
        named: Option<&Path>,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let here = invocation.current_dir().unwrap_or_default();
        let environment = SearchEnvironment::from_vars(invocation.all_variables(), here);
        Ok(Self {
            root: recorded_in(named, &environment)?.root,
            environment,
            mode: match named {
                Some(_) => ListingMode::Direct,
                None => ListingMode::Cached,
            },
        })
    }

    /// Its runs, newest first.
    pub(in crate::commands) fn list_runs(&self) -> Result<Vec<ListedRun>, Failure> {
        list_runs(&self.root, self.mode)
            .with_context(|| format!("cannot read `{}`", self.root.display()))
            .map_err(Failure::bad_input)
    }

    /// The recording of the named run; without a name, of the newest.
    pub(in crate::commands) fn recording_path(
        &self,
        named: Option<&str>,
    ) -> Result<PathBuf, Failure> {
        let named = named.unwrap_or(LATEST);
        if named.contains(std::path::is_separator) {
            return Ok(self.environment.dir.join(named));
        }
        self.find_run_id(named, RunName::ToRead)
            .map(|id| self.root.join(id))
    }

    /// The id of the named run.
    pub(in crate::commands) fn find_run_id(
        &self,
        named: &str,
        how: RunName,
    ) -> Result<String, Failure> {
        find_run(&self.root, named, how).map_err(|error| self.not_found(error, how))
    }

    fn not_found(&self, error: FindRunError, how: RunName) -> Failure {
        let hint = match &error {
            FindRunError::Ambiguous { .. } => "type more of the id".to_owned(),
            FindRunError::Unknown { .. } if how == RunName::ToDelete => {
                "`lapidary runs list` shows the ids; four characters of one are enough".to_owned()
            }
            FindRunError::Unknown { .. } => "`lapidary runs list` shows the ids".to_owned(),
            _ => {
                let root = self.root.display();
                format!("runs are recorded in `{root}`")
            }
        };
        Failure::bad_input(error).with_hint(hint)
    }
}

/// The path that an argument means which may be a path or a run: an existing path is itself. None if it is neither.
pub(in crate::commands) fn run_or_path(
    argument: &Path,
    record_dir: Option<&Path>,
    invocation: &Invocation,
) -> Result<Option<PathBuf>, Failure> {
    if argument.exists() {
        return Ok(Some(argument.to_owned()));
    }
    let Some(named) = argument.to_str().filter(|_| is_one_word(argument)) else {
        return Ok(None);
    };
    let store = RunStore::open(record_dir, invocation)?;
    match find_run(&store.root, named, RunName::ToRead) {
        Ok(id) => Ok(Some(store.root.join(id))),
        Err(error @ FindRunError::Ambiguous { .. }) => Err(store.not_found(error, RunName::ToRead)),
        Err(_) => Ok(None),
    }
}

fn is_one_word(path: &Path) -> bool {
    path.components().count() == 1 && !path.starts_with("..")
}

/// Says that a recording was there a moment ago, if it is gone now.
pub(super) fn failure_if_gone(recording: &Path, failure: Failure) -> Failure {
    if recording.symlink_metadata().is_ok() {
        return failure;
    }
    let id = recording.file_name().unwrap_or_default();
    let id = id.to_string_lossy();
    Failure::bad_input(anyhow!("the recording of run `{id}` is gone"))
        .with_hint("it was deleted or pruned just now, or never was there")
}

/// The id of a recording: the name of its directory.
pub(super) fn id_of(recording: &Path) -> String {
    let name = recording.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The session of a run that `named` means, and the directory that the agent worked in.
pub(in crate::commands) fn session_of_run(
    named: &str,
    invocation: &Invocation,
) -> Option<(String, PathBuf)> {
    let store = RunStore::open(None, invocation).ok()?;
    let id = find_run(&store.root, named, RunName::ToRead).ok()?;
    let info = recording::read_run(&store.root, &id)?.info;
    Some((info.session_id?, PathBuf::from(info.project?)))
}
