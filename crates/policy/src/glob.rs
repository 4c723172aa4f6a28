//! Patterns over text and over paths.
//!
//! `*` is any text and `?` any letter; in a path neither crosses a `/`, and `**` is any number of directories, none included.
//! `{a,b}` in a path is one or the other. Brackets mean themselves: too many projects have a file called `[id].tsx`.

use std::path::{Component, Path, PathBuf};

use super::resolved_path::resolved;
pub(super) use super::wildcard::{command_matches, is_pattern, wildcard_matches};

/// No pattern of a person stands for more than this many.
const MOST_CHOICES: usize = 64;

/// A glob over absolute paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathGlob {
    choices: Vec<DirectoryChoice>,
}

/// A directory as it was written and with links resolved, and the pattern below it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DirectoryChoice {
    written: PathBuf,
    real: Option<PathBuf>,
    rest: Vec<String>,
}

/// Why a path pattern is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathGlobError {
    /// It begins with `~`, which only a shell replaces.
    Home,
    /// `..` stands behind a wildcard.
    Upwards,
    /// Its braces are not closed, or stand for too many paths.
    Braces,
}

impl PathGlobError {
    /// An accepted form.
    pub fn accepted(self) -> &'static str {
        match self {
            Self::Home => "a path that does not begin with `~`: write the directory out",
            Self::Upwards => "a path without `..` behind a wildcard",
            Self::Braces => "a path with braces that are closed and stand for at most 64 paths",
        }
    }
}

impl PathGlob {
    /// Parses a pattern as it is written. A relative one counts from `dir`.
    pub fn parse(pattern: &str, dir: &Path) -> Result<Self, PathGlobError> {
        if pattern == "~" || pattern.starts_with("~/") {
            return Err(PathGlobError::Home);
        }
        let written = expanded_braces(pattern)?;
        let choices = written
            .iter()
            .map(|pattern| DirectoryChoice::parse(pattern, dir));
        Ok(Self {
            choices: choices.collect::<Result<_, _>>()?,
        })
    }

    /// True if this very path is meant, once every link in it is followed.
    pub(super) fn covers_path(&self, path: &Path) -> bool {
        let Some(path) = resolved(path) else {
            return false;
        };
        self.choices
            .iter()
            .any(|choice| choice.is_below_real(&path, PatternEnd::Yes))
    }

    /// True if the pattern matches this path or a directory above it, as it is written or with links resolved.
    pub(super) fn touches_path(&self, path: &Path) -> bool {
        let plain = super::resolved_path::lexical(path);
        let real = resolved(path);
        self.choices.iter().any(|choice| {
            let paths = [Some(&plain), real.as_ref()];
            paths.into_iter().flatten().any(|path| {
                choice.is_below(&choice.written, path, PatternEnd::No)
                    || choice.is_below_real(path, PatternEnd::No)
            })
        })
    }
}

impl PathGlob {
    /// True if a path that the pattern matches may lie in this path: below a directory, or where the pattern begins.
    pub(super) fn may_lie_in(&self, path: &Path) -> bool {
        let paths = [Some(super::resolved_path::lexical(path)), resolved(path)];
        self.choices.iter().any(|choice| {
            let bases = [Some(&choice.written), choice.real.as_ref()];
            bases.into_iter().flatten().any(|base| {
                paths.iter().flatten().any(|path| {
                    base.starts_with(path)
                        || (!choice.rest.is_empty() && path.starts_with(base) && path.is_dir())
                })
            })
        })
    }
}

/// Whether a pattern has to reach the path's end, or may stop at a directory above it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternEnd {
    Yes,
    No,
}

impl DirectoryChoice {
    fn parse(pattern: &str, dir: &Path) -> Result<Self, PathGlobError> {
        let is_plain = |part: &str| !is_pattern(part);
        let mut written = if pattern.starts_with('/') {
            PathBuf::from("/")
        } else {
            super::resolved_path::lexical(dir)
        };
        let mut rest: Vec<String> = Vec::new();
        for part in pattern.split('/').filter(|part| !matches!(*part, "" | ".")) {
            match part {
                ".." if rest.is_empty() => {
                    written.pop();
                }
                ".." => return Err(PathGlobError::Upwards),
                plain if rest.is_empty() && is_plain(plain) => written.push(plain),
                other => rest.push(other.to_owned()),
            }
        }
        Ok(Self {
            real: resolved(&written),
            written,
            rest,
        })
    }

    fn is_below_real(&self, path: &Path, whole: PatternEnd) -> bool {
        let real = self.real.as_ref();
        real.is_some_and(|real| self.is_below(real, path, whole))
    }

    fn is_below(&self, base: &Path, path: &Path, whole: PatternEnd) -> bool {
        let Ok(below) = path.strip_prefix(base) else {
            return false;
        };
        let parts: Vec<_> = below.components().map(component_text).collect();
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        parts_match(&self.rest, &parts, whole)
    }
}

fn component_text(part: Component<'_>) -> std::borrow::Cow<'_, str> {
    part.as_os_str().to_string_lossy()
}

/// Goes through both lists at once, keeping for each length of the path whether the patterns so far reach it: no pattern can
/// make this slow.
fn parts_match(patterns: &[String], parts: &[&str], whole: PatternEnd) -> bool {
    let mut reached = vec![false; parts.len() + 1];
    reached[0] = true;
    for pattern in patterns {
        let mut next = vec![false; parts.len() + 1];
        for end in 0..=parts.len() {
            next[end] = if pattern == "**" {
                reached[end] || (end > 0 && next[end - 1])
            } else {
                end > 0 && reached[end - 1] && wildcard_matches(pattern, parts[end - 1])
            };
        }
        reached = next;
    }
    match whole {
        PatternEnd::Yes => reached[parts.len()],
        PatternEnd::No => reached.contains(&true),
    }
}

/// The pattern without braces: one for each of the choices in them.
fn expanded_braces(pattern: &str) -> Result<Vec<String>, PathGlobError> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(pattern) = open.pop() {
        let Some((before, choices, after)) = first_braces(&pattern)? else {
            done.push(pattern);
            continue;
        };
        open.extend(choices.map(|choice| format!("{before}{choice}{after}")));
        if open.len() + done.len() > MOST_CHOICES {
            return Err(PathGlobError::Braces);
        }
    }
    done.reverse();
    Ok(done)
}

type BraceChoices<'a> = (&'a str, std::str::Split<'a, char>, &'a str);

fn first_braces(pattern: &str) -> Result<Option<BraceChoices<'_>>, PathGlobError> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return Ok(None);
    };
    match rest.split_once('}') {
        Some((inside, after)) if !inside.contains('{') => {
            Ok(Some((before, inside.split(','), after)))
        }
        _ => Err(PathGlobError::Braces),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_a_letter() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("a?c", "aéc", true),
            ("a?c", "ac", false),
            ("*a*b", "xaxaxb", true),
            ("git diff*", "git diff --stat", true),
            ("[id]", "i", false),
        ] {
            assert_eq!(
                wildcard_matches(pattern, text),
                expected,
                "{pattern} on {text}"
            );
        }
    }

    #[track_caller]
    fn check(pattern: &str, path: &str, covers: bool, touches: bool) {
        let glob = PathGlob::parse(pattern, Path::new("/nowhere/p")).unwrap();
        let path = Path::new(path);
        assert_eq!(
            (glob.covers_path(path), glob.touches_path(path)),
            (covers, touches),
            "{pattern} on {path:?}"
        );
    }

    #[test]
    fn globs_of_paths_know_directories() {
        check("src/**", "/nowhere/p/src/a/b.rs", true, true);
        check("src/**", "/nowhere/p/src", true, true);
        check("src/*", "/nowhere/p/src/a/b.rs", false, true);
        check("src/*.rs", "/nowhere/p/src/a.rs", true, true);
        check("src/*.rs", "/nowhere/p/src/a.py", false, false);
        check("src/**", "/nowhere/p/src/../secret", false, false);
        check("**/.env", "/nowhere/p/.env", true, true);
        check("**/.env", "/nowhere/p/a/b/.env", true, true);
        check("secrets", "/nowhere/p/secrets/key", false, true);
        check("../q/*", "/nowhere/q/a", true, true);
        check("/etc/**", "/etc/passwd", true, true);
        check("*.{rs,toml}", "/nowhere/p/a.toml", true, true);
        check("app/[id].tsx", "/nowhere/p/app/[id].tsx", true, true);
        check("src/**", "/nowhere/p/srcs/a", false, false);
    }

    #[test]
    fn an_unsupported_path_pattern_is_refused() {
        let parse = |pattern| PathGlob::parse(pattern, Path::new("/p"));
        assert_eq!(parse("~/x"), Err(PathGlobError::Home));
        assert_eq!(parse("a/*/../b"), Err(PathGlobError::Upwards));
        assert_eq!(parse("a{b"), Err(PathGlobError::Braces));
        assert_eq!(
            parse("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"),
            Err(PathGlobError::Braces)
        );
    }
}
