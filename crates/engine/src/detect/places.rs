//! Where installers like to put programs.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use super::environment::{SearchEnvironment, SearchPlatform};

/// In the home directory; `*` stands for every directory there is.
const IN_HOME: &[&str] = &[
    ".local/share/mise/installs/node/*/bin",
    ".local/share/mise/installs/npm-google-gemini-cli/*/bin",
    ".nvm/versions/node/*/bin",
    ".volta/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
    ".fnm/node-versions/*/installation/bin",
    ".npm-global/bin",
    ".local/bin",
    ".bun/bin",
    ".local/share/pnpm",
    ".local/share/pnpm/bin",
    "Library/pnpm",
];

const ON_WINDOWS: &[&str] = &[
    "AppData/Roaming/npm",
    "AppData/Local/Volta/bin",
    "AppData/Local/pnpm",
    ".bun/bin",
];

const OF_THE_SYSTEM: &[&str] = &[
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
];

/// No version manager keeps more versions; a directory with more entries is not one of a version manager.
const MOST_VERSIONS: usize = 1000;

/// The directories to look at, in order. Directories of a pattern with `*` exist; the others need not.
pub(super) fn search_directories(environment: &SearchEnvironment) -> Vec<PathBuf> {
    let (system, home) = match environment.platform {
        SearchPlatform::Unix => (OF_THE_SYSTEM, IN_HOME),
        SearchPlatform::Windows => (&[][..], ON_WINDOWS),
    };
    let system = system.iter().map(|path| environment.system_path(path));
    let home = home.iter().filter_map(|path| environment.in_home(path));
    system
        .chain(home)
        .flat_map(|path| expand_pattern(&path))
        .collect()
}

/// Every directory that a path with at most one `*` stands for, the newest version first.
fn expand_pattern(pattern: &Path) -> Vec<PathBuf> {
    let mut parts = pattern.components();
    let before: PathBuf = parts
        .by_ref()
        .take_while(|part| part.as_os_str() != "*")
        .collect();
    let after = parts.as_path();
    if before == pattern {
        return vec![before];
    }
    let Ok(entries) = fs::read_dir(&before) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .take(MOST_VERSIONS)
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect();
    names.sort_by_cached_key(|name| Reverse(numbers_in(&name.to_string_lossy())));
    names
        .into_iter()
        .map(|name| before.join(name).join(after))
        .collect()
}

/// `v20.11.1` as numbers, to compare: a name without numbers (`lts`, `latest`) comes before all, hence last. The name decides
/// among equals, so that the order does not depend on the file system.
fn numbers_in(name: &str) -> (Vec<u64>, String) {
    let version = name.strip_prefix('v').unwrap_or(name);
    let numbers = version.split('.').map_while(|part| part.parse().ok());
    (numbers.collect(), name.to_owned())
}
