//! The captured session files of agents other than Gemini CLI.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_sessions::{ProjectReach, ProviderScope};
use lapidary_testkit::captures::fixtures;

/// The scenes of every version of an agent that was captured.
pub(crate) fn scenes(agent: &str) -> Vec<PathBuf> {
    let versions = children(&fixtures().join("sessions"));
    let is_agents = |path: &PathBuf| name(path).starts_with(agent);
    let scenes: Vec<_> = versions
        .into_iter()
        .filter(is_agents)
        .flat_map(|version| children(&version))
        .collect();
    assert!(scenes.len() > 9, "the captures are missing");
    scenes
}

/// The entries of a directory, by name.
pub(crate) fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Copies a directory with all that is in it, into one that may be there.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in children(from) {
        let copy = to.join(name(&path));
        if path.is_dir() {
            copy_tree(&path, &copy);
        } else {
            fs::copy(&path, &copy).unwrap();
        }
    }
}

pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The folder of a scene, such as `claude-2.1.312/text`.
pub(crate) fn scene(of: &str) -> PathBuf {
    fixtures().join("sessions").join(of)
}

/// Every project.
pub(crate) fn everywhere() -> ProviderScope<'static> {
    ProviderScope {
        projects: &[],
        reach: ProjectReach::Everywhere,
        now: SystemTime::UNIX_EPOCH,
    }
}
