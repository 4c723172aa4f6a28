//! The folder that a model is shown.

use std::fs;

use lapidary_gemini::skills::folder_tree;

use super::write;

#[test]
fn files_come_before_folders_and_what_is_ignored_is_only_named() {
    let root = tempfile::tempdir().unwrap();
    for path in [
        "SKILL.md",
        "b.txt",
        "A.txt",
        "sub/x.py",
        "sub/deep/y",
        ".git/HEAD",
        "zz/node_modules/m",
    ] {
        write(root.path(), path, "");
    }
    std::os::unix::fs::symlink("b.txt", root.path().join("link")).unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    let shown = folder_tree(root.path());
    let expected = format!(
        "Showing up to 200 items (files + folders). Folders or files indicated with ... contain more items not shown, were ignored, or the display limit (200 items) was reached.

{}/
├───A.txt
├───b.txt
├───SKILL.md
├───.git/...
├───empty/
├───sub/
│   ├───x.py
│   └───deep/
│       └───y
└───zz/
    └───node_modules/...",
        root.path().display()
    );
    assert_eq!(shown, expected);
}

#[test]
fn the_tree_of_a_missing_folder_is_an_error_message() {
    let shown = folder_tree("/nowhere/at/all".as_ref());
    assert_eq!(
        shown,
        r#"Error: Could not read directory "/nowhere/at/all". Check path and permissions."#
    );
}
