//! Paths of source files in documents, each of which must exist.

use std::path::Path;

use anyhow::{Context as _, Result};

/// Paths in backticks that look like `crate/src/…` and lead to no file or directory below `crates`.
pub(crate) fn missing_paths(root: &Path, document: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(document))
        .with_context(|| format!("cannot read `{document}`"))?;
    let crates = root.join("crates");
    let exists = |path: &String| crates.join(path).exists() || root.join(path).exists();
    let paths = text.split('`').skip(1).step_by(2).flat_map(span_paths);
    Ok(paths.filter(|path| !exists(path)).collect())
}

/// The paths that a code span stands for: `engine/src/conversation/{turn,opening}.rs` is two.
fn span_paths(span: &str) -> Vec<String> {
    if !span.contains("/src/") || span.contains([' ', '*', '<', '…']) {
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
        let text = "Read `a/src/{one,two}.rs`, then `a/src`, `cargo test` and `b/src/lib.rs`.";
        std::fs::write(root.path().join("MAP.md"), text).unwrap();
        let missing = missing_paths(root.path(), "MAP.md").unwrap();
        assert_eq!(missing, ["a/src/two.rs", "b/src/lib.rs"]);
    }
}
