//! `hooks test`: the report on hooks that run.

use std::fs;
use std::process::{Command, Stdio};

use lapidary::vocab::schema::Published;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::run::world::World;
use crate::support::output;

/// A project with these hooks.
fn project(hooks: &Value) -> World {
    let world = World::with_agent("exit 1");
    fs::create_dir(world.path("project/.gemini")).unwrap();
    let settings = json!({"hooks": hooks}).to_string();
    fs::write(world.path("project/.gemini/settings.json"), settings).unwrap();
    world
}

fn commands(commands: &[&str]) -> Value {
    let hooks = commands
        .iter()
        .map(|it| json!({"type": "command", "command": it}));
    json!([{"hooks": hooks.collect::<Vec<_>>()}])
}

/// The report for programs, checked against its schema.
fn tested(world: &World, args: &[&str]) -> Value {
    let mut all = vec!["hooks", "test"];
    all.extend(args);
    let told = output(world.lapidary(&all), b"");
    let stderr = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{stderr}");
    let report: Value = serde_json::from_slice(&told.stdout).unwrap();
    let schema = Published::named("hooks-test").unwrap().schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&report), "{report}");
    report
}

/// The report for people: exit code, stdout, stderr.
fn shown(world: &World, args: &[&str]) -> (Option<i32>, String, String) {
    let mut all = vec!["hooks", "test"];
    all.extend(args);
    all.extend(["--format", "text"]);
    let told = output(world.lapidary(&all), b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (told.status.code(), text(told.stdout), text(told.stderr))
}

#[test]
fn a_report_has_plan_payload_output_decision_and_aggregate() {
    let hooks = json!({"BeforeTool": commands(&["echo no >&2; exit 2", "exit 2", "echo fine"])});
    let world = project(&hooks);
    let args = [
        "BeforeTool",
        "--tool",
        "write_file",
        "--input",
        r#"{"file_path":"a"}"#,
    ];
    let report = tested(&world, &args);
    assert_eq!(report["schema"], "lapidary.hooks-test/1");
    let moment = &report["moments"][0];
    assert_eq!(moment["context"], "write_file");
    assert_eq!(moment["order"], "parallel");
    assert_eq!(moment["payload"]["tool_input"], json!({"file_path": "a"}));
    let hooks = moment["hooks"].as_array().unwrap();
    let outputs: Vec<_> = hooks.iter().map(|hook| &hook["output"]).collect();
    let expected = [
        json!({"decision": "deny", "reason": "no"}),
        json!({"decision": "deny", "reason": "the hook exited with code 2"}),
        json!({"decision": "allow", "systemMessage": "fine"}),
    ];
    assert_eq!(outputs, expected.iter().collect::<Vec<_>>());
    let stricter: Vec<_> = hooks.iter().map(|hook| hook["stricter"].clone()).collect();
    assert_eq!(stricter, [false, true, false]);
    let effects = json!([
        {"effect": "tell", "text": "fine"},
        {"effect": "block", "text": "no\nthe hook exited with code 2"},
    ]);
    assert_eq!(moment["effects"], effects);
    assert_eq!(moment["aggregate"]["decision"], "deny");
}

#[test]
fn a_hook_test_filters_the_output_of_hooks_for_terminals() {
    let hooks = json!({"BeforeAgent": commands(&["printf 'a\\033[31mb\\033]0;x\\007c'"])});
    let (code, stdout, _) = shown(&project(&hooks), &["BeforeAgent"]);
    assert_eq!(code, Some(0));
    assert!(
        !stdout.contains('\u{1b}') && !stdout.contains('\u{7}'),
        "{stdout:?}"
    );
    assert!(stdout.contains("BeforeAgent: 1 hook\n"), "{stdout}");
    assert!(stdout.contains("exit code 0"), "{stdout}");
}

#[test]
fn a_folder_that_is_not_trusted_says_why_nothing_runs() {
    let world = project(&json!({"BeforeAgent": commands(&["touch ran"])}));
    let mut command = world.lapidary(&["hooks", "test", "BeforeAgent"]);
    command.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    let told = output(command, b"");
    let report: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(report["moments"][0]["hooks"], json!([]));
    let left_out = report["leftOut"][0].as_str().unwrap();
    assert!(left_out.contains("not trusted"), "{left_out}");
    let untrusted = report["untrusted"].as_str().unwrap();
    assert!(
        untrusted.starts_with("no hook of the settings ran: `"),
        "{untrusted}"
    );
    let mut command = world.lapidary(&["hooks", "test", "BeforeAgent", "--format", "text"]);
    command.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    let told = output(command, b"");
    let (stdout, stderr) = (told.stdout, told.stderr);
    let stdout = String::from_utf8(stdout).unwrap();
    assert!(
        stdout.contains("  effect    unknown: the folder is not trusted"),
        "{stdout}"
    );
    let hint = "hint: `--trust-workspace` runs them, for this test only\n";
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(stderr.ends_with(hint), "{stderr}");
    assert!(!world.path("project/ran").exists());
    let mut command = world.lapidary(&["hooks", "test", "BeforeAgent", "--trust-workspace"]);
    command.env_remove("GEMINI_CLI_TRUST_WORKSPACE");
    let report: Value = serde_json::from_slice(&output(command, b"").stdout).unwrap();
    assert!(report["untrusted"].is_null(), "{report}");
    assert!(world.path("project/ran").exists());
}

#[test]
fn every_event_can_be_tried_without_saying_more() {
    let events = [
        "BeforeAgent",
        "AfterAgent",
        "Notification",
        "SessionStart",
        "SessionEnd",
        "PreCompress",
        "BeforeModel",
        "AfterModel",
        "BeforeToolSelection",
    ];
    let hooks = events.map(|event| (event.to_owned(), commands(&["cat >/dev/null"])));
    let world = project(&Value::Object(hooks.into_iter().collect()));
    for event in events {
        let report = tested(&world, &[event]);
        assert_eq!(report["moments"][0]["hooks"][0]["exitCode"], 0, "{event}");
    }
    let report = tested(
        &world,
        &["SessionStart", "--input", r#"{"source":"resume"}"#],
    );
    assert_eq!(report["moments"][0]["context"], "resume");
}

#[test]
fn a_recording_has_a_moment_for_each_call() {
    let hooks = json!({"BeforeTool": commands(&["cat"]), "AfterTool": commands(&["true"]), "BeforeAgent": commands(&["true"])});
    let world = project(&hooks);
    world.agent("init; user; call c1 write_file; answer c1 ok; call c2 read_file; answer c2 text; say hi; success");
    let run = world.run(&[
        "--yolo",
        "--transport",
        "stream-json",
        "--format",
        "events",
        "go",
    ]);
    assert_eq!(run.verdict(), ("end_turn", Some(0)), "{}", run.stderr);
    let recording = world.recording();
    let recording = recording.to_str().unwrap();
    let contexts = |event: &str| -> Vec<Value> {
        let report = tested(&world, &[event, "--recording", recording]);
        let moments = report["moments"].as_array().unwrap().iter();
        moments.map(|moment| moment["context"].clone()).collect()
    };
    assert_eq!(contexts("BeforeTool"), ["write_file", "read_file"]);
    assert_eq!(contexts("AfterTool"), ["write_file", "read_file"]);
    assert_eq!(contexts("BeforeAgent"), [Value::Null]);
}

#[test]
fn wrong_usage_and_bad_input_have_different_exit_codes() {
    let world = project(&json!({}));
    let check = |args: &[&str], code: i32, words: &str| {
        let (exit, _, stderr) = shown(&world, args);
        assert_eq!(exit, Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    };
    check(&["PreToolUse"], 2, "unknown hook event `PreToolUse`");
    check(&["PreToolUse"], 2, "here it is `BeforeTool`");
    check(&["beforetool"], 2, "did you mean `BeforeTool`?");
    check(&["BeforeTool"], 2, "which one?");
    check(&["BeforeAgent", "--tool", "x"], 2, "not about a tool");
    check(
        &["BeforeTool", "--tool", "x", "--input", "{"],
        13,
        "not JSON",
    );
    check(
        &["BeforeTool", "--tool", "x", "--input", "7"],
        13,
        "not a JSON object",
    );
    let example = "hint: `--input` takes a JSON object such as '{\"file_path\": \"a\"}'";
    check(
        &["BeforeTool", "--tool", "x", "--input", "nojson"],
        13,
        example,
    );
    check(
        &["BeforeTool", "--tool", "x", "--input", "@nowhere.json"],
        13,
        "cannot read `nowhere.json`",
    );
    check(
        &["BeforeAgent", "--input", r#"{"prompt":7}"#],
        13,
        "a field of a type that",
    );
    check(
        &["BeforeModel", "--recording", "x"],
        2,
        "does not have the input",
    );
    check(
        &["BeforeTool", "--recording", "nowhere.jsonl"],
        13,
        "nowhere.jsonl",
    );
}

#[test]
fn a_file_that_is_not_a_recording_is_refused_by_name() {
    let world = project(&json!({}));
    let texts = [
        ("notes.txt", "hello\n"),
        ("empty", ""),
        ("package.json", "{\"name\": \"x\"}"),
        (
            "app.log",
            "{\"type\":\"error\",\"message\":\"x\"}\n{\"type\":\"info\"}\n",
        ),
        ("errors.json", "{\"error\":{\"message\":\"x\"}}"),
        ("typed.json", "{\"type\":\"message\",\"more\":1}"),
        (
            "editor.log",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"textDocument/hover\"}",
        ),
    ];
    for (name, text) in texts {
        fs::write(world.path("project").join(name), text).unwrap();
    }
    fs::create_dir(world.path("project/folder")).unwrap();
    for name in texts.map(|(name, _)| name).into_iter().chain(["folder"]) {
        let (code, stdout, stderr) = shown(&world, &["BeforeTool", "--recording", name]);
        let said = format!("error: `{name}` is not a recording of a run\nhint: a recording is ");
        assert_eq!((code, stdout.as_str()), (Some(13), ""), "{name}: {stderr}");
        assert!(stderr.starts_with(&said), "{name}: {stderr}");
    }
}

#[test]
fn a_workspace_that_is_not_there_is_refused() {
    let world = project(&json!({}));
    let (code, stdout, stderr) = shown(&world, &["BeforeAgent", "-C", "/nonexistent"]);
    let said = "error: `/nonexistent` is not a directory\n";
    assert_eq!(
        (code, stdout.as_str(), stderr.as_str()),
        (Some(13), "", said)
    );
}

#[test]
fn the_memory_of_a_hook_test_is_bounded_for_any_output() {
    let world = project(&json!({"BeforeAgent": commands(&["head -c 1G /dev/zero"])}));
    // The shell's own limit on address space, which counts everything.
    let mut command = Command::new("sh");
    let inner = world.lapidary(&[]);
    command.args(["-c", "ulimit -v 400000; exec \"$0\" hooks test BeforeAgent"]);
    command
        .arg(inner.get_program())
        .current_dir(world.path("project"));
    command.env_clear();
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let told = output(command, b"");
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stderr)
    );
    let report: Value = serde_json::from_slice(&told.stdout).unwrap();
    let hook = &report["moments"][0]["hooks"][0];
    let left_out = hook["leftOutBytes"].as_u64().unwrap();
    assert_eq!(left_out, (1 << 30) - (16 << 20));
}

#[test]
fn a_signal_to_a_hook_test_ends_its_hooks() {
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        interrupted_by(signal);
    }
}

fn interrupted_by(signal: Signal) {
    let world =
        project(&json!({"BeforeAgent": commands(&["(setsid sleep 60 &); touch begun; sleep 60"])}));
    let mut command = world.lapidary(&["hooks", "test", "BeforeAgent"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    world.wait_for("project/begun");
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    world.assert_nothing_is_left();
}

fn with_input(input: &str) -> [&str; 7] {
    [
        "hooks",
        "test",
        "BeforeTool",
        "--tool",
        "x",
        "--input",
        input,
    ]
}

#[test]
fn input_comes_from_a_file_or_from_stdin_too() {
    let world = project(&json!({"BeforeTool": commands(&["true"])}));
    fs::write(
        world.path("project/input.json"),
        r#"{"file_path":"of a file"}"#,
    )
    .unwrap();
    let said = |input: &str, stdin: &[u8]| -> Value {
        let told = output(world.lapidary(&with_input(input)), stdin);
        let report: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
        report["moments"][0]["payload"]["tool_input"]["file_path"].clone()
    };
    assert_eq!(said("@input.json", b""), "of a file");
    assert_eq!(said("-", br#"{"file_path":"of stdin"}"#), "of stdin");
    let endless = vec![b' '; (16 << 20) + 1];
    let told = output(world.lapidary(&with_input("-")), &endless);
    assert_eq!(told.status.code(), Some(13));
}

#[test]
fn a_hook_that_does_not_run_is_reported_with_the_reason() {
    let named = |name: &str| json!({"type": "command", "command": "true", "name": name});
    let world = project(&json!({
        "SessionStart": [
            {"matcher": "startup", "hooks": [named("context")]},
            {"hooks": [named("guard"), named("runs"), named("runs")]},
        ],
    }));
    let user = world.path("home/.gemini/settings.json");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(&user, r#"{"hooksConfig": {"disabled": ["guard"]}}"#).unwrap();
    let args = ["SessionStart", "--input", r#"{"source":"resume"}"#];
    let report = tested(&world, &args);
    let reasons = report["moments"][0]["notRun"].as_array().unwrap().iter();
    let reasons: Vec<_> = reasons
        .map(|it| (it["hook"].as_str().unwrap(), it["reason"].as_str().unwrap()))
        .collect();
    let off = format!("disabled by {}", user.display());
    assert_eq!(
        reasons,
        [
            ("context", "matcher \"startup\" is not \"resume\""),
            ("guard", &*off),
            ("runs", "the same hook runs already")
        ]
    );
    let (_, stdout, stderr) = shown(&world, &args);
    assert!(
        stdout.contains(&format!("\n  not run   guard: {off}\n")),
        "{stdout}"
    );
    assert!(
        stdout.contains("\n  not run   context: matcher \"startup\" is not \"resume\"\n"),
        "{stdout}"
    );
    assert_eq!(
        stderr,
        "note: 3 hooks are new to Gemini CLI, which will announce them\n"
    );
    let (_, stdout, _) = shown(&world, &["SessionEnd"]);
    assert!(
        stdout.starts_with("SessionEnd exit: no hooks\n"),
        "{stdout}"
    );
}

/// `run --hooks` refuses, too.
#[test]
fn settings_that_cannot_be_read_are_no_success() {
    let world = project(&json!({}));
    fs::write(world.path("project/.gemini/settings.json"), "{\n").unwrap();
    let (code, stdout, stderr) = shown(&world, &["BeforeAgent"]);
    assert_eq!((code, stdout.as_str()), (Some(13), ""), "{stderr}");
    assert!(
        stderr.contains("settings.json` cannot be used: it is not valid JSON"),
        "{stderr}"
    );
    assert!(stderr.contains("lapidary hooks check"), "{stderr}");
}

#[test]
fn a_hook_test_says_that_text_is_for_the_user_alone() {
    let world = project(&json!({"BeforeAgent": commands(&["echo mind the gap"])}));
    let (_, stdout, _) = shown(&world, &["BeforeAgent"]);
    let said = "  effect    shown to you, not to the model: mind the gap\n";
    assert!(stdout.contains(said), "{stdout}");
}

#[test]
fn misspelt_switches_are_named() {
    let world = project(&json!({"BeforeAgent": commands(&["true"])}));
    let settings = r#"{"hooksConfig": {"disabld": ["x"]}}"#;
    fs::write(world.path("project/.gemini/settings.json"), settings).unwrap();
    let meant =
        "`hooksConfig.disabld`: is not a key that Gemini CLI knows; did you mean `disabled`?";
    let (_, _, stderr) = shown(&world, &["BeforeAgent"]);
    assert!(stderr.contains(meant), "{stderr}");
    let report = tested(&world, &["BeforeAgent"]);
    assert!(
        report["warnings"][0].as_str().unwrap().ends_with(meant),
        "{report}"
    );
}

/// The results that hooks are told of, of a capture.
fn responses(capture: &str) -> Vec<Value> {
    let world = project(&json!({"AfterTool": commands(&["true"])}));
    let capture = lapidary_testkit::captures::fixtures().join(capture);
    let report = tested(
        &world,
        &["AfterTool", "--recording", capture.to_str().unwrap()],
    );
    let moments = report["moments"].as_array().unwrap().iter();
    moments
        .map(|moment| moment["payload"]["tool_response"].clone())
        .collect()
}

#[test]
fn a_replayed_tool_response_has_model_text_and_display_text() {
    let session = "gemini-0.61.0/sessions/legacy-resumed.session-2026-11-15T18-37-a1dee2e0.jsonl";
    let told = responses(session);
    let listing = "Directory listing for /home/user/project:\n[DIR] src\na.txt\nREADME.md";
    let listed = json!({"llmContent": listing, "returnDisplay": "Listed 3 item(s)."});
    assert!(told.contains(&listed), "{told:?}");
    let told = responses("gemini-0.61.0/tool-error-invalid-params.stdout.jsonl");
    let failed = told.iter().find(|it| it["error"].is_object()).unwrap();
    assert_eq!(failed["error"]["type"], "invalid_tool_params", "{failed}");
}
