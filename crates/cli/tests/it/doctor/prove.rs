//! `doctor --prove`: with agents that cannot be proven, and with the real one.

use std::process::Stdio;

use lapidary::vocab::doctor::Checkup;
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld as RealWorld};
use serde_json::Value;

use super::{Visit, WELL, doctor};
use crate::run::world::World;
use crate::support::lapidary;

fn proofs(visit: &Visit) -> Vec<String> {
    let checkup = visit.checkup();
    let checks = checkup["checks"].as_array().unwrap().iter();
    let word = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks
        .map(|check| format!("{} {}", word(check, "name"), word(check, "state")))
        .filter(|line| line.starts_with("prove_"))
        .collect()
}

/// What all checks of a name say.
fn messages(visit: &Visit, name: &str) -> Vec<String> {
    let checkup = visit.checkup();
    let checks = checkup["checks"].as_array().unwrap().iter();
    let checks = checks.filter(|check| check["name"] == name);
    let messages = checks.map(|check| check["message"].as_str().unwrap().to_owned());
    messages.collect()
}

/// What held the attempts over a transport, in the order of the kinds.
pub(super) fn holders(visit: &Visit, transport: &str) -> Vec<String> {
    let checkup: Checkup = serde_json::from_str(&visit.stdout).unwrap();
    let denials = checkup.checks.into_iter().flat_map(|check| check.denials);
    let (kinds, holders): (Vec<_>, Vec<_>) = denials
        .filter(|denial| denial.transport == transport)
        .map(|denial| (denial.kind.to_string(), denial.held_by.to_string()))
        .unzip();
    let all = [
        "read", "search", "edit", "delete", "move", "execute", "fetch", "mcp",
    ];
    assert_eq!(kinds, all);
    holders
}

/// How MCP servers of a run reach the agent, in the order of the checks.
pub(super) fn server_reaches(visit: &Visit) -> Vec<String> {
    let checkup: Checkup = serde_json::from_str(&visit.stdout).unwrap();
    let reaches = checkup.checks.into_iter();
    let reaches = reaches.filter_map(|check| check.server_reach);
    reaches.map(|reach| reach.to_string()).collect()
}

#[test]
fn an_agent_that_never_begins_proves_nothing_more() {
    let world = World::with_agent(WELL);
    let visit = Visit::of(doctor(&world, &["--prove"]));
    assert_eq!(
        (visit.code, proofs(&visit)),
        (Some(1), vec!["prove_start problem".to_owned()])
    );
    world.assert_nothing_is_left();
}

/// The agent prints everything at once, calls no tool, and ends before the doctor can cancel it.
#[test]
fn an_agent_that_only_pretends_is_found_out() {
    let world = World::with_agent(
        "[ \"$1\" = --version ] && echo 0.61.0 && exit; init; say One; say ', two'; say ', three.'; success",
    );
    let visit = Visit::of(doctor(&world, &["--prove"]));
    let expected = [
        "prove_start ok",
        "prove_streaming problem",
        "prove_tool problem",
        "prove_cancel problem",
        "prove_leftovers problem",
        "prove_rules unproven",
        "prove_servers ok",
        "prove_rules unproven",
        "prove_servers unproven",
    ];
    assert_eq!(
        (visit.code, proofs(&visit)),
        (Some(1), expected.map(str::to_owned).to_vec())
    );
}

/// An agent that tells its model of a file and writes another, of which its stream says nothing. It leaves out the commands that its
/// model calls for, and calls its model so many times in a run.
fn disobedient(calls: u32) -> World {
    World::with_agent(&format!("calls={calls}\n{DISOBEDIENT}"))
}

const DISOBEDIENT: &str = r#"
[ "$1" = --version ] && echo 0.61.0 && exit
init
[ -f secret.txt ] || exit 1
echo x > edited.txt
while [ $calls -gt 0 ]; do
  calls=$((calls - 1))
  bash -c '
    exec 3<>"/dev/tcp/127.0.0.1/${GOOGLE_GEMINI_BASE_URL##*:}"
    body="{\"contents\":\"$(cat secret.txt)\"}"
    head="POST /v1beta/models/m:streamGenerateContent HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    printf "${head}Content-Length: ${#body}\r\n\r\n%s" "$body" >&3
    cat <&3 >/dev/null'
done
success"#;

#[track_caller]
fn assert_found_out(world: &World) {
    let visit = Visit::of(doctor(world, &["--prove"]));
    assert_eq!(visit.code, Some(1));
    assert_eq!(
        messages(&visit, "prove_rules")[0],
        "over stream-json, ran in spite of the rule, unseen: read, edit; not offered to the model: search, delete, move, execute, fetch; not attempted: mcp"
    );
    let mut held = ["no_tool"; 8];
    held[7] = "not_attempted"; // the agent starts no MCP server
    held[0] = "nothing";
    held[2] = "nothing";
    assert_eq!(holders(&visit, "stream-json"), held);
    assert!(proofs(&visit).contains(&"prove_rules problem".to_owned()));
}

#[test]
fn an_agent_that_reads_and_writes_in_spite_of_rules_is_a_problem() {
    assert_found_out(&disobedient(8));
}

#[test]
fn an_attempt_that_a_turn_did_not_get_to_is_made_in_another_run() {
    assert_found_out(&disobedient(1));
}

/// An agent that reads a file in each run, and tells of it.
const OPEN: &str = r#"
[ "$1" = --version ] && echo 0.61.0 && exit
init
bash -c '
  exec 3<>"/dev/tcp/127.0.0.1/${GOOGLE_GEMINI_BASE_URL##*:}"
  head="POST /v1beta/models/m:streamGenerateContent HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
  printf "${head}Content-Length: 2\r\n\r\n{}" >&3
  cat <&3 >/dev/null'
echo "{\"type\":\"tool_use\",$t,\"tool_name\":\"read_file\",\"tool_id\":\"r\",\"parameters\":{\"file_path\":\"secret.txt\"}}"
answer r ok; success"#;

#[test]
fn an_attempt_that_is_seen_to_run_is_a_problem_and_the_next_is_made_in_another_run() {
    let visit = Visit::of(doctor(&World::with_agent(OPEN), &["--prove"]));
    assert_eq!(visit.code, Some(1));
    let mut held = ["no_tool"; 8];
    held[7] = "not_attempted"; // the agent starts no MCP server
    held[0] = "watch";
    assert_eq!(holders(&visit, "stream-json"), held);
    let said = "over stream-json, ran in spite of the rule: read; not offered to the model: search";
    let message = &messages(&visit, "prove_rules")[0];
    assert!(message.starts_with(said), "{message}");
}

#[test]
fn the_doctor_warns_of_a_version_that_does_not_start_with_rules() {
    let world = World::with_agent(
        "[ \"$1\" = --version ] && echo 0.60.0 && exit; init; say One; say ', two'; success",
    );
    let package = r#"{"name": "@google/gemini-cli", "version": "0.60.0"}"#;
    std::fs::write(world.path("package.json"), package).unwrap();
    let visit = Visit::of(doctor(&world, &["--prove"]));
    assert!(proofs(&visit).contains(&"prove_rules warning".to_owned()));
    assert_eq!(
        messages(&visit, "prove_rules"),
        ["over stream-json, a run with such rules does not start"]
    );
    assert!(
        visit
            .stdout
            .contains("not known to keep to an `--admin-policy`, and this is 0.60.0")
    );
    assert_eq!(holders(&visit, "stream-json"), ["not_started"; 8]);
}

/// The agent gets neither a key nor a home: the doctor proves the installation, not the account.
#[test]
fn an_agent_gets_nothing_of_the_users() {
    let world = World::with_agent(
        "[ \"$1\" = --version ] && echo 0.61.0 && exit; env > \"$0.env\"; exit 1",
    );
    let visit = Visit::of(doctor(&world, &["--prove"]));
    assert_eq!(visit.code, Some(1));
    let seen = std::fs::read_to_string(world.path("gemini.env")).unwrap();
    assert!(!seen.contains(super::SECRET), "{seen}");
    let home = seen.lines().find(|line| line.starts_with("HOME=")).unwrap();
    assert!(
        !home.contains(world.path("home").to_str().unwrap()),
        "{home}"
    );
}

/// The proofs of a real Gemini CLI.
fn of_real(version: GeminiVersion) -> Visit {
    let world = RealWorld::new();
    let mut command = lapidary(["doctor", "--prove", "--format", "json", "--timeout", "60"]);
    command
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment(""))
        .env("GEMINI_CLI_PATH", version.program())
        .stdin(Stdio::null());
    // Every wait of it is bounded, but not by a deadline for what takes milliseconds.
    let output = command.output().unwrap();
    Visit {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn the_real_older_agent_is_not_started_with_rules() {
    let visit = of_real(GeminiVersion::V0_24_0);
    assert_eq!(visit.code, Some(0), "{visit:?}");
    assert_eq!(holders(&visit, "stream-json"), ["not_started"; 8]);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_real_agent_is_proven_without_an_account() {
    let visit = of_real(GeminiVersion::V0_61_0);
    assert_eq!(visit.complaints(), Vec::new(), "{visit:?}");
    let expected = [
        "prove_start ok",
        "prove_streaming ok",
        "prove_tool ok",
        "prove_cancel ok",
        "prove_leftovers ok",
        "prove_rules ok",
        "prove_servers ok",
        "prove_rules ok",
        "prove_servers ok",
    ];
    assert_eq!(
        (visit.code, proofs(&visit)),
        (Some(0), expected.map(str::to_owned).to_vec())
    );
    let held = [
        "over stream-json, not offered to the model: read, search, edit, delete, move, execute, fetch, mcp",
        "over acp, asked and denied: read, search, edit, delete, move, execute, fetch, mcp",
    ];
    assert_eq!(messages(&visit, "prove_rules"), held);
    assert_eq!(holders(&visit, "stream-json"), ["no_tool"; 8]);
    assert_eq!(holders(&visit, "acp"), ["question"; 8]);
    assert_eq!(server_reaches(&visit), ["unreached", "session_new"]);
}
