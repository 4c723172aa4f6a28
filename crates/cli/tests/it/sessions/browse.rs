//! `sessions browse` as a user at a terminal sees it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::pty::{Ended, Pty};
use crate::support::{lapidary, output};

/// A home with sessions of one project.
pub(super) struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    pub(super) fn new() -> Self {
        let home = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(home.chats()).unwrap();
        fs::create_dir_all(home.project()).unwrap();
        let registry =
            serde_json::json!({ "projects": { home.project().to_str().unwrap(): "shop" } });
        fs::write(home.path(".gemini/projects.json"), registry.to_string()).unwrap();
        fs::write(
            home.path(".gemini/tmp/shop/.project_root"),
            home.project().to_str().unwrap(),
        )
        .unwrap();
        home
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.path("code/shop")
    }

    pub(super) fn chats(&self) -> PathBuf {
        self.path(".gemini/tmp/shop/chats")
    }

    /// Writes a session file. The texts are messages of the user and the model in turn.
    pub(super) fn session(&self, number: u32, summary: Option<&str>, said: &[&str]) -> PathBuf {
        let id = format!("{number:08x}-1111-4222-8333-444444444444");
        let time = format!(
            "2026-01-{:02}T{:02}:{:02}:00.000Z",
            1 + number / 1440 % 28,
            number / 60 % 24,
            number % 60
        );
        let mut header = serde_json::json!({
            "sessionId": id, "projectHash": "h", "startTime": time, "lastUpdated": time, "kind": "main",
        });
        if let Some(summary) = summary {
            header["summary"] = summary.into();
        }
        let mut lines = vec![header.to_string()];
        for (at, said) in said.iter().enumerate() {
            let (kind, content) = if at % 2 == 0 {
                ("user", serde_json::json!([{ "text": said }]))
            } else {
                ("gemini", (*said).into())
            };
            lines.push(serde_json::json!({ "id": format!("m{at}"), "timestamp": time, "type": kind, "content": content }).to_string());
        }
        let name = format!(
            "session-2026-01-{:02}T{:02}-{:02}-{number:08x}.jsonl",
            1 + number / 1440 % 28,
            number / 60 % 24,
            number % 60
        );
        let path = self.chats().join(name);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    }

    /// Five sessions worth looking at.
    pub(super) fn shop() -> Self {
        let home = Self::new();
        home.session(1, Some("Set up the database schema"), &[
            "We need tables for customers, orders and products. Please set up the schema.",
            "I have written `schema.sql` with three tables and the indices that the queries need.",
            "Add a table for returns.",
            "Done: `returns` refers to `orders`.",
        ]);
        home.session(2, None, &["Why is the checkout so slow?", "It loads every product once for each line of the basket. I have put one query in its place: 40 ms instead of 3 s."]);
        home.session(
            3,
            Some("Translate the invoices"),
            &[
                "Invoices should be in French, too.",
                "They are, and the amounts have their comma.",
            ],
        );
        home.session(
            4,
            Some("Flaky login test"),
            &[
                "The login test fails every tenth time.",
                "The session token expires while the test sleeps. It uses a clock of its own now.",
                "Thank you!",
                "You are welcome.",
                "Run it a hundred times.",
                "A hundred of a hundred.",
            ],
        );
        home.session(
            5,
            Some("Bump the dependencies"),
            &["Update what is old.", "Seven crates are newer."],
        );
        home
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut all = vec!["browse"];
        all.extend(args);
        self.sessions(&all)
    }

    /// `lapidary sessions`, in this home.
    pub(super) fn sessions(&self, args: &[&str]) -> Command {
        let mut command = lapidary(["sessions"]);
        command.args(args);
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path(""))
            .env("LAPIDARY_STATE_DIR", self.path("state"))
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8");
        command
    }

    pub(super) fn browse(&self) -> Pty {
        Pty::spawn(&self.command(&[]), (80, 24))
    }
}

/// Keys that act: letters search.
pub(super) const DOWN: &str = "\u{1b}[B";
pub(super) const DELETE: &str = "\u{1b}[3~";
pub(super) const RESUME: &str = "\u{12}";
pub(super) const LEAVE: &str = "\u{11}";

pub(super) const DONE: Ended = Ended {
    code: 0,
    is_cooked: true,
};
const INTERRUPTED: Ended = Ended {
    code: 130,
    is_cooked: true,
};

/// The titles on the screen, top to bottom.
pub(super) fn titles(screen: &str) -> Vec<&str> {
    const ALL: [&str; 5] = [
        "Set up the database schema",
        "Why is the checkout so slow?",
        "Translate the invoices",
        "Flaky login test",
        "Bump the dependencies",
    ];
    let list = screen.split("──").next().unwrap_or_default();
    list.lines()
        .skip(1)
        .filter_map(|row| ALL.into_iter().find(|title| row.contains(title)))
        .collect()
}

#[track_caller]
fn assert_restored(pty: &Pty) {
    let terminal = pty.terminal();
    assert!(!terminal.alternate_screen(), "the other screen is gone");
    assert!(!terminal.hide_cursor(), "the cursor is back");
    assert!(!terminal.bracketed_paste());
}

#[test]
fn the_list_the_preview_and_the_keys_are_there() {
    let home = Home::shop();
    let mut pty = home.browse();
    let screen = pty.wait_for("Seven crates are newer.");
    assert!(pty.terminal().alternate_screen());
    assert_eq!(
        titles(&screen),
        [
            "Bump the dependencies",
            "Flaky login test",
            "Translate the invoices",
            "Why is the checkout so slow?",
            "Set up the database schema"
        ]
    );
    assert!(screen.starts_with("Sessions  ~/code/shop"), "{screen}");
    assert!(screen.contains("5 sessions · newest first"), "{screen}");
    assert!(screen.contains("Letters search  Enter read"), "{screen}");
    pty.type_in(DOWN);
    let screen = pty.wait_for("A hundred of a hundred.");
    assert!(
        screen.contains("00000004-1111-4222-8333-444444444444"),
        "{screen}"
    );
    pty.type_in("\u{1b}");
    assert_eq!(pty.ended(), DONE);
    assert_restored(&pty);
}

#[test]
fn typing_filters_by_title_and_then_by_text() {
    let home = Home::shop();
    let mut pty = home.browse();
    pty.wait_for("Seven crates");
    pty.type_in("inv");
    let screen = pty.wait_for("1 of 5");
    assert_eq!(titles(&screen), ["Translate the invoices"]);
    pty.type_in("\u{15}basket");
    let screen = pty.wait("found in a text", |screen| {
        titles(screen) == ["Why is the checkout so slow?"]
    });
    assert!(
        screen.contains("the basket"),
        "the snippet says where: {screen}"
    );
    pty.type_in("\u{f}");
    pty.type_in("\u{1b}");
    let screen = pty.wait("all are back", |screen| titles(screen).len() == 5);
    assert!(screen.contains("longest first"), "{screen}");
    pty.type_in("\u{1b}");
    assert_eq!(pty.ended(), DONE);
    assert_restored(&pty);
}

#[test]
fn the_order_changes_and_turns_around() {
    let home = Home::shop();
    let mut pty = home.browse();
    pty.wait_for("5 sessions · newest first");
    for (key, order, first) in [
        ("\u{14}", "oldest first", "Set up the database schema"),
        ("\u{f}", "longest first", "Flaky login test"),
        ("\u{f}", "by name", "Bump the dependencies"),
        ("\u{14}", "by name, Z to A", "Why is the checkout so slow?"),
    ] {
        pty.type_in(key);
        let screen = pty.wait_for(order);
        assert_eq!(titles(&screen)[0], first, "{screen}");
    }
    pty.type_in("\u{3}");
    assert_eq!(pty.ended(), INTERRUPTED);
    assert_restored(&pty);
}

#[test]
fn a_session_is_opened_searched_and_closed_again() {
    let home = Home::shop();
    let mut pty = home.browse();
    pty.wait_for("Seven crates");
    pty.type_in("\u{1b}[F\r");
    let screen = pty.wait_for("q back");
    assert!(screen.starts_with("Set up the database schema"), "{screen}");
    pty.wait_for("> Add a table for returns.");
    pty.type_in("/refers\r");
    pty.wait_for("n next");
    pty.settle();
    let terminal = pty.terminal();
    let row = terminal.rows(0, 80).position(|row| row.contains("refers"));
    let row = u16::try_from(row.unwrap()).unwrap();
    let marked: String = (0..80)
        .filter_map(|column| terminal.cell(row, column))
        .filter(|cell| cell.underline())
        .map(vt100::Cell::contents)
        .collect();
    assert_eq!(marked, "refers");
    pty.type_in("/nothing\rn");
    pty.wait_for("it is not in here");
    pty.type_in("q");
    pty.wait_for("F1 help");
    pty.type_in("\u{1b}OP");
    pty.wait_for("any key goes back");
    pty.type_in("x");
    pty.wait_for("F1 help");
    pty.type_in(LEAVE);
    assert_eq!(pty.ended(), DONE);
}

#[test]
fn resuming_leaves_and_runs_the_agent_on_that_session() {
    let home = Home::shop();
    let mut shell = Command::new("sh");
    let write = "cat > \"$1\" && chmod 755 \"$1\"";
    shell.args(["-c", write, "sh"]).arg(home.path("gemini"));
    let script = "#!/bin/sh\nprintf '%s\\n' \"$@\" > ../../asked\ncat >> ../../asked\nexit 3\n";
    assert!(output(shell, script.as_bytes()).status.success());
    // The script speaks no ACP.
    fs::create_dir_all(home.path("config/lapidary")).unwrap();
    let config = home.path("config/lapidary/lapidary.toml");
    fs::write(config, "transport = \"stream-json\"\n").unwrap();
    let mut command = home.command(&[]);
    command
        .env("XDG_CONFIG_HOME", home.path("config"))
        .env("GEMINI_CLI_PATH", home.path("gemini"))
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    let mut pty = Pty::spawn(&command, (80, 24));
    pty.wait_for("Seven crates");
    pty.type_in(&format!("{DOWN}{RESUME}"));
    pty.wait_for("resume with prompt: ");
    pty.type_in("-- go on\r");
    let ended = pty.ended();
    assert_restored(&pty);
    let screen = pty.screen();
    assert!(ended.is_cooked && ended.code == 15, "{ended:?} {screen}");
    let asked = fs::read_to_string(home.path("asked")).unwrap();
    assert!(
        asked.contains("00000004-1111-4222-8333-444444444444"),
        "{asked}"
    );
    assert!(asked.contains("-- go on"), "{asked}");
}

#[test]
fn a_transcript_is_exported_under_a_name_and_nothing_is_overwritten() {
    let home = Home::shop();
    let mut pty = home.browse();
    pty.wait_for("Seven crates");
    pty.type_in("\u{5}");
    pty.wait_for("export to: 00000005-1111-4222-8333-444444444444.md");
    pty.type_in("\u{15}notes.md\r");
    pty.wait_for("written: notes.md");
    let written = fs::read_to_string(home.project().join("notes.md")).unwrap();
    assert!(written.contains("Seven crates are newer."), "{written}");
    pty.type_in(&format!("{DOWN}\u{5}\u{15}notes.md\r"));
    pty.wait_for("not written: ");
    assert_eq!(
        fs::read_to_string(home.project().join("notes.md")).unwrap(),
        written
    );
    pty.type_in(LEAVE);
    assert_eq!(pty.ended(), DONE);
}

#[test]
fn hidden_files_are_shown_with_the_reason() {
    let home = Home::shop();
    fs::write(
        home.chats().join("session-2026-01-01T00-00-empty.jsonl"),
        "",
    )
    .unwrap();
    let mut pty = home.browse();
    let screen = pty.wait_for("Seven crates");
    assert!(!screen.contains("it is empty"));
    pty.type_in("\u{1}");
    pty.wait_for("session-2026-01-01T00-00-empty.jsonl: it is empty");
    pty.type_in(&format!("\u{1b}[F{RESUME}"));
    pty.wait_for("there is nothing in it to resume");
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let home = Home::shop();
    let mut pty = home.browse();
    pty.wait_for("Seven crates");
    pty.resize((20, 5));
    pty.wait("it is small", |screen| {
        screen.starts_with("Sessions  ~/code/sh…") && screen.contains(">   5  Bump the dep…")
    });
    pty.resize((140, 30));
    pty.wait("it is large", |screen| {
        let mut rows = screen.lines();
        screen.contains("Del delete") && rows.any(|row| row.contains("│ Seven crates are newer."))
    });
    pty.type_in(LEAVE);
    assert_eq!(pty.ended(), DONE);
}

#[test]
fn without_colour_and_beyond_utf_8_it_is_as_usable() {
    let home = Home::shop();
    home.session(6, Some("Café — 日本"), &["one", "two"]);
    let mut command = home.command(&[]);
    command
        .env("NO_COLOR", "1")
        .env("LC_ALL", "de_DE.ISO-8859-1");
    let mut pty = Pty::spawn(&command, (80, 24));
    let screen = pty.wait_for("Caf? -- ??");
    assert!(screen.contains(">   6"), "{screen}");
    pty.type_in("caf");
    pty.settle();
    assert!(pty.bytes.is_ascii(), "only ASCII is shown");
    let shown = String::from_utf8(pty.bytes.clone()).unwrap();
    let colours = ["\u{1b}[3", "\u{1b}[4"];
    let is_colour =
        |rest: &str| rest.as_bytes().get(1) == Some(&b'm') && !matches!(rest.as_bytes()[0], b'9');
    for colour in colours {
        assert!(!shown.split(colour).skip(1).any(is_colour), "{shown:?}");
    }
    pty.type_in("\u{3}");
    assert_eq!(pty.ended(), INTERRUPTED);
}

#[test]
fn hostile_titles_and_texts_draw_nothing_odd() {
    let home = Home::new();
    let hostile = "\u{1b}[2J\u{1b}]0;owned\u{7}evil\u{202e}txt\u{1b}[31mred\r\n\u{9b}5mz\u{200d}w\u{301}\u{301}\u{301}\u{301}";
    home.session(1, Some(hostile), &[hostile, hostile]);
    home.session(2, None, &["plain", "answer"]);
    let mut pty = home.browse();
    pty.wait_for("answer");
    pty.type_in(DOWN);
    let screen = pty.wait_for("evil");
    pty.type_in("red");
    pty.settle();
    pty.type_in("\r");
    pty.wait_for("q back");
    pty.settle();
    let shown = String::from_utf8(pty.bytes.clone()).unwrap();
    assert!(
        !shown.contains("\u{1b}]") && !shown.contains('\u{7}'),
        "no title is set"
    );
    assert!(!shown.contains("\u{1b}[31m") && !shown.contains(['\u{202e}', '\u{9b}', '\u{200d}']));
    assert!(!shown.contains("owned"), "{screen}");
    assert!(screen.starts_with("Sessions  ~/code/shop"), "{screen}");
    pty.type_in("\u{3}");
    assert_eq!(pty.ended(), INTERRUPTED);
    assert_restored(&pty);
}

#[test]
fn a_signal_restores_the_terminal_too() {
    let home = Home::shop();
    let mut pty = home.browse();
    pty.wait_for("Seven crates");
    kill(
        Pid::from_raw(i32::try_from(pty.pid).unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(pty.ended(), INTERRUPTED);
    assert_restored(&pty);
}

#[test]
fn without_a_terminal_it_says_what_to_do_instead() {
    let home = Home::shop();
    let ran = output(home.command(&[]), b"");
    assert_eq!(ran.status.code(), Some(2));
    assert_eq!(String::from_utf8(ran.stdout).unwrap(), "");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(
        said,
        "error: there is nothing to browse on: stdout is not a terminal\nhint: `lapidary sessions list` prints them\n"
    );
    let mut command = home.command(&[]);
    command.env("TERM", "dumb");
    let mut pty = Pty::spawn(&command, (80, 24));
    pty.wait_for("cannot move its cursor");
    assert_eq!(pty.ended().code, 2);
}

#[test]
fn an_empty_project_says_so() {
    let home = Home::new();
    let mut pty = home.browse();
    pty.wait_for("no sessions recorded here yet");
    pty.type_in(&format!("{DOWN}\r{DELETE}{RESUME}\u{5}/x"));
    pty.wait_for("search: x");
    pty.type_in("\u{1b}");
    pty.wait_for("F1 help");
    pty.type_in(LEAVE);
    assert_eq!(pty.ended(), DONE);
}
