//! `--output-schema` with real agents on a scripted model: each hands its answer over through the tool `submit_result`, or as text where
//! it does not call the tool. The data is checked by Python's `jsonschema` too.

use std::fs;
use std::process::{Command, Output};
use std::thread;

use lapidary_standin::api::{FakeApi, Script, ScriptRule, Turn};
use lapidary_testkit::acp::{AcpWorld, Peer};
use lapidary_testkit::gemini::peers;
use serde_json::{Value, json};

use crate::run::world::{MARK, Mark};
use crate::support::{lapidary, output};

/// A schema, data that fits it, and data that does not.
#[derive(Clone)]
struct SchemaCase(Value);

impl SchemaCase {
    /// All shapes of schemas that agents are tried with.
    fn all() -> Vec<Self> {
        let table = include_str!("../../../../fixtures/json-schema/answers.json");
        let table: Vec<Value> = serde_json::from_str(table).unwrap();
        assert_eq!(table.len(), 20);
        table.into_iter().map(Self).collect()
    }

    fn named(name: &str) -> Self {
        let mut all = Self::all().into_iter();
        all.find(|case| case.name() == name).unwrap()
    }

    fn name(&self) -> &str {
        self.0["name"].as_str().unwrap()
    }

    /// The arguments of the tool for a result: objects are the arguments themselves, if their schema is a plain one. Gemini CLI tells its
    /// model of one more argument.
    fn arguments(&self, peer: Peer, result: &Value) -> Value {
        let schema = &self.0["schema"];
        let is_plain = schema["type"] == "object" && schema.get("if").is_none();
        if peer == Peer::Gemini061 {
            json!({ "result": result, "wait_for_previous": true })
        } else if is_plain {
            result.clone()
        } else {
            json!({ "result": result })
        }
    }
}

/// The tool as the model of an agent calls it.
fn submit_tool(peer: Peer) -> &'static str {
    match peer {
        Peer::SdkExample => panic!("the example has no model"),
        Peer::Claude | Peer::Qwen => "mcp__lapidary-result__submit_result",
        Peer::Opencode => "lapidary-result_submit_result",
        Peer::Gemini061 => "mcp_lapidary-result_submit_result",
        Peer::Codex => "mcp__lapidary_result.submit_result",
    }
}

/// A model that first hands over wrong data, then right data, and then says it once more.
fn corrects_itself(peer: Peer, case: &SchemaCase) -> Script {
    let call = |key: &str| Turn::call(submit_tool(peer), case.arguments(peer, &case.0[key]));
    let script = Script::new().stream(call("fails")).stream(call("fits"));
    script.stream(case.0["fits"].to_string())
}

/// A model that refuses twice, and then answers with text. It never calls the tool.
fn refuses_twice(case: &SchemaCase) -> Script {
    let answer = format!("```json\n{}\n```", case.0["fits"]);
    // Between two prompts some agents ask the model for a likely next prompt, so the script recognises a repair by the words
    // before it.
    Script::new()
        .rule(ScriptRule::new(answer).body("No, really."))
        .rule(ScriptRule::new("No, really.").body("Your answer does not fit"))
        .rule(ScriptRule::new("I would rather not."))
}

/// Checks the data of results with Python's `jsonschema`.
fn check_with_python(answers: &[(SchemaCase, Value)]) {
    let lines = answers.iter().map(|(case, result)| {
        let line = json!({"name": case.name(), "schema": case.0["schema"], "data": result["data"]});
        format!("{line}\n")
    });
    let lines: String = lines.collect();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../peers/json-schema/check.py"
    );
    let mut python = Command::new("python3");
    let packages = peers().with_file_name("peers-json-schema");
    python.arg(script).env("PYTHONPATH", packages);
    let checked = output(python, lines.as_bytes());
    let told = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(told.trim(), format!("{} fit", answers.len()), "{told}");
}

/// One run for each of twenty schemas, two at a time. The data of these cases comes as text, and that of the others through a tool.
fn check_twenty_schemas(by_text: &[&str], run_case: impl Fn(&SchemaCase) -> Value + Sync) {
    let cases = SchemaCase::all();
    let answered = |case: &SchemaCase| (case.clone(), run_case(case));
    let answers: Vec<_> = thread::scope(|scope| {
        let halves = cases.chunks(cases.len().div_ceil(2));
        let threads: Vec<_> = halves
            .map(|half| scope.spawn(|| half.iter().map(&answered).collect::<Vec<_>>()))
            .collect();
        let done = threads.into_iter().map(|thread| thread.join().unwrap());
        done.flatten().collect()
    });
    let with_text = answers.iter().filter(|(_, it)| it["dataSource"] == "text");
    let with_text: Vec<_> = with_text.map(|(case, _)| case.name()).collect();
    assert_eq!((answers.len(), with_text.as_slice()), (20, by_text));
    check_with_python(&answers);
}

/// Runs an agent on the schema of a case. Claude Code may read its own settings while another process of its writes them for the first
/// time, and ends: then it is run once more.
fn run(peer: Peer, case: &SchemaCase, script: &Script) -> Value {
    let is_half_written = |ran: &Output| {
        let said = String::from_utf8_lossy(&ran.stderr);
        peer == Peer::Claude && said.contains(".claude.json is corrupted")
    };
    let (ran, tools) = run_once(peer, case, script.clone());
    let (ran, tools) = if is_half_written(&ran) {
        run_once(peer, case, script.clone())
    } else {
        (ran, tools)
    };
    let result = serde_json::from_slice(&ran.stdout);
    let result: Value = result.unwrap_or_else(|_| panic!("{peer:?}: {ran:?}"));
    assert_eq!(
        ran.status.code(),
        Some(0),
        "{peer:?}, {}: {result:#}\n{tools}",
        case.name()
    );
    assert_eq!(result["data"], case.0["fits"], "{peer:?}, {}", case.name());
    result
}

/// Runs an agent: its result, and the tools that its model was told of.
fn run_once(peer: Peer, case: &SchemaCase, script: Script) -> (Output, String) {
    let world = AcpWorld::new(peer);
    let model = FakeApi::start_in_thread(script).unwrap();
    let schema = world.root().join("schema.json");
    fs::write(&schema, case.0["schema"].to_string()).unwrap();
    let mark = Mark::fresh();
    let mut command = lapidary(["run", "--no-config", "--format", "result", "--agent"]);
    command
        .arg(peer.name())
        .arg("--output-schema")
        .args([schema.as_os_str(), "go".as_ref()])
        .current_dir(world.project())
        .env_clear()
        .envs(world.named_environment(&model.base_url()))
        .env("LAPIDARY_STATE_DIR", world.root().join("state"))
        .env(MARK, mark.value());
    let ran = output(command, b"");
    mark.assert_nothing_is_left();
    let side = fs::read_dir(world.root().join("state/runs"))
        .unwrap()
        .flatten();
    let mut names = side.map(|entry| entry.file_name().into_string().unwrap());
    assert!(!names.any(|name| name.ends_with(".answers")), "{peer:?}");
    let told = model.requests();
    let told = told.first().map(|made| made.body["tools"].to_string());
    (ran, told.unwrap_or_default())
}

/// Runs an agent definition of our own, which corrects itself as the others do.
fn run_definition(case: &SchemaCase) -> Value {
    let world = AcpWorld::new(Peer::Gemini061);
    let call = |key: &str| Turn::call("complete_task", json!({"result": case.0[key]}));
    let script = Script::new().stream(call("fails")).stream(call("fits"));
    let model = FakeApi::start_in_thread(script).unwrap();
    let agents = world.home().join(".gemini/agents");
    fs::create_dir_all(&agents).unwrap();
    let definition = "---\nname: reviewer\ndescription: Reviews\n---\nReview.\n";
    fs::write(agents.join("reviewer.md"), definition).unwrap();
    let schema = world.root().join("schema.json");
    fs::write(&schema, case.0["schema"].to_string()).unwrap();
    let mut command = lapidary(["agents", "run", "reviewer", "--format", "result"]);
    command
        .arg("--output-schema")
        .args([schema.as_os_str(), "go".as_ref()])
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment(&model.base_url()))
        .env("LAPIDARY_STATE_DIR", world.root().join("state"));
    let ran = output(command, b"");
    let result: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}: {result:#}", case.name());
    assert_eq!(
        (&result["data"], &result["dataSource"]),
        (&case.0["fits"], &json!("tool")),
        "{}",
        case.name()
    );
    result
}

/// The agent hands over wrong data, is told why, and corrects itself within its turn.
fn check_tool(peer: Peer, case: &SchemaCase) -> Value {
    let result = run(peer, case, &corrects_itself(peer, case));
    let denials = &result["permissionDenials"];
    assert_eq!(denials, &json!([]), "{peer:?}: {result:#}");
    assert_eq!(result["texts"].as_array().unwrap().len(), 1, "no repair");
    result
}

/// The same, for a schema whose data the agent passes on unchanged.
fn check_tool_alone(peer: Peer, name: &str) {
    let result = check_tool(peer, &SchemaCase::named(name));
    assert_eq!(result["dataSource"], "tool", "{peer:?}, {name}: {result:#}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_corrects_its_answer_within_a_turn() {
    check_tool_alone(Peer::Gemini061, "review");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn claude_code_hands_over_a_list_through_the_tool() {
    check_tool_alone(Peer::Claude, "list of texts");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn claude_code_that_refuses_twice_answers_with_text_in_the_end() {
    let case = SchemaCase::named("tree");
    let result = run(Peer::Claude, &case, &refuses_twice(&case));
    assert_eq!(result["dataSource"], "text", "{result:#}");
    assert_eq!(result["texts"].as_array().unwrap().len(), 3, "{result:#}");
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn gemini_cli_hands_over_data_for_twenty_schemas_through_the_tool() {
    // It refuses the list itself, and JavaScript has no such integer.
    let by_text = ["tuple", "large integer"];
    check_twenty_schemas(&by_text, |case| check_tool(Peer::Gemini061, case));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn claude_code_hands_over_data_for_twenty_schemas_through_the_tool() {
    check_twenty_schemas(&["large integer"], |case| check_tool(Peer::Claude, case));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn opencode_hands_over_data_for_twenty_schemas_through_the_tool() {
    check_twenty_schemas(&["large integer"], |case| check_tool(Peer::Opencode, case));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn codex_hands_over_data_for_twenty_schemas_through_the_tool() {
    check_twenty_schemas(&[], |case| check_tool(Peer::Codex, case));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn qwen_code_hands_over_data_through_the_tool() {
    check_tool_alone(Peer::Qwen, "review");
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn qwen_code_that_refuses_twice_answers_twenty_schemas_with_text() {
    let cases = SchemaCase::all();
    let all: Vec<_> = cases.iter().map(SchemaCase::name).collect();
    check_twenty_schemas(&all, |case| run(Peer::Qwen, case, &refuses_twice(case)));
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn an_agent_definition_hands_over_data_for_twenty_schemas() {
    check_twenty_schemas(&[], run_definition);
}
