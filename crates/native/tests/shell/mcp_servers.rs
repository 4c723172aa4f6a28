//! MCP servers of an agent: real processes under a real supervisor. The server is this program again.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use lapidary_gemini::agents::{
    AgentTool, LocalAgentDefinition, McpServer, PromptConfig, ToolConfig,
};
use lapidary_native::executor::{
    ActivityKind, AgentExecutor, AgentOutcome, AgentRequest, TerminateReason,
};
use lapidary_native::mcp::McpSettings;
use lapidary_native::model::ScriptedModel;
use lapidary_native::tool::{BoxFuture, CallPreview, GateAnswer, PermissionGate};
use lapidary_process::Supervisor;
use lapidary_standin::api::{Script, Turn};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The argument that makes this program a server.
pub(super) const SERVE: &str = "--serve-mcp";

pub(super) const ALL: [(&str, fn()); 4] = [
    (
        "an_agent_calls_tools_of_its_own_mcp_servers",
        an_agent_calls_tools_of_its_own_mcp_servers,
    ),
    (
        "a_server_that_hangs_or_is_missing_or_ends_is_noted_and_the_agent_goes_on",
        a_server_that_hangs_or_is_missing_or_ends_is_noted_and_the_agent_goes_on,
    ),
    ("a_server_ends_with_its_agent", a_server_ends_with_its_agent),
    (
        "a_message_beyond_16_mib_is_an_error",
        a_message_beyond_16_mib_is_an_error,
    ),
];

/// Serves three tools over two pages. `hang` never answers, `banner` says other things first, `deaf` goes on after the end of its input.
pub(super) fn serve(way: &str) {
    let mut out = std::io::stdout();
    if way == "banner" {
        writeln!(
            out,
            "Welcome!\n{{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"ping\"}}"
        )
        .unwrap();
    }
    if let Ok(path) = std::env::var("PID_FILE") {
        std::fs::write(path, std::process::id().to_string()).unwrap();
    }
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (Some(id), true) = (request.get("id"), way != "hang") else {
            continue;
        };
        let answer = answer(&request);
        writeln!(
            out,
            "{}",
            json!({"jsonrpc": "2.0", "id": id, "result": answer})
        )
        .unwrap();
    }
    if way == "deaf" {
        std::thread::sleep(std::time::Duration::from_mins(10));
    }
}

fn answer(request: &Value) -> Value {
    let params = &request["params"];
    let tool =
        |name: &str| json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
    match request["method"].as_str() {
        Some("initialize") => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}})
        }
        Some("tools/list") if params["cursor"] == "2" => {
            json!({"tools": [tool("fail"), tool("hidden")]})
        }
        Some("tools/list") => json!({"tools": [tool("echo")], "nextCursor": "2"}),
        Some("tools/call") if params["name"] == "fail" => {
            json!({"content": [{"type": "text", "text": "no such thing"}], "isError": true})
        }
        Some("tools/call") if params["arguments"]["say"] == "long" => {
            json!({"content": [{"type": "text", "text": "x".repeat(17 << 20)}]})
        }
        Some("tools/call") => {
            let said = params["arguments"]["say"].as_str().unwrap();
            let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
            json!({"content": [{"type": "text", "text": format!("{said}!")}, image]})
        }
        _ => json!({}),
    }
}

#[derive(Debug)]
struct AllowAll(Mutex<Vec<String>>);

impl PermissionGate for AllowAll {
    fn ask<'a>(
        &'a self,
        _: &'a str,
        tool: &'a str,
        _: &'a CallPreview,
    ) -> BoxFuture<'a, GateAnswer> {
        self.0.lock().unwrap().push(tool.to_owned());
        Box::pin(async { GateAnswer::Allowed })
    }
}

struct Played {
    outcome: AgentOutcome,
    notices: Vec<String>,
    asked: Vec<String>,
    requests: Vec<Value>,
}

fn server(way: &str) -> McpServer {
    let program = std::env::current_exe().unwrap();
    McpServer {
        command: Some(program.to_str().unwrap().to_owned()),
        args: Some(vec![SERVE.to_owned(), way.to_owned()]),
        exclude_tools: Some(vec!["hidden".to_owned()]),
        ..McpServer::default()
    }
}

fn play(script: Script, servers: Vec<(String, McpServer)>, directory: &Path) -> Played {
    let model = ScriptedModel::new(script);
    let gate = Arc::new(AllowAll(Mutex::default()));
    let mut executor = AgentExecutor::new(Arc::new(model.clone()), gate.clone());
    executor.mcp = Some(Arc::new(McpSettings {
        supervisor: Supervisor::at(std::env::current_exe().unwrap()),
        environment: Vec::new(),
        directory: directory.to_owned(),
        http: lapidary_native::http::HttpSettings::default(),
    }));
    let definition = LocalAgentDefinition {
        name: "scout".to_owned(),
        prompt_config: PromptConfig {
            system_prompt: Some("Look.".to_owned()),
            ..PromptConfig::default()
        },
        // The agent's own servers count beside the tools that it names.
        tool_config: Some(ToolConfig {
            tools: vec![AgentTool::Name("none".to_owned())],
        }),
        mcp_servers: servers,
        ..LocalAgentDefinition::default()
    };
    let request = AgentRequest {
        definition: Arc::new(definition),
        inputs: serde_json::Map::new(),
        model: "mock".to_owned(),
        agent_id: "scout-1".to_owned(),
        today: String::new(),
        environment: None,
    };
    let notices = Mutex::new(Vec::new());
    let listener = |activity: lapidary_native::executor::AgentActivity| {
        if let ActivityKind::Notice(text) = activity.kind {
            notices.lock().unwrap().push(text);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let cancelled = CancellationToken::new();
    let outcome = runtime.block_on(executor.run(&request, &listener, &cancelled));
    Played {
        outcome: outcome.unwrap(),
        notices: notices.into_inner().unwrap(),
        asked: gate.0.lock().unwrap().clone(),
        requests: model.requests().into_iter().map(|it| it.body).collect(),
    }
}

fn done() -> Turn {
    Turn::call("complete_task", json!({"result": "Found."}))
}

fn names(request: &Value) -> Vec<&str> {
    let declared = request["tools"][0]["functionDeclarations"]
        .as_array()
        .unwrap();
    declared
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

fn an_agent_calls_tools_of_its_own_mcp_servers() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new()
        .stream(
            Turn::call("mcp_toys_echo", json!({"say": "hi"})).and_call("mcp_toys_fail", json!({})),
        )
        .stream(done());
    let servers = vec![("toys".to_owned(), server("banner"))];
    let played = play(script, servers, folder.path());
    assert_eq!(played.notices, [""; 0]);
    assert_eq!(
        names(&played.requests[0]),
        ["mcp_toys_echo", "mcp_toys_fail", "complete_task"]
    );
    assert_eq!(played.asked, ["mcp_toys_echo", "mcp_toys_fail"]);
    let parts = &played.requests[1]["contents"][2]["parts"];
    assert_eq!(parts[0]["functionResponse"]["response"]["output"], "hi!");
    assert_eq!(parts[1]["inlineData"]["mimeType"], "image/png");
    let error = parts[2]["functionResponse"]["response"]["error"].as_str();
    assert!(error.unwrap().ends_with("no such thing"), "{error:?}");
    assert_eq!(played.outcome.terminate_reason, TerminateReason::Goal);
}

fn a_server_that_hangs_or_is_missing_or_ends_is_noted_and_the_agent_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let hangs = McpServer {
        timeout: Some(300.0),
        ..server("hang")
    };
    let missing = McpServer {
        command: Some("/no/such/program".to_owned()),
        ..McpServer::default()
    };
    let ends = McpServer {
        command: Some("/bin/false".to_owned()),
        ..McpServer::default()
    };
    let remote = McpServer {
        http_url: Some("http://127.0.0.1:1/".to_owned()),
        ..McpServer::default()
    };
    let servers = [("a", hangs), ("b", missing), ("c", ends), ("d", remote)];
    let mut servers: Vec<_> = servers.map(|(name, it)| (name.to_owned(), it)).into();
    servers.push(("toys".to_owned(), server("")));
    let played = play(Script::new().stream(done()), servers, folder.path());
    assert_eq!(played.notices.len(), 4, "{:?}", played.notices);
    for (notice, name) in played.notices.iter().zip(["a", "b", "c", "d"]) {
        let begins = format!("the MCP server `{name}` is not available: ");
        assert!(notice.starts_with(&begins), "{notice}");
    }
    assert_eq!(
        names(&played.requests[0]),
        ["mcp_toys_echo", "mcp_toys_fail", "complete_task"]
    );
    assert_eq!(played.outcome.terminate_reason, TerminateReason::Goal);
}

fn a_message_beyond_16_mib_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new()
        .stream(Turn::call("mcp_toys_echo", json!({"say": "long"})))
        .stream(done());
    let servers = vec![("toys".to_owned(), server(""))];
    let played = play(script, servers, folder.path());
    let parts = &played.requests[1]["contents"][2]["parts"];
    let error = parts[0]["functionResponse"]["response"]["error"].as_str();
    let error = error.unwrap();
    assert!(error.ends_with("at most 16777216 are read"), "{error}");
    assert_eq!(played.outcome.terminate_reason, TerminateReason::Goal);
}

fn a_server_ends_with_its_agent() {
    let folder = tempfile::tempdir().unwrap();
    for way in ["", "deaf"] {
        let file = folder.path().join("pid");
        let mut env = serde_json::Map::new();
        env.insert("PID_FILE".to_owned(), file.to_str().unwrap().into());
        let server = McpServer {
            env: Some(env),
            ..server(way)
        };
        let servers = vec![("toys".to_owned(), server)];
        play(Script::new().stream(done()), servers, folder.path());
        let pid = std::fs::read_to_string(&file).unwrap();
        assert!(!Path::new("/proc").join(&pid).exists(), "{way} {pid}");
    }
}
