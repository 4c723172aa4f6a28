//! Sessions during a run: the agent crashes and starts again, Lapidary is killed, the user deletes a session, the agent has
//! another home.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use lapidary_testkit::recorded::RecordedHome;

use crate::run::world::{Told, World};
use crate::support::{ended, output};

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const START: &str = "2026-01-02T10:00:00.000Z";
const STUB: &str = "session-2026-01-02T11-00-aaaaaaaa.jsonl";

/// A command in a world whose agent works in the project of a home.
fn command(world: &World, home: &RecordedHome, args: &[&str]) -> Command {
    let mut command = world.lapidary(args);
    command.current_dir(home.project()).env("HOME", home.home());
    command
}

fn begun() -> (RecordedHome, PathBuf, String) {
    let home = RecordedHome::new();
    keep_for_ever(&home.home());
    let path = home.session(ONE, START, &["first"]);
    let text = fs::read_to_string(&path).unwrap();
    (home, path, text)
}

/// So that nothing of January is too old.
fn keep_for_ever(home: &Path) {
    let settings = r#"{"general": {"sessionRetention": {"enabled": false}}}"#;
    fs::create_dir_all(home.join(".gemini")).unwrap();
    fs::write(home.join(".gemini/settings.json"), settings).unwrap();
}

fn chats(home: &RecordedHome) -> String {
    home.folder().join("chats").display().to_string()
}

/// As the CLI: a start that finds a stub deletes all of its eight characters, and one that resumes leaves a stub.
#[test]
fn an_agent_that_crashes_finds_no_stub_when_it_is_tried_again() {
    let (home, path, text) = begun();
    let world = World::with_agent("");
    let (chats, calls) = (chats(&home), world.path("calls"));
    world.agent(&format!(
        r#"echo start >> '{calls}'
if [ -e '{chats}/{STUB}' ]; then rm -f '{chats}'/*aaaaaaaa*; fi
[ -e '{path}' ] || {{ echo 'Invalid session identifier' >&2; exit 42; }}
echo '{{"sessionId":"{ONE}","projectHash":"h","startTime":"{START}","lastUpdated":"{START}","kind":"main"}}' > '{chats}/{STUB}'
[ "$(wc -l < '{calls}')" -ge 2 ] || kill -SEGV $$
init; user; say hello; success"#,
        calls = calls.display(),
        path = path.display(),
    ));
    let args = ["sessions", "resume", ONE, "--retries", "1", "go"];
    let told = Told::by(command(&world, &home, &args));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(fs::read_to_string(calls).unwrap().lines().count(), 2);
    assert_eq!(fs::read_to_string(path).unwrap(), text);
    world.assert_nothing_is_left();
}

#[test]
fn the_next_run_restores_messages_lost_in_a_killed_run() {
    let (home, path, text) = begun();
    let world = World::with_agent("");
    let destroys = destroys(&path, &world);
    world.agent(&destroys);
    let gemini = world.path("gemini").display().to_string();
    for args in [&["run", "go"][..], &["record", "--", &gemini, "-p", "x"]] {
        let mut killed = command(&world, &home, args);
        killed.stdin(Stdio::null()).stdout(Stdio::null());
        let mut killed = killed.stderr(Stdio::null()).spawn().unwrap();
        world.wait_for("gone");
        killed.kill().unwrap();
        ended(killed);
        world.assert_nothing_is_left();
        assert_eq!(fs::read_to_string(&path).unwrap(), LATE);
        world.agent("init; user; say hello; success");
        let told = Told::by(command(&world, &home, &["run", "go"]));
        assert!(
            told.stdout.contains("Restored messages that Gemini CLI"),
            "{told:?}"
        );
        assert_is_whole(&path, &text);
        fs::remove_file(world.path("gone")).unwrap();
        world.agent(&destroys);
    }
}

/// The line that Gemini CLI still writes after another start has deleted its session file.
const LATE: &str = r#"{"id":"late","timestamp":"2026-01-02T10:05:00.000Z","type":"user","content":[{"text":"late words"}]}
"#;

/// An agent that puts such a file in place of the session's, and does not end.
fn destroys(path: &Path, world: &World) -> String {
    let (path, gone) = (path.display(), world.path("gone"));
    let late = LATE.trim();
    format!(
        "echo '{late}' > '{path}.new'; mv -f '{path}.new' '{path}'; : > '{}'; sleep 60",
        gone.display()
    )
}

/// Asserts that the session file has every message, and the late one.
fn assert_is_whole(path: &Path, text: &str) {
    let now = fs::read_to_string(path).unwrap();
    let messages = text.lines().filter(|line| line.contains("\"type\""));
    for line in messages.chain([LATE.trim()]) {
        assert!(now.contains(line), "`{line}` is lost: {now}");
    }
}

/// The session that a killed run has lost is the one to continue, not one that is not there.
#[test]
fn a_session_lost_in_a_killed_run_can_be_resumed_at_once() {
    let (home, path, text) = begun();
    let world = World::with_agent("");
    world.agent(&destroys(&path, &world));
    let mut killed = command(&world, &home, &["run", "go"]);
    killed.stdin(Stdio::null()).stdout(Stdio::null());
    let mut killed = killed.stderr(Stdio::null()).spawn().unwrap();
    world.wait_for("gone");
    killed.kill().unwrap();
    ended(killed);
    assert_eq!(fs::read_to_string(&path).unwrap(), LATE);
    world.agent("init; user; say hello; success");
    let resume = ["sessions", "resume", "latest", "go"];
    let told = Told::by(command(&world, &home, &resume));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(
        told.stdout.contains("Restored messages that Gemini CLI"),
        "{told:?}"
    );
    assert_is_whole(&path, &text);
    // One that is in the vault only is not guessed back, but found.
    let removed = command(&world, &home, &["sessions", "delete", ONE, "--yes"]);
    assert!(ended(spawned(removed)).status.success());
    let resume = ["sessions", "resume", ONE, "go"];
    let told = Told::by(command(&world, &home, &resume));
    assert_eq!(told.verdict(), ("bad_input", Some(13)), "{told:?}");
    let hint = format!("`lapidary sessions vault restore {ONE}` brings it back");
    assert!(told.stderr.contains(&hint), "{told:?}");
}

fn spawned(mut command: Command) -> std::process::Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_session_deleted_during_a_run_stays_deleted() {
    let (home, path, _) = begun();
    let world = World::with_agent("");
    let own = env!("CARGO_BIN_EXE_lapidary");
    world.agent(&format!(
        "'{own}' sessions delete {ONE} --yes >&2 || exit 9; init; user; say hello; success"
    ));
    let told = Told::by(command(&world, &home, &["run", "go"]));
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(!path.exists(), "{told:?}");
    assert!(!told.stdout.contains(r#""kind":"notice""#), "{told:?}");
}

#[test]
fn the_home_that_the_program_gets_is_the_one_that_is_watched() {
    let (home, path, text) = begun();
    let world = World::with_agent("");
    world.agent(r#"rm -f "$GEMINI_CLI_HOME"/.gemini/tmp/project/chats/*"#);
    let gemini = world.path("gemini").display().to_string();
    let assigned = format!("GEMINI_CLI_HOME={}", home.home().display());
    let mut command = world.lapidary(&["record", "--", "env", &assigned, &gemini]);
    command.current_dir(home.project());
    let done = output(command, b"");
    assert!(done.status.success(), "{done:?}");
    assert_eq!(fs::read_to_string(path).unwrap(), text, "{done:?}");
}

#[test]
fn the_vault_guards_the_home_that_the_configuration_sets() {
    let (home, path, text) = begun();
    let world = World::with_agent("");
    world.agent(r#"rm -f "$GEMINI_CLI_HOME"/.gemini/tmp/project/chats/*"#);
    let config = format!(
        "[agents.mine]\nfamily = 'gemini'\ncommand = ['{}']\nenv = {{ GEMINI_CLI_HOME = '{}' }}\n",
        world.path("gemini").display(),
        home.home().display()
    );
    fs::write(world.path("config.toml"), config).unwrap();
    let config = world.path("config.toml").display().to_string();
    let args = ["run", "--config", &config, "--agent", "mine", "go"];
    let mut command = world.lapidary(&args);
    command.current_dir(home.project());
    let told = Told::by(command);
    assert_eq!(fs::read_to_string(path).unwrap(), text, "{told:?}");
    assert!(
        told.stdout
            .contains("Restored 1 session that Gemini CLI had deleted"),
        "{told:?}"
    );
}

/// Another process holds the vault for a while: the run tells its reader the reason for the wait.
#[test]
fn a_run_that_waits_for_the_vault_says_so() {
    let (home, path, text) = begun();
    let world = World::with_agent("init; user; say hello; success");
    fs::create_dir_all(world.path("state/vault")).unwrap();
    let lock = fs::File::create(world.path("state/vault/lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = command(&world, &home, &["run", "go"]);
    waiting.stdin(Stdio::null()).stderr(Stdio::piped());
    let waiting = waiting.stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    lock.unlock().unwrap();
    let told = Told::of(ended(waiting), Duration::ZERO);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(
        told.stdout.contains("looking after 1 session first"),
        "{told:?}"
    );
    assert_eq!(fs::read_to_string(path).unwrap(), text);
}
