//! Where a path really leads.

use std::path::{Component, Path, PathBuf};

use super::{ToolAction, wildcard};

/// The system gives up after as many.
const MOST_LINKS: usize = 40;

/// The path without `.` and `..`, as it is written. Nothing is above the root.
pub fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The target of an absolute path once every link in it is followed, as the system would: `..` goes up from the target of a link.
/// A path that does not exist (yet) stays as it is. None for links in a circle and for relative paths.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut at = PathBuf::with_capacity(path.as_os_str().len());
    let mut ahead = follow_parts(&mut at, path);
    let mut links = 0;
    while let Some(path) = ahead {
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        ahead = follow_parts(&mut at, &path);
    }
    Some(at)
}

/// Goes on from `at`, part by part. Stops in the directory of the first link: returns its target, with the rest of the path.
fn follow_parts(at: &mut PathBuf, path: &Path) -> Option<PathBuf> {
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        match part {
            Component::ParentDir => {
                at.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir => at.push(part), // starts over
            Component::Normal(name) => {
                at.push(name);
                if let Ok(target) = at.read_link() {
                    at.pop();
                    return Some(target.join(parts.as_path()));
                }
            }
        }
    }
    None
}

/// How many files of a call are looked at for links: as many as hooks are told of.
const MOST_FOLLOWED: usize = 64;

impl ToolAction {
    /// Adds where links in its files lead, as files that are read or written through us are known only by that. A link on the way to
    /// the directory in which the agent works is none of its doing.
    pub fn follow_links(&mut self, dir: &Path) {
        let mut more = Vec::new();
        for path in self.paths.iter().take(MOST_FOLLOWED) {
            let plain = beyond_links(path, dir);
            // `..` behind a link is read in two ways.
            let leads = [resolved(path), resolved(&lexical(path))];
            more.extend(leads.into_iter().flatten().filter(|real| *real != plain));
        }
        for real in more {
            if !self.paths.contains(&real) {
                self.paths.push(real);
            }
        }
    }
}

/// Where a path would lead if there were no links below the directory.
fn beyond_links(path: &Path, dir: &Path) -> PathBuf {
    let below = path.strip_prefix(dir).ok();
    let real = below.and_then(|below| Some(resolved(dir)?.join(below)));
    lexical(real.as_deref().unwrap_or(path))
}

/// True if the path leads into one of the directories, links followed on both sides.
pub(super) fn is_inside(path: &Path, roots: &[PathBuf]) -> bool {
    let Some(path) = resolved(path) else {
        return false;
    };
    roots.iter().any(|root| is_below(&path, root))
}

/// As `starts_with`, for paths that are resolved: one that begins with the letters of the other and a separator is below it, and no parts
/// need be compared.
fn is_below(path: &Path, root: &Path) -> bool {
    let [letters, of_root] = [path, root].map(|it| it.as_os_str().as_encoded_bytes());
    let rest = letters.strip_prefix(of_root);
    rest.is_some_and(|rest| rest.starts_with(b"/")) || path.starts_with(root)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_as_the_system_does() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(dir.join("real/deep")).unwrap();
        symlink("real/deep", dir.join("link")).unwrap();
        symlink("/nowhere/at/all", dir.join("dangling")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        let check = |path: &str, expected: Option<PathBuf>| {
            assert_eq!(resolved(&dir.join(path)), expected, "{path}");
        };
        check("link/x", Some(dir.join("real/deep/x")));
        check("link/../x", Some(dir.join("real/x")));
        check("dangling/x", Some("/nowhere/at/all/x".into()));
        check("loop/x", None);
        check("not/there/../yet", Some(dir.join("not/yet")));
        assert_eq!(resolved(Path::new("/../../x")), Some("/x".into()));
        assert_eq!(resolved(Path::new("x")), None);
    }
}

/// Entries of directories that are compared with one pattern of a shell.
const MOST_ENTRIES: usize = 4096;

/// The files that a shell would replace a pattern by, and whether all of them were looked for.
pub(super) fn matches(dir: &Path, pattern: &str) -> (Vec<PathBuf>, bool) {
    let mut found = vec![dir.to_owned()];
    let mut left = MOST_ENTRIES;
    for name in Path::new(pattern).components() {
        let name = name.as_os_str().to_string_lossy();
        if !name.contains(['*', '?', '[']) {
            found = found.iter().map(|dir| dir.join(name.as_ref())).collect();
            continue;
        }
        let entries = found.iter().filter_map(|dir| dir.read_dir().ok()).flatten();
        let entries = entries.filter_map(Result::ok).take(left);
        let entries: Vec<_> = entries.map(|entry| entry.path()).collect();
        left -= entries.len();
        let name = without_sets(&name);
        let is_meant = |path: &PathBuf| {
            let own = path.file_name().unwrap_or_default();
            wildcard::wildcard_matches(&name, &own.to_string_lossy())
        };
        found = entries.into_iter().filter(is_meant).collect();
    }
    (found, left > 0)
}

/// `[a-z]` is any letter here: more files may match, and none fewer.
fn without_sets(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('[') {
        out.push_str(before);
        let set = behind.split_once(']');
        out.push(if set.is_some() { '?' } else { '[' });
        rest = set.map_or(behind, |(_, behind)| behind);
    }
    out + rest
}
