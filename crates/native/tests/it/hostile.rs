//! Files and directories that mean harm: none is read or written outside the workspace, and nothing waits for ever.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::support::{TestWorkspace, call};

const SECRET: &str = "the secret\n";

fn with_secret() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    fs::create_dir(workspace.outside().join("elsewhere")).unwrap();
    fs::write(workspace.outside().join("elsewhere/secret.txt"), SECRET).unwrap();
    workspace
}

#[test]
fn a_link_that_leads_out_is_followed_by_no_tool() {
    let workspace = with_secret();
    let elsewhere = workspace.outside().join("elsewhere");
    symlink(&elsewhere, workspace.root.join("link")).unwrap();
    symlink(
        elsewhere.join("secret.txt"),
        workspace.root.join("file.txt"),
    )
    .unwrap();
    symlink(elsewhere.join("new.txt"), workspace.root.join("new.txt")).unwrap();
    let calls = [
        ("read_file", json!({ "file_path": "link/secret.txt" })),
        ("read_file", json!({ "file_path": "file.txt" })),
        ("list_directory", json!({ "dir_path": "link" })),
        ("glob", json!({ "pattern": "*", "dir_path": "link" })),
        (
            "grep_search",
            json!({ "pattern": "secret", "dir_path": "link" }),
        ),
        (
            "write_file",
            json!({ "file_path": "link/secret.txt", "content": "x" }),
        ),
        (
            "write_file",
            json!({ "file_path": "new.txt", "content": "x" }),
        ),
        (
            "replace",
            json!({ "file_path": "file.txt", "instruction": "", "old_string": "secret", "new_string": "x" }),
        ),
    ];
    for (tool, arguments) in calls {
        let answer = workspace.call(tool, &arguments);
        assert_eq!(
            answer.error.as_deref(),
            Some("invalid_tool_params"),
            "{tool} {arguments}: {answer:?}"
        );
        assert!(!answer.text.contains(SECRET.trim()), "{tool}: {answer:?}");
    }
    let found = workspace.call("grep_search", &json!({ "pattern": "secret" }));
    assert!(found.text.starts_with("No matches found"), "{found:?}");
    assert_eq!(
        fs::read_to_string(elsewhere.join("secret.txt")).unwrap(),
        SECRET
    );
    assert!(!elsewhere.join("new.txt").exists());
}

#[test]
fn a_link_that_is_swapped_in_again_and_again_never_leads_out() {
    let workspace = with_secret();
    let elsewhere = workspace.outside().join("elsewhere");
    let (place, spare) = (workspace.root.join("place"), workspace.root.join("spare"));
    fs::create_dir(&place).unwrap();
    fs::write(place.join("secret.txt"), "harmless\n").unwrap();
    symlink(&elsewhere, &spare).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (is_over, place, spare) = (Arc::clone(&is_over), place.clone(), spare.clone());
        let third = workspace.root.join("third");
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let _ = fs::rename(&place, &third);
                let _ = fs::rename(&spare, &place);
                let _ = fs::rename(&third, &spare);
            }
        })
    };
    let opened = workspace.open();
    for _ in 0..300 {
        let read = call(
            &opened,
            "read_file",
            &json!({ "file_path": "place/secret.txt" }),
        );
        assert!(!read.text.contains(SECRET.trim()), "{read:?}");
        let found = call(
            &opened,
            "grep_search",
            &json!({ "pattern": "secret|harmless" }),
        );
        assert!(!found.text.contains(SECRET.trim()), "{found:?}");
        call(
            &opened,
            "write_file",
            &json!({ "file_path": "place/secret.txt", "content": "harmless\n" }),
        );
    }
    is_over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(
        fs::read_to_string(elsewhere.join("secret.txt")).unwrap(),
        SECRET
    );
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

#[test]
fn pipes_and_devices_are_never_waited_for() {
    let workspace = TestWorkspace::new();
    let pipe = workspace.root.join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink("/dev/zero", workspace.root.join("zero")).unwrap();
    let read = workspace.call("read_file", &json!({ "file_path": "pipe" }));
    assert_eq!(
        read.error.as_deref(),
        Some("read_content_failure"),
        "{read:?}"
    );
    let zero = workspace.call("read_file", &json!({ "file_path": "zero" }));
    assert_eq!(
        zero.error.as_deref(),
        Some("invalid_tool_params"),
        "{zero:?}"
    );
    let written = workspace.call(
        "write_file",
        &json!({ "file_path": "pipe", "content": "x" }),
    );
    assert_eq!(
        written.error.as_deref(),
        Some("file_write_failure"),
        "{written:?}"
    );
    let edited = workspace.call(
        "replace",
        &json!({ "file_path": "pipe", "instruction": "", "old_string": "a", "new_string": "b" }),
    );
    assert_eq!(
        edited.error.as_deref(),
        Some("edit_preparation_failure"),
        "{edited:?}"
    );
    let found = workspace.call("grep_search", &json!({ "pattern": "." }));
    assert!(found.text.starts_with("No matches found"), "{found:?}");
}

#[test]
fn a_file_of_two_gigabytes_is_refused_without_being_read() {
    let workspace = TestWorkspace::new();
    let path = workspace.write("large.txt", "start\n");
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(2 * 1024 * 1024 * 1024)
        .unwrap();
    let read = workspace.call("read_file", &json!({ "file_path": "large.txt" }));
    assert_eq!(
        read.text,
        format!(
            "File size exceeds the 20MB limit: {} (2048.00MB)",
            path.display()
        )
    );
    let edited = workspace.call("replace", &json!({ "file_path": "large.txt", "instruction": "", "old_string": "start", "new_string": "b" }));
    assert_eq!(
        edited.error.as_deref(),
        Some("edit_preparation_failure"),
        "{edited:?}"
    );
    let found = workspace.call("grep_search", &json!({ "pattern": "start" }));
    assert!(found.text.starts_with("No matches found"), "{found:?}");
}

#[test]
fn names_that_are_not_utf_8_are_shown_and_skipped() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = TestWorkspace::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(workspace.root.join(name), "inside\n").unwrap();
    let listed = workspace.call("list_directory", &json!({ "dir_path": "." }));
    assert!(
        listed.text.ends_with("caf\u{fffd}.txt (7 bytes)"),
        "{listed:?}"
    );
    let found = workspace.call("grep_search", &json!({ "pattern": "inside" }));
    assert!(
        found.text.contains("File: caf\u{fffd}.txt\nL1: inside"),
        "{found:?}"
    );
    let matched = workspace.call("glob", &json!({ "pattern": "*.txt" }));
    assert!(matched.text.starts_with("Found 1 file(s)"), "{matched:?}");
}

#[test]
fn a_replaced_file_keeps_its_mode_and_leaves_no_draft() {
    let workspace = TestWorkspace::new();
    let path = workspace.write("run.sh", "#!/bin/sh\necho a\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let arguments = json!({ "file_path": "run.sh", "instruction": "", "old_string": "echo a", "new_string": "echo b" });
    assert_eq!(workspace.call("replace", &arguments).error, None);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o750
    );
    assert_eq!(workspace.read("run.sh"), b"#!/bin/sh\necho b\n");
    assert_eq!(fs::read_dir(&workspace.root).unwrap().count(), 1);
}

#[test]
fn a_file_that_changes_while_permission_is_asked_is_not_touched() {
    use lapidary_native::tools::file_tools;
    let workspace = TestWorkspace::new();
    workspace.write("a.txt", "one\n");
    let tools = file_tools(&workspace.open());
    let calls = [
        (
            "replace",
            json!({ "file_path": "a.txt", "instruction": "", "old_string": "one", "new_string": "two" }),
        ),
        (
            "write_file",
            json!({ "file_path": "a.txt", "content": "two\n" }),
        ),
    ];
    for (name, arguments) in calls {
        workspace.write("a.txt", "one\n");
        let tool = tools
            .iter()
            .find(|tool| tool.declaration().name == name)
            .unwrap();
        let prepared = tool.prepare(arguments.as_object().unwrap()).unwrap();
        workspace.write("a.txt", "one\nand more\n");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let output = runtime.block_on(prepared.run(tokio_util::sync::CancellationToken::new()));
        assert!(output.text.contains("has changed since"), "{output:?}");
        assert_eq!(workspace.read("a.txt"), b"one\nand more\n");
    }
}

#[test]
fn secrets_are_neither_read_nor_found() {
    let workspace = TestWorkspace::new();
    workspace.write(".env", "KEY=value\n");
    workspace.write(".git/config", "KEY=value\n");
    let read = workspace.call("read_file", &json!({ "file_path": ".env" }));
    assert!(read.text.starts_with("Path not in workspace"), "{read:?}");
    let found = workspace.call("grep_search", &json!({ "pattern": "KEY" }));
    assert!(found.text.starts_with("No matches found"), "{found:?}");
    let written = workspace.call(
        "write_file",
        &json!({ "file_path": ".git/hooks/pre-commit", "content": "x" }),
    );
    assert!(
        written.text.starts_with("Path not in workspace"),
        "{written:?}"
    );
}

#[test]
fn tools_answer_when_their_directory_is_gone() {
    let workspace = TestWorkspace::new();
    let opened = workspace.open();
    std::fs::remove_dir(&workspace.root).unwrap();
    for (tool, arguments) in [
        ("list_directory", json!({ "dir_path": "." })),
        ("read_file", json!({ "file_path": "a.txt" })),
        ("glob", json!({ "pattern": "**" })),
        ("grep_search", json!({ "pattern": "x" })),
        (
            "replace",
            json!({ "file_path": "a", "instruction": "", "old_string": "x", "new_string": "y" }),
        ),
    ] {
        let answer = call(&opened, tool, &arguments);
        assert!(answer.error.is_some(), "{tool}: {answer:?}");
        assert!(!answer.text.is_empty(), "{tool}");
    }
    assert!(!workspace.root.exists(), "nothing is made in its place");
}

#[test]
fn a_pattern_that_would_take_years_ends() {
    let workspace = TestWorkspace::new();
    workspace.write("a.txt", "a".repeat(5000) + "!\n");
    for pattern in [r"^(?=a)(a+)+\1$", r"^(a|aa)+\1$", "(a+)+$"] {
        let answer = workspace.call("grep_search", &json!({ "pattern": pattern }));
        assert!(answer.error.is_none(), "{pattern}: {answer:?}");
    }
}
