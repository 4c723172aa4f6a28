//! Directories with very many entries.

use serde_json::json;

use crate::support::TestWorkspace;

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "makes a hundred thousand files: run `cargo xtask test --full`"
)]
fn a_directory_of_a_hundred_thousand_entries_is_listed_and_searched() {
    let workspace = TestWorkspace::new();
    for number in 0..100_000 {
        std::fs::write(workspace.root.join(format!("{number}.txt")), "").unwrap();
    }
    let listed = workspace.call("list_directory", &json!({ "dir_path": "." }));
    assert_eq!(
        listed
            .text
            .lines()
            .filter(|line| line.ends_with("(0 bytes)"))
            .count(),
        100_000
    );
    let matched = workspace.call("glob", &json!({ "pattern": "*.txt" }));
    assert!(matched.text.starts_with("Found 100000 file(s)"));
    assert!(
        matched
            .text
            .ends_with("... and 90000 more: use a narrower pattern.")
    );
    let found = workspace.call("grep_search", &json!({ "pattern": "x" }));
    assert!(found.text.starts_with("No matches found"));
}
