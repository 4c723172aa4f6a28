//! `lapidary run --agent claude|codex` without an ACP adapter: the agents' own streams.
//!
//! Scripts replay captures of the real programs, and break off or lie as no capture does. The real programs run on a scripted
//! model.

mod real;
mod schema;

use std::fs;

use lapidary_testkit::captures;
use serde_json::Value;

use crate::run::world::{Told, World};
use crate::support::output;

/// A world in which `claude` and `codex` are scripts, and no adapter is installed. `$1` of a script's `capture` is the name of one.
fn world_of(agent: &str, script: &str) -> World {
    let world = World::with_agent("exit 1");
    let folder = match agent {
        "claude" => "claude-2.1.312",
        _ => "codex-0.166.0",
    };
    let folder = captures::fixtures().join(folder);
    let root = world.path("");
    fs::create_dir(world.path("bin")).unwrap();
    let text = format!(
        "#!/bin/sh\ncapture() {{ cat '{}'/\"$1\".stdout.jsonl; }}\nroot='{}'\necho \"$@\" >> \"$root/arguments\"\ncat >> \"$root/stdin\"\n{script}\n",
        folder.display(),
        root.display()
    );
    world.program(&format!("bin/{agent}"), &text);
    world
}

fn run(world: &World, agent: &str, args: &[&str]) -> Told {
    let mut command = world.lapidary(&["run", "--no-config"]);
    let path = std::env::var_os("PATH").unwrap();
    let all = std::iter::once(world.path("bin")).chain(std::env::split_paths(&path));
    command
        .env("PATH", std::env::join_paths(all).unwrap())
        .args(["--agent", agent])
        .args(args);
    let told = Told::by(command);
    world.assert_nothing_is_left();
    told
}

fn told_file(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).unwrap_or_default()
}

fn named<'a>(told: &'a Told, event: &str) -> Vec<&'a Value> {
    let named = told.events.iter().filter(|it| it["event"] == event);
    named.collect()
}

fn notices(told: &Told) -> String {
    let notices = named(told, "diagnostic").into_iter();
    let notices = notices.filter(|it| it["kind"] == "notice");
    let notices = notices.filter_map(|it| it["message"].as_str());
    notices.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_agent_without_its_adapter_runs_with_its_own_stream() {
    let world = world_of("claude", "capture partial");
    let told = run(&world, "claude", &["Change the notes"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let notices = notices(&told);
    assert!(
        notices.contains("Claude Code is run with its own stream"),
        "{notices}"
    );
    assert!(
        notices.contains("`claude-agent-acp` is not installed"),
        "{notices}"
    );
    let stdin: Value = serde_json::from_str(&told_file(&world, "stdin")).unwrap();
    assert_eq!(stdin["message"]["content"], "Change the notes");
    let arguments = told_file(&world, "arguments");
    assert!(
        arguments.contains("--permission-mode default"),
        "{arguments}"
    );
    assert!(arguments.contains("--setting-sources user"), "{arguments}");
    assert_eq!(named(&told, "user_input")[0]["text"], "Change the notes");
    assert_eq!(told.end()["provider"], "claude");
}

#[test]
fn the_recording_of_an_own_stream_gives_the_same_events() {
    for (agent, capture) in [("claude", "tools"), ("codex", "tools")] {
        let world = world_of(agent, &format!("capture {capture}"));
        let told = run(&world, agent, &["go"]);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        let recording = world.recording();
        let command = world.lapidary(&["translate", recording.to_str().unwrap()]);
        let again = Told::by(command);
        assert_eq!(again.stdout, told.stdout, "{agent}");
    }
}

#[test]
fn a_stream_that_breaks_off_or_lies_is_no_success() {
    for (agent, capture) in [("claude", "text"), ("codex", "text")] {
        for (script, cause, code) in [
            ("capture text | head -n 2", "no_result", 15),
            ("capture text | head -n 2; exit 3", "agent_crashed", 15),
            (
                "capture text | head -n 2; kill -KILL $$",
                "agent_crashed",
                15,
            ),
            ("capture text; exit 3", "agent_crashed", 15),
            ("echo garbage; printf '{\"type\":'; exit 0", "no_result", 15),
            ("echo garbage; echo '[1]'; capture text", "end_turn", 0),
        ] {
            let script = script.replace("text", capture);
            let world = world_of(agent, &script);
            let told = run(&world, agent, &["go"]);
            assert_eq!(
                told.verdict(),
                (cause, Some(code)),
                "{agent} {script}: {told:?}"
            );
        }
    }
}

#[test]
fn options_that_need_a_conversation_are_refused_with_the_way_to_have_it() {
    let world = world_of("claude", "capture text");
    for (args, message, hint) in [
        (
            &["--deny", "execute", "go"][..],
            "a rule (`--allow`, `--deny`, `--ask`, `[[rule]]`) needs ACP, and `claude-agent-acp`, the ACP adapter of Claude Code, is not installed",
            "install it with `npm install -g @agentclientprotocol/claude-agent-acp`",
        ),
        (
            &["--transport", "stream-json", "--allow", "edit", "go"],
            "a rule (`--allow`, `--deny`, `--ask`, `[[rule]]`) needs ACP",
            "leave `--transport` out, or pass `--transport acp`",
        ),
        (
            &["--transport", "json", "go"],
            "`claude` has no `json` transport",
            "use `--transport stream-json` or `--transport acp`",
        ),
    ] {
        let told = run(&world, "claude", args);
        assert_eq!(told.verdict(), ("bad_input", Some(13)), "{told:?}");
        assert_eq!(told.end()["message"], message);
        assert_eq!(told.end()["hint"], hint);
    }
    assert_eq!(told_file(&world, "arguments"), "", "it was started");
}

#[test]
fn an_agent_that_is_not_there_at_all_names_both_ways_to_get_it() {
    let world = World::with_agent("exit 1");
    let told = run(&world, "codex", &["go"]);
    assert_eq!(told.verdict(), ("agent_missing", Some(10)), "{told:?}");
    let hint = told.end()["hint"].as_str().unwrap();
    assert!(
        hint.contains("npm install -g @agentclientprotocol/codex-acp"),
        "{hint}"
    );
    assert!(hint.contains("npm install -g @openai/codex"), "{hint}");
}

#[test]
fn a_permission_mode_becomes_a_sandbox_of_codex() {
    for (mode, flags) in [
        ("default", "--sandbox read-only --ignore-rules"),
        ("acceptEdits", "--sandbox workspace-write --ignore-rules"),
        (
            "bypassPermissions",
            "--dangerously-bypass-approvals-and-sandbox",
        ),
    ] {
        let world = world_of("codex", "capture text");
        let told = run(&world, "codex", &["--permission-mode", mode, "go"]);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        let arguments = told_file(&world, "arguments");
        assert!(arguments.contains(flags), "{mode}: {arguments}");
        assert!(arguments.trim_end().ends_with(" -"), "{arguments}");
        assert_eq!(told_file(&world, "stdin"), "go");
        let says_sandbox = notices(&told).contains("its own sandbox");
        assert_eq!(says_sandbox, mode != "bypassPermissions", "{told:?}");
    }
}

/// The agent deletes the session that it finds, as Claude Code does after a month, and leaves another.
#[test]
fn session_files_are_copied_before_and_after_a_run_with_an_own_stream() {
    let ids = [
        "c1a0de00-0000-4000-8000-0000000000aa",
        "c1a0de00-0000-4000-8000-0000000000bb",
    ];
    for (agent, prefix) in [("claude", ""), ("codex", "rollout-2026-11-18T00-00-00-")] {
        let [old, new] = ids.map(|id| format!("{prefix}{id}.jsonl"));
        let script =
            format!("cd \"$root/store\" && rm '{old}' && echo '{{}}' > '{new}'; capture text");
        let world = world_of(agent, &script);
        let project = world.path("project").canonicalize().unwrap();
        let project = project
            .to_str()
            .unwrap()
            .replace(|it: char| !it.is_ascii_alphanumeric(), "-");
        let store = match agent {
            "claude" => world.path("home/.claude/projects").join(project),
            _ => world.path("home/.codex/sessions/2026/11/18"),
        };
        fs::create_dir_all(&store).unwrap();
        std::os::unix::fs::symlink(&store, world.path("store")).unwrap();
        fs::write(store.join(&old), "{\"old\":true}\n").unwrap();
        let told = run(&world, agent, &["go"]);
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        let log = ["sessions", "vault", "log", "--agent", agent];
        let log = world.lapidary(&[&log[..], &["--format", "json"]].concat());
        let log: Value = serde_json::from_slice(&output(log, b"").stdout).unwrap();
        let copied = |id: &str| log["snapshots"].to_string().contains(id);
        assert!(copied(ids[0]) && copied(ids[1]), "{log}");
        let gone = &log["onlyInVault"][0]["sessionId"];
        assert_eq!(gone, ids[0], "{log}");
    }
}
