//! Home directories: the name of the owner is removed, the path within the home stays.

use std::collections::BTreeSet;
use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};

use super::{SecretHit, SecretKind};

/// Directories beside the homes that belong to no user.
const NOBODY: [&[u8]; 6] = [b"Shared", b"Public", b"Default", b"All", b"~", b"..."];

/// Finds home directories.
#[derive(Debug)]
pub(super) struct HomeDetector {
    homes: Regex,
    /// The home that the caller knows, wherever it is.
    own: Option<Regex>,
}

impl HomeDetector {
    pub(super) fn new(home: Option<&Path>) -> Self {
        let name = r#"[^\s/\\"'`:;,<>|*?(){}\[\]$~]+"#;
        let windows = r"(?:[A-Za-z]:[\\/]+|/(?:mnt/)?[a-z]/)(?i:Users)[\\/]+";
        let homes = format!(
            r#"{windows}(?P<spaced>[^\\/:*?"<>|\r\n$~]{{1,64}})\\|(?:{windows}|/home/|/Users/|/export/home/)(?P<name>{name})"#
        );
        Self {
            homes: bytes_regex(&homes),
            own: home
                .and_then(own_home_pattern)
                .map(|pattern| bytes_regex(&pattern)),
        }
    }

    pub(super) fn home_hits(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        for found in self.homes.captures_iter(text) {
            let (Some(whole), Some(name)) = (
                found.get(0),
                found.name("spaced").or_else(|| found.name("name")),
            ) else {
                continue;
            };
            if begins_path(text, whole.start()) && !NOBODY.contains(&name.as_bytes()) {
                hits.push(path_hit(whole.start()..end_of_name(text, name.range())));
            }
        }
        for found in self.own.iter().flat_map(|own| own.find_iter(text)) {
            let next = text.get(found.end());
            let is_longer =
                next.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
            if begins_path(text, found.start()) && !is_longer {
                hits.push(path_hit(found.range()));
            }
        }
        hits
    }
}

/// The names of directories that tools make of paths: `-home-ada-work`.
pub(super) fn slug_hits(text: &[u8], names: &BTreeSet<Vec<u8>>) -> Vec<SecretHit> {
    let mut hits = Vec::new();
    for name in names {
        for folder in [&b"-home-"[..], b"-Users-"] {
            let slug = [folder, name].concat();
            for start in memchr::memmem::find_iter(text, &slug) {
                let end = start + slug.len();
                let next = text.get(end);
                if !next.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                    hits.push(path_hit(start..end));
                }
            }
        }
    }
    hits
}

/// The name of a home's owner: the last part of its path.
pub(super) fn home_owner(home: &[u8]) -> Option<&[u8]> {
    let name = home.rsplit(|byte| b"/\\".contains(byte)).next()?;
    (name.len() >= 2).then_some(name)
}

fn path_hit(range: std::ops::Range<usize>) -> SecretHit {
    SecretHit {
        range,
        kind: SecretKind::HomePath,
    }
}

/// A full stop behind a name ends a sentence, unless more of the name follows.
fn end_of_name(text: &[u8], name: std::ops::Range<usize>) -> usize {
    let mut end = name.end;
    while end > name.start + 1 && text[end - 1] == b'.' {
        end -= 1;
    }
    end
}

/// A path of the file system begins there: not in the middle of another, and not behind the name of a host.
fn begins_path(text: &[u8], start: usize) -> bool {
    let before = &text[..start];
    let Some(last) = before.last() else {
        return true;
    };
    let is_escape =
        b"nrtbf".contains(last) && before.len() > 1 && before[before.len() - 2] == b'\\';
    let is_part = last.is_ascii_alphanumeric() || b"_.-~/)]}%".contains(last);
    !is_part || is_escape || before.ends_with(b"file://") || before.ends_with(b"file:")
}

/// The home itself, with either slash, and as often escaped as it may be.
fn own_home_pattern(home: &Path) -> Option<String> {
    let home = home.to_str()?;
    let parts: Vec<_> = home
        .split(['/', '\\'])
        .filter(|part| !part.is_empty())
        .collect();
    let is_absolute = home.starts_with(['/', '\\']) || home.contains(':');
    if parts.is_empty() || !is_absolute {
        return None;
    }
    let parts: Vec<_> = parts.iter().map(|part| regex::escape(part)).collect();
    let root = if home.starts_with(['/', '\\']) {
        r"[\\/]+"
    } else {
        ""
    };
    Some(format!("{root}{}", parts.join(r"[\\/]+")))
}

fn bytes_regex(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .expect("the pattern is a regular expression")
}
