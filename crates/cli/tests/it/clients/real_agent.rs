//! The packages with the real Gemini CLI.

use std::fs;
use std::process::Command;

use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::{Value, json};

use super::installed::installed_clients;
use super::readme::examples_for;
use super::succeeded;
use crate::support::root;

/// A home and a project, and a model that plays a script.
struct RealScene {
    world: GeminiWorld,
    api: FakeApi,
}

impl RealScene {
    fn new(script: Script) -> Self {
        let world = GeminiWorld::new();
        let settings = world.project().join("lapidary.toml");
        fs::write(settings, "model = \"gemini-2.5-flash\"\n").unwrap();
        let api = FakeApi::start_in_thread(script).unwrap();
        Self { world, api }
    }

    /// The output of a program that runs the agent.
    fn succeeded(&self, mut command: Command) -> String {
        command
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment(&self.api.base_url()))
            .env("GEMINI_CLI_PATH", GeminiVersion::V0_61_0.program())
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env("LAPIDARY_STATE_DIR", self.world.root().join("state"));
        succeeded(command)
    }
}

/// A call that needs permission, and an answer.
fn called(tool: &str, arguments: Value) -> Script {
    Script::new()
        .stream(Turn::call(tool, arguments))
        .stream("Said it.")
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_batch_keeps_the_outcomes_of_the_real_agent() {
    let scene = RealScene::new(called(
        "run_shell_command",
        json!({"command": "echo from-the-shell"}),
    ));
    let prompts = scene.world.root().join("prompts.txt");
    let results = scene.world.root().join("results.jsonl");
    fs::write(&prompts, "go\n").unwrap();
    let mut batch = installed_clients().python(scene.world.root());
    batch
        .arg(root().join("examples/batch.py"))
        .args(["--allow", "execute", "--args=--model=gemini-2.5-flash"])
        .arg(&prompts)
        .arg(&results);
    assert_eq!(scene.succeeded(batch), "1 of 1 completed\n");
    let result = fs::read_to_string(&results).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["result"]["outcome"], "completed", "{result}");
    assert_eq!(result["result"]["response"], "Said it.", "{result}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn examples_of_the_packages_run_the_real_agent() {
    let clients = installed_clients();
    let readmes = root().join("clients");
    let scripts = || {
        let file = json!({"file_path": "new.txt", "content": "one"});
        let command = json!({"command": "echo from-the-shell"});
        // The example, the model's part in it, and what the example prints of it.
        [
            (1, Script::new().stream("Said it."), "completed"),
            (2, Script::new().stream("Said it."), ""),
            (3, called("write_file", file), "may it? "),
            (4, Script::new().stream("Said it."), "Said it."),
            (
                5,
                called("run_shell_command", command).stream("Nothing more."),
                "Nothing more.",
            ),
        ]
    };
    for language in ["ts", "python"] {
        let folder = if language == "ts" {
            "typescript"
        } else {
            language
        };
        let examples = examples_for("gemini", &readmes.join(folder).join("README.md"), language);
        assert_eq!(examples.len(), scripts().len());
        for (number, script, printed) in scripts() {
            // Each start of the real agent takes seconds.
            let is_run = cfg!(feature = "full") || (language, number) == ("ts", 3);
            if !is_run {
                continue;
            }
            let scene = RealScene::new(script);
            let code = &examples[number - 1];
            let program = if language == "ts" {
                let module = clients.project.join(format!("gemini_{number}.mjs"));
                fs::write(&module, code).unwrap();
                let mut node = clients.node(scene.world.root());
                node.arg(module);
                node
            } else {
                let mut python = clients.python(scene.world.root());
                python.args(["-c", code]);
                python
            };
            let output = scene.succeeded(program);
            assert!(output.contains(printed), "{language} {number}: {output}");
            let is_written = scene.world.project().join("new.txt").exists();
            assert_eq!(is_written, number == 3, "{language} {number}: {output}");
        }
    }
}
