//! `lapidary mcp` as a program: with a script, with the official clients and the inspector, and with real agents that get it from a run.

use std::fs;
use std::process::Output;

use lapidary::engine::headless::settings_layer_obstacle;
use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::a2a::{A2aPeer, A2aServer};
use lapidary_testkit::acp::{AcpWorld, Peer};
use lapidary_testkit::gemini::{peers, peers_beside};
use lapidary_testkit::recorded::RecordedHome;
use serde_json::{Value, json};

use crate::run::world::{MARK, Mark, Told};
use crate::support::{lapidary, output, program};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn lighthouse() -> RecordedHome {
    let home = RecordedHome::new();
    let says = ["where is the lighthouse?", "and its keeper?"];
    home.session(SESSION, "2026-01-05T10:00:00.000Z", &says);
    home
}

#[test]
fn a_script_that_writes_requests_and_closes_gets_every_answer() {
    let home = lighthouse();
    let arguments = json!({"query": "keeper"});
    let requests = [
        json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}),
        json!({"id": 1, "method": "tools/list"}),
        json!({"id": 2, "method": "tools/call", "params": {"name": "search_sessions", "arguments": arguments}}),
    ];
    let requests = requests.map(|request| request.to_string()).join("\n");
    let mut command = lapidary(["mcp"]);
    command
        .current_dir(home.project())
        .env_clear()
        .env("HOME", home.home());
    let served = output(command, requests.as_bytes());
    assert_eq!(served.status.code(), Some(0), "{served:?}");
    let answers = String::from_utf8(served.stdout).unwrap();
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 3, "{answers:#?}");
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
    let tools = answers[1]["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let expected = [
        "list_agents",
        "invoke_agent",
        "search_sessions",
        "read_session",
    ];
    assert_eq!(names, expected);
    let found = answers[2]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        found.contains(SESSION) && found.contains("«keeper»"),
        "{found}"
    );
}

#[test]
fn options_of_one_run_are_refused_by_a_server() {
    for flag in [&["--agent", "claude"][..], &["--with-agents"]] {
        let mut command = lapidary(["mcp"]);
        command.args(flag);
        let refused = output(command, b"");
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        let expected = format!("an MCP server has no use for {}", flag[0]);
        assert!(told.contains(&expected), "{told}");
    }
}

/// The client's calls, each with the answer's text; then a list of the tools.
const CLIENT: &str = r"
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
const [command, home, cwd] = process.argv.slice(1);
const transport = new StdioClientTransport({ command, args: ['mcp'], env: { HOME: home }, cwd });
const client = new Client({ name: 'test', version: '1' });
await client.connect(transport);
const call = async (name, args) => (await client.callTool({ name, arguments: args })).content[0].text;
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const found = await call('search_sessions', { query: 'lighthouse' });
const read = await call('read_session', { id: JSON.parse(found).hits[0].id });
const wrong = await call('read_session', { id: 7 });
const unknown = await client.callTool({ name: 'nothing' }).catch((error) => error.code);
const large = await client.callTool({ name: 'read_session', arguments: { id: 'x'.repeat(9 << 20) } }).catch((error) => error.code);
await client.ping();
console.log(JSON.stringify({ server: client.getServerVersion().name, tools, read, wrong, unknown, large }));
await client.close();
";

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_official_typescript_client_lists_and_calls_the_tools() {
    let home = lighthouse();
    let mut node = program("node");
    node.args(["--input-type=module", "--eval", CLIENT, "--"])
        .arg(env!("CARGO_BIN_EXE_lapidary"))
        .args([home.home(), home.project()])
        .current_dir(peers());
    let ran = output(node, b"");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{told}");
    let told: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(
        json!([
            told["server"],
            told["wrong"],
            told["unknown"],
            told["large"]
        ]),
        json!(["lapidary", "arguments/id must be string", -32602, -32600])
    );
    let tools = json!([
        "list_agents",
        "invoke_agent",
        "search_sessions",
        "read_session"
    ]);
    assert_eq!(told["tools"], tools);
    let read = told["read"].as_str().unwrap();
    assert!(read.contains("and its keeper?"), "{read}");
}

/// The inspector's command line, with arguments for its one request.
fn inspected(home: &RecordedHome, request: &[&str]) -> (Output, Value) {
    let inspector = peers_beside("peers-mcp").join("node_modules/.bin/mcp-inspector");
    let mut node = program("node");
    node.arg(inspector)
        .args(["--cli", "-e", &format!("HOME={}", home.home().display())])
        .arg(env!("CARGO_BIN_EXE_lapidary"))
        .args(["mcp", "--delegate"])
        .args(request)
        .current_dir(home.project());
    let ran = output(node, b"");
    let told = serde_json::from_slice(&ran.stdout).unwrap_or(Value::Null);
    (ran, told)
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_inspector_lists_and_calls_the_tools() {
    let home = lighthouse();
    let (ran, listed) = inspected(&home, &["--method", "tools/list"]);
    let tools = listed["tools"].as_array().map(Vec::len);
    assert_eq!(tools, Some(8), "{ran:?}");
    let call = |tool: &str, arguments: &[&str]| {
        let mut request = vec!["--method", "tools/call", "--tool-name", tool];
        for argument in arguments {
            request.extend(["--tool-arg", argument]);
        }
        let (ran, told) = inspected(&home, &request);
        let text = told["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{ran:?}")).to_owned()
    };
    let found = call("search_sessions", &["query=lighthouse"]);
    assert!(found.contains(SESSION), "{found}");
    let budget = r#"budget={"turns": 1}"#;
    let ran = call("delegate", &["prompt=go", "agent=demo", budget]);
    let ran: Value = serde_json::from_str(&ran).unwrap();
    assert_eq!(ran["cause"], "budget", "{ran:#}");
}

/// The Python client's calls: the tools, a run of the demo with its progress, and a call without a budget.
const PYTHON_CLIENT: &str = r#"
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main(command, home, cwd):
    server = StdioServerParameters(command=command, args=["mcp", "--delegate"], env={"HOME": home}, cwd=cwd)
    steps = []
    async def progress(progress, total, message):
        steps.append(message)
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        demo = {"prompt": "go", "agent": "demo", "budget": {"seconds": 60}}
        ran = await session.call_tool("delegate", demo, progress_callback=progress)
        wrong = await session.call_tool("delegate", {"prompt": "go", "agent": "demo"})
        ran = json.loads(ran.content[0].text)
        print(json.dumps({"tools": tools, "ran": ran, "wrong": wrong.content[0].text, "steps": steps}))

asyncio.run(main(*sys.argv[1:]))
"#;

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "needs the Python client: run `cargo xtask test --full`"
)]
fn the_official_python_client_delegates_to_the_demo() {
    let home = lighthouse();
    let mut python = program("python3");
    python
        .args(["-c", PYTHON_CLIENT, env!("CARGO_BIN_EXE_lapidary")])
        .args([home.home(), home.project()])
        .env("PYTHONPATH", peers_beside("peers-mcp-python"));
    let ran = output(python, b"");
    let told: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(told["tools"].as_array().map(Vec::len), Some(8), "{told:#}");
    assert_eq!(told["ran"]["outcome"], "completed", "{told:#}");
    assert_eq!(
        told["wrong"],
        "arguments must have required property 'budget'"
    );
    assert_eq!(told["steps"][0], "started", "{told:#}");
}

/// An agent's model calls `invoke_agent` for an A2A agent, and is told its answer.
fn invoke_through(peer: Peer, tool: &str) {
    let far = A2aPeer::start(A2aServer::JavaScript1, "streaming", &[]);
    let world = AcpWorld::new(peer);
    let agents = world.home().join(".gemini/agents");
    fs::create_dir_all(&agents).unwrap();
    let definition = format!(
        "---\nkind: remote\nname: far\ndescription: Greets.\nagent_card_url: {}\n---\n",
        far.card_url()
    );
    fs::write(agents.join("far.md"), definition).unwrap();
    let arguments = json!({"agent_name": "far", "prompt": "message from afar"});
    let script = Script::new()
        .stream(Turn::call(tool, arguments))
        .stream("So be it.");
    let model = FakeApi::start_in_thread(script).unwrap();
    let state = world.root().join("state");
    fs::create_dir(&state).unwrap();
    let mark = Mark::fresh();
    let mut command = lapidary(["run", "--no-config", "--with-agents", "--format", "events"]);
    command
        .args(["--allow", "tool=mcp_lapidary_*"])
        .args(["--allow", "tool=lapidary_*", "--confine-write"])
        .arg(&state)
        .args(["--agent", peer.name(), "go"])
        .current_dir(world.project())
        .env_clear()
        .envs(world.named_environment(&model.base_url()))
        .env("LAPIDARY_STATE_DIR", &state)
        .env(MARK, mark.value());
    let told = Told::by(command);
    let requests = model.requests();
    let last = requests.last().map(|made| made.body.to_string());
    let last = last.unwrap_or_default();
    assert!(
        last.contains("You said: message"),
        "{peer:?}: {told:?}\n{last}"
    );
    assert_eq!(far.log()[0]["prompt"], "message from afar");
    let runs = fs::read_dir(state.join("runs")).unwrap().flatten();
    assert_eq!(runs.filter(|run| run.path().is_dir()).count(), 2);
    mark.assert_nothing_is_left();
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_invokes_an_a2a_agent_through_the_server_of_its_run() {
    invoke_through(Peer::Gemini061, "mcp_lapidary_invoke_agent");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn opencode_invokes_an_a2a_agent_through_the_server_of_its_run() {
    invoke_through(Peer::Opencode, "lapidary_invoke_agent");
}
/// Rules over ACP, where the names of tools differ.
const BY_TOOL: [&str; 5] = [
    "--no-config",
    "--allow",
    "tool=mcp_lapidary_*",
    "--allow",
    "tool=lapidary_*",
];

/// An agent's model calls `search_sessions`, and gets the hits.
fn search_through(peer: Peer, tool: &str, options: &[&str]) {
    let world = AcpWorld::new(peer);
    let script = Script::new()
        .stream(Turn::call(tool, json!({"query": "lightship"})))
        .stream("So be it.");
    let model = FakeApi::start_in_thread(script).unwrap();
    let home = RecordedHome::new();
    home.recorded_run("20260103T100000-aa", "qwen", SESSION);
    let state = home.home().join(".local/state/lapidary");
    let mark = Mark::fresh();
    let settings = world.home().join(".gemini/settings.json");
    let rules = "[[rule]]\nmcp = 'lapidary'\nthen = 'allow'\n";
    std::fs::write(world.root().join("rules.toml"), rules).unwrap();
    let mut command = lapidary(["run", "--with-agents", "--format", "events"]);
    command
        .args(options)
        .args(["--agent", peer.name(), "go"])
        .current_dir(world.project())
        .env_clear()
        .envs(world.named_environment(&model.base_url()))
        .env("LAPIDARY_STATE_DIR", &state)
        .env(MARK, mark.value());
    let told = Told::by(command);
    let settings = std::fs::read_to_string(&settings).unwrap();
    assert!(
        !settings.contains("mcpServers"),
        "they are the user's: {settings}"
    );
    let requests = model.requests();
    let bodies: Vec<_> = requests.iter().map(|made| made.body.to_string()).collect();
    assert!(
        bodies.iter().any(|body| body.contains("«lightship»")),
        "{peer:?}: {told:?}\n{}",
        bodies.last().map_or("", String::as_str)
    );
    mark.assert_nothing_is_left();
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_searches_sessions_through_the_server_of_its_run() {
    search_through(Peer::Gemini061, "mcp_lapidary_search_sessions", &BY_TOOL);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn gemini_cli_without_acp_searches_sessions_through_a_settings_file_of_its_run() {
    let without_acp = ["--transport", "stream-json", "--config", "../rules.toml"];
    // Gemini CLI reads such a file only below directories of root's that no other user can write.
    let records = tempfile::tempdir_in("/run").ok();
    let records = records.filter(|it| settings_layer_obstacle(it.path()).is_none());
    if let Some(records) = records {
        let place = ["--record-dir", records.path().to_str().unwrap()];
        let options = [&without_acp[..], &place].concat();
        search_through(Peer::Gemini061, "mcp_lapidary_search_sessions", &options);
        let files = std::fs::read_dir(records.path()).unwrap().flatten();
        let names: Vec<_> = files.map(|it| it.file_name()).collect();
        assert_eq!(names.len(), 1, "the recording alone is left: {names:?}");
    }
    let world = AcpWorld::new(Peer::Gemini061);
    let mut command = lapidary(["run", "--with-agents", "--format", "events"]);
    command
        .args(["--no-config", "--transport", "stream-json", "go"])
        .current_dir(world.project())
        .env_clear()
        .envs(world.named_environment("http://127.0.0.1:9"))
        .env("LAPIDARY_STATE_DIR", world.root().join("state"));
    let refused = Told::by(command);
    assert_eq!(refused.end()["cause"], "bad_input", "{refused:?}");
    let message = refused.end()["message"].as_str().unwrap();
    assert!(
        message.starts_with("an MCP server (--with-agents, --mcp-config) needs ACP: Gemini CLI reads a settings file"),
        "{message}"
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn opencode_searches_sessions_through_the_server_of_its_run() {
    search_through(Peer::Opencode, "lapidary_search_sessions", &BY_TOOL);
}
