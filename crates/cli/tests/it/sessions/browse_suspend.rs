//! Ctrl-Z: the shell has the terminal for a while. And danger, as the browser shows it.

use std::fs;
use std::process::Command;

use lapidary_testkit::patience::wait_until;

use super::browse::{DONE, DOWN, Home, LEAVE, RESUME, titles};
use super::pty::Pty;
use crate::run::world::{MARK, Mark};

/// Below a shell with jobs, where the signal that the terminal is gone reaches the shell and not the job.
#[test]
fn browse_ends_with_its_terminal() {
    let home = Home::shop();
    let browse = home.command(&[]);
    let mark = Mark::fresh();
    let mut shell = Command::new("bash");
    shell
        .args(["--norc", "-c", r#"set -m; trap '' HUP; "$@"; true"#, "bash"])
        .arg(browse.get_program())
        .args(browse.get_args())
        .current_dir(browse.get_current_dir().unwrap());
    for (name, value) in browse.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell.env(MARK, mark.value());
    let mut pty = Pty::spawn(&shell, (80, 24));
    pty.wait_for("Seven crates");
    drop(pty);
    // The shell ends behind the program.
    wait_until("the shell ends", || mark.processes().is_empty());
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_goes_on() {
    let home = Home::shop();
    let browse = home.command(&[]);
    let script =
        r#"set -m; "$@"; stty -a; echo "status $?: type a line"; read line; echo "read $line"; fg"#;
    let mut shell = Command::new("bash");
    shell
        .args(["--norc", "-c", script, "bash"])
        .arg(browse.get_program())
        .args(browse.get_args())
        .current_dir(browse.get_current_dir().unwrap());
    for (name, value) in browse.get_envs() {
        shell.env(name, value.unwrap());
    }
    let mut pty = Pty::spawn(&shell, (80, 24));
    pty.wait_for("Seven crates");
    pty.type_in("inv\u{1a}");
    let screen = pty.wait_for("type a line");
    let terminal = pty.terminal();
    assert!(!terminal.alternate_screen() && !terminal.hide_cursor());
    assert!(
        screen.contains(" icanon") && screen.contains(" echo "),
        "{screen}"
    );
    pty.type_in("hello\n");
    let screen = pty.wait("it is drawn again", |screen| screen.contains("1 of 5"));
    // By then the screen has another side.
    let shown = String::from_utf8_lossy(&pty.bytes).into_owned();
    assert!(shown.contains("read hello"), "{shown}");
    assert!(pty.terminal().alternate_screen());
    assert_eq!(titles(&screen), ["Translate the invoices"], "{screen}");
    pty.type_in("oices");
    pty.wait_for("search: invoices");
    pty.type_in("\u{1b}");
    pty.wait_for("5 sessions");
    pty.type_in(LEAVE);
    assert_eq!(pty.ended(), DONE);
}

#[test]
fn a_session_that_the_next_start_deletes_is_marked() {
    let home = Home::shop();
    let stub = "session-2026-01-02T00-00-00000005.jsonl";
    let header = r#"{"sessionId":"00000005-9999-4222-8333-444444444444","projectHash":"h","startTime":"2026-01-02T00:00:00.000Z","lastUpdated":"2026-01-02T00:00:00.000Z","kind":"main"}"#;
    fs::write(home.chats().join(stub), format!("{header}\n")).unwrap();
    let mut pty = home.browse();
    let screen = pty.wait_for("! Gemini CLI will delete this session");
    assert!(screen.contains(">!  5 "), "{screen}");
    assert_eq!(screen.matches('!').count(), 2, "{screen}");
    pty.type_in(LEAVE);
    assert_eq!(pty.ended(), DONE);
}

#[test]
fn a_session_of_an_unknown_project_is_not_resumed_here() {
    let home = Home::shop();
    let lost = home.path(".gemini/tmp/lost/chats");
    fs::create_dir_all(&lost).unwrap();
    let name = "session-2026-01-01T00-05-00000005.jsonl";
    fs::rename(home.chats().join(name), lost.join(name)).unwrap();
    let mut pty = Pty::spawn(&home.command(&["--all"]), (100, 24));
    pty.wait_for("Seven crates");
    pty.type_in(RESUME);
    pty.wait_for("nothing says where its project is");
    pty.type_in(&format!("{DOWN}{RESUME}"));
    pty.wait_for("resume with prompt: ");
    pty.type_in("\u{3}");
    pty.ended();
}
