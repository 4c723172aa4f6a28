//! `lapidary agents`.

use std::fs;
use std::path::PathBuf;

use lapidary::vocab::schema::Published;
use lapidary_testkit::gemini::GeminiWorld;
use serde_json::Value;

use crate::support::{Ran, lapidary, output};

struct Stage {
    world: GeminiWorld,
}

impl Stage {
    fn new() -> Self {
        let world = GeminiWorld::new();
        Self { world }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.root().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = lapidary(["agents"].iter().chain(args));
        command
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment("http://127.0.0.1:9"));
        let output = output(command, b"");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The object that a command prints, which its schema describes.
    fn object(&self, args: &[&str], schema: &str, code: i32) -> Value {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let object = serde_json::from_str(&ran.stdout).unwrap();
        let schema = Published::named(schema).unwrap().schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(validator.is_valid(&object), "{object}");
        object
    }

    fn shown(&self, text: &str) -> String {
        let real = self.world.root().canonicalize().unwrap();
        text.replace(&real.display().to_string(), "ROOT")
    }
}

fn agent(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n---\nBe \u{1b}[31m{name}.\n")
}

#[test]
fn an_agent_of_the_project_counts_after_its_acknowledgement_and_not_while_it_is_disabled() {
    let stage = Stage::new();
    stage.write("project/.gemini/agents/one.md", &agent("one"));
    let standing = || {
        let list = stage.object(&["list", "--all"], "agents", 0);
        let definitions = list["definitions"].as_array().unwrap().clone();
        let one = definitions
            .into_iter()
            .find(|it| it["name"] == "one")
            .unwrap();
        assert!(
            list["programs"]
                .as_array()
                .unwrap()
                .iter()
                .any(|it| it["name"] == "gemini")
        );
        one["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(standing(), "unacknowledged");
    let ack = stage.object(&["ack", "--all", "--format", "json"], "agents-change", 0);
    assert_eq!(
        (&ack["action"], &ack["applied"]),
        (&"ack".into(), &true.into())
    );
    assert_eq!(standing(), "active");
    let disabled = stage.run(&["disable", "one"]);
    let said = stage.shown(&disabled.stderr);
    assert_eq!(
        said,
        "agent `one` disabled in `ROOT/project/.gemini/settings.json`\n"
    );
    assert_eq!(standing(), "disabled");
    stage.object(&["enable", "one", "--format", "json"], "agents-change", 0);
    assert_eq!(standing(), "active");
    let shown = stage.run(&["show", "one", "--format", "text"]);
    assert!(
        shown
            .stdout
            .contains("one [active] local, project, 30 turns, 10 min"),
        "{shown:?}"
    );
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:?}");
    // The model reads all of it.
    assert!(shown.stdout.contains("Be \\u{1b}[31mone."), "{shown:?}");
    stage.object(&["show", "cli-help"], "agent", 0);
}

#[test]
fn a_file_that_is_no_agent_is_an_error_with_its_place() {
    let stage = Stage::new();
    stage.write(
        "home/.gemini/agents/x.md",
        "---\nname: x\ndescription: y\ntools: [Bash]\n---\nDo it.\n",
    );
    let ran = stage.run(&["check", "--format", "text"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(
        stage.shown(&ran.stdout),
        "ROOT/home/.gemini/agents/x.md:4:9: error: tools.0: Invalid tool name\n  hint: did you mean `run_shell_command`?\n0 agents, 1 error, 0 warnings\n"
    );
    let report = stage.object(&["check"], "agents-check", 3);
    assert_eq!(report["findings"][0]["line"], 4);
    let unknown = stage.run(&["show", "generalst"]);
    assert_eq!(unknown.code, Some(13));
    assert_eq!(
        unknown.stderr,
        "error: there is no agent `generalst`\nhint: did you mean `generalist`?\n"
    );
}

#[test]
fn an_import_overwrites_nothing_unless_it_is_forced_to() {
    let stage = Stage::new();
    let claude = stage.write(
        "claude.md",
        "---\nname: rev\ndescription: Reviews\ntools: Read, Task\n---\nReview.\n",
    );
    let claude = claude.to_str().unwrap();
    let args = ["import", "--from-claude", claude, "--format", "json"];
    let change = stage.object(&args, "agents-change", 0);
    assert_eq!(
        change["agents"][0]["dropped"][0],
        "the tool `Task` was dropped: an agent cannot call agents"
    );
    let written = stage.path("home/.gemini/agents/rev.md");
    fs::write(&written, "mine").unwrap();
    let again = stage.run(&args);
    assert_eq!(again.code, Some(13), "{again:?}");
    assert!(
        again.stderr.ends_with("hint: --force overwrites it\n"),
        "{again:?}"
    );
    assert_eq!(fs::read_to_string(&written).unwrap(), "mine");
    let forced = stage.run(&["import", "--from-claude", claude, "--force"]);
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert!(
        fs::read_to_string(&written)
            .unwrap()
            .contains("tools: [\"read_file\"]")
    );
}
