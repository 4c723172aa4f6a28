//! The real programs on a scripted model. A start costs a second of CPU, so each run shows several things at once.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::acp::{AcpWorld, Peer};
use lapidary_testkit::gemini::peers;
use serde_json::json;

use super::{named, programs_of};
use crate::run::world::{MARK, Mark, Told};
use crate::support::lapidary;

const CLAUDE: &str = "node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude";

const CODEX: &str =
    "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";

/// A world with the agent's own program on PATH, and no adapter.
struct OwnWorld {
    world: AcpWorld,
    agent: &'static str,
    programs: PathBuf,
}

impl OwnWorld {
    fn new(peer: Peer) -> Self {
        let world = AcpWorld::new(peer);
        let program = match peer {
            Peer::Codex => peers().with_file_name("peers-codex").join(CODEX),
            _ => peers().join(CLAUDE),
        };
        let programs = programs_of(world.root(), peer.name(), program);
        Self {
            agent: peer.name(),
            programs,
            world,
        }
    }

    fn run(&self, script: Script, args: &[&str]) -> Told {
        let api = FakeApi::start_in_thread(script).unwrap();
        let mark = Mark::fresh();
        let mut environment = self.world.environment(&api.base_url());
        for (name, value) in &mut environment {
            if name == "PATH" {
                let all =
                    std::iter::once(self.programs.clone()).chain(std::env::split_paths(value));
                *value = std::env::join_paths(all).unwrap();
            }
        }
        if self.agent == "codex" {
            environment.push(self.codex_home(&api.base_url()));
        }
        let mut command = lapidary(["run", "--no-config", "--agent", self.agent]);
        command
            .args(args)
            .current_dir(self.world.project())
            .env_clear()
            .envs(environment)
            .env("LAPIDARY_STATE_DIR", self.world.root().join("state"))
            .env(MARK, mark.value());
        let told = Told::started_by(command);
        mark.assert_nothing_is_left();
        told
    }

    fn codex_home(&self, url: &str) -> (OsString, OsString) {
        let home = self.world.home().join(".codex");
        fs::create_dir_all(&home).unwrap();
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"stand-in\"\n[model_providers.stand-in]\nname = \"Stand-in\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n"
        );
        fs::write(home.join("config.toml"), config).unwrap();
        ("CODEX_HOME".into(), home.into_os_string())
    }
}

fn text(told: &Told) -> String {
    let events = told.events.iter();
    let words = events.filter_map(|it| match it["event"].as_str() {
        Some("stream_delta") if it["kind"] == "text" => it["textDelta"].as_str(),
        Some("text") if it["kind"] == "text" => it["text"].as_str(),
        _ => None,
    });
    words.collect()
}

/// A hook of the project would run without a question in an untrusted folder.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn claude_code_runs_headless_and_writes_only_what_its_mode_allows() {
    let own = OwnWorld::new(Peer::Claude);
    let project = own.world.project();
    let hook = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch by-hook"}]}]}});
    fs::create_dir(project.join(".claude")).unwrap();
    fs::write(project.join(".claude/settings.json"), hook.to_string()).unwrap();
    let made = project.join("made.txt");
    let script = || {
        let input = json!({"file_path": made, "content": "x\n"});
        let first = Turn::thought("A file is wanted.").and_text("I will make it.");
        let first = first.and_call("Write", input);
        Script::new().stream(first).stream("So be it.")
    };
    let told = own.run(script(), &["make a file"]);
    assert_eq!(told.verdict(), ("permission_denied", Some(18)), "{told:?}");
    assert!(!made.exists(), "{told:?}");
    assert!(
        !project.join("by-hook").exists(),
        "a hook of the project ran"
    );
    assert_eq!(text(&told), "I will make it.So be it.");
    assert_eq!(named(&told, "user_input")[0]["text"], "make a file");
    assert_eq!(named(&told, "session_init")[0]["permissionMode"], "default");
    let told = own.run(
        script(),
        &["--permission-mode", "acceptEdits", "make a file"],
    );
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(made.exists(), "{told:?}");
    assert!(
        !project.join("by-hook").exists(),
        "a hook of the project ran"
    );
    let usage = named(&told, "usage_update");
    assert_eq!(usage.len(), 2, "{told:?}");
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "Codex is large: run `cargo xtask test --full`"
)]
fn codex_runs_headless_and_writes_only_what_its_mode_allows() {
    let own = OwnWorld::new(Peer::Codex);
    let made = own.world.project().join("made");
    let script = || {
        let call =
            Turn::text("I will make it.").and_call("exec_command", json!({"cmd": "touch made"}));
        Script::new().stream(call).stream("So be it.")
    };
    let told = own.run(script(), &["make a file"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(!made.exists(), "{told:?}");
    assert_eq!(text(&told), "I will make it.So be it.");
    let told = own.run(
        script(),
        &["--permission-mode", "acceptEdits", "make a file"],
    );
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert!(made.exists(), "{told:?}");
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and a script shows the same: run `cargo xtask test --full`"
)]
fn claude_code_answers_by_a_schema_and_continues_a_session() {
    let own = OwnWorld::new(Peer::Claude);
    let schema = own.world.root().join("schema.json");
    let document = json!({"type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]});
    fs::write(&schema, document.to_string()).unwrap();
    let answer = Turn::call("StructuredOutput", json!({"lines": 3}));
    let script = Script::new().stream(answer).stream("Three.");
    let args = ["--output-schema", schema.to_str().unwrap(), "How many?"];
    let told = own.run(script, &args);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(
        told.end()["answer"]["data"],
        json!({"lines": 3}),
        "{told:?}"
    );
    assert_eq!(told.end()["answer"]["dataSource"], "flag");
    let session = told.end()["sessionId"].as_str().unwrap().to_owned();
    let told = own.run(
        Script::new().stream("Again."),
        &["--resume", &session, "And?"],
    );
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(told.end()["sessionId"], session.as_str());
}
