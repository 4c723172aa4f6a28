//! The three ways in which Gemini CLI 0.61 loses a conversation that it continues: headless, over ACP, through another client. After each of them
//! every message is still there, the CLI's next start deletes nothing, and it can continue the session again.

pub(super) mod at_once;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lapidary_standin::api::Script;
use lapidary_testkit::gemini::{GeminiVersion::V0_61_0, peers};
use serde_json::Value;

use super::acp::backdate;
use super::world::Real;
use crate::run::world::Told;
use crate::support::{lapidary, started};

/// A world in which a session was begun, long ago as far as the CLI can tell.
fn begun() -> (Real, String) {
    let script = [
        "First answer.",
        "Second answer.",
        "Third answer.",
        "Fourth answer.",
    ];
    let script = script.into_iter().fold(Script::new(), Script::stream);
    let real = Real::new(V0_61_0, script);
    let told = real.run(&["first question"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let id = told.end()["sessionId"].as_str().unwrap().to_owned();
    backdate(&real.world.home());
    (real, id)
}

/// Runs the CLI itself, without Lapidary.
fn cli(real: &Real, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = real.world.command(V0_61_0, &real.api.base_url());
    command.args(args);
    let output = started(command, b"");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Another of our commands in the same world.
pub(super) fn ours(real: &Real, args: &[&str]) -> Command {
    let mut command = lapidary(args);
    command
        .current_dir(real.world.project())
        .env_clear()
        .envs(real.world.environment(&real.api.base_url()))
        .env("LAPIDARY_STATE_DIR", real.path("state"));
    command
}

fn messages(real: &Real, id: &str) -> Vec<Value> {
    let shown = started(
        ours(real, &["sessions", "show", id, "--format", "messages"]),
        b"",
    );
    let text = String::from_utf8(shown.stdout).unwrap();
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.success(), "{said}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// All that was said is there, and stays there, and the CLI can go on.
fn assert_nothing_is_lost(real: &Real, id: &str) {
    let said = [
        "first question",
        "First answer.",
        "second question",
        "Second answer.",
    ];
    assert_can_go_on(real, id, &said);
}

/// This is there, and stays there, and the CLI can go on with it.
fn assert_can_go_on(real: &Real, id: &str, words: &[&str]) {
    // Any start of the CLI deletes the sessions that an earlier start endangered.
    let (code, listed, errors) = cli(real, &["--list-sessions"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(listed.contains(id), "{listed}{errors}");
    let said = Value::Array(messages(real, id)).to_string();
    for words in words {
        assert!(said.contains(words), "`{words}` is lost: {said}");
    }
    let before = real.api.requests().len();
    let model = ["-m", "gemini-2.5-flash", "-o", "stream-json"];
    let (code, stdout, stderr) = cli(
        real,
        &[&model[..], &["--resume", id, "-p", "third question"]].concat(),
    );
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let asked = format!("{:?}", &real.api.requests()[before..]);
    for words in words {
        assert!(asked.contains(words), "`{words}` is not told: {asked}");
    }
}

/// Files of the session in which nothing was said: the CLI would delete the session for them.
fn stubs(real: &Real, id: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    gather(&real.world.home(), &mut found);
    found.retain(|path| {
        fs::read_to_string(path)
            .is_ok_and(|text| text.contains(id) && !text.contains("\"type\":\"gemini\""))
    });
    found
}

fn gather(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, found);
        } else if entry.file_name().to_string_lossy().starts_with("session-") {
            found.push(path);
        }
    }
}

/// First that it is true: without us the conversation is gone.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn without_the_vault_the_cli_loses_what_it_continues() {
    let (real, id) = begun();
    let told = real.run(&["--no-vault", "--resume", &id, "second question"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(stubs(&real, &id).len(), 1);
    let (_, listed, _) = cli(&real, &["--list-sessions"]);
    assert!(
        !listed.contains(&id),
        "it does not lose it any more: {listed}"
    );
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and the soak resumes over both transports: run `cargo xtask test --full`"
)]
fn a_session_that_is_resumed_is_not_lost() {
    let (real, id) = begun();
    let mut command = ours(
        &real,
        &[
            "sessions",
            "resume",
            "latest",
            "-m",
            "gemini-2.5-flash",
            "second question",
        ],
    );
    command
        .env("GEMINI_CLI_PATH", V0_61_0.program())
        .env_remove("GEMINI_CLI_NO_RELAUNCH");
    let told = Told::started_by(command);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(told.end()["sessionId"], *id);
    let mut notices = told.events.iter().filter(|it| it["kind"] == "notice");
    assert_eq!(notices.next(), None, "that is what the vault is for");
    assert!(stubs(&real, &id).is_empty(), "what endangers it is gone");
    assert_nothing_is_lost(&real, &id);
}

/// In the minute in which it was made the CLI would destroy it at once.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_session_can_be_loaded_over_acp_in_the_minute_in_which_it_was_made() {
    let script = ["First answer.", "Second answer.", "Third answer."];
    let script = script.into_iter().fold(Script::new(), Script::stream);
    let real = Real::new(V0_61_0, script);
    let told = real.run(&["first question"]);
    let id = told.end()["sessionId"].as_str().unwrap().to_owned();
    let told = real.run(&["--transport", "acp", "--resume", &id, "second question"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_nothing_is_lost(&real, &id);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and the soak resumes over both transports: run `cargo xtask test --full`"
)]
fn a_session_that_is_loaded_over_acp_is_not_lost() {
    let (real, id) = begun();
    let told = real.run(&["--transport", "acp", "--resume", &id, "second question"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(stubs(&real, &id).is_empty());
    assert_nothing_is_lost(&real, &id);
}

/// The protocol's own SDK, which knows nothing of us.
fn another_client(real: &Real, id: &str, agent: &[String]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/real/vault/client.mjs");
    let sdk = peers().join("node_modules/acp-sdk-1.9.0/dist/acp.js");
    let mut client = Command::new("node");
    client
        .arg(here)
        .arg(sdk)
        .arg(real.world.project())
        .args([id, "second question"])
        .args(agent);
    client
        .env_clear()
        .envs(real.world.environment(&real.api.base_url()))
        .env("LAPIDARY_STATE_DIR", real.path("state"));
    let output = started(client, b"");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        said,
        "end_turn\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn gemini_over_acp() -> Vec<String> {
    let program = V0_61_0.program().to_str().unwrap().to_owned();
    [&program, "-m", "gemini-2.5-flash", "--acp"]
        .map(str::to_owned)
        .into()
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn another_client_loses_nothing_if_it_starts_the_cli_through_us() {
    let (real, id) = begun();
    let own = env!("CARGO_BIN_EXE_lapidary").to_owned();
    let recorded = [own, "record".to_owned(), "--".to_owned()];
    another_client(&real, &id, &[&recorded[..], &gemini_over_acp()].concat());
    assert!(stubs(&real, &id).is_empty());
    assert_nothing_is_lost(&real, &id);
}

/// No guard ran around the other client: only the earlier copy in the vault is left.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn what_another_client_lost_comes_back_from_the_vault() {
    let (real, id) = begun();
    let added = started(ours(&real, &["sessions", "vault", "add"]), b"");
    assert!(added.status.success(), "{added:?}");
    another_client(&real, &id, &gemini_over_acp());
    // The next start of the CLI finishes it off.
    let (_, listed, _) = cli(&real, &["--list-sessions"]);
    assert!(!listed.contains(&id), "it does not lose it: {listed}");
    let restored = started(ours(&real, &["sessions", "vault", "restore", &id]), b"");
    assert!(restored.status.success(), "{restored:?}");
    assert_can_go_on(&real, &id, &["first question", "First answer."]);
}

/// A session that the CLI loads over ACP in the minute of its creation, without a guard. The load hides the conversation, which
/// is still in the file.
fn hidden_by_a_load() -> (Real, String) {
    // If a minute ends between the two runs, the CLI does not hide the conversation.
    for _ in 0..3 {
        let script = ["First answer.", "Second answer.", "Third answer."];
        let script = script.into_iter().fold(Script::new(), Script::stream);
        let real = Real::new(V0_61_0, script);
        let told = real.run(&["--no-vault", "first question"]);
        let id = told.end()["sessionId"].as_str().unwrap().to_owned();
        let load = ["--no-vault", "--transport", "acp", "--resume", &id];
        real.run(&[&load[..], &["second question"]].concat());
        let list = started(ours(&real, &["sessions", "list", "--format", "json"]), b"");
        let list: Value = serde_json::from_slice(&list.stdout).unwrap();
        let mut listed = list["sessions"].as_array().unwrap().iter();
        // Its recordings still have it.
        if listed.all(|session| session["unlisted"] == "recording") {
            return (real, id);
        }
    }
    panic!("the CLI does not hide it any more");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn what_a_load_in_the_same_minute_hid_is_recovered_from_the_file() {
    let (real, id) = hidden_by_a_load();
    let recovered = started(ours(&real, &["sessions", "recover", "--apply"]), b"");
    assert!(recovered.status.success(), "{recovered:?}");
    assert_can_go_on(&real, &id, &["first question", "First answer."]);
}
