//! Rust source read as text: which files there are, and which paths stand in them.
//!
//! A lexer, not a parser: it skips comments, strings and inline test modules, and understands `a::b` and `use a::{b, c::d}`. That is
//! enough for paths, and needs no crate that would be compiled with every `cargo xtask`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// `#[cfg(test)]`.
const ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

/// The segments of a path as written, `["crate", "policy", "Rule"]`.
pub(crate) type PathInSource = Vec<String>;

/// Every Rust file below a directory.
pub(crate) fn rust_files(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("cannot list `{}`", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

/// Every path of two segments or more in a source text, `use` groups taken apart.
pub(crate) fn paths(text: &str) -> Vec<PathInSource> {
    let tokens = without_tests(&tokens(text));
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is_word(&tokens[at]) {
            at = path_at(&tokens, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// The modules that a source text declares for tests alone, each in a file of its own: `#[cfg(test)] mod tests;`.
pub(crate) fn test_modules(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let behind = tokens.windows(ATTRIBUTE.len() + 3).filter_map(|window| {
        let (attribute, rest) = window.split_at(ATTRIBUTE.len());
        let is_test = attribute.iter().eq(ATTRIBUTE.iter());
        (is_test && rest[0] == "mod" && rest[2] == ";").then(|| rest[1].clone())
    });
    behind.collect()
}

/// Reads the path at `at`, with the segments of the group that it stands in, and returns where it ends.
fn path_at(
    tokens: &[String],
    mut at: usize,
    outer: &[String],
    found: &mut Vec<PathInSource>,
) -> usize {
    let mut path = outer.to_vec();
    while tokens.get(at).is_some_and(|it| is_word(it)) {
        path.push(tokens[at].clone());
        at += 1;
        if tokens.get(at).is_none_or(|it| it != "::") {
            break;
        }
        at += 1;
        if tokens.get(at).is_some_and(|it| it == "{") {
            return group_at(tokens, at, &path, found);
        }
    }
    if path.len() > 1 {
        found.push(path);
    }
    at
}

/// Reads `{a, b::c}` behind a path, and returns where it ends.
fn group_at(
    tokens: &[String],
    mut at: usize,
    outer: &[String],
    found: &mut Vec<PathInSource>,
) -> usize {
    at += 1;
    while at < tokens.len() && tokens[at] != "}" {
        if is_word(&tokens[at]) {
            at = path_at(tokens, at, outer, found);
        } else {
            at += 1;
        }
    }
    at + 1
}

/// Takes out `#[cfg(test)] mod name { … }`, and whatever else follows such an attribute up to its closing brace or semicolon.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].iter().take(7).eq(ATTRIBUTE.iter()) {
            at = end_of_item(tokens, at + ATTRIBUTE.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            ";" if depth == 0 => break,
            _ => {}
        }
    }
    at
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Words, `::` and single punctuation marks; comments, strings, characters and numbers are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        if let Some(length) = skipped(rest) {
            rest = &rest[length..];
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_');
            let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
            found.push(word.to_owned());
            rest = behind;
        } else {
            let length = if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                found.push(rest[..length].to_owned());
            }
            rest = &rest[length..];
        }
    }
    found
}

/// The length of the comment, string or character literal that `rest` starts with.
fn skipped(rest: &str) -> Option<usize> {
    let behind = |start: usize, end: &str| {
        let found = rest[start..].find(end);
        found.map_or(rest.len(), |at| start + at + end.len())
    };
    if rest.starts_with("//") {
        return Some(behind(2, "\n"));
    }
    if rest.starts_with("/*") {
        return Some(behind(2, "*/"));
    }
    if rest.starts_with('"') {
        return Some(end_of_string(rest));
    }
    let hashes = rest.strip_prefix('r')?;
    let marks = hashes.len() - hashes.trim_start_matches('#').len();
    let opening = 1 + marks + 1;
    hashes[marks..]
        .starts_with('"')
        .then(|| behind(opening, &format!("\"{}", "#".repeat(marks))))
}

/// The length of the string literal that `rest` starts with, escaped quotes included.
fn end_of_string(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            '"' if !is_escaped => return at + 1,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<String> {
        paths(text).iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn groups_are_taken_apart_and_other_text_is_skipped() {
        let text = r##"
            use crate::{a::B, c::{d, e::F}};
            // crate::not::this
            const S: &str = "crate::nor \" ::this"; const R: &str = r#"crate::nor"::this"#;
            fn f() -> super::Kind { self::g::<crate::h::I>() }
        "##;
        assert_eq!(
            written(text),
            [
                "crate::a::B",
                "crate::c::d",
                "crate::c::e::F",
                "super::Kind",
                "self::g",
                "crate::h::I"
            ]
        );
    }
}
