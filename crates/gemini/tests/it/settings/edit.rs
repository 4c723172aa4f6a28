//! Changing a file of settings.

use std::fs;
use std::path::{Path, PathBuf};

use lapidary_gemini::settings::{EditError, EditOutcome, SettingsDocument, edit, edit_within};
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
fn check(before: &str, change: impl FnOnce(&mut SettingsDocument) -> Done, after: &str) {
    let (_folder, path) = file(before);
    let changed = edit(&path, change).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    let is_same = before == after;
    assert_eq!(changed == EditOutcome::No, is_same);
}

fn disable(name: &'static str) -> impl FnOnce(&mut SettingsDocument) -> Done {
    move |document| document.push(&["skills", "disabled"], name).map(drop)
}

fn enable(name: &'static str) -> impl FnOnce(&mut SettingsDocument) -> Done {
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
    assert_eq!(edit(&path, disable("a")).unwrap(), EditOutcome::Yes);
    assert_eq!(fs::read_to_string(&path).unwrap(), NEW);
}

#[test]
fn an_edit_without_a_change_writes_nothing() {
    check(NEW, disable("a"), NEW);
    check(NEW, enable("b"), NEW);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("not/yet/settings.json");
    assert_eq!(edit(&path, enable("a")).unwrap(), EditOutcome::No);
    assert!(!folder.path().join("not").exists());
}

/// Its comments and its layout with it.
#[test]
fn a_value_that_becomes_a_list_keeps_its_spelling() {
    let both = |document: &mut SettingsDocument| {
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
fn a_comment_goes_with_its_item_when_another_comes_before_it() {
    check(
        "{\"a\": [\n  \"x\", // x\n  \"y\" // y\n]}",
        |document| document.set(&["a"], json!(["z", "x", "y"])),
        "{\"a\": [\n  \"z\",\n  \"x\", // x\n  \"y\" // y\n]}",
    );
}

#[test]
fn many_items_that_go_leave_every_comment_and_every_other_item_where_it_is() {
    let line = |at: usize| match at % 3 {
        0 => format!("    \"keep-{at}\", // k{at}\n"),
        1 => format!("    // before {at}\n    \"x\", /* x{at} */\n"),
        _ => "    \"x\", \"x\",\n".to_owned(),
    };
    let left = |at: usize| match at % 3 {
        0 => format!("    \"keep-{at}\", // k{at}\n"),
        1 => format!("    // before {at}\n    /* x{at} */\n"),
        _ => String::new(),
    };
    let around = |lines: &dyn Fn(usize) -> String, end: &str| {
        let lines: String = (0..3000).map(lines).collect();
        format!("{{\"skills\": {{\"disabled\": [\n{lines}{end}  ]}}}}\n")
    };
    let kept = "    \"last\" // end\n";
    check(&around(&line, kept), enable("x"), &around(&left, kept));
    let gone = "    \"last\",\n    \"x\", \"x\", // one\n    \"x\"\n";
    let rest = "    \"last\"\n    // one\n";
    check(&around(&line, gone), enable("x"), &around(&left, rest));
    check(
        r#"{"skills": {"disabled": ["x", "x", "x"]}}"#,
        enable("x"),
        r#"{"skills": {"disabled": []}}"#,
    );
}

#[test]
fn an_object_on_one_line_stays_on_one_line() {
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
fn a_value_that_is_no_list_or_object_is_left_and_named() {
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
    use crate::machine::without_privileges;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn an_edit_keeps_permissions_and_leaves_no_other_file() {
        let (folder, path) = file("{}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        edit(&path, disable("a")).unwrap();
        assert_eq!(mode(&path), 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link_and_one_that_leads_nowhere_makes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("settings.json");
        symlink("dotfiles/gemini.json", &link).unwrap();
        for is_there in [false, true] {
            let refused = edit(&link, disable("a")).unwrap_err().to_string();
            assert!(
                refused.contains(
                    "settings.json` is a link to `dotfiles/gemini.json`, where nothing is"
                ),
                "{refused}"
            );
            let dotfiles = folder.path().join("dotfiles");
            assert_eq!(dotfiles.exists(), is_there);
            fs::create_dir_all(&dotfiles).unwrap();
            assert_eq!(fs::read_dir(&dotfiles).unwrap().count(), 0);
        }
        fs::write(folder.path().join("dotfiles/gemini.json"), "").unwrap();
        for name in ["a", "b"] {
            edit(&link, disable(name)).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            let real = fs::read_to_string(folder.path().join("dotfiles/gemini.json")).unwrap();
            assert!(real.contains(&format!("\"{name}\"")), "{real}");
        }
    }

    #[test]
    fn an_edit_within_a_directory_follows_no_link_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let [root, outside] = ["root", "outside"].map(|name| folder.path().join(name));
        fs::create_dir_all(root.join("inner")).unwrap();
        fs::create_dir(&outside).unwrap();
        for place in [&outside, &root.join("inner")] {
            fs::write(place.join("settings.json"), "{}").unwrap();
        }
        let attempt = |to: &Path, name: &str| {
            let link = root.join(name);
            symlink(to, &link).unwrap();
            let path = match name {
                ".gemini" => link.join("settings.json"),
                _ => link,
            };
            edit_within(&root, &path, disable("a"))
        };
        let refused = [
            attempt(&outside.join("settings.json"), "one.json"),
            attempt(Path::new("../outside"), ".gemini"),
        ];
        for refused in refused.map(Result::unwrap_err) {
            assert!(matches!(refused, EditError::LeadsOut { .. }), "{refused}");
        }
        fs::remove_file(outside.join("settings.json")).unwrap();
        let missing = root.join(".gemini/settings.json");
        let refused = edit_within(&root, &missing, disable("a")).unwrap_err();
        let real = outside.canonicalize().unwrap().join("settings.json");
        let words = format!(
            "`{}` points to `{}`, outside `{}`: nothing is changed there",
            missing.display(),
            real.display(),
            root.display()
        );
        assert_eq!(refused.to_string(), words);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        let inner = attempt(&root.join("inner/settings.json"), "three.json");
        assert_eq!(inner.unwrap(), EditOutcome::Yes);
        let fresh = edit_within(&root, &root.join("new/settings.json"), disable("a"));
        assert_eq!(fresh.unwrap(), EditOutcome::Yes);
    }

    #[test]
    fn leftovers_of_a_killed_writer_are_removed_and_no_other_file() {
        let (folder, path) = file("{}");
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
        for (name, is_old) in [
            (".lapidary-settings-a1B2c3", true),
            (".lapidary-settings-d4E5f6", false),
            (".lapidary-settings-mine.json", true),
            (".lapidary-settings-a.json", true),
            (".lapidary-settings-backup1", true),
            (".settings-a1B2c3", true),
        ] {
            let made = fs::File::create(folder.path().join(name)).unwrap();
            if is_old {
                made.set_modified(long_ago).unwrap();
            }
        }
        fs::create_dir(folder.path().join(".lapidary-settings-folder")).unwrap();
        edit(&path, disable("a")).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                ".lapidary-settings-a.json",
                ".lapidary-settings-backup1",
                ".lapidary-settings-d4E5f6",
                ".lapidary-settings-folder",
                ".lapidary-settings-mine.json",
                ".settings-a1B2c3",
                "settings.json"
            ]
        );
    }

    #[test]
    fn a_file_that_may_not_be_written_is_not_replaced_by_one_that_may() {
        let (_folder, path) = file("{}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let run = || {
            without_privileges();
            edit(&path, disable("a")).unwrap_err()
        };
        let refused = std::thread::scope(|scope| scope.spawn(run).join().unwrap());
        assert!(matches!(refused, EditError::Unwritable { .. }), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    }

    #[test]
    fn an_error_of_the_system_names_the_file() {
        // No process can make a file there, not even as root.
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
