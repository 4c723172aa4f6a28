//! The core of Gemini CLI, as a package, has the same built-in agents and reads templates and names of tools the same.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use lapidary_gemini::agents::{
    AgentTool, LocalAgentDefinition, builtin_agents, fill_template, is_valid_tool_name,
};
use lapidary_testkit::mutate::SeededRng;
use serde_json::{Value, json};

const MODELS: [&str; 14] = [
    "auto",
    "pro",
    "flash",
    "flash-lite",
    "gemini-2.5-pro",
    "gemini-3-pro-preview",
    "gemini-3",
    "gemini-30",
    "gemini-3.1-x",
    "other",
    "auto-gemini-2.5",
    "auto-gemini-3",
    "gemini-flash-latest",
    "",
];

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "needs the core of Gemini CLI as a package, which is large: run `cargo xtask test --full`"
)]
fn the_core_of_gemini_cli_has_the_same_built_in_agents_templates_and_tool_names() {
    let templates: Vec<Value> = (0..3000).map(template).collect();
    let tools: Vec<String> = (0..6000).map(tool).collect();
    let questions = json!({"models": MODELS, "templates": templates, "tools": tools});
    let said = ask(&questions);
    for (model, theirs) in MODELS.iter().zip(said["investigators"].as_array().unwrap()) {
        assert_eq!(&told(&builtin_agents(model)[0]), theirs, "{model}");
    }
    let [_, help, generalist] = &builtin_agents("auto")[..] else {
        panic!("there are three");
    };
    assert_eq!(told(help), said["help"]);
    assert_eq!(told(generalist), said["generalist"]);
    let process = help.process_output.as_ref().unwrap();
    let texts = [
        json!({"answer": " a ", "sources": ["x", " x", "", "y"]}),
        json!({"answer": "b", "sources": []}),
    ];
    assert_eq!(
        json!(texts.map(|output| process.process(&output))),
        said["helpTexts"]
    );
    for (case, theirs) in templates.iter().zip(said["templates"].as_array().unwrap()) {
        let ours = match fill_template(case[0].as_str().unwrap(), case[1].as_object().unwrap()) {
            Ok(text) => json!({"text": text}),
            Err(error) => json!({"error": error.to_string()}),
        };
        assert_eq!(&ours, theirs, "{case}");
    }
    let valid = said["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it == true);
    for (name, theirs) in tools.iter().zip(valid) {
        assert_eq!(is_valid_tool_name(name), theirs, "{name}");
    }
}

fn ask(questions: &Value) -> Value {
    let oracle = std::env::var_os("LAPIDARY_ORACLE");
    let oracle = oracle.expect("LAPIDARY_ORACLE is set: run `cargo xtask test --full`");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/agents/oracle.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .arg(oracle)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = node.stdin.take().unwrap();
    let questions = questions.to_string();
    let writing = std::thread::spawn(move || stdin.write_all(questions.as_bytes()).unwrap());
    let output = node.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn told(agent: &LocalAgentDefinition) -> Value {
    let output = agent.output_config.as_ref().unwrap();
    let outputs = output.schema["properties"].as_object().unwrap();
    let tools = agent.tool_config.as_ref();
    let tools = tools.map(|config| {
        config
            .tools
            .iter()
            .filter_map(AgentTool::name)
            .collect::<Vec<_>>()
    });
    let mut model = json!({"model": agent.model_config.model});
    if let Some(config) = &agent.model_config.generate_content_config {
        model["generateContentConfig"] = config.clone();
    }
    json!({
        "name": agent.name,
        "displayName": agent.display_name,
        "inputs": agent.input_config.names(),
        "required": agent.input_config.schema["required"],
        "outputName": output.output_name,
        "outputs": outputs.keys().collect::<Vec<_>>(),
        "modelConfig": model,
        "runConfig": {
            // JavaScript writes no point.
            "maxTimeMinutes": format!("{}", agent.run_config.max_time_minutes()).parse::<u64>().unwrap(),
            "maxTurns": agent.run_config.max_turns(),
        },
        "tools": tools,
    })
}

/// A template and inputs of a seed.
fn template(seed: u64) -> Value {
    const PIECES: [&str; 12] = [
        "${a}", "${b}", "${c_1}", "${", "}", "$", "{", "text ", "${a-b}", "ü", "${d}", "$${a}",
    ];
    let mut rng = SeededRng::new(seed);
    let count = rng.below(8);
    let text: String = (0..count)
        .map(|_| PIECES[rng.below(PIECES.len())])
        .collect();
    let values = [
        json!("x"),
        json!("${a}"),
        json!(1.5),
        json!(1e21),
        json!(0.000_000_1),
        json!([1, null, ["y", true]]),
        json!({"k": 1}),
        json!(null),
        json!(-3),
    ];
    let mut inputs = json!({});
    for name in ["a", "b", "c_1", "d"] {
        if rng.below(10) > 0 {
            inputs[name] = values[rng.below(values.len())].clone();
        }
    }
    json!([text, inputs])
}

/// The name of a tool, or nearly one.
fn tool(seed: u64) -> String {
    const PIECES: [&str; 16] = [
        "mcp",
        "_",
        "__",
        "*",
        "read_file",
        "a",
        "B.c",
        ":",
        "-",
        " ",
        "discovered_tool_",
        "glob",
        "search_file_content",
        "mcp_",
        "server",
        "ü",
    ];
    let mut rng = SeededRng::new(seed);
    let count = 1 + rng.below(5);
    (0..count)
        .map(|_| PIECES[rng.below(PIECES.len())])
        .collect()
}
