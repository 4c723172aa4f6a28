//! Remote agents as the agents of jobs, called by other agents, and listed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use lapidary::agents::{
    AgentCatalog, AgentDirectory as _, ScriptedModel, TaskRequest, check_online,
};
use lapidary::engine::RunHost;
use lapidary::engine::config::Config;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::output_schema::OutputSchema;
use lapidary::engine::policy::{PermissionEffect, Rule, Rules};
use lapidary::engine::process::Supervisor;
use lapidary::engine::recording::RecordingOptions;
use lapidary::gemini::agents::AgentRegistry;
use lapidary::gemini::json_schema::JsonSchema;
use lapidary::gemini::setup::Setup;
use lapidary::gemini::{GeminiHome, Vars};
use lapidary::normalize::views::result::ResultFold;
use lapidary::standin::api::{Script, Turn};
use lapidary_testkit::raw_server::{
    RawRequest, RawServer, RawStep, answer, event, event_stream, json as json_answer,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const SECRET: &str = "sekrit-token-4711";

struct Played {
    home: TempDir,
    events: Vec<Value>,
    result: Value,
    requests: Vec<Value>,
}

/// A server with a card for itself, whose requests `script` answers.
fn server(script: impl Fn(&RawRequest) -> Vec<RawStep> + Send + Sync + 'static) -> RawServer {
    RawServer::start(move |request| {
        if !request.line.starts_with("GET /card.json") {
            return script(request);
        }
        let host = request
            .head
            .lines()
            .find_map(|line| line.strip_prefix("host: "));
        let url = format!("http://{}/rpc", host.unwrap());
        json_answer(&json!({
            "name": "Far", "description": "Works far away.", "protocolVersion": "0.3.0", "url": url,
            "capabilities": {"streaming": true}, "skills": [{"id": "g", "name": "Greet"}],
        }))
    })
}

fn updates(updates: &[Value]) -> Vec<RawStep> {
    let mut steps = vec![event_stream()];
    let result = |update| event(&json!({"jsonrpc": "2.0", "id": 1, "result": update}));
    steps.extend(updates.iter().map(result));
    steps
}

fn status(state: &str, words: &str) -> Value {
    let message =
        json!({"kind": "message", "role": "agent", "parts": [{"kind": "text", "text": words}]});
    json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": state, "message": message}})
}

fn job(prompt: &str, definition: &str) -> (TempDir, Job) {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("project");
    fs::create_dir(&directory).unwrap();
    let agents = home.path().join(".gemini/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("far.md"), definition).unwrap();
    let records = RecordingOptions::below(home.path().join("runs"));
    let vars = [
        ("GEMINI_CLI_HOME".into(), home.path().into()),
        ("AGENT_TOKEN".into(), SECRET.into()),
    ];
    let mut host = RunHost::new(vars, &directory, Supervisor::at("/bin/false"), records);
    host.vault = None;
    let prompt = PromptText::Text(prompt.to_owned());
    let job = Job::gemini(&host, Config::default(), prompt, "r");
    (home, job)
}

fn definition(url: &str, auth: &str) -> String {
    format!("---\nkind: remote\nname: far\ndescription: Mine.\nagent_card_url: {url}\n{auth}---\n")
}

fn bearer() -> &'static str {
    "auth:\n  type: http\n  scheme: Bearer\n  token: $AGENT_TOKEN\n"
}

/// Runs an agent; `rule` allows actions.
fn play(agent: &str, definition: &str, script: Script, rule: Option<&str>) -> Played {
    play_job(agent, definition, script, |job| {
        let directory = job.environment.dir.clone();
        let rule =
            rule.map(|it| Rule::parse_flag(PermissionEffect::Allow, it, &directory).unwrap());
        job.speaking.rules = Rules::new(rule);
    })
}

/// Runs an agent in a job that `change` changes.
fn play_job(
    agent: &str,
    definition: &str,
    script: Script,
    change: impl FnOnce(&mut Job),
) -> Played {
    let (home, mut job) = job("Say hello.", definition);
    let catalog = Arc::new(AgentCatalog::read(&job).unwrap());
    let model = ScriptedModel::new(script);
    let task = catalog.task_with_model(&job, &TaskRequest::new(agent), Arc::new(model.clone()));
    job.agent = task.unwrap().into_agent();
    change(&mut job);
    let mut run = job.start();
    let (mut fold, mut events) = (ResultFold::default(), Vec::new());
    while let Some(event) = run.blocking_next() {
        fold.push(&event);
        events.push(serde_json::from_str(&event.to_json()).unwrap());
    }
    Played {
        home,
        events,
        result: serde_json::to_value(fold.finish(false)).unwrap(),
        requests: model.requests().into_iter().map(|it| it.body).collect(),
    }
}

fn play_far(server: &RawServer, auth: &str) -> Played {
    let definition = definition(&server.url("/card.json"), auth);
    play("far", &definition, Script::new(), None)
}

fn events_of<'a>(played: &'a Played, kind: &str) -> Vec<&'a Value> {
    let events = played.events.iter();
    events.filter(|event| event["event"] == kind).collect()
}

#[test]
fn a_remote_agent_is_the_agent_of_a_run_and_its_text_streams() {
    let artifact = json!({"kind": "artifact-update", "taskId": "t", "contextId": "c",
        "artifact": {"artifactId": "a", "name": "out.txt", "parts": [{"kind": "text", "text": "Hello"}]}});
    let server = server(move |_| {
        updates(&[
            status("working", "thinking"),
            artifact.clone(),
            status("completed", "Done."),
        ])
    });
    let played = play_far(&server, "");
    let result = &played.result;
    assert_eq!(result["success"], true, "{result:#}");
    assert_eq!(
        result["response"],
        "thinking\n\nArtifact (out.txt):\nHello\n\nDone."
    );
    assert_eq!(
        result["output"],
        "thinkingDone.\n\nArtifact (out.txt):\nHello"
    );
    assert_eq!(result["terminateReason"], "GOAL");
    let end = played.events.last().unwrap();
    assert_eq!(
        (&end["event"], &end["cause"]),
        (&json!("run_end"), &json!("end_turn"))
    );
    let sent: Value = serde_json::from_str(&server.requests()[1].body).unwrap();
    assert_eq!(sent["params"]["message"]["parts"][0]["text"], "Say hello.");
}

#[test]
fn each_failure_of_a_remote_agent_has_its_cause_and_exit_code() {
    let elsewhere = RawServer::start(|_| vec![]);
    let foreign = json!({"name": "x", "url": elsewhere.url("/"), "protocolVersion": "0.3.0"});
    let cases: Vec<(RawServer, &str, &str, i64)> = vec![
        (
            server(|_| answer(401, "text/plain", "")),
            "",
            "auth_required",
            11,
        ),
        (
            server(|_| updates(&[status("failed", "No.")])),
            "",
            "api_error",
            1,
        ),
        (
            server(|_| updates(&[status("rejected", "No.")])),
            "",
            "refusal",
            18,
        ),
        (
            server(|_| updates(&[status("auth-required", "Log in.")])),
            "",
            "auth_required",
            11,
        ),
        (server(|_| vec![event_stream()]), "", "protocol_error", 15),
        (
            RawServer::start(|_| answer(200, "text/html", "<p>")),
            "",
            "bad_config",
            13,
        ),
        (
            RawServer::start(move |_| json_answer(&foreign)),
            bearer(),
            "bad_config",
            13,
        ),
    ];
    for (server, auth, cause, code) in cases {
        let played = play_far(&server, auth);
        let end = played.events.last().unwrap();
        assert_eq!(end["cause"], cause, "{end:#}");
        assert_eq!(end["exitCode"], code, "{end:#}");
        assert_eq!(played.result["success"], false);
        let hint = end["hint"].as_str().unwrap_or_default();
        if cause == "bad_config" {
            assert!(hint.contains("agent_card_"), "the agent file: {end:#}");
        }
    }
    assert_eq!(elsewhere.connections(), 0);
}

fn calling() -> Script {
    let call = json!({"agent_name": "far", "prompt": "Greet me."});
    Script::new()
        .stream(Turn::call("invoke_agent", call))
        .stream(Turn::call(
            "complete_task",
            json!({"result": {"response": "Done."}}),
        ))
}

#[test]
fn an_agent_calls_a_remote_one_and_its_events_are_those_of_a_sub_agent() {
    let server = server(|_| updates(&[status("completed", "Hello.")]));
    let definition = definition(&server.url("/card.json"), "");
    let played = play(
        "generalist",
        &definition,
        calling(),
        Some("fetch:127.0.0.1"),
    );
    let [spawned] = events_of(&played, "subagent_spawn")[..] else {
        panic!("{:#?}", played.events);
    };
    assert_eq!(
        (&spawned["agentType"], &spawned["description"]),
        (&json!("far"), &json!("Greet me."))
    );
    let [ended] = events_of(&played, "subagent_complete")[..] else {
        panic!("{:#?}", played.events);
    };
    assert_eq!(
        (&ended["status"], &ended["summary"]),
        (&json!("GOAL"), &json!("Hello."))
    );
    let words = played
        .events
        .iter()
        .filter(|event| event["parentCallId"] == spawned["callId"]);
    let words: String = words.map(ToString::to_string).collect();
    assert!(words.contains("Hello."), "{words}");
    let told = played.requests[1].to_string();
    let expected = r#""response":{"output":"Hello."}"#;
    assert!(told.contains(expected), "{told}");
    let declared = played.requests[0].to_string();
    assert!(
        declared.contains("`far`: Mine."),
        "it is listed without its card"
    );
}

#[test]
fn a_call_of_a_remote_agent_without_permission_sends_nothing() {
    let server = server(|_| updates(&[status("completed", "Hello.")]));
    let definition = definition(&server.url("/card.json"), "");
    let played = play("generalist", &definition, calling(), None);
    assert_eq!(server.connections(), 0);
    assert!(
        played.requests[1]
            .to_string()
            .contains("User rejected this operation.")
    );
}

#[test]
fn a_hundred_remote_agents_are_listed_without_a_connection() {
    let server = RawServer::start(|_| vec![]);
    let one = |number: usize| {
        let url = server.url(&format!("/{number}/card.json"));
        format!("- kind: remote\n  name: far-{number}\n  description: D\n  agent_card_url: {url}\n")
    };
    let list: String = (0..100).map(one).collect();
    let (_home, job) = job("x", &format!("---\n{list}---\n"));
    let catalog = AgentCatalog::read(&job).unwrap();
    let names = catalog.descriptions();
    let remote = names.iter().filter(|(name, _)| name.starts_with("far-"));
    assert_eq!(remote.count(), 100);
    assert_eq!(server.connections(), 0);
}

/// The findings of `agents check --online` about a definition: severity and sentence, and the hint.
fn online_findings(definition: &str) -> Vec<(String, String)> {
    let (home, job) = job("x", definition);
    let variables = job.environment.vars.clone();
    let gemini = GeminiHome::at(home.path());
    let directory = home.path().join("project");
    let setup = Setup::read(&gemini, &directory, Vars::new(&variables));
    let registry = AgentRegistry::load(&setup, "m");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let check = check_online(&registry, &variables, &directory);
    let findings = runtime.block_on(check).unwrap().into_iter();
    let shown = findings.map(|it| {
        let sentence = format!("{:?}: {}", it.severity, it.sentence);
        (sentence, it.hint.unwrap_or_default())
    });
    shown.collect()
}

fn only_finding(server: &RawServer, path: &str, auth: &str) -> (String, String) {
    let definition = definition(&server.url(path), auth);
    let findings = online_findings(&definition);
    let [only] = &findings[..] else {
        panic!("{findings:#?}");
    };
    only.clone()
}

#[test]
fn a_check_online_says_what_a_card_offers_and_whether_credentials_are_missing() {
    let honest = server(|_| answer(500, "text/plain", ""));
    let (found, _) = only_finding(&honest, "/card.json", "");
    let url = honest.url("/rpc");
    assert_eq!(
        found,
        format!(
            "Note: agent `far`: its card is `Far` without a version: A2A 0.3 over JSONRPC at {url}, streams"
        )
    );
    let requests = honest.requests();
    assert_eq!(requests.len(), 1, "no task is begun: {requests:?}");
    let locked = RawServer::start(|request| {
        let host = request
            .head
            .lines()
            .find_map(|line| line.strip_prefix("host: "));
        let url = format!("http://{}/rpc", host.unwrap());
        let interface =
            json!({"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
        json_answer(&json!({
            "name": "Locked", "version": "2", "supportedInterfaces": [interface],
            "securitySchemes": {"company": {"type": "http", "scheme": "bearer"}},
        }))
    });
    let found = online_findings(&definition(&locked.url("/card.json"), ""));
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].0.contains("A2A 1.0 over HTTP+JSON"), "{found:#?}");
    assert!(
        found[1]
            .0
            .starts_with("Warning: agent `far` requires authentication: company (http)"),
        "{found:#?}"
    );
    assert!(found[1].1.starts_with("add `auth`"), "{found:#?}");
    let with_auth = online_findings(&definition(&locked.url("/card.json"), bearer()));
    assert_eq!(with_auth.len(), 1, "{with_auth:#?}");
}

#[test]
fn a_check_online_names_the_reason_and_the_next_step_for_each_card_that_fails() {
    let page = RawServer::start(|_| answer(200, "text/html", "<p>log in</p>"));
    let (found, hint) = only_finding(&page, "/card.json", "");
    assert!(
        found.ends_with("is not an agent card: the server answers with a web page"),
        "{found}"
    );
    assert!(hint.contains("check `agent_card_url`"), "{hint}");
    let future = json!({"name": "x", "supportedInterfaces": [
        {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "9.0"}]});
    let future = RawServer::start(move |_| json_answer(&future));
    let (found, hint) = only_finding(&future, "/card.json", "");
    assert!(
        found.ends_with("offers no interface that Lapidary speaks, only JSONRPC 9.0"),
        "{found}"
    );
    assert!(hint.contains("A2A 0.3 or 1.0"), "{hint}");
    let refusing = RawServer::start(|_| answer(403, "text/plain", SECRET));
    let (found, hint) = only_finding(&refusing, "/card.json", bearer());
    assert!(
        found.ends_with("refuses to show the agent card (403)"),
        "{found}"
    );
    assert!(hint.contains("check `auth`"), "{hint}");
    let nothing = online_findings(&definition("http://127.0.0.1:1/card.json", bearer()));
    assert_eq!(nothing.len(), 1, "{nothing:#?}");
    assert!(
        nothing[0]
            .0
            .starts_with("Error: agent `far`: cannot fetch the agent card http://127.0.0.1:1/"),
        "{nothing:#?}"
    );
    assert!(nothing[0].1.contains("HTTPS_PROXY"), "{nothing:#?}");
    let shown = format!("{found}{hint}{nothing:?}");
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn a_check_online_finds_the_card_at_its_well_known_place() {
    let elsewhere = RawServer::start(|request| {
        if request
            .line
            .starts_with("GET /.well-known/agent-card.json ")
        {
            return json_answer(&json!({"name": "x", "url": "http://127.0.0.1:1/"}));
        }
        answer(404, "text/plain", "")
    });
    let (found, hint) = only_finding(&elsewhere, "/agent", "");
    assert!(
        found.starts_with("Error: agent `far`: there is no agent card"),
        "{found}"
    );
    let better = elsewhere.url("/.well-known/agent-card.json");
    assert_eq!(hint, format!("there is a card at {better}"));
}

/// Runs the remote agent with an output schema.
fn play_with_schema(server: &RawServer) -> Played {
    let schema =
        r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#;
    let schema = OutputSchema::new(JsonSchema::parse(schema).unwrap()).with_repairs(1);
    let definition = definition(&server.url("/card.json"), "");
    play_job("far", &definition, Script::new(), |job| {
        job.output_schema = Some(schema);
    })
}

/// The texts of the prompts that a server got.
fn prompts_of(server: &RawServer) -> Vec<String> {
    let bodies = server.requests().into_iter();
    let bodies = bodies.filter_map(|request| serde_json::from_str::<Value>(&request.body).ok());
    let parts = bodies.map(|body| body["params"]["message"]["parts"][0]["text"].clone());
    parts
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn data_of_a_remote_agent_fits_the_output_schema() {
    let server = server(|request| {
        let is_repair = request.body.contains("does not fit the JSON Schema");
        let data = if is_repair {
            json!({"n": 2})
        } else {
            json!({"n": "two"})
        };
        let artifact = json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "artifact":
            {"artifactId": "a", "name": "out", "parts": [{"kind": "data", "data": data}]}});
        updates(&[
            status("working", "counting"),
            artifact,
            status("completed", ""),
        ])
    });
    let played = play_with_schema(&server);
    let result = &played.result;
    assert_eq!(result["success"], true, "{result:#}");
    assert_eq!(
        (&result["data"], &result["dataSource"]),
        (&json!({"n": 2}), &json!("text"))
    );
    let prompts = prompts_of(&server);
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert!(prompts[0].starts_with("Say hello."), "{prompts:#?}");
    assert!(prompts[0].contains(r#""required":["n"]"#), "{prompts:#?}");
}

#[test]
fn a_remote_agent_whose_answer_never_fits_the_output_schema_fails_with_19() {
    let server = server(|_| updates(&[status("completed", "There are two.")]));
    let played = play_with_schema(&server);
    let end = played.events.last().unwrap();
    assert_eq!(
        (&end["cause"], &end["exitCode"]),
        (&json!("schema_mismatch"), &json!(19)),
        "{end:#}"
    );
    assert_eq!(played.result["data"], Value::Null);
    assert_eq!(prompts_of(&server).len(), 2, "it was repaired once");
}

#[test]
fn credentials_are_in_no_file_and_no_event_of_a_run_even_if_the_server_repeats_them() {
    let echo = |request: &RawRequest| {
        let words = format!("you sent {}", request.head);
        updates(&[status("working", &words), status("failed", &words)])
    };
    let server = server(echo);
    let played = play_far(&server, bearer());
    let sent = server
        .requests()
        .iter()
        .any(|request| request.head.contains(SECRET));
    assert!(sent, "the server has them");
    assert!(!format!("{:?}", played.events).contains(SECRET));
    assert!(!played.result.to_string().contains(SECRET));
    assert_eq!(files_with(played.home.path(), SECRET), Vec::<String>::new());
    let mine = fs::read("/proc/self/environ").unwrap_or_default();
    assert!(!String::from_utf8_lossy(&mine).contains(SECRET));
}

/// The files below a directory that hold a text.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            let is_in = bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes());
            found.extend(is_in.then(|| path.display().to_string()));
        }
    }
    found
}
