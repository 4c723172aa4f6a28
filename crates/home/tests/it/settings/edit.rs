//! Changing a file of settings.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_home::settings::{Changed, Document, EditError, edit};
use serde_json::json;
use tempfile::TempDir;

type Done = Result<(), EditError>;

fn file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[track_caller]
fn check(before: &str, change: impl FnOnce(&mut Document) -> Done, after: &str) {
    let (_folder, path) = file(before);
    let changed = edit(&path, change).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    let is_same = before == after;
    assert_eq!(changed == Changed::No, is_same);
}

fn disable(name: &'static str) -> impl FnOnce(&mut Document) -> Done {
    move |document| document.push(&["skills", "disabled"], name).map(drop)
}

fn enable(name: &'static str) -> impl FnOnce(&mut Document) -> Done {
    move |document| document.pull(&["skills", "disabled"], name).map(drop)
}

const NEW: &str = "{\n  \"skills\": {\n    \"disabled\": [\n      \"a\"\n    ]\n  }\n}";

#[test]
fn a_new_file_looks_as_the_cli_would_write_it() {
    check("", disable("a"), NEW);
    check("{}", disable("a"), NEW);
    check("{ }\n", disable("a"), &format!("{NEW}\n"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("not/yet/settings.json");
    assert_eq!(edit(&path, disable("a")).unwrap(), Changed::Yes);
    assert_eq!(fs::read_to_string(&path).unwrap(), NEW);
}

#[test]
fn what_changes_nothing_writes_nothing() {
    check(NEW, disable("a"), NEW);
    check(NEW, enable("b"), NEW);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("not/yet/settings.json");
    assert_eq!(edit(&path, enable("a")).unwrap(), Changed::No);
    assert!(!folder.path().join("not").exists());
}

/// Its comments and its layout with it.
#[test]
fn what_stood_alone_stays_as_it_is_written_when_a_list_is_made_of_it() {
    let both = |document: &mut Document| {
        let first = document.get(&["x", "e"]).cloned().unwrap();
        document.set(&["x", "e"], json!([first, {"b": 2}]))
    };
    check(
        "{\n  \"x\": {\n    \"e\": { // important\n       \"a\":1 /* why */\n    } // behind\n  }\n}\n",
        both,
        "{\n  \"x\": {\n    \"e\": [{ // important\n       \"a\":1 /* why */\n    },\n      {\n        \"b\": 2\n      }\n    ] // behind\n  }\n}\n",
    );
    check(
        r#"{"x": {/* e */ "e": {"a" :1 /* one */}}}"#,
        both,
        r#"{"x": {/* e */ "e": [{"a" :1 /* one */}, {"b": 2}]}}"#,
    );
    check(
        "{\"x\": {\"e\": 7}}",
        both,
        "{\"x\": {\"e\": [7, {\"b\": 2}]}}",
    );
}

#[test]
fn comments_stay_where_they_are() {
    let before = "// top\n{\n  // about skills\n  \"skills\": { // here\n    \"disabled\": [\n      \"a\", // first\n      \"b\" // second\n      // end\n    ]\n  } /* tail */\n}\n// bottom\n";
    let with = before.replace("\"b\" // second\n", "\"b\", // second\n      \"c\"\n");
    check(before, disable("c"), &with);
    let without = before.replace("      \"a\", // first\n", "      // first\n");
    check(before, enable("a"), &without);
    let without = before.replace(
        "\"a\", // first\n      \"b\" // second",
        "\"a\" // first\n      // second",
    );
    check(before, enable("b"), &without);
}

#[test]
fn what_stands_on_one_line_stays_on_one_line() {
    check(
        r#"{"skills": {"disabled": ["a"]}, "x": 1}"#,
        disable("b"),
        r#"{"skills": {"disabled": ["a", "b"]}, "x": 1}"#,
    );
    check(
        r#"{"skills": {"disabled": ["a", "b", "c"]}}"#,
        enable("b"),
        r#"{"skills": {"disabled": ["a", "c"]}}"#,
    );
    check(
        r#"{"skills": {"disabled": ["a", "b" ]}}"#,
        enable("b"),
        r#"{"skills": {"disabled": ["a" ]}}"#,
    );
    check(
        r#"{"x": 1}"#,
        disable("a"),
        r#"{"x": 1, "skills": {"disabled": ["a"]}}"#,
    );
    check(
        "{\n  \"x\": {}, \"y\": {}\n}",
        |document| document.set(&["y", "z"], json!({"a": [1]})),
        "{\n  \"x\": {}, \"y\": {\"z\": {\"a\": [1]}}\n}",
    );
}

#[test]
fn tabs_and_line_ends_of_windows_stay() {
    let before = "{\r\n\t\"x\": 1 // one\r\n}\r\n";
    let after = "{\r\n\t\"x\": 1, // one\r\n\t\"skills\": {\r\n\t\t\"disabled\": [\r\n\t\t\t\"a\"\r\n\t\t]\r\n\t}\r\n}\r\n";
    check(before, disable("a"), after);
    check(
        "{\n    \"x\": {}\n}",
        |document| document.set(&["x", "y"], json!([])),
        "{\n    \"x\": {\n        \"y\": []\n    }\n}",
    );
}

#[test]
fn of_an_object_only_what_is_different_is_written() {
    check(
        "{\n  \"x\": {\n    // one\n    \"a\": 1,\n    \"b\": [1, 2, 3], // list\n    \"c\": 3\n  }\n}",
        |document| document.set(&["x"], json!({"a": 1, "b": [1, 3], "d": null})),
        "{\n  \"x\": {\n    // one\n    \"a\": 1,\n    \"b\": [1, 3], // list\n    \"d\": null\n  }\n}",
    );
}

#[test]
fn a_key_that_is_there_twice_is_changed_where_it_counts_and_removed_twice() {
    let twice = "{\"a\": 1, \"b\": 2, \"a\": 3}";
    check(
        twice,
        |document| document.set(&["a"], json!(4)),
        "{\"a\": 1, \"b\": 2, \"a\": 4}",
    );
    check(
        twice,
        |document| document.remove(&["a"]).map(drop),
        "{\"b\": 2}",
    );
}

#[test]
fn what_is_no_list_or_object_is_left_and_named() {
    let (_folder, path) = file(r#"{"skills": {"disabled": "a"}, "x": 1}"#);
    let name = path.display();
    let refused = edit(&path, disable("b")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("`skills.disabled` is a text, not a list, in `{name}`")
    );
    let refused = edit(&path, |document| document.set(&["x", "y"], json!(1))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("`x` is a number, not an object, in `{name}`")
    );
}

#[test]
fn a_file_that_is_not_json_is_not_touched() {
    for text in ["{,}", "[]", "\u{feff}{}", "{\"a\": 1,}"] {
        let (_folder, path) = file(text);
        let refused = edit(&path, disable("a")).unwrap_err();
        assert!(matches!(refused, EditError::Unreadable { .. }), "{refused}");
        assert!(
            refused
                .to_string()
                .starts_with(&format!("`{}` ", path.display()))
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn an_error_of_the_caller_leaves_the_file_as_it_was() {
    let (folder, path) = file("{}");
    let refused = edit(&path, |document| {
        document.set(&["a"], json!(1))?;
        Err(EditError::Busy { path: "x".into() })
    });
    assert!(refused.is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn who_may_read_it_still_may_and_nothing_else_is_left() {
        let (folder, path) = file("{}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        edit(&path, disable("a")).unwrap();
        assert_eq!(mode(&path), 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link_also_one_that_leads_nowhere_yet() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("settings.json");
        fs::create_dir(folder.path().join("dotfiles")).unwrap();
        symlink("dotfiles/gemini.json", &link).unwrap();
        for name in ["a", "b"] {
            edit(&link, disable(name)).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            let real = fs::read_to_string(folder.path().join("dotfiles/gemini.json")).unwrap();
            assert!(real.contains(&format!("\"{name}\"")), "{real}");
        }
    }

    #[test]
    fn what_the_system_refuses_is_said_with_the_name_of_the_file() {
        // Nobody can make a file there, not even root.
        let path = Path::new("/proc/self/gemini/settings.json");
        let refused = edit(path, disable("a")).unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("cannot write `/proc/self/gemini/settings.json`: "),
            "{refused}"
        );
        let (folder, path) = file("{}");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let edited = edit(&path, disable("a"));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // For root nothing is read-only.
        if let Err(refused) = edited {
            assert!(
                refused
                    .to_string()
                    .starts_with(&format!("cannot write `{}`: ", path.display()))
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        }
    }
}
