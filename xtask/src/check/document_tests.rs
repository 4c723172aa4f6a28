//! Names of tests in a document, each of which must exist.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::source_text::rust_files;

/// The column of a table that names tests, counted from 0.
const TESTS_COLUMN: usize = 2;

/// Names in the column "shown by" of a document's tables that no test in `crates` or `xtask` has.
pub(crate) fn missing_tests(root: &Path, document: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(document))
        .with_context(|| format!("cannot read `{document}`"))?;
    let known = test_names(root)?;
    let named = text.lines().flat_map(named_tests);
    Ok(named.filter(|name| !known.contains(name)).collect())
}

/// The code spans of a row's column that can be the name of a function.
fn named_tests(line: &str) -> Vec<String> {
    // A bar within a cell is written `\|`.
    let line = line.replace("\\|", "");
    let cell = line.trim_matches('|').split('|').nth(TESTS_COLUMN);
    let spans = cell
        .into_iter()
        .flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let is_name = |span: &&str| {
        let is_letter =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        span.contains('_') && span.chars().all(is_letter)
    };
    spans.filter(is_name).map(str::to_owned).collect()
}

/// The names of all tests in the workspace.
fn test_names(root: &Path) -> Result<HashSet<String>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for directory in ["crates", "xtask"] {
        rust_files(&root.join(directory), &mut files)?;
    }
    let mut names = HashSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        names.extend(tests_in(&text));
    }
    Ok(names)
}

/// The functions behind an attribute such as `#[test]` or `#[tokio::test]`.
fn tests_in(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_marked = false;
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_marked = true;
        } else if is_marked && let Some((_, rest)) = line.split_once("fn ") {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            names.push(name.to_owned());
            is_marked = false;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_does_not_exist_is_found_and_other_code_is_no_test() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["crates", "xtask"] {
            std::fs::create_dir(root.path().join(directory)).unwrap();
        }
        let source =
            "fn a_helper() {}\n#[test]\n#[cfg(unix)]\nfn a_test() {}\nfn of_a_helper() {}\n";
        std::fs::write(root.path().join("crates/a.rs"), source).unwrap();
        let text = "| 1 | `not_a_test` \\| x | `a_test`, `cargo x_y`, `a_lost_test`, `of_a_helper` | `no_test` |\nno `table_row`\n";
        std::fs::write(root.path().join("PAGE.md"), text).unwrap();
        assert_eq!(
            missing_tests(root.path(), "PAGE.md").unwrap(),
            ["a_lost_test", "of_a_helper"]
        );
    }
}
