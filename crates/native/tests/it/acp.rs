//! An agent of ours over ACP, seen from its client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use lapidary_native::acp_agent::{AcpIdentity, AcpSession, AcpTask, AgentWork, serve};
use lapidary_native::executor::AgentExecutor;
use lapidary_native::tool::PermissionGate;
use lapidary_standin::api::{ApiError, Script, Turn};
use lapidary_testkit::acp_schema::SchemaOracle;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use crate::scene::{Stage, request};

/// The work of a scene, for a client.
#[derive(Debug)]
struct SceneTask {
    executor: AgentExecutor,
}

impl AcpTask for SceneTask {
    fn identity(&self) -> AcpIdentity {
        AcpIdentity {
            name: "scout".to_owned(),
            model: "mock".to_owned(),
            is_steerable: true,
        }
    }

    fn prepare(
        &self,
        session: &AcpSession,
        prompt: &str,
        gate: Arc<dyn PermissionGate>,
    ) -> Result<AgentWork, String> {
        assert_eq!(session.directory.to_str(), Some("/project"));
        if prompt == "refuse" {
            return Err("no such task".to_owned());
        }
        let mut executor = self.executor.clone();
        executor.gate = gate;
        let mut request = request(crate::scene::definition("scout"));
        request.inputs.insert("query".to_owned(), prompt.into());
        Ok(AgentWork::Local(Box::new(executor), Box::new(request)))
    }
}

/// A client that keeps all that the agent says, and holds it to the protocol's schema where that is installed.
struct TestClient {
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    writes: tokio::io::WriteHalf<DuplexStream>,
    /// The methods of our requests, by id.
    asked: BTreeMap<u64, &'static str>,
    said: Vec<Value>,
    _serving: tokio::task::JoinHandle<()>,
}

impl TestClient {
    async fn new(script: Script) -> (Self, String) {
        Self::with_meta(script, json!({})).await
    }

    async fn with_meta(script: Script, meta: Value) -> (Self, String) {
        let mut stage = Stage::new(script);
        stage.executor.max_depth = 2;
        let task = SceneTask {
            executor: stage.executor,
        };
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reads, writes) = tokio::io::split(ours);
        let mut client = Self {
            lines: BufReader::new(reads).lines(),
            writes,
            asked: BTreeMap::new(),
            said: Vec::new(),
            _serving: tokio::spawn(serve(theirs, Arc::new(task))),
        };
        let greeted = client
            .request("initialize", json!({"protocolVersion": 1}))
            .await;
        assert_eq!(greeted["result"]["protocolVersion"], 1);
        let params = json!({"cwd": "/project", "mcpServers": [], "_meta": meta});
        let opened = client.request("session/new", params).await;
        let id = opened["result"]["sessionId"].as_str().unwrap().to_owned();
        (client, id)
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.writes.write_all(line.as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, method: &'static str, params: Value) -> u64 {
        let id = self.asked.len() as u64;
        self.asked.insert(id, method);
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    async fn request(&mut self, method: &'static str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.until(|message| message["id"] == id && message.get("method").is_none())
            .await
    }

    async fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.ask(
            "session/prompt",
            json!({"sessionId": session, "prompt": prompt}),
        )
        .await
    }

    async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self
                .lines
                .next_line()
                .await
                .unwrap()
                .expect("the agent goes on");
            let message: Value = serde_json::from_str(&line).unwrap();
            if let Some(oracle) = SchemaOracle::if_installed() {
                let is_answer = message.get("method").is_none();
                let answers_to = message["id"].as_u64().filter(|_| is_answer);
                let answers_to = answers_to.map(|id| self.asked[&id]);
                oracle.check_sent_by_agent(&line, answers_to).unwrap();
            }
            self.said.push(message.clone());
            if is_it(&message) {
                return message;
            }
        }
    }

    async fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
            .await
    }

    /// The updates, each as its kind and the member that tells it.
    fn updates(&self) -> Vec<String> {
        let updates = self
            .said
            .iter()
            .filter_map(|message| message["params"].get("update"));
        let told = |update: &Value| {
            let kind = update["sessionUpdate"].as_str().unwrap();
            let parent = update["_meta"]["lapidary"]["parentCallId"].as_str();
            let parent = parent
                .map(|parent| format!("[{parent}] "))
                .unwrap_or_default();
            let usage = &update["_meta"]["usage"]["totalTokens"];
            let subagent = update["_meta"]["lapidary"]["subagent"].get("agentName");
            let words = update["content"]["text"]
                .as_str()
                .filter(|text| !text.is_empty());
            let news = update["status"]
                .as_str()
                .filter(|_| kind == "tool_call_update");
            let words = words
                .or(news)
                .or(update["name"].as_str())
                .or(update["title"].as_str());
            let words = words.or(update["status"].as_str()).unwrap_or_default();
            match (usage.as_u64(), subagent) {
                (Some(total), _) => format!("{parent}usage {total}"),
                (None, Some(name)) => format!(
                    "subagent {} {}",
                    name.as_str().unwrap(),
                    update["_meta"]["lapidary"]["subagent"]["terminateReason"]
                ),
                (None, None) => format!("{parent}{kind} {words}"),
            }
        };
        updates.map(told).collect()
    }
}

fn done(result: &str) -> Turn {
    Turn::call("complete_task", json!({ "result": result }))
}

#[tokio::test]
async fn a_task_is_a_turn_with_its_updates_in_order() {
    let script = Script::new()
        .stream(
            Turn::thought("hm")
                .and_text("Looking.")
                .and_call("look", json!({"at": 1})),
        )
        .stream(done("Found."));
    let (mut client, session) = TestClient::new(script).await;
    let prompt = client.prompt(&session, "Find it.").await;
    let answer = client.answer(prompt).await;
    let expected = json!({
        "stopReason": "end_turn",
        "_meta": {"lapidary": {"terminateReason": "GOAL", "turnCount": 2, "output": "Found."}},
    });
    assert_eq!(answer["result"], expected);
    let expected = [
        "agent_thought_chunk hm",
        "agent_message_chunk Looking.",
        "usage 110",
        "tool_call look",
        "tool_call_update completed",
        "usage 110",
        "tool_call complete_task",
        "tool_call_update completed",
        "agent_message_chunk Found.",
    ];
    assert_eq!(client.updates(), expected);
}

#[tokio::test]
async fn a_call_that_needs_permission_waits_for_the_clients_answer() {
    for (option, expected) in [
        ("allow_once", "tool_call_update in_progress"),
        ("reject_once", "tool_call_update failed"),
    ] {
        let script = Script::new()
            .stream(Turn::call("write_file", json!({})))
            .stream(done("x"));
        let (mut client, session) = TestClient::new(script).await;
        let prompt = client.prompt(&session, "Write it.").await;
        let asked = client
            .until(|message| message["method"] == "session/request_permission")
            .await;
        assert_eq!(asked["params"]["toolCall"]["name"], "write_file");
        assert_eq!(client.updates().last().unwrap(), "tool_call write_file");
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        client
            .send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": outcome}))
            .await;
        let answer = client.answer(prompt).await;
        assert_eq!(answer["result"]["stopReason"], "end_turn");
        assert!(
            client.updates().contains(&expected.to_owned()),
            "{:?}",
            client.updates()
        );
    }
}

#[tokio::test]
async fn a_call_whose_arguments_are_no_json_fails_under_the_name_of_its_tool() {
    let script = Script::new()
        .stream(Turn::call("look", json!("{at: ")))
        .stream(done("x"));
    let (mut client, session) = TestClient::new(script).await;
    let prompt = client.prompt(&session, "Look.").await;
    client.answer(prompt).await;
    let updates = client.said.iter().map(|it| &it["params"]["update"]);
    let failed: Vec<_> = updates.filter(|it| it["status"] == "failed").collect();
    let [failed] = failed[..] else {
        panic!("{failed:#?}")
    };
    assert_eq!(failed["name"], "look");
}

#[tokio::test]
async fn a_cancelled_prompt_ends_as_cancelled_and_the_next_one_works() {
    let script = Script::new()
        .stream(Turn::call("slow", json!({"seconds": 600})))
        .stream(done("x"));
    let (mut client, session) = TestClient::new(script).await;
    let prompt = client.prompt(&session, "Wait.").await;
    client
        .until(|message| message["params"]["update"]["sessionUpdate"] == "tool_call")
        .await;
    let twice = client.prompt(&session, "Now.").await;
    assert_eq!(client.answer(twice).await["error"]["code"], -32600);
    let params = json!({ "sessionId": session });
    client
        .send(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}))
        .await;
    assert_eq!(
        client.answer(prompt).await["result"]["stopReason"],
        "cancelled"
    );
    let prompt = client.prompt(&session, "Again.").await;
    assert_eq!(
        client.answer(prompt).await["result"]["stopReason"],
        "end_turn"
    );
}

#[tokio::test]
async fn updates_of_a_sub_agent_name_the_call_it_works_in() {
    let script = Script::new()
        .stream(Turn::call(
            "invoke_agent",
            json!({"agent_name": "helper", "prompt": "Help."}),
        ))
        .stream(Turn::text("Helping.").and_call("look", json!({})))
        .stream(done("helped"))
        .stream(done("Found."));
    let (mut client, session) = TestClient::new(script).await;
    let prompt = client.prompt(&session, "Find it.").await;
    client.answer(prompt).await;
    let expected = [
        "usage 110",
        "tool_call invoke_agent",
        "subagent helper null",
        "[scout-1#0-0] agent_message_chunk Helping.",
        "[scout-1#0-0] usage 110",
        "[scout-1#0-0] tool_call look",
        "[scout-1#0-0] tool_call_update completed",
        "[scout-1#0-0] usage 110",
        "[scout-1#0-0] tool_call complete_task",
        "[scout-1#0-0] tool_call_update completed",
        "subagent helper \"GOAL\"",
        "tool_call_update completed",
        "usage 110",
        "tool_call complete_task",
        "tool_call_update completed",
        "agent_message_chunk Found.",
    ];
    assert_eq!(client.updates(), expected);
}

#[tokio::test]
async fn a_task_that_fails_is_an_error_with_the_status_of_the_api() {
    let ended = Mutex::new(Vec::new());
    for (turn, code) in [
        (Turn::from(ApiError::invalid_key()), 400),
        (ApiError::new(403).into(), 403),
        (ApiError::daily_quota_exhausted().into(), 429),
        (ApiError::new(404).into(), 404),
    ] {
        let (mut client, session) = TestClient::new(Script::new().stream(turn)).await;
        let prompt = client.prompt(&session, "Find it.").await;
        let answer = client.answer(prompt).await;
        assert_eq!(answer["error"]["code"], code);
        assert_eq!(
            answer["error"]["data"]["lapidary"]["terminateReason"],
            "ERROR"
        );
        ended
            .lock()
            .unwrap()
            .push(answer["error"]["data"]["lapidary"]["error"].clone());
    }
    let names = json!(["auth_required", "auth_required", "quota_terminal", null]);
    assert_eq!(json!(ended.into_inner().unwrap()), names);
    let (mut client, session) = TestClient::new(Script::new()).await;
    let prompt = client.prompt(&session, "refuse").await;
    assert_eq!(
        client.answer(prompt).await["error"]["message"],
        "no such task"
    );
    let prompt = client.prompt("no-such-session", "x").await;
    assert_eq!(client.answer(prompt).await["error"]["code"], -32602);
}

#[tokio::test]
async fn hooks_that_the_client_names_are_asked_at_their_moments() {
    let script = Script::new()
        .stream(Turn::call("look", json!({})))
        .stream(done("Found."));
    let hooks = json!({"lapidary": {"hooks": ["BeforeModel", "BeforeTool", "NoSuchEvent"]}});
    let (mut client, session) = TestClient::with_meta(script, hooks).await;
    let prompt = client.prompt(&session, "Find it.").await;
    let asked = client
        .until(|message| message["method"] == "_lapidary/hook")
        .await;
    assert_eq!(asked["params"]["sessionId"], session);
    let input = &asked["params"]["input"];
    assert_eq!(input["hook_event_name"], "BeforeModel");
    assert_eq!(input["llm_request"]["model"], "gemini-2.5-flash");
    client
        .send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"output": null}}))
        .await;
    // A call that needs no permission is asked about, because a `BeforeTool` hook may judge it.
    let asked = client
        .until(|message| message["method"] == "session/request_permission")
        .await;
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow_once"}});
    client
        .send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": outcome}))
        .await;
    let asked = client
        .until(|message| message["method"] == "_lapidary/hook")
        .await;
    let stop = json!({"continue": false, "stopReason": "enough"});
    client
        .send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"output": stop}}))
        .await;
    let answer = client.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_message_during_a_turn_is_answered_once_the_model_gets_it() {
    let script = Script::new()
        .stream(Turn::call("write_file", json!({})))
        .stream(done("Found."));
    let (mut client, session) = TestClient::new(script).await;
    let steer = json!({"sessionId": session, "text": "hurry"});
    let idle = client.request("_lapidary/steer", steer.clone()).await;
    assert_eq!(
        idle["error"]["message"],
        "the session is not at work on a prompt"
    );
    let prompt = client.prompt(&session, "Find it.").await;
    let asked = client
        .until(|message| message["method"] == "session/request_permission")
        .await;
    let empty = json!({"sessionId": session, "text": " "});
    let empty = client.request("_lapidary/steer", empty).await;
    assert_eq!(empty["error"]["message"], "the message is empty");
    let steered = client.ask("_lapidary/steer", steer).await;
    // Requests are taken in order: once this one is answered, the message is there.
    let params = json!({"cwd": "/project", "mcpServers": []});
    client.request("session/new", params).await;
    let option = &asked["params"]["options"][0]["optionId"];
    let result = json!({"outcome": {"outcome": "selected", "optionId": option}});
    client
        .send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        .await;
    let told = client.answer(steered).await;
    assert_eq!(told["result"], json!({}));
    let answer = client.answer(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
}
