//! Real agents, confined as they are by default: they read, edit, run a command and keep their session, and write nowhere else.

use std::fs;
use std::path::Path;

use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::acp::{AcpWorld, Peer};
use serde_json::json;

use crate::run::world::{MARK, Mark, Told};
use crate::support::{lapidary, output};

/// The model reads a file, writes one, and has a command write others, inside the project and outside.
fn script(peer: Peer, world: &AcpWorld) -> Script {
    let path = |name: &str| world.project().join(name);
    let shell = "cat given > made; mktemp > temporary; echo x > ../outside/escaped; true";
    let (read, write) = match peer {
        Peer::Gemini061 | Peer::Qwen => (
            ("read_file", json!({ "file_path": path("given") })),
            (
                "write_file",
                json!({ "file_path": path("written"), "content": "by the agent\n" }),
            ),
        ),
        Peer::Claude => (
            ("Read", json!({ "file_path": path("given") })),
            (
                "Write",
                json!({ "file_path": path("written"), "content": "by the agent\n" }),
            ),
        ),
        _ => (
            ("read", json!({ "filePath": path("given") })),
            (
                "write",
                json!({ "filePath": path("written"), "content": "by the agent\n" }),
            ),
        ),
    };
    let (tool, args) = peer.shell_call(shell).unwrap();
    Script::new()
        .stream(Turn::call(read.0, read.1))
        .stream(Turn::call(write.0, write.1))
        .stream(Turn::call(tool, args))
        .stream("All done.")
}

/// A program of this name that starts the peer, so that it is known by it.
fn program(world: &AcpWorld, peer: Peer, name: &str) {
    let words = peer.command_line();
    let words = words
        .iter()
        .filter(|word| *word != "acp" && *word != "--acp");
    let words: Vec<_> = words.map(|word| format!("'{word}'")).collect();
    let text = format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "));
    let bin = world.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(bin.join(name));
    assert!(output(shell, text.as_bytes()).status.success());
}

fn run(peer: Peer, name: &str, world: &AcpWorld) -> Told {
    program(world, peer, name);
    fs::write(world.project().join("given"), "given\n").unwrap();
    fs::create_dir(world.root().join("outside")).unwrap();
    fs::create_dir(world.root().join("tmp")).unwrap();
    let api = FakeApi::start_in_thread(script(peer, world)).unwrap();
    let mark = Mark::fresh();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", world.root().join("bin").display());
    let agent = if peer == Peer::Claude { "claude" } else { name };
    let mut command = lapidary(["run", "--no-config", "--agent", agent, "--yolo", "go"]);
    command
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment(&api.base_url()))
        .env("PATH", path)
        .env("TMPDIR", world.root().join("tmp"))
        .env("LAPIDARY_STATE_DIR", world.root().join("state"))
        .env(MARK, mark.value());
    if peer == Peer::Gemini061 {
        command.args(["-m", "gemini-2.5-flash"]);
    }
    let told = Told::started_by(command);
    mark.assert_nothing_is_left();
    told
}

/// True if a file below the directory contains the text.
fn mentions(directory: &Path, text: &str) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| {
        let is_file = path.is_file();
        let content = fs::read(&path).unwrap_or_default();
        let has = String::from_utf8_lossy(&content).contains(text);
        (is_file && has) || (path.is_dir() && mentions(&path, text))
    })
}

fn check(peer: Peer, name: &str, state: &str) -> AcpWorld {
    let world = AcpWorld::new(peer);
    let told = run(peer, name, &world);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    let read = |name: &str| fs::read_to_string(world.project().join(name)).unwrap_or_default();
    assert_eq!(read("written"), "by the agent\n", "{told:?}");
    assert_eq!(read("made"), "given\n", "{told:?}");
    assert_eq!(
        fs::read_dir(world.root().join("outside")).unwrap().count(),
        0
    );
    // It had a temporary directory for itself, which is gone.
    let tmp = world.root().join("tmp").canonicalize().unwrap();
    assert!(
        read("temporary").contains("lapidary-"),
        "{}",
        read("temporary")
    );
    assert_eq!(fs::read_dir(tmp).unwrap().count(), 0);
    assert!(
        mentions(&world.home().join(state), "All done."),
        "no session in {state}"
    );
    // Nothing that the agent needs was denied.
    let warnings = told.end()["warnings"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let others = warnings
        .iter()
        .filter(|it| !it.to_string().contains("outside"));
    assert_eq!(others.count(), 0, "{warnings:?}");
    world
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_works_confined() {
    check(Peer::Gemini061, "gemini", ".gemini");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn claude_works_confined() {
    let world = check(Peer::Claude, "claude-agent-acp", ".claude");
    // It cannot rename a file over this one in a home that it cannot write, and then writes the file itself.
    let state = fs::read_to_string(world.home().join(".claude.json")).unwrap();
    assert!(state.len() > 2, "{state}");
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and `rule_matrix` runs opencode confined: run `cargo xtask test --full`"
)]
fn opencode_works_confined() {
    check(Peer::Opencode, "opencode", ".local/share/opencode");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn qwen_works_confined() {
    check(Peer::Qwen, "qwen", ".qwen");
}
