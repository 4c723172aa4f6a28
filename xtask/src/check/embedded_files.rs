//! Files that the code of a crate embeds: those of a published package have to lie within it.

use std::path::{Component, Path};

use anyhow::Result;

/// Embedded only by tests, which are not part of a build from a package.
const IN_TESTS: [&str; 3] = [
    "crates/engine/src/agents/adapter.rs",
    "crates/engine/src/conversation/tests/answers.rs",
    "crates/lapidary/src/lib.rs",
];

/// Places where the code of a published crate embeds a file from outside of the crate.
pub(super) fn outside_files(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join("crates"))? {
        let package = entry?.path();
        if !package.ends_with("testkit") {
            search_folder(&package.join("src"), &package, root, &mut found)?;
        }
    }
    found.sort();
    Ok(found)
}

fn search_folder(
    folder: &Path,
    package: &Path,
    root: &Path,
    found: &mut Vec<String>,
) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            search_folder(&path, package, root, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .display()
                .to_string();
            let depth = folder
                .strip_prefix(package)
                .map_or(0, |it| it.components().count());
            let text = std::fs::read_to_string(&path)?;
            let outside = embedded_paths(&text).any(|embedded| steps_up(embedded) > depth);
            if outside && !IN_TESTS.contains(&name.as_str()) {
                found.push(name);
            }
        }
    }
    Ok(())
}

/// The first text behind each `include_str!` and `include_bytes!`.
fn embedded_paths(text: &str) -> impl Iterator<Item = &str> {
    let calls = ["include_str!(", "include_bytes!("];
    let texts = calls.into_iter().flat_map(|call| text.split(call).skip(1));
    texts.filter_map(|rest| rest.split('"').nth(1))
}

fn steps_up(path: &str) -> usize {
    let parts = Path::new(path).components();
    parts
        .take_while(|part| *part == Component::ParentDir)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedded_file_outside_of_its_crate_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("crates/one/src/deep");
        std::fs::create_dir_all(&source).unwrap();
        let inside = "const A: &str = include_str!(concat!(\"../../web/\", \"a.css\"));";
        std::fs::write(source.join("inside.rs"), inside).unwrap();
        let outside = "const B: &[u8] =\n    include_bytes!(\"../../../b.png\");";
        std::fs::write(source.join("outside.rs"), outside).unwrap();
        assert_eq!(
            outside_files(folder.path()).unwrap(),
            ["crates/one/src/deep/outside.rs"]
        );
    }
}
