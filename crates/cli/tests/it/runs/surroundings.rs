//! Where `runs` is used: disks without room, terminals of every kind, other processes that prune, and a browser.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;

use lapidary::engine::recording::ExpiredRun;
use lapidary_testkit::patience::wait_until;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::{Shelf, ids, manifest};
use crate::support::{Ran, ended, on_a_terminal, output, with_a_full_disk, with_a_read_only};
use crate::usage::without_colours;

const TIME: &str = "2026-11-17T08:00:00.000Z";

fn ran(command: Command) -> Ran {
    let ran = output(command, b"");
    Ran {
        code: ran.status.code(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

/// Enough recordings for the list to be cached.
fn many() -> Shelf {
    let shelf = Shelf::new();
    for number in 0..150 {
        shelf.add(&format!("r{number:03}"), &manifest(TIME));
    }
    shelf
}

/// Commands that only read succeed with nothing on stderr. `runs open` writes its page among temporary files if it cannot write
/// beside the recording.
fn check_a_home_that_takes_nothing(shelf: &Shelf, bounded: impl Fn(&Command) -> Command) {
    let run = |args: &[&str]| ran(bounded(&shelf.world.lapidary(args)));
    for args in [
        &["runs", "list"][..],
        &["runs", "list", "--format", "text"],
        &["runs", "show", "r001"],
        &["runs", "export", "r001", "--to", "markdown"],
        &["runs", "prune", "--dry-run"],
    ] {
        let told = run(args);
        assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
    let opened = run(&["runs", "open", "r001"]);
    assert_eq!(opened.code, Some(0), "{opened:?}");
    assert!(
        opened
            .stderr
            .starts_with("note: the page is among temporary files: cannot write "),
        "{opened:?}"
    );
    let page = opened.stdout.trim_end();
    assert!(fs::read_to_string(page).unwrap().contains("Hello there."));
    fs::remove_file(page).unwrap();
}

#[test]
fn recordings_that_are_read_only_are_listed_shown_and_opened_and_their_removal_says_what_failed() {
    let shelf = many();
    let bounded = |usual: &Command| with_a_read_only(usual, &shelf.world.path("state"));
    check_a_home_that_takes_nothing(&shelf, bounded);
    let delete = shelf.world.lapidary(&["runs", "delete", "r001", "--yes"]);
    let deleted = ran(bounded(&delete));
    assert_eq!(deleted.code, Some(1), "{deleted:?}");
    assert!(
        deleted
            .stdout
            .contains("cannot delete run `r001`: Read-only file system"),
        "{deleted:?}"
    );
    assert!(shelf.path("r001").exists());
}

#[test]
fn recordings_on_a_full_disk_are_listed_shown_and_opened() {
    let shelf = many();
    let bounded = |usual: &Command| {
        let _ = fs::remove_dir_all(shelf.world.path("state.copy"));
        with_a_full_disk(usual, &shelf.world.path("state"))
    };
    check_a_home_that_takes_nothing(&shelf, bounded);
}

#[test]
fn a_recording_that_is_pruned_meanwhile_is_listed_or_not_and_shown_or_said_to_be_gone() {
    let shelf = Shelf::new().with("stays", TIME);
    thread::scope(|scope| {
        let come_and_go = scope.spawn(|| {
            for _ in 0..400 {
                shelf.add(".made", &manifest(TIME));
                fs::rename(shelf.path(".made"), shelf.path("goes")).unwrap();
                let expired = ExpiredRun::named(&shelf.world.path("state/runs"), "goes").unwrap();
                expired.remove().unwrap();
            }
        });
        while !come_and_go.is_finished() {
            let list = shelf.list(&[]);
            assert!(ids(&list).contains(&"stays"), "{list}");
            assert_eq!(list["warnings"], Value::Null, "{list}");
            let shown = shelf.run(&["runs", "show", "goes"]);
            let is_gone = shown.code == Some(13)
                && (shown
                    .stderr
                    .starts_with("error: the recording of run `goes` is gone\n")
                    || shown
                        .stderr
                        .starts_with("error: no recorded run has the id `goes`\n"));
            assert!(shown.code == Some(0) || is_gone, "{shown:?}");
        }
    });
}

#[test]
fn the_browser_is_started_from_a_terminal_with_a_display_and_from_no_other() {
    let shelf = Shelf::new().with("r", TIME);
    let told = shelf.world.path("xdg-open.told");
    shelf.world.program(
        "xdg-open",
        "#!/bin/sh\necho \"$1\" > \"$0.new\"; mv \"$0.new\" \"$0.told\"\n",
    );
    let path = format!(
        "{}:{}",
        shelf.world.path("").display(),
        std::env::var("PATH").unwrap()
    );
    let mut open = shelf.world.lapidary(&["runs", "open", "r"]);
    open.env("PATH", &path);
    let page = shelf.path("r").join("transcript.html");
    let expected = format!("{}\n", page.display());
    let shown = on_a_terminal(&open, 200);
    assert_eq!(
        (shown.code, shown.stdout.as_str()),
        (Some(0), expected.as_str())
    );
    assert!(!told.exists(), "there is no display");
    open.env("WAYLAND_DISPLAY", "wayland-0");
    let shown = on_a_terminal(&open, 200);
    assert_eq!(
        (shown.code, shown.stdout.as_str()),
        (Some(0), expected.as_str())
    );
    wait_until("the browser was started", || told.exists());
    assert_eq!(fs::read_to_string(told).unwrap(), expected);
}

#[test]
fn a_browser_that_cannot_be_started_is_a_note() {
    let shelf = Shelf::new().with("r", TIME);
    let mut open = shelf.world.lapidary(&["runs", "open", "r"]);
    open.env("DISPLAY", ":0")
        .env("PATH", shelf.world.path("project"));
    let shown = on_a_terminal(&open, 200);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown
            .stdout
            .contains("note: cannot start `xdg-open`: No such file or directory"),
        "{shown:?}"
    );
}

#[test]
fn a_terminal_of_twenty_columns_gets_ids_and_lines_that_fit() {
    let shelf = Shelf::new().with("r1", TIME);
    let list = on_a_terminal(&shelf.world.lapidary(&["runs", "list"]), 20);
    assert_eq!(list.code, Some(0), "{list:?}");
    assert!(list.stdout.contains("r1"), "{list:?}");
    let shown = on_a_terminal(&shelf.world.lapidary(&["runs", "show"]), 20);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let shown = without_colours(&shown.stdout);
    for line in list.stdout.lines().chain(shown.lines()) {
        assert!(line.width() <= 20, "{line:?} of {list:?} and {shown}");
    }
    assert!(shown.contains("  Hello there."), "{shown}");
}

#[test]
fn colours_are_for_terminals_that_want_them_and_other_signs_for_those_that_know_them() {
    let shelf = Shelf::new().with("r", TIME);
    for (name, value, has_escapes, is_ascii) in [
        ("TERM", "xterm", true, false),
        ("NO_COLOR", "1", false, false),
        ("TERM", "dumb", false, false),
        ("LC_ALL", "C", true, true),
    ] {
        for args in [&["runs", "list"][..], &["runs", "show"]] {
            let mut command = shelf.world.lapidary(args);
            command.env("TERM", "xterm").env("LANG", "en_US.UTF-8");
            command.env(name, value);
            let shown = on_a_terminal(&command, 80);
            assert_eq!(shown.code, Some(0), "{name}={value} {args:?}: {shown:?}");
            let is_shown = args == ["runs", "show"];
            let escapes = shown.stdout.contains('\u{1b}');
            assert_eq!(
                escapes,
                has_escapes && is_shown,
                "{name}={value} {args:?}: {shown:?}"
            );
            assert!(
                !is_ascii || shown.stdout.is_ascii(),
                "{name}={value} {args:?}: {shown:?}"
            );
        }
    }
}

#[test]
fn a_reader_that_closes_the_pipe_has_had_enough() {
    let shelf = many();
    for args in [
        &["runs", "list"][..],
        &["runs", "list", "--format", "text"],
        &["runs", "show", "r001"],
    ] {
        let mut child = shelf
            .world
            .lapidary(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let over = ended(child);
        let stderr = String::from_utf8(over.stderr).unwrap();
        assert_eq!(
            (over.status.code(), stderr.as_str()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}
