//! `/acp`: agents for clients that speak ACP over a WebSocket.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

use lapidary_standin::api::{FakeApi, Script, Turn};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld, peers};
use serde_json::{Value, json};

use super::http::{TestServer, command_in};
use crate::support::{output, program, root};

/// Adds an agent to the user's configuration that is another server's, with the token in its file.
fn configure(server: &TestServer, url: &str) {
    let directory = server.home().join(".config/lapidary");
    fs::create_dir_all(&directory).unwrap();
    let token = server.home().join(".local/state/lapidary/serve/token");
    let text = format!(
        "[agents.far]\nurl = '{url}'\ntoken_file = '{}'\n",
        token.display()
    );
    fs::write(directory.join("lapidary.toml"), text).unwrap();
}

/// Runs our own client against the server.
fn run_far(server: &TestServer, args: &[&str]) -> Vec<Value> {
    // The demo works in a directory of its own, which is not the client's.
    let common = "run --agent far --format events --on-violation report hello";
    let args: Vec<_> = common.split(' ').chain(args.iter().copied()).collect();
    let mut command = command_in(server.home(), server.project(), &args);
    let authority = root().join("crates/native/tests/certificates/authority.pem");
    command.env("NODE_EXTRA_CA_CERTS", authority);
    let ran = output(command, b"");
    let text = String::from_utf8(ran.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(super) fn text_of(events: &[Value]) -> String {
    let deltas = events
        .iter()
        .filter_map(|event| event["textDelta"].as_str());
    deltas.collect()
}

pub(super) fn end_of(events: &[Value]) -> &Value {
    let end = events.last().unwrap();
    assert_eq!(end["event"], "run_end");
    end
}

/// The one run of the server, with its id.
fn served_run(server: &TestServer, except: &Value) -> Value {
    loop {
        let runs = server.get("/api/v1/runs").json();
        let mut runs = runs["runs"].as_array().unwrap().iter();
        let run = runs.find(|run| run["id"] != *except).unwrap().clone();
        // It ends when its client has hung up.
        if run["state"] != "running" {
            return run;
        }
        std::thread::yield_now();
    }
}

#[test]
fn our_own_client_talks_to_an_agent_behind_a_server_and_both_sides_record_it() {
    let server = TestServer::start(&[]);
    configure(&server, &format!("ws://{}/acp?agent=demo", server.host));
    // The rules of both sides hold: the client allows the edit that the server asks about.
    let events = run_far(&server, &["--allow", "edit"]);
    let end = end_of(&events);
    assert_eq!(end["outcome"], "completed", "{end}");
    assert!(text_of(&events).contains("This is a demo."));
    let edited = events
        .iter()
        .find(|event| event["event"] == "permission_decision")
        .unwrap();
    assert_eq!(edited["decision"], "allowed", "{edited}");
    let own = end["id"].as_str().unwrap().rsplit_once('-').unwrap().0;
    let recorded = served_run(&server, &json!(own));
    assert_eq!(recorded["outcome"], "completed", "{recorded}");
    assert_eq!(recorded["prompt"], "hello", "{recorded}");
    let log = server.home().join(".local/state/lapidary/serve/access.log");
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("\"path\":\"/acp\",\"status\":101"), "{log}");
    assert!(log.contains(" session/prompt\""), "{log}");
}

#[test]
fn a_denial_of_the_client_reaches_the_agent() {
    let server = TestServer::start(&[]);
    configure(&server, &format!("ws://{}/acp?agent=demo", server.host));
    let events = run_far(&server, &["--deny", "edit"]);
    let own = events[0]["id"]
        .as_str()
        .unwrap()
        .rsplit_once('-')
        .unwrap()
        .0;
    let recorded = served_run(&server, &json!(own));
    let path = format!("/api/v1/runs/{}/events", recorded["id"].as_str().unwrap());
    let events = String::from_utf8(server.get(&path).body).unwrap();
    let decision = events
        .lines()
        .find(|line| line.contains("\"permission_decision\""));
    assert!(
        decision.unwrap().contains("\"decision\":\"denied\""),
        "{decision:?}"
    );
}

#[test]
fn a_server_with_a_certificate_speaks_tls_beyond_this_machine() {
    let certificates = root().join("crates/native/tests/certificates");
    let (certificate, key) = (
        certificates.join("server.pem"),
        certificates.join("server.key"),
    );
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    fs::create_dir(&project).unwrap();
    let args = ["--tls-cert", certificate, "--tls-key", key];
    let server = TestServer::start_at(home.path().to_owned(), project, "0.0.0.0:0", &args);
    assert!(server.host.starts_with("localhost:"), "{}", server.host);
    configure(&server, &format!("wss://{}/acp?agent=demo", server.host));
    let events = run_far(&server, &["--allow", "edit"]);
    assert_eq!(
        end_of(&events)["outcome"],
        "completed",
        "{:?}",
        end_of(&events)
    );
    // Another name than those of the certificate is refused before the token is looked at.
    let port = server.host.rsplit_once(':').unwrap().1;
    configure(&server, &format!("wss://127.0.0.1:{port}/acp?agent=demo"));
    let events = run_far(&server, &[]);
    assert_ne!(end_of(&events)["outcome"], "completed");
}

#[test]
fn a_client_of_acp_gets_no_more_than_the_server_allows() {
    let server = TestServer::start(&[]);
    let token = format!("Bearer {}", server.token);
    let with_token = ("authorization", token.as_str());
    let upgrade = [
        ("connection", "Upgrade, close"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let with = |extra: &[(&'static str, &'static str)], path: &str, has_token: bool| {
        let mut headers: Vec<(&str, &str)> = upgrade.to_vec();
        headers.extend(extra);
        headers.extend(has_token.then_some(with_token));
        server.send_keeping(path, &headers).status
    };
    assert_eq!(with(&[], "/acp?agent=demo", false), 401);
    assert_eq!(
        with(
            &[("origin", "http://evil.example")],
            "/acp?agent=demo",
            true
        ),
        403
    );
    assert_eq!(
        with(&[("sec-fetch-site", "cross-site")], "/acp?agent=demo", true),
        403
    );
    assert_eq!(
        with(&[("host", "rebound.example")], "/acp?agent=demo", true),
        421
    );
    assert_eq!(with(&[], "/acp?agent=sh%20-c%20true", true), 403);
    assert_eq!(with(&[], "/acp?agent=demo&cwd=/", true), 403);
    assert_eq!(
        with(
            &[],
            "/acp?agent=demo&permissionMode=bypassPermissions",
            true
        ),
        403
    );
    assert_eq!(with(&[], "/acp?agent=demo&surprise=1", true), 400);
    let plain = server.get("/acp?agent=demo");
    assert_eq!(plain.status, 426, "{plain:?}");
    assert!(plain.json()["hint"].as_str().unwrap().contains("ws://"));
    let runs = server.get("/api/v1/runs").json();
    assert_eq!(runs["runs"], json!([]), "no agent was started");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_official_client_talks_to_the_real_gemini_cli_through_the_server() {
    let gemini = RealGemini::new();
    let (home, project) = (gemini.world.home(), gemini.world.project());
    let server = TestServer::start_in_environment(&home, &project, &gemini.environment());
    let mut client = gemini.client(&format!("ws://{}/acp?agent=real", server.host));
    client.env("TOKEN", &server.token);
    check_told(client);
    // The run ends when its client has hung up.
    let run = served_run(&server, &Value::Null);
    assert_eq!(run["outcome"], "completed", "{run}");
    let path = format!("/api/v1/runs/{}/events", run["id"].as_str().unwrap());
    check_decision(&String::from_utf8(server.get(&path).body).unwrap());
}

/// Gemini CLI, which makes a file by a command, as the agent `real`.
pub(super) struct RealGemini {
    pub(super) world: GeminiWorld,
    api: FakeApi,
}

impl RealGemini {
    pub(super) fn new() -> Self {
        let call = json!({"command": "printf made > made.txt"});
        let turn = Turn::text("I will make it.").and_call("run_shell_command", call);
        let script = Script::new().stream(turn).stream("There it is.");
        let world = GeminiWorld::new();
        let config = world.home().join(".config/lapidary");
        fs::create_dir_all(&config).unwrap();
        let gemini = GeminiVersion::V0_61_0.program();
        let agent = format!(
            "[agents.real]\ncommand = ['{}', '--acp']\nfamily = 'gemini'\n",
            gemini.display()
        );
        fs::write(config.join("lapidary.toml"), agent).unwrap();
        let api = FakeApi::start_in_thread(script).unwrap();
        Self { world, api }
    }

    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        self.world.environment(&self.api.base_url())
    }

    /// The official client of an agent at an address, or behind a command.
    pub(super) fn client(&self, target: &str) -> Command {
        let mut client = program("node");
        client
            .arg(root().join("peers/remote/client.mjs"))
            .arg(peers())
            .arg(target)
            .arg(self.world.project())
            .arg("make a file");
        client
    }
}

/// Runs the official client, and checks what the agent told it.
pub(super) fn check_told(client: Command) -> Value {
    let told = output(client, b"");
    let stderr = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{stderr}");
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["stopReason"], "end_turn", "{told}");
    assert_eq!(told["text"], "I will make it.There it is.", "{told}");
    assert_eq!(told["permissions"], 1, "{told}");
    told
}

/// Checks that the client has allowed the command.
pub(super) fn check_decision(events: &str) {
    let decision = events
        .lines()
        .find(|line| line.contains("\"permission_decision\""));
    let decision: Value = serde_json::from_str(decision.unwrap()).unwrap();
    assert_eq!(decision["decision"], "allowed", "{decision}");
    assert_eq!(decision["decidedBy"], "peer", "{decision}");
}
