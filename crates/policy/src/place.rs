//! Where a path really leads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::Deed;

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

/// Where an absolute path leads once every link in it is followed, as the system would: `..` goes up from where a link led. What
/// is not there (yet) leads where it says. None for links in a circle and for relative paths, which lead nowhere.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut links = 0;
    let mut at = PathBuf::new();
    let mut ahead = queued(path);
    while let Some(part) = ahead.pop_front() {
        match part.to_str() {
            Some("..") => {
                at.pop();
                continue;
            }
            Some(".") => continue,
            _ => at.push(part),
        }
        let Ok(target) = at.read_link() else { continue };
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        at.pop();
        let mut target = queued(&target);
        target.append(&mut ahead);
        ahead = target;
    }
    Some(at)
}

/// The parts of a path. A root among them starts over when it is pushed.
fn queued(path: &Path) -> VecDeque<OsString> {
    let parts = path.components();
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

/// So many files of a call are looked at for links: as many as hooks are told of.
const MOST_FOLLOWED: usize = 64;

impl Deed {
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
    roots.iter().any(|root| path.starts_with(root))
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
