//! Each tool of the CLI, called by the model.

use lapidary_standin::api::{Chunk, Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::{V0_24_0, V0_61_0};
use serde_json::{Value, json};

use super::world::{Real, outline};

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn every_tool_is_known_by_its_kind() {
    let real = Real::new(V0_61_0, Script::new());
    let folder = real.world.project();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let project = real.world.project().to_str().unwrap().to_owned();
    std::fs::write(file("a.txt"), "alpha\nbeta\n").unwrap();
    let calls = [
        ("list_directory", json!({"dir_path": project}), "search"),
        ("read_file", json!({"file_path": file("a.txt")}), "read"),
        ("glob", json!({"pattern": "*.txt"}), "search"),
        ("grep_search", json!({"pattern": "beta"}), "search"),
        (
            "write_file",
            json!({"file_path": file("new.txt"), "content": "new\n"}),
            "edit",
        ),
        (
            "replace",
            json!({"file_path": file("a.txt"), "old_string": "beta", "new_string": "gamma", "instruction": "rename"}),
            "edit",
        ),
        (
            "run_shell_command",
            json!({"command": "echo from the shell"}),
            "execute",
        ),
        (
            "write_todos",
            json!({"todos": [{"description": "one", "status": "pending"}]}),
            "think",
        ),
        ("google_web_search", json!({"query": "lapidary"}), "browse"),
        ("no_such_tool", json!({}), "other"),
    ];
    let turns = calls
        .iter()
        .map(|(name, args, _)| Turn::call(*name, args.clone()));
    let script = turns
        .fold(Script::new(), Script::stream)
        .generate("Found it.")
        .stream("All done.");
    let real = real.with_script(script);
    let told = real.run(&["--yolo", "use every tool"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    let lines = outline(&told);
    for (name, _, kind) in &calls {
        assert!(
            lines.contains(&format!("tool_invocation {name} {kind}")),
            "{name}: {lines:#?}"
        );
    }
    let statuses: Vec<_> = told
        .events
        .iter()
        .filter(|event| event["event"] == "tool_completion")
        .map(|event| event["status"].as_str().unwrap())
        .collect();
    let mut expected = vec!["completed"; calls.len() - 1];
    expected.push("failed");
    assert_eq!(statuses, expected, "{lines:#?}");
    assert!(
        lines.contains(&"tool_completion completed from the shell".to_owned()),
        "{lines:#?}"
    );
    assert_eq!(
        std::fs::read_to_string(file("a.txt")).unwrap(),
        "alpha\ngamma\n"
    );
    assert_eq!(std::fs::read_to_string(file("new.txt")).unwrap(), "new\n");
    check_declared(&real);
}

/// The tools that the CLI offers the model are all known.
fn check_declared(real: &Real) {
    let requests = real.api.requests();
    let tools = requests.iter().flat_map(|request| {
        let lists = request.body["tools"].as_array().cloned();
        lists.unwrap_or_default()
    });
    let declared = tools.flat_map(|tool| {
        let declared = tool["functionDeclarations"].as_array().cloned();
        declared.unwrap_or_default()
    });
    let names: Vec<_> = declared
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let kind = lapidary::normalize::tools::kind(&name);
        assert_ne!(kind.as_str(), "other", "{name}");
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn parallel_calls_of_the_older_generation() {
    let calls = Turn::chunks([
        Chunk::call("run_shell_command", json!({"command": "echo one"})),
        Chunk::call("run_shell_command", json!({"command": "echo two; exit 3"})),
    ]);
    let real = Real::new(V0_24_0, Script::new().stream(calls).stream("Both."));
    let told = real.run(&["--yolo", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    assert_eq!(
        (told.count("tool_invocation"), told.count("tool_completion")),
        (2, 2)
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn nothing_is_allowed_unless_somebody_allows_it() {
    let call = || Turn::call("write_file", json!({"file_path": "x.txt", "content": "x"}));
    for (mode, may) in [("default", false), ("plan", false), ("acceptEdits", true)] {
        let real = Real::new(V0_61_0, Script::new().stream(call()).stream("So be it."));
        let told = real.run(&["--permission-mode", mode, "go"]);
        let done = told
            .events
            .iter()
            .find(|event| event["event"] == "tool_completion")
            .unwrap();
        assert_eq!(done["status"] == "completed", may, "{mode}: {done}");
        assert_eq!(real.world.project().join("x.txt").exists(), may, "{mode}");
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn files_that_were_written_are_in_the_result() {
    let call = Turn::call("write_file", json!({"file_path": "x.txt", "content": "x"}));
    let real = Real::new(V0_61_0, Script::new().stream(call).stream("Written."));
    let told = real.run(&["--yolo", "--format", "result", "go"]);
    let result: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(result["files"], json!({"x.txt": null}), "{result}");
    assert_eq!(result["response"], "Written.");
}
