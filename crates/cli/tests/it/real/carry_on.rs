//! A session of Claude Code that the real Gemini CLI carries on with.

use std::fs;

use lapidary_standin::api::Script;
use lapidary_testkit::captures::fixtures;
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;

use super::world::Real;
use crate::run::world::Told;
use crate::support::lapidary;

const SESSION: &str = "c1a0de00-0000-4000-8000-000000000002";

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_request_of_gemini_cli_has_the_briefing_of_a_session_of_claude_code() {
    let real = Real::new(V0_61_0, Script::new().stream("I carry on."));
    let project = real.world.home().join(".claude/projects/-tmp-project");
    fs::create_dir_all(&project).unwrap();
    let name = format!("{SESSION}.jsonl");
    let from = fixtures().join("sessions/claude-2.1.312/tools/projects/-tmp-project");
    fs::copy(from.join(&name), project.join(&name)).unwrap();
    let before = fs::read(project.join(&name)).unwrap();
    let there = real.world.project().display().to_string();
    let args = [
        "sessions",
        "continue",
        SESSION,
        "now the tests",
        "--in",
        "gemini",
        "--yes",
        "-m",
        "gemini-2.5-flash",
        "-C",
        &there,
    ];
    let mut command = lapidary(args);
    command
        .current_dir(real.world.project())
        .env_clear()
        .envs(real.world.environment(&real.api.base_url()))
        .env_remove("GEMINI_CLI_NO_RELAUNCH")
        .env("GEMINI_CLI_PATH", real.version.program())
        .env("LAPIDARY_STATE_DIR", real.path("state"));
    let told = Told::started_by(command);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let requests = real.api.requests();
    let asked = requests.iter().map(|request| request.body.to_string());
    let asked = asked.collect::<Vec<_>>().join("\n");
    for part in [
        "another agent (`claude`)",
        "untrusted data",
        "Change the notes",
        "/tmp/project/notes.txt",
        "-second line",
        "Both files are in place.",
        "now the tests",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert_eq!(fs::read(project.join(&name)).unwrap(), before);
    let files = fs::read_dir(&project).unwrap();
    assert_eq!(files.count(), 1, "no session file was made");
}
