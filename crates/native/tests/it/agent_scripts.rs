//! Sub-agents of the real Gemini CLI and ours on the same scripts: the requests to the model and to a remote agent, and the responses to
//! the calling model.
//!
//! All scenes are calls of one conversation, so that they need one start of Gemini CLI. Prose is ours (system prompts,
//! descriptions) and is not compared, nor are ids and temporary paths. [`DEVIATIONS`] names the rest.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use lapidary_gemini::agents::{AgentDefinition, LocalAgentDefinition, load_agent_file};
use lapidary_native::a2a::RemoteAgent;
use lapidary_native::executor::{AgentDirectory, AgentRequest, RemoteCall};
use lapidary_native::tools::file_tools;
use lapidary_native::workspace::Workspace;
use lapidary_standin::api::{ApiRequest, Chunk, FakeApi, RequestKind, Script, ScriptRule, Turn};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use lapidary_testkit::raw_server::{self, RawServer};
use serde_json::{Map, Value, json};

use crate::a2a;
use crate::scene::{Stage, request};

/// Where ours differs on purpose. [`normal`] undoes exactly these.
const DEVIATIONS: [&str; 4] = [
    "responses that the model has not seen come before the recovery message",
    "the calling model is told from what an agent recovered",
    "the generation settings of the agent count, and those of the model are its own",
    "the card of a remote agent is fetched at its first call",
];

/// The prompt of the calling agent.
const PARENT: &str = "Find it.";
const AGENT: &str = "---\nname: scout\ndescription: Looks around.\ntools:\n  - read_file\n  - list_directory\nmax_turns: 2\n---\nYou are a scout.\n";

/// A call of `invoke_agent`, or several at once, and the turns of the agents.
struct ScriptedScene {
    name: &'static str,
    calls: Vec<(&'static str, &'static str)>,
    turns: Vec<Turn>,
}

fn scene(name: &'static str, agent: &'static str, turns: Vec<Turn>) -> ScriptedScene {
    ScriptedScene {
        name,
        calls: vec![(agent, name)],
        turns,
    }
}

fn complete(result: &str) -> Turn {
    Turn::call("complete_task", json!({ "result": result }))
}

fn read(arguments: &Value) -> Turn {
    Turn::chunks([Chunk::part(
        json!({ "functionCall": { "name": "read_file", "args": arguments } }),
    )])
}

fn scenes() -> Vec<ScriptedScene> {
    let known = json!({ "file_path": "a.txt" });
    vec![
        scene(
            "happy path",
            "scout",
            vec![
                Turn::thought("**Reading** the file").and_call("read_file", known.clone()),
                complete("All found."),
            ],
        ),
        scene(
            "complete_task without a result",
            "scout",
            vec![Turn::call("complete_task", json!({})), complete("Now.")],
        ),
        scene(
            "complete_task with a result of the wrong type",
            "scout",
            vec![
                Turn::call("complete_task", json!({ "result": 7 })),
                complete("Now."),
            ],
        ),
        scene(
            "complete_task with a blank result",
            "scout",
            vec![complete(" "), complete("Now.")],
        ),
        scene(
            "tools that the agent does not have",
            "scout",
            vec![
                Turn::call("write_file", json!({ "file_path": "b", "content": "" }))
                    .and_call("nothing", json!({})),
                complete("Without."),
            ],
        ),
        scene(
            "arguments as a text",
            "scout",
            vec![
                read(&json!("{\"file_path\": \"a.txt\"}")),
                complete("Read."),
            ],
        ),
        scene(
            "arguments as a text that is no object",
            "scout",
            vec![read(&json!("{oops")), complete("Not read.")],
        ),
        scene(
            "arguments that are a list",
            "scout",
            vec![read(&json!(["a.txt"])), complete("Not read.")],
        ),
        scene(
            "a call without arguments",
            "scout",
            vec![
                Turn::chunks([Chunk::part(
                    json!({ "functionCall": { "name": "read_file" } }),
                )]),
                complete("Not read."),
            ],
        ),
        scene(
            "a tool that fails",
            "scout",
            vec![
                read(&json!({ "file_path": "missing.txt" })),
                complete("It is not there."),
            ],
        ),
        scene(
            "arguments that do not fit",
            "scout",
            vec![read(&json!({})), complete("Wrong.")],
        ),
        scene(
            "completion beside other calls",
            "scout",
            vec![
                Turn::call("complete_task", json!({ "result": "First." }))
                    .and_call("read_file", known.clone())
                    .and_call("complete_task", json!({ "result": "Second." })),
            ],
        ),
        scene(
            "turns used up, then recovered",
            "scout",
            vec![
                read(&known),
                Turn::call("list_directory", json!({ "dir_path": "." })),
                complete("Interrupted."),
            ],
        ),
        scene(
            "turns used up, and not recovered",
            "scout",
            vec![read(&known), read(&known), read(&known)],
        ),
        scene(
            "no call, then recovered",
            "scout",
            vec![Turn::text("I am done."), complete("Late.")],
        ),
        scene(
            "no call, and not recovered",
            "scout",
            vec![Turn::text("I am done."), Turn::text("Really.")],
        ),
        scene("an agent that is not known", "nobody-knows", Vec::new()),
        scene("remote", "far", Vec::new()),
        scene("remote, once more", "far", Vec::new()),
        scene("remote that asks back", "far", Vec::new()),
        scene("remote that is answered", "far", Vec::new()),
        ScriptedScene {
            name: "two at once",
            calls: vec![("scout", "one of two"), ("scout", "two of two")],
            turns: Vec::new(),
        },
    ]
}

/// The script of all scenes. `end` is the last turn of the calling model.
fn script(end: Turn) -> Script {
    let mut script = Script::new();
    for scene in scenes() {
        let chunks = scene.calls.iter().map(|(agent, prompt)| {
            Chunk::call(
                "invoke_agent",
                json!({ "agent_name": agent, "prompt": prompt }),
            )
        });
        script = script.stream(Turn::chunks(chunks));
        script = scene.turns.into_iter().fold(script, Script::stream);
    }
    for prompt in ["one of two", "two of two"] {
        let answer = complete(&format!("{prompt} is done."));
        let rule = ScriptRule::new(answer).kind(RequestKind::Stream);
        script = script.rule(rule.last(format!("\"text\":\"{prompt}\"")));
    }
    script.stream(end)
}

/// The server of the remote agent, in version 0.3. Its answer depends on the prompt.
fn remote_server() -> RawServer {
    RawServer::start(|request| {
        if request.line.starts_with("GET") {
            let url = format!("http://{}/rpc", request.host());
            return raw_server::json(&json!({
                "name": "Far", "description": "Answers.", "version": "1", "protocolVersion": "0.3.0", "url": url,
                "capabilities": {"streaming": true}, "skills": [],
                "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
            }));
        }
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let prompt = body["params"]["message"]["parts"][0]["text"].as_str();
        let mut steps = vec![raw_server::event_stream()];
        for update in remote_updates(prompt.unwrap()) {
            let reply = json!({"jsonrpc": "2.0", "id": body["id"], "result": update});
            steps.push(raw_server::event(&reply));
        }
        steps
    })
}

fn remote_updates(prompt: &str) -> Vec<Value> {
    let text = |text: &str| json!({"kind": "text", "text": text});
    let message = |words: &str| json!({"kind": "message", "messageId": words, "role": "agent", "parts": [text(words)]});
    let status = |task: &str, state: &str, words: Option<&str>| {
        let mut status = json!({"state": state});
        if let Some(words) = words {
            status["message"] = message(words);
        }
        let is_last = state != "working";
        json!({"kind": "status-update", "taskId": task, "contextId": "c1", "status": status, "final": is_last})
    };
    let artifact = json!({"kind": "artifact-update", "taskId": "t1", "contextId": "c1",
        "artifact": {"artifactId": "a", "name": "out.txt", "parts": [text("Hello")]}});
    let started = |task: &str| json!({"kind": "task", "id": task, "contextId": "c1", "status": {"state": "submitted"}});
    match prompt {
        "remote" => vec![
            started("t1"),
            status("t1", "working", Some("thinking")),
            artifact,
            status("t1", "completed", None),
        ],
        "remote, once more" => vec![message("Hi again.")],
        "remote that asks back" => vec![
            started("t2"),
            status("t2", "input-required", Some("Which one?")),
        ],
        _ => vec![status("t2", "completed", Some("That one."))],
    }
}

/// The requests to the remote agent without their ids.
fn remote_requests(server: &RawServer) -> Vec<Value> {
    let requests = server.requests().into_iter();
    let posts = requests.filter(|request| request.line.starts_with("POST"));
    posts
        .map(|request| {
            let mut body: Value = serde_json::from_str(&request.body).unwrap();
            body["id"].take();
            body["params"]["message"]["messageId"].take();
            json!({"line": request.line, "body": body})
        })
        .collect()
}

/// The compared data of one program: the requests of each agent by its prompt, and the responses to the calling model.
#[derive(Debug, Default, PartialEq)]
struct Told {
    requests: BTreeMap<String, Vec<Value>>,
    responses: Vec<Value>,
}

fn parts(content: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    content["parts"].as_array().into_iter().flatten()
}

impl Told {
    fn gather(requests: &[ApiRequest], root: &Path) -> Self {
        let mut told = Self::default();
        let streamed = requests.iter().filter(|it| it.kind == RequestKind::Stream);
        for request in streamed {
            let contents = request.body["contents"].as_array().unwrap();
            let prompts: Vec<_> = scenes().into_iter().flat_map(|scene| scene.calls).collect();
            let mut first = parts(&contents[0]).filter_map(|part| part["text"].as_str());
            let prompt = first.next_back().unwrap_or_default();
            if prompts.iter().any(|(_, known)| *known == prompt) {
                let requests = told.requests.entry(prompt.to_owned()).or_default();
                requests.push(normal(&request.body, root));
            } else {
                let responses = contents.iter().flat_map(parts);
                let responses = responses.filter_map(|part| part.get("functionResponse"));
                told.responses = responses
                    .map(|it| normal_text(&it["response"], root))
                    .collect();
            }
        }
        told
    }
}

/// A request without prose, ids and temporary paths, and without the named deviations.
fn normal(body: &Value, root: &Path) -> Value {
    let contents = body["contents"].as_array().unwrap();
    let contents: Vec<_> = contents
        .iter()
        .map(|content| normal_content(content, root))
        .collect();
    let declared = body["tools"][0]["functionDeclarations"].as_array();
    let tools = declared.into_iter().flatten().map(
        |tool| json!({ "name": tool["name"], "parameters": shape(&tool["parametersJsonSchema"]) }),
    );
    json!({ "contents": contents, "tools": tools.collect::<Vec<_>>() })
}

fn normal_content(content: &Value, root: &Path) -> Value {
    let is_recovery = parts(content).next_back().is_some_and(|part| {
        part["text"]
            .as_str()
            .is_some_and(|text| text.contains("one final chance"))
    });
    let kept = parts(content).filter(|part| !is_recovery || part.get("functionResponse").is_none());
    let normal_part = |part: &Value| {
        let mut part = part.clone();
        for kind in ["functionCall", "functionResponse"] {
            if let Some(call) = part.get_mut(kind).and_then(Value::as_object_mut) {
                call.remove("id");
            }
        }
        if let Some(members) = part.as_object_mut() {
            members.remove("thoughtSignature");
        }
        normal_text(&part, root)
    };
    json!({ "role": content["role"], "parts": kept.map(normal_part).collect::<Vec<_>>() })
}

/// A value whose texts name no temporary directory, and no reason of a recovery.
fn normal_text(value: &Value, root: &Path) -> Value {
    let text = value
        .to_string()
        .replace(root.to_str().unwrap(), "<project>");
    let text = ["MAX_TURNS", "ERROR_NO_COMPLETE_TASK_CALL"]
        .iter()
        .fold(text, |text, reason| {
            text.replace(&format!("Recovered From: {reason}\\n"), "")
        });
    serde_json::from_str(&text).unwrap()
}

/// A JSON Schema without its descriptions.
fn shape(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => members
            .iter()
            .filter(|(key, value)| *key != "description" || !value.is_string())
            .map(|(key, value)| (key.clone(), shape(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(shape).collect(),
        other => other.clone(),
    }
}

/// The requests and responses of the real Gemini CLI.
fn theirs(world: &GeminiWorld) -> Told {
    let api = FakeApi::start_in_thread(script(Turn::text("Done."))).unwrap();
    let arguments = [
        "--approval-mode=yolo",
        "-m",
        "gemini-2.5-flash",
        "-p",
        PARENT,
    ];
    let output = Command::new("timeout")
        .arg("120")
        .arg(GeminiVersion::V0_61_0.program())
        .args(arguments)
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment(&api.base_url()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    Told::gather(&api.requests(), &world.project())
}

/// The agents of the user's directory.
#[derive(Debug)]
struct UserAgents {
    scout: LocalAgentDefinition,
    far: Arc<RemoteAgent>,
}

impl AgentDirectory for UserAgents {
    fn request(&self, name: &str, prompt: &str, model: &str) -> Option<AgentRequest> {
        let mut request = request(self.scout.clone());
        request.inputs.insert("query".to_owned(), prompt.into());
        model.clone_into(&mut request.model);
        (name == self.scout.name).then_some(request)
    }

    fn remote(&self, name: &str, prompt: &str) -> Option<RemoteCall> {
        (name == self.far.name()).then(|| RemoteCall {
            agent: Arc::clone(&self.far),
            prompt: prompt.to_owned(),
            session: "s".to_owned(),
            agent_id: "far-1".to_owned(),
        })
    }
}

fn user_agents(world: &GeminiWorld) -> UserAgents {
    let load = |name: &str| {
        let file = world.home().join(".gemini/agents").join(name);
        load_agent_file(&file).unwrap().remove(0)
    };
    let (AgentDefinition::Local(scout), AgentDefinition::Remote(far)) =
        (load("scout.md"), load("far.md"))
    else {
        panic!("one is local, the other remote");
    };
    let far = RemoteAgent::new(&far, a2a::means(a2a::patient(), &[]));
    let far = Arc::new(far);
    UserAgents { scout, far }
}

/// The requests and responses of our executor.
async fn ours(world: &GeminiWorld) -> Told {
    let workspace = Workspace::open(&world.project(), &world.root().join("temporary")).unwrap();
    let mut stage = Stage::new(script(complete("Done.")));
    stage.executor.tools = file_tools(&workspace);
    stage.executor.directory = Some(Arc::new(user_agents(world)));
    stage.executor.max_depth = 2;
    stage.definition.run_config.max_turns = Some(100);
    let scene = stage.play().await;
    assert_eq!(scene.outcome.result, "Done.");
    Told::gather(&scene.requests, &world.project())
}

/// Writes the definition of the remote agent at this server.
fn write_far(world: &GeminiWorld, server: &RawServer) {
    let definition = format!(
        "---\nkind: remote\nname: far\ndescription: Answers.\nagent_card_url: {}\n---\n",
        server.url("/card.json")
    );
    std::fs::write(world.home().join(".gemini/agents/far.md"), definition).unwrap();
}

#[tokio::test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs the real Gemini CLI: run `cargo xtask test`"
)]
async fn agents_exchange_the_same_messages_with_the_model_as_those_of_gemini_cli() {
    let world = GeminiWorld::new();
    let root = world.project().canonicalize().unwrap();
    assert_eq!(
        root,
        world.project(),
        "the temporary directory has no link in it"
    );
    std::fs::create_dir(world.home().join(".gemini/agents")).unwrap();
    std::fs::write(world.home().join(".gemini/agents/scout.md"), AGENT).unwrap();
    std::fs::write(world.project().join("a.txt"), "one\ntwo\n").unwrap();
    let (their_server, our_server) = (remote_server(), remote_server());
    write_far(&world, &their_server);
    let theirs = theirs(&world);
    write_far(&world, &our_server);
    let ours = ours(&world).await;
    println!("named deviations: {DEVIATIONS:#?}");
    let mut differing = Vec::new();
    for (name, prompt) in scenes()
        .iter()
        .flat_map(|scene| scene.calls.iter().map(|call| (scene.name, call.1)))
    {
        let (ours, theirs) = (ours.requests.get(prompt), theirs.requests.get(prompt));
        if ours != theirs {
            differing.push(format!(
                "{name}:\n  ours:   {}\n  theirs: {}",
                json!(ours),
                json!(theirs)
            ));
        }
    }
    for (ours, theirs) in ours.responses.iter().zip(&theirs.responses) {
        if ours != theirs {
            differing.push(format!(
                "the caller is told:\n  ours:   {ours}\n  theirs: {theirs}"
            ));
        }
    }
    let (our_prompts, their_prompts) =
        (remote_requests(&our_server), remote_requests(&their_server));
    if our_prompts != their_prompts {
        differing.push(format!(
            "the remote agent is asked:\n  ours:   {}\n  theirs: {}",
            json!(our_prompts),
            json!(their_prompts)
        ));
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    let calls: Vec<_> = scenes().into_iter().flat_map(|scene| scene.calls).collect();
    let of_agent = |agent: &str| calls.iter().filter(|call| call.0 == agent).count();
    assert_eq!(our_prompts.len(), of_agent("far"));
    assert_eq!(
        (ours.responses.len(), theirs.responses.len()),
        (calls.len(), calls.len())
    );
    assert_eq!(
        ours.requests.len(),
        of_agent("scout"),
        "every agent that is known was asked"
    );
}
