//! Paths of source files in documents, each of which must exist.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::source_text::rust_files;

/// Paths in backticks that lead to no file or directory: `crate/src/…` below `crates`, and `file.rs` or `folder/file.rs` below the
/// sources of any crate.
pub(crate) fn missing_paths(root: &Path, document: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(document))
        .with_context(|| format!("cannot read `{document}`"))?;
    let crates = root.join("crates");
    let mut sources = Vec::new();
    rust_files(&crates, &mut sources)?;
    let exists = |path: &String| {
        crates.join(path).exists()
            || root.join(path).exists()
            || !path.contains("/src/") && sources.iter().any(|source| source.ends_with(path))
    };
    let paths = text.split('`').skip(1).step_by(2).flat_map(span_paths);
    Ok(paths.filter(|path| !exists(path)).collect())
}

/// The paths that a code span stands for: `engine/src/conversation/{turn,opening}.rs` is two.
fn span_paths(span: &str) -> Vec<String> {
    let is_source = Path::new(span).extension().is_some_and(|it| it == "rs");
    if !span.contains("/src/") && !is_source || span.contains([' ', '*', '<', '…']) {
        return Vec::new();
    }
    let Some((before, rest)) = span.split_once('{') else {
        return vec![span.to_owned()];
    };
    let Some((choices, behind)) = rest.split_once('}') else {
        return vec![span.to_owned()];
    };
    let choices = choices.split(',');
    choices
        .map(|choice| format!("{before}{choice}{behind}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_exist_is_found_and_braces_are_several_paths() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("crates/a/src")).unwrap();
        std::fs::write(root.path().join("crates/a/src/one.rs"), "").unwrap();
        let text = "Read `a/src/{one,two}.rs`, then `a/src`, `one.rs`, `two.rs`, `cargo test` and `b/src/lib.rs`.";
        std::fs::write(root.path().join("MAP.md"), text).unwrap();
        let missing = missing_paths(root.path(), "MAP.md").unwrap();
        assert_eq!(missing, ["a/src/two.rs", "two.rs", "b/src/lib.rs"]);
    }
}
