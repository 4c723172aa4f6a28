//! Rust source read as text: which files there are, and which paths stand in them.
//!
//! Comments, strings and inline test modules are skipped; `a::b` and `use a::{b, c::d}` are understood.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::lexer::{self, SourcePiece, TEST_ATTRIBUTE};

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
pub(crate) fn source_paths(text: &str) -> Vec<PathInSource> {
    let tokens = code_tokens(&lexer::without_tests(&lexer::source_pieces(text)));
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
    let tokens = code_tokens(&lexer::source_pieces(text));
    let behind = tokens
        .windows(TEST_ATTRIBUTE.len() + 3)
        .filter_map(|window| {
            let (attribute, rest) = window.split_at(TEST_ATTRIBUTE.len());
            let is_test = attribute.iter().eq(TEST_ATTRIBUTE.iter());
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

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Words and marks; comments, strings and characters are left out.
fn code_tokens(pieces: &[SourcePiece<'_>]) -> Vec<String> {
    let codes = pieces.iter().filter_map(|piece| piece.code_text());
    codes.map(ToOwned::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<String> {
        source_paths(text)
            .iter()
            .map(|path| path.join("::"))
            .collect()
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
