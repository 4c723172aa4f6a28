//! `policy test`: rules against what real agents did.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Ran, lapidary, output, root, run};

const RULES: &str = "\
[[rule]]
kind = 'edit'
path = '/**/a.txt'
then = 'deny'
reason = 'it is sacred'

[[rule]]
command = ['touch *', 'echo *']
then = 'allow'

[[rule]]
command = 'touch t2'
then = 'deny'

[[rule]]
mcp = 'github'
then = 'allow'
";

/// The command in a directory with a file of rules, beside the captures.
fn test(rules: &str, args: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.toml"), rules).unwrap();
    std::os::unix::fs::symlink(root().join("fixtures"), folder.path().join("fixtures")).unwrap();
    let mut command = lapidary([&["policy", "test", "rules.toml"], args].concat());
    command.current_dir(folder.path());
    let ended = output(command, b"");
    Ran {
        code: ended.status.code(),
        stdout: String::from_utf8(ended.stdout).unwrap(),
        stderr: String::from_utf8(ended.stderr).unwrap(),
    }
}

#[track_caller]
fn check_text(args: &[&str], expected: &str) {
    let ran = test(RULES, &[args, &["--format", "text"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
    assert_eq!(ran.stdout, expected, "{args:?}");
}

#[test]
fn rules_are_tested_against_calls_recorded_over_acp() {
    check_text(
        &[
            "--against",
            "fixtures/acp-agents/claude-agent-acp-0.99-turn.acp.jsonl",
            "fixtures/acp-agents/gemini-cli-turn.acp.jsonl",
            "fixtures/acp-agents/opencode-turn.acp.jsonl",
            "fixtures/acp-agents/elizacp.acp.jsonl",
        ],
        "\
fixtures/acp-agents/claude-agent-acp-0.99-turn.acp.jsonl
  allow  rules.toml:7  was completed  execute   touch made-by-tool.txt && echo hi-from-tool
fixtures/acp-agents/gemini-cli-turn.acp.jsonl
  allow  rules.toml:7  was completed  execute   touch made-by-tool.txt && echo hi-from-tool
fixtures/acp-agents/opencode-turn.acp.jsonl
  allow  rules.toml:7  was completed  execute   touch made-by-tool.txt && echo hi-from-tool
fixtures/acp-agents/elizacp.acp.jsonl
  no tool was called

rules
  deny   rules.toml:1   never matched
  allow  rules.toml:7   matched 3, decided 3
  deny   rules.toml:11  never matched
  allow  rules.toml:15  never matched

3 calls: 3 allowed, 0 denied, 0 to be asked about
",
    );
}

#[test]
fn a_rule_for_one_agent_is_tested_on_its_runs_or_on_those_of_the_agent_that_is_named() {
    let rules =
        "[[rule]]\nagent = 'claude'\nthen = 'deny'\n\n[[rule]]\nkind = 'execute'\nthen = 'allow'\n";
    let against = [
        "--against",
        "fixtures/gemini-0.61.0/tool-shell-ok.stdout.jsonl",
    ];
    let decided = |more: &[&str]| {
        let ran = test(rules, &[&against, more].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let counts = [0, 1].map(|at| report["rules"][at]["decided"].clone());
        (report["calls"][0]["rule"].clone(), counts)
    };
    let second = ("rules.toml:5".into(), [0.into(), 1.into()]);
    assert_eq!(decided(&[]), second);
    assert_eq!(decided(&["--agent", "gemini"]), second);
    let first = ("rules.toml:1".into(), [1.into(), 0.into()]);
    assert_eq!(decided(&["--agent", "claude"]), first);
}

#[test]
fn rules_are_tested_against_calls_in_gemini_stdout() {
    check_text(
        &[
            "--against",
            "fixtures/gemini-0.61.0/tool-shell-ok.stdout.jsonl",
            "fixtures/gemini-0.61.0/tool-write_file.stdout.jsonl",
            "--permission-mode",
            "acceptEdits",
            "-C",
            "/home/user/project",
        ],
        "\
fixtures/gemini-0.61.0/tool-shell-ok.stdout.jsonl
  ask    the mode  was completed  execute   echo out; echo err 1>&2
fixtures/gemini-0.61.0/tool-write_file.stdout.jsonl
  allow  the mode  was completed  edit      /home/user/project/new.txt

rules
  deny   rules.toml:1   never matched
  allow  rules.toml:7   matched 1, decided none
  deny   rules.toml:11  never matched
  allow  rules.toml:15  never matched

2 calls: 1 allowed, 0 denied, 1 to be asked about
",
    );
}

/// A long session of Gemini CLI, and a rule that another hides.
#[test]
fn programs_get_one_object() {
    let capture = "fixtures/acp-gemini-0.61.0/permissions-and-tools.acp.jsonl";
    let ran = test(RULES, &["--against", capture]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["schema"], "lapidary.policy/1");
    assert_eq!(report["permissionMode"], "default");
    let calls = report["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 24);
    let sacred: Vec<_> = calls
        .iter()
        .filter(|call| call["effect"] == "deny")
        .collect();
    let (named, nameless): (Vec<&Value>, Vec<&Value>) = sacred
        .into_iter()
        .partition(|call| call["paths"].is_array());
    assert_eq!((named.len(), nameless.len()), (4, 1));
    for call in &named {
        assert_eq!(
            call["paths"],
            serde_json::json!(["/home/user/project/a.txt"])
        );
        assert_eq!(call["reason"], "it is sacred");
        assert_eq!(call["rule"], "rules.toml:1");
    }
    let reason = "it is sacred: the call does not say which file it is about";
    assert_eq!(nameless[0]["reason"], reason);
    let rules = report["rules"].as_array().unwrap();
    let hidden = serde_json::json!({
        "rule": "rules.toml:11", "effect": "deny", "matched": 1, "decided": 0, "shadowedBy": ["rules.toml:7"],
    });
    assert_eq!(rules[2], hidden);
    let missed =
        serde_json::json!({"rule": "rules.toml:15", "effect": "allow", "matched": 0, "decided": 0});
    assert_eq!(rules[3], missed);
}

#[test]
fn a_recording_says_where_its_agent_worked() {
    let folder = tempfile::tempdir().unwrap();
    let stdout = root().join("fixtures/gemini-0.61.0/tool-write_file.stdout.jsonl");
    fs::copy(stdout, folder.path().join("stdout")).unwrap();
    let manifest = serde_json::json!({
        "schema": "lapidary.recording/1", "run": "r", "agent": "gemini", "transport": "stream-json", "argv": [],
        "environment": [], "directory": "/srv/there", "startedAt": "2026-01-01T00:00:00Z",
    });
    fs::write(folder.path().join("run.json"), manifest.to_string()).unwrap();
    let recording = folder.path().to_str().unwrap();
    let ran = test(
        "[[rule]]\npath = '/srv/**'\nthen = 'deny'",
        &["--against", recording],
    );
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        report["calls"][0]["paths"],
        serde_json::json!(["/srv/there/new.txt"])
    );
    assert_eq!(report["calls"][0]["effect"], "deny");
    fs::remove_file(folder.path().join("run.json")).unwrap();
    let ran = test(RULES, &["--against", recording]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(13), ""));
    let said = format!(
        "error: `{recording}` is a directory, and no recording\nhint: a recording has a file `run.json`\n"
    );
    assert_eq!(ran.stderr, said);
}

#[test]
fn bad_rules_are_named_with_their_place() {
    let capture = ["--against", "fixtures/acp-agents/elizacp.acp.jsonl"];
    for (rules, said) in [
        (
            "[[rule]]\nthen = 'no'",
            "error: rules.toml:2:8: then must be one of ['allow', 'deny', 'ask'], got: 'no'\nhint: `then` takes allow, deny, ask\n",
        ),
        (
            "[[rule]]\nknid = 'edit'\nthen = 'ask'",
            "error: rules.toml:2:1: a rule has no key `knid` (did you mean `kind`?)\n\
             hint: there are kind, tool, command, path, host, mcp, agent, then, reason\n",
        ),
    ] {
        let ran = test(rules, &capture);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(13), "", said)
        );
    }
    let ran = run(&["policy", "test", "no/such.toml", "--against", "x"]);
    assert_eq!(ran.code, Some(13));
    assert_eq!(
        ran.stderr,
        "error: cannot read no/such.toml: No such file or directory (os error 2)\n"
    );
    let ran = test(RULES, &["--against", "nothing.jsonl"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(13), ""));
    let ran = test(
        "model = 'x'",
        &[&capture[..], &["--format", "text"]].concat(),
    );
    assert_eq!(
        ran.stderr,
        "note: `rules.toml` has no [[rule]]: the permission mode decides alone\n"
    );
    assert_eq!(ran.code, Some(0));
}

/// The text of a tool call reaches the terminal only as sanitized text.
#[test]
fn hostile_calls_are_shown_on_one_harmless_line() {
    let folder = tempfile::tempdir().unwrap();
    let call = serde_json::json!({
        "type": "tool_use", "timestamp": "2026-01-01T00:00:00Z", "tool_name": "run_shell_command", "tool_id": "1",
        "parameters": {"command": "echo \u{1b}]0;owned\u{7}\nallow  rules.toml:1  all is well"},
    });
    let file = folder.path().join("run.jsonl");
    fs::write(&file, format!("{call}\n")).unwrap();
    let ran = test(
        RULES,
        &["--format", "text", "--against", file.to_str().unwrap()],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'),
        "{ran:?}"
    );
    assert!(
        ran.stdout.lines().all(|line| !line.starts_with("allow")),
        "{ran:?}"
    );
}

#[test]
fn a_policy_test_names_the_layer_that_stops_a_call() {
    let capture = "fixtures/acp-gemini-0.61.0/permissions-and-tools.acp.jsonl";
    for (agent, layer) in [("claude", "asked"), ("some-agent", "watched")] {
        let ran = test(RULES, &["--against", capture, "--agent", agent]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let calls = report["calls"].as_array().unwrap();
        let stopped = |call: &&Value| {
            call["effect"] != "allow" && call["answer"].is_null() && call["kind"] == "edit"
        };
        let stopped: Vec<_> = calls.iter().filter(stopped).collect();
        assert!(!stopped.is_empty());
        for call in stopped {
            assert_eq!(call["stoppedBy"][0], layer, "{agent}: {call}");
        }
        let allowed = calls.iter().find(|call| call["effect"] == "allow");
        assert_eq!(allowed.unwrap()["stoppedBy"], Value::Null);
    }
}

#[test]
fn a_write_outside_the_workspace_is_the_kernels_too() {
    let folder = tempfile::tempdir().unwrap();
    let capture = root().join("fixtures/gemini-0.61.0/tool-write_file.stdout.jsonl");
    let capture = fs::read_to_string(capture).unwrap();
    let elsewhere = folder.path().join("elsewhere.jsonl");
    fs::write(
        &elsewhere,
        capture.replace("\"new.txt\"", "\"/outside/new.txt\""),
    )
    .unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    let ran = test("", &["--against", elsewhere, "--agent", "claude"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let stopped = serde_json::json!(["asked", "confinement"]);
    assert_eq!(report["calls"][0]["stoppedBy"], stopped, "{report}");
}

/// `policy compile` beside a file of rules.
fn compile(rules: &str, args: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.toml"), rules).unwrap();
    let mut command = lapidary([&["policy", "compile", "rules.toml"], args].concat());
    command.current_dir(folder.path());
    let ended = output(command, b"");
    Ran {
        code: ended.status.code(),
        stdout: String::from_utf8(ended.stdout).unwrap(),
        stderr: String::from_utf8(ended.stderr).unwrap(),
    }
}

#[test]
fn a_remote_agent_has_no_compiled_rules_and_a_configured_one_has_those_of_its_family() {
    let own = "[agents.far]\nurl = 'wss://agents.example/acp'\nfamily = 'claude'\n\
               [agents.mine]\ncommand = 'my-claude --acp'\nfamily = 'claude'\n";
    let rules = format!("{RULES}\n{own}");
    let compiled = |agent: &str| -> Value {
        let ran = compile(&rules, &["--agent", agent]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let far = compiled("far");
    assert_eq!(
        (&far["agent"], &far["keeping"]),
        (&json!("far"), &json!("watched"))
    );
    let notice = far["notices"][0].as_str().unwrap();
    assert!(
        notice.starts_with(
            "`far` is at `wss://agents.example/acp`: its configuration is not on this machine"
        ),
        "{notice}"
    );
    let (mine, claude) = (compiled("mine"), compiled("claude"));
    assert_eq!(mine["agent"], "mine");
    assert_eq!(mine["sessionMeta"], claude["sessionMeta"]);
    assert!(claude["sessionMeta"].is_object(), "{claude}");
}

#[test]
fn rules_are_printed_in_the_words_of_each_agent() {
    for (agent, field) in [
        ("gemini", "file"),
        ("claude", "sessionMeta"),
        ("opencode", "env"),
    ] {
        let ran = compile(RULES, &["--agent", agent]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let compiled: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(compiled["schema"], "lapidary.compiled-policy/1");
        assert_eq!(compiled["agent"], agent);
        assert!(!compiled[field].is_null(), "{compiled}");
    }
    let text = compile(RULES, &["--agent", "claude", "--format", "text"]).stdout;
    assert!(text.contains("_meta of the session\n  {"), "{text}");
    let wrong = compile(RULES, &["--agent", "claud"]);
    assert_eq!(wrong.code, Some(13));
    assert!(
        wrong.stderr.contains("unknown agent `claud`"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn rules_that_are_hardly_meant_are_remarked_on() {
    let rules = "[[rule]]\nkind = 'execute'\nthen = 'deny'\n[[rule]]\nkind = 'execute'\nthen = 'allow'\n\
                 [[rule]]\ntool = 'run_shel_command'\nthen = 'deny'\n";
    let ran = compile(rules, &["--agent", "claude"]);
    let contradiction = "note: rules.toml:4 never decides: rules.toml:1 is about the same calls, comes first, and says `deny`\n";
    assert!(ran.stderr.contains(contradiction), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("(did you mean `run_shell_command`?)"),
        "{}",
        ran.stderr
    );
}
