//! `transcript_path`: a file that hooks can read, with every agent.

use std::fs;

use serde_json::{Value, json};

use super::{ASKS, DONE, hook, play, write_hooks};
use crate::run::world::Told;
use crate::support::output;
use crate::talk::scene::{Played, staged};

/// Copies the transcript under the name of the event, as it is then.
const COPY: &str = r#"name() { printf '%s' "$told" | sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }; cat "$(name transcript_path)" > "copy-$(name hook_event_name)""#;

fn hooks() -> Value {
    let events = [
        "SessionStart",
        "BeforeAgent",
        "BeforeTool",
        "AfterTool",
        "AfterAgent",
        "SessionEnd",
    ];
    let hooks = events.map(|event| (event.to_owned(), json!([hook(COPY)])));
    Value::Object(hooks.into_iter().collect())
}

fn copied(played: &Played, event: &str) -> String {
    fs::read_to_string(played.world.path(&format!("project/copy-{event}"))).unwrap()
}

#[test]
fn hooks_can_read_what_the_agent_has_said_so_far() {
    for more in [&["--yolo"][..], &["--yolo", "--no-record"]] {
        let played = play(&hooks(), ASKS, more, DONE);
        assert_eq!(played.seen().len(), 6);
        for run in played.runs() {
            assert_eq!(run["exitCode"], 0, "there was no file: {run}");
        }
        // The answer to `session/new` comes before the session's first hook, its question before the tool's.
        assert!(copied(&played, "SessionStart").contains(r#""sessionId": "s""#));
        let asked = "session/request_permission";
        assert!(!copied(&played, "BeforeAgent").contains(asked));
        assert!(copied(&played, "BeforeTool").contains(asked));
        assert!(copied(&played, "AfterAgent").contains("done"));
    }
}

#[test]
fn a_recorded_run_is_what_hooks_read_and_so_does_a_test_of_them() {
    let played = play(&hooks(), ASKS, &["--yolo"], DONE);
    let stdout = played.world.recording().join("stdout");
    let stdout = stdout.canonicalize().unwrap();
    let is_stdout = |told: &Value| {
        let path = told["transcript_path"].as_str().unwrap();
        assert_eq!(fs::canonicalize(path).unwrap(), stdout);
    };
    played.seen().iter().for_each(is_stdout);
    let recording = played.world.recording();
    let recording = recording.to_str().unwrap();
    let args = ["hooks", "test", "BeforeTool", "--recording", recording];
    let tested = output(played.world.lapidary(&args), b"");
    let tested: Value = serde_json::from_slice(&tested.stdout).unwrap();
    is_stdout(&tested["moments"][0]["payload"]);
}

/// An agent that keeps its session as Gemini CLI does: it writes the session file only after the first prompt.
const KEEPS: &str = r#"
import pathlib
hello(); answer(hear("session/new"), {"sessionId": "5e551011-0000-4000-8000-000000000001"})
p = hear("session/prompt")
chats = pathlib.Path(os.environ["HOME"]) / ".gemini/tmp/project/chats"; chats.mkdir()
header = {"sessionId": "5e551011-0000-4000-8000-000000000001", "projectHash": "h", "startTime": "2026-01-01T00:00:00.000Z", "lastUpdated": "2026-01-01T00:00:00.000Z", "kind": "main"}
said = {"id": "1", "timestamp": "2026-01-01T00:00:00.000Z", "type": "user", "content": [{"text": "kept by the agent"}]}
(chats / "session-2026-01-01T00-00-5e551011.jsonl").write_text(json.dumps(header) + "\n" + json.dumps(said) + "\n")
ask(0, "session/request_permission", toolCall={"toolCallId": "c", "title": "ls", "kind": "execute", "rawInput": {"command": "ls"}}, options=OPTIONS, sessionId="5e551011-0000-4000-8000-000000000001")
reply(0)
answer_record = {"id": "2", "timestamp": "2026-01-01T00:00:01.000Z", "type": "gemini", "content": "Done."}
with (chats / "session-2026-01-01T00-00-5e551011.jsonl").open("a") as log: log.write(json.dumps(answer_record) + "\n")
done(p)
"#;

#[test]
fn the_session_file_of_gemini_cli_is_read_as_soon_as_it_is_there() {
    let world = staged(KEEPS);
    write_hooks(&world, &hooks());
    let project = world.path("project").canonicalize().unwrap();
    let folder = world.path("home/.gemini/tmp/project");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(".project_root"), project.to_str().unwrap()).unwrap();
    let registry = json!({"projects": {project.to_str().unwrap(): "project"}});
    let registry_file = world.path("home/.gemini/projects.json");
    fs::write(registry_file, registry.to_string()).unwrap();
    let agent =
        "[agents.mine]\ncommand = \"python3 -I -S ../agent.py ../scene.py\"\nfamily = \"gemini\"\n";
    fs::write(world.path("own.toml"), agent).unwrap();
    let args = ["run", "--hooks", "--yolo", "--config", "../own.toml"];
    let command = world.lapidary(&[&args[..], &["--agent", "mine", "go"]].concat());
    let told = Told::by(command);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{}", told.stderr);
    let played = Played { world, told };
    assert!(copied(&played, "SessionStart").contains("protocolVersion"));
    for event in ["BeforeTool", "AfterAgent", "SessionEnd"] {
        assert!(copied(&played, event).contains("kept by the agent"));
    }
}
