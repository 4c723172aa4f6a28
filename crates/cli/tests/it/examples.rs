//! The scripts under `examples` work as their comments say.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::{Ran, lapidary, lines_of, output, program, root};

const FIXTURES: &str = "fixtures/gemini-0.61.0";

fn script(interpreter: &str, name: &str, captures: &[&str]) -> Ran {
    let mut command = program(interpreter);
    command
        .arg(format!("examples/{name}"))
        .args(
            captures
                .iter()
                .map(|name| format!("{FIXTURES}/{name}.stdout.jsonl")),
        )
        .env("LAPIDARY", env!("CARGO_BIN_EXE_lapidary"))
        .current_dir(root());
    let ran = output(command, b"");
    Ran {
        code: ran.status.code(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

fn check(ran: &Ran, code: i32, stdout: &str) {
    assert_eq!(ran.stderr, "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), stdout));
}

#[test]
fn failures_are_named_and_make_the_job_red() {
    let good = script("bash", "failures.sh", &["sess-a", "text-simple"]);
    check(&good, 0, "");
    let bad = [
        "sess-a",
        "api-429-quota-terminal",
        "loop-detected",
        "empty-prompt",
    ];
    let told = "\
api-429-quota-terminal.stdout.jsonl: failed: the account's quota is used up · 0.5 s
loop-detected.stdout.jsonl: failed: the agent went in circles and was stopped · 440 tokens (400 in, 40 out) · ~$0.0002 · 0.4 s · 4 tool calls
empty-prompt.stdout.jsonl: failed: the stream ended without a result
";
    check(&script("bash", "failures.sh", &bad), 1, told);
}

#[test]
fn usage_is_added_up_by_model() {
    let told = "\
gemini-2.5-flash: 700 in, 40 out, 100 cached
gemini-3.5-flash-lite: 100 in, 10 out, 0 cached
gemini-3.8-flash: 100 in, 10 out, 0 cached
";
    let usage = script("python3", "usage.py", &["sess-a", "text-simple"]);
    check(&usage, 0, told);
    let missing = script("python3", "usage.py", &["no-such"]);
    assert_eq!(missing.code, Some(13));
    assert!(
        missing.stderr.starts_with("error: cannot read"),
        "{missing:?}"
    );
}

#[test]
fn a_front_end_shows_a_run_as_it_happens() {
    let state = tempfile::tempdir().unwrap();
    let mut python = program("python3");
    python
        .args(["examples/frontend.py", "--agent", "demo", "hello"])
        .env("LAPIDARY", env!("CARGO_BIN_EXE_lapidary"))
        .env("LAPIDARY_STATE_DIR", state.path())
        .current_dir(root());
    let ran = output(python, b"");
    let shown = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{shown}");
    assert!(
        shown.contains("\n[run_shell_command: completed]\n"),
        "{shown}"
    );
    assert!(shown.ends_with("completed: end_turn \n"), "{shown}");
}

/// `frontend.py` with an agent.
fn front_end(command: &mut Command) -> (Option<i32>, String) {
    let ran = output(std::mem::replace(command, Command::new("true")), b"");
    let complaints = String::from_utf8(ran.stderr).unwrap();
    assert!(!complaints.contains("Traceback"), "{complaints}");
    (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn a_front_end_shows_an_agent_over_acp() {
    let state = tempfile::tempdir().unwrap();
    let mut python = program("python3");
    let prompt = "say hi; ask read b.txt; say bye";
    python
        .args(["examples/frontend.py", "--agent", "examples/agent.py"])
        .args(["--trust-workspace", prompt])
        .env("LAPIDARY", env!("CARGO_BIN_EXE_lapidary"))
        .env("LAPIDARY_STATE_DIR", state.path())
        .current_dir(root());
    let (code, shown) = front_end(&mut python);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("hi") && shown.contains("bye"), "{shown}");
    assert!(shown.ends_with("completed: end_turn \n"), "{shown}");
}

#[test]
fn the_example_agent_answers_a_step_with_wrong_arguments() {
    let state = tempfile::tempdir().unwrap();
    let mut command = lapidary(["run", "--agent", "examples/agent.py", "--trust-workspace"]);
    command
        .args(["--format", "result", "ask execute rm -rf x"])
        .env("LAPIDARY_STATE_DIR", state.path())
        .current_dir(root());
    let ran = output(command, b"");
    let result: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let message = result["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("`ask execute rm -rf x`: "), "{result}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn examples_work_with_the_real_agent() {
    use lapidary_standin::api::{FakeApi, Script, Turn};
    let script = || {
        let call = serde_json::json!({"command": "echo from-the-shell"});
        Script::new()
            .stream(Turn::call("run_shell_command", call))
            .stream("Said it.")
    };
    let world = lapidary_testkit::gemini::GeminiWorld::new();
    let python = |example: &str, api: &FakeApi, args: &[&str]| {
        let mut python = program("python3");
        python
            .arg(root().join("examples").join(example))
            .args(["-m", "gemini-2.5-flash"])
            .args(args)
            .current_dir(world.project())
            .env_clear()
            .envs(world.environment(&api.base_url()))
            .env(
                "GEMINI_CLI_PATH",
                lapidary_testkit::gemini::GeminiVersion::V0_61_0.program(),
            )
            .env("LAPIDARY", env!("CARGO_BIN_EXE_lapidary"))
            .env("LAPIDARY_STATE_DIR", world.root().join("state"));
        front_end(&mut python)
    };
    for transport in ["auto", "acp"] {
        let api = FakeApi::start_in_thread(script()).unwrap();
        let args = ["--transport", transport, "--yolo", "go"];
        let (code, shown) = python("frontend.py", &api, &args);
        assert_eq!(code, Some(0), "{transport}: {shown}");
        let call = "\n[run_shell_command: completed]\n";
        assert!(shown.contains(call), "{transport}: {shown}");
        assert!(shown.contains("Said it."), "{transport}: {shown}");
    }
    let api = FakeApi::start_in_thread(script()).unwrap();
    let (code, shown) = python("connect.py", &api, &["go", "and then?"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Said it."), "{shown}");
}

#[test]
fn a_recording_can_be_the_agent_of_a_test_suite() {
    let folder = tempfile::tempdir().unwrap();
    let lapidary = env!("CARGO_BIN_EXE_lapidary");
    let in_folder = |mut command: Command| {
        command
            .env("LAPIDARY", lapidary)
            .env("LAPIDARY_STATE_DIR", folder.path().join("state"))
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .current_dir(folder.path());
        output(command, b"")
    };
    let mut record = program(lapidary);
    record.args([
        "record",
        "--record-dir",
        "agents",
        "--run-id",
        "fix",
        "--",
        "cat",
    ]);
    record.arg(root().join(FIXTURES).join("text-simple.stdout.jsonl"));
    assert_eq!(in_folder(record).status.code(), Some(0));
    let mut bash = program("bash");
    bash.arg(root().join("examples/without-a-model.sh"));
    bash.args(["agents/fix", lapidary, "run", "--format", "result", "hi"]);
    let ran = in_folder(bash);
    let result: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(
        (ran.status.code(), &result["success"]),
        (Some(0), &true.into()),
        "{result}"
    );
}

const TALK: [&str; 4] = [
    "--agent",
    "examples/agent.py",
    "say one\u{2028}two; ask edit a.txt; ask read b.txt; refuse",
    "say three",
];

const TOLD: &str = "\
one\u{2028}two
[edit a.txt: denied]
[no: only looking is allowed]
[read b.txt: allowed]
[yes: only looking is allowed]
[send_message: the agent refuses: no, thank you (-32603)]
three
completed: end_turn
";

/// Runs a client of `connect` with the agent that carries out its prompts.
fn talk(interpreter: &str, client: &std::path::Path) {
    let state = tempfile::tempdir().unwrap();
    let mut command = program(interpreter);
    command
        .arg(client)
        .args(["--ask", "read", "--trust-workspace"])
        .args(TALK)
        .env("LAPIDARY", env!("CARGO_BIN_EXE_lapidary"))
        .env("LAPIDARY_STATE_DIR", state.path())
        .current_dir(root());
    let ran = output(command, b"");
    let told = String::from_utf8(ran.stdout).unwrap();
    let errors = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(
        (ran.status.code(), told.as_str(), errors.as_str()),
        (Some(0), TOLD, "")
    );
}

#[test]
fn a_client_in_python_keeps_an_agent() {
    talk("python3", &root().join("examples/connect.py"));
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_client_in_typescript_keeps_an_agent() {
    let peers = std::env::var_os("LAPIDARY_PEERS").expect("run `cargo xtask test`");
    let modules = std::path::PathBuf::from(peers).join("node_modules");
    let built = tempfile::tempdir().unwrap();
    let project = serde_json::json!({
        "compilerOptions": {
            "strict": true, "exactOptionalPropertyTypes": true, "skipLibCheck": true, "noEmitOnError": true,
            "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "types": ["node"], "typeRoots": [modules.join("@types")],
            "rootDir": root(), "outDir": built.path(),
        },
        "files": [root().join("examples/connect.ts")],
    });
    let configured = built.path().join("tsconfig.json");
    std::fs::write(&configured, project.to_string()).unwrap();
    std::fs::write(built.path().join("package.json"), r#"{"type":"module"}"#).unwrap();
    let mut compiler = program("node");
    compiler
        .arg(modules.join("typescript/bin/tsc"))
        .arg("--project")
        .arg(configured);
    let told = output(compiler, b"");
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stdout)
    );
    talk("node", &built.path().join("examples/connect.js"));
}

#[test]
fn an_editor_gets_an_agent_behind_rules_that_is_recorded() {
    let read =
        |name: &str| std::fs::read_to_string(root().join("examples/editors").join(name)).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&read("zed-settings.json")).unwrap();
    let agent = &settings["agent_servers"]["Gemini with rules"];
    assert_eq!(agent["command"], "lapidary");
    let args = agent["args"].as_array().unwrap().iter();
    let args: Vec<_> = args.map(|arg| arg.as_str().unwrap()).collect();
    // The other editor starts the same.
    let words = args.iter().map(|arg| format!(", \"{arg}\""));
    let words = format!("{{ \"lapidary\"{} }}", words.collect::<String>());
    assert!(read("codecompanion.lua").contains(&words), "{words}");
    // In place of Gemini CLI: an agent without a model.
    let folder = tempfile::tempdir().unwrap();
    let gemini = folder.path().join("gemini");
    let text = format!(
        "#!/bin/sh\nexec python3 {}\n",
        root().join("examples/agent.py").display()
    );
    std::fs::write(&gemini, text).unwrap();
    let mut chmod = program("chmod");
    chmod.arg("+x").arg(&gemini);
    output(chmod, b"");
    let here = folder.path().canonicalize().unwrap();
    let trusted = serde_json::json!({ here.to_str().unwrap(): "TRUST_FOLDER" });
    std::fs::create_dir(here.join(".gemini")).unwrap();
    std::fs::write(
        here.join(".gemini/trustedFolders.json"),
        trusted.to_string(),
    )
    .unwrap();
    let mut editor = lapidary(args);
    editor
        .env("HOME", folder.path())
        .env("LAPIDARY_STATE_DIR", folder.path().join("state"))
        .env("GEMINI_CLI_PATH", &gemini)
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut editor = editor.spawn().unwrap();
    let lines = lines_of(&mut editor);
    let mut stdin = editor.stdin.take().unwrap();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n").unwrap();
    let answer: serde_json::Value = serde_json::from_str(&lines.recv().unwrap()).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    drop(stdin);
    assert!(editor.wait().unwrap().success());
    let runs = std::fs::read_dir(folder.path().join("state/runs")).unwrap();
    assert_eq!(runs.count(), 1);
}

#[test]
fn the_workflow_leaves_a_result_and_a_transcript() {
    let workflow = std::fs::read_to_string(root().join("examples/github-workflow.yml")).unwrap();
    let step = |start: &str, end: &str| {
        let (_, text) = workflow.split_once(start).unwrap();
        text.split_once(end).unwrap().0.to_owned()
    };
    // A folded text is one line.
    let run = step("        run: >\n", "      - name").replace('\n', " ");
    let run = run.replacen("lapidary run", "lapidary run --agent demo", 1);
    let transcript = step("        run: |\n", "      - uses");
    let folder = tempfile::tempdir().unwrap();
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_lapidary"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let mut sh = program("sh");
    sh.args(["-ec", &format!("git init --quiet\n{run}\n{transcript}")])
        .env("PATH", path)
        .env("HOME", folder.path())
        .env("LAPIDARY_STATE_DIR", folder.path().join("state"))
        .env("RUNNER_TEMP", folder.path())
        .env("PROMPT", "fix the greeting")
        .current_dir(&folder);
    let ran = output(sh, b"");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let result: serde_json::Value = serde_json::from_str(&read("result.json")).unwrap();
    assert_eq!(result["outcome"], "completed", "{result}");
    assert!(read("transcript.html").contains("greet.sh"));
    assert!(read("changes.patch").is_empty(), "the demo works elsewhere");
}
