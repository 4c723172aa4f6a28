//! `lapidary agents run`: a definition as a run, and the reasons for which one does not begin.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lapidary_standin::api::{Chunk, FakeApi, Script, Turn};
use lapidary_testkit::gemini::GeminiWorld;
use lapidary_testkit::raw_server::{RawServer, answer, json as json_answer};
use serde_json::{Value, json};

use crate::support::{Ran, lapidary, output};

const REVIEWER: &str =
    "---\nname: reviewer\ndescription: Reviews\ntools: [read_file]\n---\nReview.\n";

struct Stage {
    world: GeminiWorld,
}

impl Stage {
    fn new() -> Self {
        let stage = Self {
            world: GeminiWorld::new(),
        };
        stage.write("home/.gemini/agents/reviewer.md", REVIEWER);
        stage.write("project/a.txt", "alpha\n");
        stage
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.world.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The exit code and the report of `agents check --online`.
    fn check_online(&self) -> (Option<i32>, String) {
        let mut command = lapidary(["agents", "check", "--online", "--format", "text"]);
        command
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment(""));
        let ran = output(command, b"");
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    }

    fn run(&self, api: &str, args: &[&str], without: Option<&str>) -> Ran {
        let mut command = lapidary(["agents", "run"].iter().chain(args));
        command
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment(api))
            .env("LAPIDARY_STATE_DIR", self.world.root().join("state"));
        if let Some(name) = without {
            command.env_remove(name);
        }
        let output = output(command, b"");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[test]
fn a_confined_agent_definition_writes_files_only_where_its_commands_could() {
    let stage = Stage::new();
    let writer = "---\nname: writer\ndescription: Writes\ntools: [write_file]\n---\nWrite.\n";
    stage.write("home/.gemini/agents/writer.md", writer);
    let has_written = |mode: &str| {
        let arguments = json!({"file_path": "new.txt", "content": "x"});
        let script = Script::new()
            .stream(Turn::call("write_file", arguments))
            .stream(Turn::call("complete_task", json!({"result": "Done."})));
        let api = FakeApi::start_in_thread(script).unwrap();
        let args = ["writer", "go", "--yolo", "--confine", mode];
        let ran = stage.run(&api.base_url(), &args, None);
        assert_eq!(api.requests().len(), 2, "{ran:?}");
        fs::remove_file(stage.world.project().join("new.txt")).is_ok()
    };
    assert!(has_written("workspace"));
    assert!(!has_written("read-only"));
}

#[test]
fn an_agent_definition_hands_over_data_that_fits_the_output_schema() {
    let stage = Stage::new();
    let schema = json!({
        "type": "object", "required": ["lines"], "additionalProperties": false,
        "properties": {"lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}},
        "$defs": {"line": {"type": "integer", "minimum": 1}},
    });
    stage.write("project/s.json", &schema.to_string());
    let script = Script::new()
        .stream(Turn::call("complete_task", json!({"result": "Fine."})))
        .stream(Turn::call(
            "complete_task",
            json!({"result": {"lines": [0]}}),
        ))
        .stream(Turn::call(
            "complete_task",
            json!({"result": {"lines": [1, 2]}}),
        ));
    let api = FakeApi::start_in_thread(script).unwrap();
    let args = [
        "reviewer",
        "--format",
        "result",
        "--output-schema",
        "s.json",
        "look",
    ];
    let ran = stage.run(&api.base_url(), &args, None);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&result["data"], &result["dataSource"]),
        (&json!({"lines": [1, 2]}), &json!("tool"))
    );
    let told = format!("{:?}", api.requests());
    assert!(told.contains("params/result must be object"), "{told}");
    assert!(
        told.contains("params/result/lines/0 must be >= 1"),
        "{told}"
    );
}

/// The processes below this one, each with its arguments and environment, as far as they can be read.
fn processes_below() -> Vec<(u32, String)> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let parent = parent.and_then(|parent| parent.trim().parse::<u32>().ok());
        parents.insert(pid, parent.unwrap_or_default());
    }
    let is_below = |pid: u32| {
        let mut above = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
        above.any(|above| above == std::process::id())
    };
    let below = parents.keys().filter(|pid| is_below(**pid));
    let read = |pid: u32, name: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    below
        .filter(|pid| **pid != std::process::id())
        .map(|pid| {
            (
                *pid,
                format!("{} | {}", read(*pid, "cmdline"), read(*pid, "environ")),
            )
        })
        .collect()
}

/// A command that ends once its process was looked at.
const WAITING: &str = "timeout 30 sh -c 'until [ -e looked-at ]; do sleep 0.05; done'";

fn is_waiting((_, text): &(u32, String)) -> bool {
    text.starts_with("sh -c until [ -e looked-at ]")
}

/// The definition of a remote agent, whose token is the value of a variable or of a command.
fn remote_definition(url: &str, token: &str) -> String {
    format!(
        "---\nkind: remote\nname: far\ndescription: Far.\nagent_card_url: {url}\n\
         auth:\n  type: http\n  scheme: Bearer\n  token: {token}\n---\n"
    )
}

/// While the remote agent works, a command of the agent that called it is running: its process, and those around it, are looked at.
#[test]
fn credentials_of_a_remote_agent_are_in_no_process_file_or_output_of_a_run() {
    const SECRET: &str = "sekrit-of-processes-0815";
    let stage = Stage::new();
    stage.write("token", SECRET);
    let token_file = stage.world.root().join("token");
    for token in [
        "$FAR_ACCESS".to_owned(),
        format!("'!cat {}'", token_file.display()),
    ] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let looked_at = stage.world.project().join("looked-at");
        let _ = fs::remove_file(&looked_at); // of the token before
        let server = RawServer::start(move |request| {
            if request.line.starts_with("GET") {
                let host = request
                    .head
                    .lines()
                    .find_map(|line| line.strip_prefix("host: "));
                let url = format!("http://{}/rpc", host.unwrap());
                return json_answer(
                    &json!({"name": "Far", "protocolVersion": "0.3.0", "url": url}),
                );
            }
            // The command is started at the same time: it may not be there yet.
            let mut all = processes_below();
            let end = Instant::now() + Duration::from_secs(30);
            while !all.iter().any(is_waiting) && Instant::now() < end {
                std::thread::yield_now();
                all = processes_below();
            }
            noted.lock().unwrap().extend(all);
            fs::write(&looked_at, "").unwrap();
            let said = format!("you sent {}", request.head);
            let parts = json!([{"kind": "text", "text": said}]);
            let message = json!({"kind": "message", "role": "agent", "parts": parts});
            json_answer(&json!({"jsonrpc": "2.0", "id": 1, "result": message}))
        });
        stage.write(
            "home/.gemini/agents/far.md",
            &remote_definition(&server.url("/card.json"), &token),
        );
        let waiting = json!({"command": WAITING});
        let call = json!({"agent_name": "far", "prompt": "Hello."});
        let both = [
            Chunk::call("run_shell_command", waiting),
            Chunk::call("invoke_agent", call),
        ];
        let script = Script::new().stream(Turn::chunks(both)).stream(Turn::call(
            "complete_task",
            json!({"result": {"response": "Done."}}),
        ));
        let api = FakeApi::start_in_thread(script).unwrap();
        let mut command = lapidary(["agents", "run", "generalist", "--format", "events"]);
        command
            .args(["--permission-mode", "bypassPermissions", "go"])
            .current_dir(stage.world.project())
            .env_clear()
            .envs(stage.world.environment(&api.base_url()))
            .env("LAPIDARY_STATE_DIR", stage.world.root().join("state"));
        if token.starts_with('$') {
            command.env("FAR_ACCESS", SECRET);
        }
        let ran = output(command, b"");
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let sent = server.requests();
        let has_secret = |text: &str| text.contains(SECRET);
        assert!(
            sent.iter().any(|request| has_secret(&request.head)),
            "{sent:?}"
        );
        let seen = seen.lock().unwrap();
        assert!(seen.iter().any(is_waiting), "the command runs: {seen:?}");
        // The process that the user started has the user's environment; no other has it, and none has it as an argument.
        let with: Vec<_> = seen.iter().filter(|(_, text)| has_secret(text)).collect();
        let is_ours = |(_, text): &&(u32, String)| text.contains("agents run generalist --format");
        assert!(with.iter().all(is_ours), "{with:#?}");
        let in_arguments =
            |(_, text): &&&(u32, String)| has_secret(text.split(" | ").next().unwrap());
        assert_eq!(with.iter().find(in_arguments), None);
        let output = [ran.stdout, ran.stderr].concat();
        assert!(!has_secret(&String::from_utf8_lossy(&output)));
        let mut files = Vec::new();
        for name in ["state", "home", "project"] {
            files_with(&stage.world.root().join(name), SECRET, &mut files);
        }
        assert_eq!(files, Vec::<PathBuf>::new());
    }
}

fn files_with(directory: &Path, text: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_with(&path, text, found);
        } else if let Ok(bytes) = fs::read(&path)
            && String::from_utf8_lossy(&bytes).contains(text)
        {
            found.push(path);
        }
    }
}

#[test]
fn a_check_online_fails_for_a_card_that_cannot_be_had() {
    let stage = Stage::new();
    let page = RawServer::start(|_| answer(200, "text/html", "<p>"));
    let check = |url: &str| {
        stage.write(
            "home/.gemini/agents/far.md",
            &remote_definition(url, "$FAR"),
        );
        stage.check_online()
    };
    let (code, told) = check(&page.url("/card.json"));
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("error: agent `far`: "), "{told}");
    assert!(
        told.contains("the server answers with a web page"),
        "{told}"
    );
    let (code, told) = check("http://127.0.0.1:1/card.json");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("cannot fetch the agent card"), "{told}");
}

/// A signature is named, and so is the fact that Lapidary does not verify it.
#[test]
fn a_check_online_shows_a_signed_card_as_not_verified() {
    let stage = Stage::new();
    for (signatures, expected) in [
        (
            json!([{"protected": "e30", "signature": "c2ln"}]),
            ", signed (not verified)",
        ),
        (json!([]), ""),
    ] {
        let server = RawServer::start(move |request| {
            let url = format!("http://{}/rpc", request.host());
            json_answer(&json!({
                "name": "Far", "version": "2", "protocolVersion": "1.0", "signatures": signatures,
                "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            }))
        });
        let definition = remote_definition(&server.url("/card.json"), "token-4711");
        stage.write("home/.gemini/agents/far.md", &definition);
        let (code, told) = stage.check_online();
        assert_eq!(code, Some(0), "{told}");
        let url = server.url("/rpc");
        let expected = format!(
            "agent `far`: its card is `Far` 2: A2A 1.0 over JSONRPC at {url}, is polled{expected}\n"
        );
        assert!(told.contains(&expected), "{told} has no {expected}");
    }
}

/// Inputs make the prompt, and the schema and its repairs follow it.
#[test]
fn inputs_of_a_remote_agent_are_its_prompt_together_with_the_schema() {
    let stage = Stage::new();
    stage.write("project/s.json", r#"{"type": "object", "required": ["n"]}"#);
    let server = RawServer::start(|request| {
        if request.line.starts_with("GET") {
            let url = format!("http://{}/rpc", request.host());
            return json_answer(&json!({"name": "Far", "protocolVersion": "0.3.0", "url": url}));
        }
        let said = if request.body.contains("does not fit") {
            "{\"n\": 1}"
        } else {
            "one"
        };
        let message =
            json!({"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": said}]});
        json_answer(&json!({"jsonrpc": "2.0", "id": 1, "result": message}))
    });
    let definition = remote_definition(&server.url("/card.json"), "token-4711");
    stage.write("home/.gemini/agents/far.md", &definition);
    let args = [
        "far",
        "--format",
        "result",
        "--output-schema",
        "s.json",
        "--input",
        "query=count",
    ];
    let ran = stage.run("", &args, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["data"], json!({"n": 1}), "{result:#}");
    let prompt: Value = serde_json::from_str(&server.requests()[1].body).unwrap();
    let prompt = prompt["params"]["message"]["parts"][0]["text"]
        .as_str()
        .unwrap();
    assert!(prompt.starts_with("count\n"), "{prompt}");
}

#[test]
fn an_agent_definition_that_never_hands_over_data_fails_with_19() {
    let stage = Stage::new();
    stage.write("project/s.json", r#"{"type": "object", "required": ["n"]}"#);
    let args = [
        "reviewer",
        "--format",
        "result",
        "--output-schema",
        "s.json",
        "look",
    ];
    let prose = Script::new().stream("It is fine.").stream("Really, it is.");
    let api = FakeApi::start_in_thread(prose).unwrap();
    let ran = stage.run(&api.base_url(), &args, None);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &result["cause"], result.get("data")),
        (Some(19), &json!("schema_mismatch"), None),
        "{result:#}"
    );
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("the agent said: It is fine."), "{message}");
    assert_eq!(
        api.requests().len(),
        2,
        "no repair: it would be another task"
    );

    let text = Script::new().stream("Done.").stream(r#"Here: {"n": 1}"#);
    let api = FakeApi::start_in_thread(text).unwrap();
    let ran = stage.run(&api.base_url(), &args, None);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &result["data"], &result["dataSource"]),
        (Some(0), &json!({"n": 1}), &json!("text")),
        "{result:#}"
    );
}

#[test]
fn an_agent_definition_runs_on_the_api_that_the_variables_name() {
    let stage = Stage::new();
    let script = Script::new()
        .stream(Turn::call("read_file", json!({"file_path": "a.txt"})))
        .stream(Turn::call("complete_task", json!({"result": "Fine."})));
    let api = FakeApi::start_in_thread(script).unwrap();
    let args = ["reviewer", "--format", "result", "look at a.txt"];
    let ran = stage.run(&api.base_url(), &args, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        json!([
            result["response"],
            result["terminateReason"],
            result["output"]
        ]),
        json!(["Fine.", "GOAL", "Fine."]),
        "{result:#}"
    );
    let requests = api.requests();
    let told = requests.last().unwrap().body.to_string();
    assert!(told.contains("look at a.txt"), "the prompt: {told}");
    assert!(told.contains("alpha"), "the file: {told}");
    let runs = stage.world.root().join("state/runs");
    let [recorded] = &fs::read_dir(runs).unwrap().flatten().collect::<Vec<_>>()[..] else {
        panic!("one recording")
    };
    let mut translate = lapidary(["translate", "--format", "activity"]);
    translate.arg(recorded.path());
    let activity = String::from_utf8(output(translate, b"").stdout).unwrap();
    let told = activity.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        json!([event["agentName"], event["type"], event["data"]["name"]])
    });
    let expected = [
        json!(["reviewer", "TOOL_CALL_START", "read_file"]),
        json!(["reviewer", "TOOL_CALL_END", "read_file"]),
        json!(["reviewer", "TOOL_CALL_START", "complete_task"]),
        json!(["reviewer", "TOOL_CALL_END", "complete_task"]),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// Arguments, a variable that is missing, then the exit code, the message and the hint.
type Refusal<'a> = (&'a [&'a str], Option<&'a str>, i32, &'a str, &'a str);

#[test]
fn an_agent_that_cannot_run_says_why_and_what_to_do() {
    let stage = Stage::new();
    stage.write(
        "project/.gemini/agents/local.md",
        "---\nname: local\ndescription: Local\n---\nBe.\n",
    );
    let cases: [Refusal; 6] = [
        (
            &["reviwer", "go"],
            None,
            13,
            "there is no agent `reviwer`",
            "did you mean `reviewer`?",
        ),
        (
            &["local", "go"],
            None,
            13,
            "agent `local` cannot run: it is not acknowledged as it is now",
            "`lapidary agents show local` prints it, `lapidary agents ack local` lets it run",
        ),
        (
            &["reviewer", "--input", "file=a.txt"],
            None,
            13,
            "agent `reviewer`: there is no input `file`; there are: query",
            "`lapidary agents show reviewer` lists its inputs",
        ),
        (
            &["reviewer", "--input", "query=a", "go"],
            None,
            13,
            "agent `reviewer`: the input `query` is given twice",
            "give each input once: the prompt counts as one",
        ),
        (
            &["reviewer", "go"],
            Some("GEMINI_API_KEY"),
            11,
            "no API key for the Gemini API",
            "set `GEMINI_API_KEY`, or `GOOGLE_API_KEY` with `GOOGLE_GENAI_USE_VERTEXAI=true`",
        ),
        (
            &["reviewer", "-C", "nowhere", "go"],
            None,
            13,
            "cannot open the workspace",
            "",
        ),
    ];
    for (args, without, code, message, hint) in cases {
        let ran = stage.run("http://127.0.0.1:9", args, without);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        let mut lines = ran.stdout.lines();
        let end: Value = serde_json::from_str(lines.next_back().unwrap()).unwrap();
        let told = |key: &str| end[key].as_str().unwrap_or_default().to_owned();
        assert_eq!(end["event"], "run_end", "{args:?}");
        let rest = told("message").strip_prefix(message).map(str::to_owned);
        let is_exact = message != "cannot open the workspace";
        assert!(
            rest.is_some_and(|rest| rest.is_empty() || !is_exact),
            "said once: {args:?}: {end}"
        );
        assert_eq!(
            (told("hint").as_str(), &end["provider"]),
            (hint, &json!("lapidary"))
        );
        let cause = if code == 11 {
            "auth_required"
        } else {
            "bad_input"
        };
        assert_eq!(end["cause"], cause);
    }
}

/// The outputs of commands that an agent runs, as its model is told. Every command is allowed.
fn outputs_of(stage: &Stage, commands: &[&str], args: &[&str]) -> Vec<String> {
    let run = |command: &&str| Turn::call("run_shell_command", json!({ "command": command }));
    let script = commands.iter().map(run).fold(Script::new(), Script::stream);
    let script = script.stream(Turn::call("complete_task", json!({"result": "Done."})));
    let api = FakeApi::start_in_thread(script).unwrap();
    let args = [&["worker", "--allow", "execute", "work"], args].concat();
    let ran = stage.run(&api.base_url(), &args, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let requests = api.requests();
    let told = requests.last().unwrap().body["contents"].clone();
    let parts = told.as_array().unwrap().iter();
    let parts = parts.flat_map(|content| content["parts"].as_array().unwrap());
    let responses =
        parts.filter_map(|part| part["functionResponse"]["response"]["output"].as_str());
    responses.map(str::to_owned).collect()
}

const WORKER: &str =
    "---\nname: worker\ndescription: Works\ntools: [run_shell_command]\n---\nWork.\n";

#[test]
fn commands_of_an_agent_see_no_credentials() {
    let stage = Stage::new();
    stage.write("home/.gemini/agents/worker.md", WORKER);
    // The supervisor is the parent of the command: its environment is searched, too.
    let commands = ["env; tr '\\0' '\\n' < /proc/$PPID/environ"];
    let [output] = &outputs_of(&stage, &commands, &[])[..] else {
        panic!("one output")
    };
    assert!(output.contains("LANG=C.UTF-8"), "{output}");
    for secret in ["not-a-key", "GEMINI_API_KEY"] {
        assert!(!output.contains(secret), "{secret}: {output}");
    }
}

#[test]
fn commands_of_an_agent_write_in_the_workspace_and_nowhere_else() {
    let stage = Stage::new();
    stage.write("home/.gemini/agents/worker.md", WORKER);
    stage.write("outside/kept.txt", "kept\n");
    let root = stage.world.root().display();
    let commands = [
        "echo in > inside.txt && cat inside.txt",
        &format!("echo out > {root}/outside/new.txt"),
        &format!("ln -s {root}/outside link && echo out > link/kept.txt"),
        "rm -f link/kept.txt; (cd link && echo out > by-cd.txt)",
        "echo out > ../by-dots.txt",
        "(setsid sh -c 'echo out > ../by-session.txt' &) ; sleep 0.2",
    ];
    let outputs = outputs_of(&stage, &commands, &[]);
    assert_eq!(outputs.len(), commands.len());
    assert!(outputs[0].contains("in\n"), "{}", outputs[0]);
    for output in &outputs[1..5] {
        assert!(output.contains("Permission denied"), "{output}");
    }
    let names = |directory: &str| {
        let entries = fs::read_dir(stage.world.root().join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    assert_eq!(names("outside"), ["kept.txt"]);
    let kept = stage.world.root().join("outside/kept.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), "kept\n");
    assert_eq!(names("project"), ["a.txt", "inside.txt", "link"]);
    let left: Vec<_> = names("")
        .into_iter()
        .filter(|it| it.starts_with("by-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_text_of_a_run_shows_the_result_once_and_no_counts_that_are_unknown() {
    let stage = Stage::new();
    let script = Script::new()
        .stream(Turn::call("read_file", json!({"file_path": "a.txt"})))
        .stream(Turn::call("complete_task", json!({"result": "Fine."})));
    let api = FakeApi::start_in_thread(script).unwrap();
    let args = ["reviewer", "--format", "text", "look at a.txt"];
    let ran = stage.run(&api.base_url(), &args, None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<_> = ran.stdout.lines().collect();
    let (session, rest) = lines.split_first().unwrap();
    assert!(
        session.starts_with("session  gemini-3.1-pro-preview  "),
        "{session}"
    );
    let (end, rest) = rest.split_last().unwrap();
    assert!(
        end.starts_with("— completed · 220 tokens (200 in, 20 out) · "),
        "{end}"
    );
    let read = rest[2].trim_end().ends_with("1 line");
    assert!(read, "the lines that were read: {}", rest[2]);
    // A call that took a millisecond or more says how long.
    let without_times = |line: &&str| match line.strip_suffix(" ms") {
        Some(_) if line.starts_with("  ✓ ") => "  ✓".to_owned(),
        _ => (*line).to_owned(),
    };
    let told = [&rest[..2], &rest[3..]].concat();
    assert_eq!(
        told.iter().map(without_times).collect::<Vec<_>>(),
        [
            "> look at a.txt",
            "● read_file a.txt",
            "● complete_task",
            "  ✓",
            "Fine."
        ],
        "{}",
        ran.stdout
    );
}
