//! A world for the real CLI: its home, its project, its model.

use std::path::PathBuf;
use std::process::Command;

use lapidary::engine::RunHost;
use lapidary_standin::api::{FakeApi, Script};
use lapidary_testkit::gemini::{self, GeminiVersion};
use serde_json::Value;

use crate::run::world::{MARK, Mark, Told, run_host};
use crate::support::lapidary;

pub(crate) struct Real {
    pub(crate) version: GeminiVersion,
    pub(crate) world: gemini::GeminiWorld,
    pub(crate) api: FakeApi,
    mark: Mark,
}

impl Real {
    /// The CLI of this version, whose model follows the script.
    pub(crate) fn new(version: GeminiVersion, script: Script) -> Self {
        Self::with_settings(version, script, &Value::Null)
    }

    pub(crate) fn with_settings(version: GeminiVersion, script: Script, settings: &Value) -> Self {
        let world = match settings {
            Value::Null => gemini::GeminiWorld::new(),
            settings => gemini::GeminiWorld::with_settings(settings),
        };
        Self {
            version,
            world,
            api: FakeApi::start_in_thread(script).unwrap(),
            mark: Mark::fresh(),
        }
    }

    /// The same world with another script, for one that names its files.
    pub(crate) fn with_script(self, script: Script) -> Self {
        let api = FakeApi::start_in_thread(script).unwrap();
        Self { api, ..self }
    }

    /// The command, which may use the model that needs no router.
    pub(crate) fn lapidary(&self, args: &[&str]) -> Command {
        self.command("run", args)
    }

    /// Another command than `run`.
    pub(crate) fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = lapidary([name, "-m", "gemini-2.5-flash"]);
        command
            .args(args)
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment(&self.api.base_url()))
            .env_remove("GEMINI_CLI_NO_RELAUNCH") // that is for us to set
            .env("GEMINI_CLI_PATH", self.version.program())
            .env("LAPIDARY_STATE_DIR", self.path("state"))
            .env(MARK, self.mark.value());
        command
    }

    /// The host that a program needs to run the CLI of this world through the library.
    pub(crate) fn host(&self) -> RunHost {
        run_host(
            &self.lapidary(&[]),
            self.world.project(),
            self.path("state/runs"),
        )
    }

    pub(crate) fn run(&self, args: &[&str]) -> Told {
        let told = Told::started_by(self.lapidary(args));
        self.mark.assert_nothing_is_left();
        told
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.world.root().join(name)
    }

    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        self.mark.processes()
    }

    pub(crate) fn assert_nothing_is_left(&self) {
        self.mark.assert_nothing_is_left();
    }
}

/// One line an event: enough to see what happened.
pub(crate) fn outline(told: &Told) -> Vec<String> {
    told.events.iter().map(line).collect()
}

fn line(event: &Value) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or("-").to_owned();
    let rest = match event["event"].as_str().unwrap() {
        "session_init" => text("model"),
        "user_input" | "text" => text("text"),
        "stream_delta" => text("textDelta"),
        "tool_invocation" => format!("{} {}", text("toolName"), text("kind")),
        "tool_completion" => format!("{} {}", text("status"), text("output").trim()),
        "turn_complete" => text("subtype"),
        "run_end" => text("cause"),
        "session_status" | "diagnostic" => text("message"),
        "permission_request" => format!("{} {}", text("toolKind"), text("toolName")),
        "permission_decision" => format!("{} by {}", text("decision"), text("decidedBy")),
        "session_mode" => text("currentModeId"),
        "available_commands" | "usage_update" => String::new(),
        other => panic!("unexpected {other}"),
    };
    format!("{} {rest}", text("event"))
}
