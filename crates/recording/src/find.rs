//! The run that a user names: by its id, by the beginning of its id, or as the newest one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::listing::{ListingMode, list_runs, read_run};
use super::{MANIFEST, PROMPT, TIMING, is_name};

/// The word for the newest run.
pub const LATEST: &str = "latest";

/// How many of the runs that could be meant are named.
const MOST_CANDIDATES: usize = 5;

/// A run is deleted by no fewer characters of its id: a letter that happens to end an id is no name.
const SHORTEST_TO_DELETE: usize = 4;

/// Why no run is meant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindRunError {
    /// No id begins or ends so.
    #[error("no recorded run has the id `{named}`")]
    Unknown {
        /// The given name.
        named: String,
    },
    /// Several ids begin or end so.
    #[error("{count} recorded runs begin or end with `{named}`: {}", candidate_list(candidates, *count))]
    Ambiguous {
        /// The given name.
        named: String,
        /// How many.
        count: usize,
        /// The newest of them.
        candidates: Vec<String>,
    },
    /// There is no run at all.
    #[error("no run is recorded yet")]
    NoRuns,
    /// The directory of the recordings cannot be read.
    #[error("cannot read `{}`", root.display())]
    Read {
        /// The directory.
        root: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

fn candidate_list(candidates: &[String], count: usize) -> String {
    let more = count - candidates.len();
    let names = candidates.iter().map(|id| format!("`{id}`"));
    let names = names.collect::<Vec<_>>().join(", ");
    match more {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// Which names count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunName {
    /// For deleting: a whole id, or four or more characters of its beginning or end. Not `latest`, which changes with each run.
    ToDelete,
    /// A whole id, its beginning or end, or `latest`.
    ToRead,
}

/// The id of the run that `named` means among the recordings below `root`.
pub fn find_run(root: &Path, named: &str, how: RunName) -> Result<String, FindRunError> {
    if read_run(root, named).is_some() {
        return Ok(named.to_owned());
    }
    let unknown = || FindRunError::Unknown {
        named: named.to_owned(),
    };
    let is_too_short = how == RunName::ToDelete && named.len() < SHORTEST_TO_DELETE;
    // A file of exactly that name that is no run was meant, and not a run whose id begins so.
    let is_other = || root.join(named).symlink_metadata().is_ok();
    if is_too_short || !is_name(named) || is_other() {
        return Err(unknown());
    }
    let failed = |source| FindRunError::Read {
        root: root.to_owned(),
        source,
    };
    if named == LATEST && how == RunName::ToRead {
        let newest = list_runs(root, ListingMode::Direct).map_err(failed)?;
        let newest = newest.into_iter().next();
        return newest.map(|run| run.info.id).ok_or(FindRunError::NoRuns);
    }
    let mut ids = with_part(root, named).map_err(failed)?;
    match ids.len() {
        0 => Err(unknown()),
        1 => Ok(ids.remove(0)),
        count => {
            ids.truncate(MOST_CANDIDATES);
            Err(FindRunError::Ambiguous {
                named: named.to_owned(),
                count,
                candidates: ids,
            })
        }
    }
}

/// The ids that begin or end so, the last first: most ids begin with a time.
fn with_part(root: &Path, named: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let all = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut ids: Vec<_> = all
        .filter(|id| id.starts_with(named) || id.ends_with(named))
        .filter(|id| is_name(id) && is_run(&root.join(id)))
        .collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(ids)
}

/// Without reading the manifest.
fn is_run(directory: &Path) -> bool {
    let is_there = |file: &str| fs::symlink_metadata(directory.join(file)).is_ok();
    let is_directory = fs::symlink_metadata(directory).is_ok_and(|it| it.is_dir());
    is_directory && (is_there(MANIFEST) || (is_there(TIMING) && !is_there(PROMPT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorder;

    #[track_caller]
    fn check(named: &str, how: RunName, expected: Result<&str, &str>) {
        let root = tempfile::tempdir().unwrap();
        let all = [
            "20261117T080000-aa",
            "20261117T080000-ab",
            "login",
            "login.2",
        ];
        for id in all {
            Recorder::begin(root.path(), id).unwrap();
        }
        fs::create_dir(root.path().join("20991231-no-recording")).unwrap();
        let found = find_run(root.path(), named, how).map_err(|error| error.to_string());
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{named}");
    }

    #[test]
    fn a_whole_id_wins_over_the_beginning_of_another_and_the_end_of_one_is_enough() {
        check("login", RunName::ToRead, Ok("login"));
        check("login", RunName::ToDelete, Ok("login"));
        check("0-aa", RunName::ToRead, Ok("20261117T080000-aa"));
        check("login.", RunName::ToRead, Ok("login.2"));
        check(
            "20261117T080000-aa",
            RunName::ToRead,
            Ok("20261117T080000-aa"),
        );
    }

    #[test]
    fn an_ambiguous_beginning_names_the_runs_that_it_could_mean() {
        let candidates =
            "2 recorded runs begin or end with `2026`: `20261117T080000-ab`, `20261117T080000-aa`";
        check("2026", RunName::ToRead, Err(candidates));
    }

    #[test]
    fn a_run_is_deleted_by_its_id_or_four_characters_of_its_beginning_or_end() {
        check("login.", RunName::ToDelete, Ok("login.2"));
        check("0-ab", RunName::ToDelete, Ok("20261117T080000-ab"));
        for named in ["-ab", "lat", LATEST] {
            let sentence = format!("no recorded run has the id `{named}`");
            check(named, RunName::ToDelete, Err(&sentence));
        }
        let candidates = "2 recorded runs begin or end with `logi`: `login.2`, `login`";
        check("logi", RunName::ToDelete, Err(candidates));
    }

    #[test]
    fn a_directory_that_is_no_run_is_not_found() {
        for named in ["x", "2099", "../login", "", ".", "..", "login/../login"] {
            let sentence = format!("no recorded run has the id `{named}`");
            check(named, RunName::ToRead, Err(&sentence));
        }
    }
}
