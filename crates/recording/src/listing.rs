//! The recordings of a directory, as `lapidary runs list` shows them.
//!
//! Only manifests are read, never the agent's output. A recording that is deleted meanwhile is left out; one whose manifest is
//! missing, broken or of a newer version is listed with the fields that can be read.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use lapidary_vocab::runs::RunState;

use super::keep::is_running;
use super::listed_run::ListedRun;
use super::listing_cache::{ListingCache, ManifestStamp};
use super::manifest_facts::ManifestFacts;
use super::side_directory::is_side_directory;
use super::{MANIFEST, TIMING, is_name};
use lapidary_process::platform::open_regular;

/// A manifest is shorter. Of a longer file nothing is read.
const LONGEST_MANIFEST: u64 = 4 * 1024 * 1024;

/// Whether a listing may keep a file of its own beside the recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListingMode {
    /// For a directory of ours: manifests that have not changed are not read again.
    Cached,
    /// For a directory of the user's: nothing is written there.
    #[default]
    Direct,
}

/// The recorded runs below `root`, newest first. A directory that is not there has none.
pub fn list_runs(root: &Path, mode: ListingMode) -> io::Result<Vec<ListedRun>> {
    let mut cache = match mode {
        ListingMode::Cached => ListingCache::open(root),
        ListingMode::Direct => ListingCache::new_empty(),
    };
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(id) = name.to_str().filter(|name| is_name(name)) else {
            continue; // nothing that we have made
        };
        // Links are not followed: they lead out of the directory.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            runs.extend(listed_run(root, id, &mut cache));
        }
    }
    cache.save_listing(root, &runs);
    runs.sort_unstable_by(|a: &ListedRun, b| {
        let newest = b.began_ms.cmp(&a.began_ms);
        newest.then_with(|| b.info.id.cmp(&a.info.id))
    });
    Ok(runs)
}

/// The recorded run called `id`. None if it is not there, or not a recording.
pub fn read_run(root: &Path, id: &str) -> Option<ListedRun> {
    let is_directory = fs::symlink_metadata(root.join(id)).is_ok_and(|it| it.is_dir());
    (is_name(id) && is_directory).then(|| listed_run(root, id, &mut ListingCache::new_empty()))?
}

fn listed_run(root: &Path, id: &str, cache: &mut ListingCache) -> Option<ListedRun> {
    let directory = root.join(id);
    let manifest = directory.join(MANIFEST);
    let Ok(metadata) = fs::symlink_metadata(&manifest) else {
        return without_manifest(&directory, id);
    };
    let stamp = ManifestStamp::from_metadata(&metadata);
    if let Some(known) = cache.get(id, stamp) {
        return Some(known);
    }
    let look = || match read_manifest(&manifest) {
        Ok(text) => Some(described_run(&directory, id, &text, &metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None, // deleted just now
        Err(error) => {
            let problem = format!("cannot read `{MANIFEST}`: {error}");
            Some(unreadable_run(id, problem, &metadata))
        }
    };
    let mut run = look()?;
    if run.info.state == RunState::Died {
        // The run may have ended after its manifest was read and before its lock was tried: the end is written first.
        run = look()?;
    }
    cache.put_run(&run, stamp);
    Some(run)
}

fn read_manifest(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(LONGEST_MANIFEST)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn described_run(directory: &Path, id: &str, text: &str, metadata: &Metadata) -> ListedRun {
    let facts = match ManifestFacts::read_facts(text) {
        Ok(facts) => facts,
        Err(problem) => return unreadable_run(id, problem, metadata),
    };
    let state = if facts.has_end() {
        RunState::Ended
    } else if is_running(directory) {
        RunState::Running
    } else {
        RunState::Died
    };
    let info = facts.into_info(id, state);
    let began = info.started_at.as_deref();
    let began = began.and_then(|time| time.parse::<Timestamp>().ok());
    ListedRun {
        began_ms: began.map_or_else(|| modified_ms(metadata), Timestamp::as_millisecond),
        info,
    }
}

/// A directory without a manifest is a recording if it has the file that [`super::Recorder::begin`] makes first. A prompt that was
/// too long for stdin lies in a directory of its own, which is no run, and so do other files for the agent.
fn without_manifest(directory: &Path, id: &str) -> Option<ListedRun> {
    let timing = fs::symlink_metadata(directory.join(TIMING)).ok()?;
    let is_beside = is_side_directory(id) || directory.join(super::PROMPT).is_file();
    if !timing.is_file() || is_beside {
        return None;
    }
    if is_running(directory) {
        // The recorder holds the lock before it writes the manifest.
        return Some(run_without_facts(id, RunState::Running, &timing));
    }
    let problem = format!("there is no `{MANIFEST}`: the run ended before it began");
    Some(unreadable_run(id, problem, &timing))
}

fn unreadable_run(id: &str, problem: String, metadata: &Metadata) -> ListedRun {
    let mut run = run_without_facts(id, RunState::Unreadable, metadata);
    run.info.problem = Some(problem);
    run
}

fn run_without_facts(id: &str, state: RunState, metadata: &Metadata) -> ListedRun {
    ListedRun {
        info: ManifestFacts::default().into_info(id, state),
        began_ms: modified_ms(metadata),
    }
}

fn modified_ms(metadata: &Metadata) -> i64 {
    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    Timestamp::try_from(modified).map_or(0, Timestamp::as_millisecond)
}
