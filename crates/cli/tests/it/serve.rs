//! `lapidary serve` as its clients meet it: over real connections, with the demo as the agent.

mod acp;
mod browser;
mod fleet;
mod http;
mod lifecycle;
mod limits;
mod openapi;
mod security;
mod stdio;
mod streams;

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use self::http::{HttpReply, TestServer};
use self::streams::{configure_test_agent, started};
use crate::support::{lapidary, output};

const JSON: (&str, &str) = ("content-type", "application/json");
const SSE: (&str, &str) = ("accept", "text/event-stream");

/// Starts the demo, and waits until it asks for its one permission. Returns the ids of the run and of the request.
fn asked(server: &TestServer) -> (String, String) {
    let body = json!({"prompt": "hello", "agent": "demo"});
    let started = server.post("/api/v1/runs", &body);
    assert_eq!(started.status, 201, "{started:?}");
    let run = started.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(
        started.header("location"),
        Some(&*format!("/api/v1/runs/{run}"))
    );
    let mut stream = server.open(&format!("/api/v1/runs/{run}/events"), &[SSE]);
    stream.read_until("\"event\":\"permission_request\"");
    // The table of prompts is filled by another task than the one that sends events.
    let request = loop {
        let open = server.get("/api/v1/permissions").json();
        if let Some(open) = open["permissions"].as_array().unwrap().first() {
            assert_eq!(open["runId"], *run);
            assert!(open["html"].as_str().unwrap().contains("greet.sh"));
            break open["request"]["requestId"].as_str().unwrap().to_owned();
        }
        std::thread::yield_now();
    };
    (run, request)
}

/// Allows the demo's request, and returns the whole stream of the run.
fn completed(server: &TestServer) -> (String, HttpReply) {
    let (run, request) = asked(server);
    let path = format!("/api/v1/runs/{run}/permissions/{request}");
    let answered = server.post(&path, &json!({"allowed": true}));
    assert_eq!(answered.status, 200, "{answered:?}");
    let whole = server.get_with(&format!("/api/v1/runs/{run}/events"), &[SSE]);
    (run, whole)
}

/// The ids of server-sent events, and the text behind the last whole one.
fn event_ids(stream: &str) -> Vec<u64> {
    let whole = stream.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    let ids = whole
        .split("\n\n")
        .filter_map(|event| event.lines().find_map(|line| line.strip_prefix("id: ")));
    ids.map(|id| id.parse().unwrap()).collect()
}

/// A path, headers, and the status of the response.
type RequestCase<'a> = (&'a str, Vec<(&'a str, &'a str)>, u16);

#[test]
fn a_request_needs_the_token_and_comes_from_our_own_page() {
    let server = TestServer::start(&[]);
    let token = format!("Bearer {}", server.token);
    let own = format!("http://{}", server.host);
    let with_token = ("authorization", token.as_str());
    let runs = "/api/v1/runs";
    let cases: Vec<RequestCase<'_>> = vec![
        (runs, vec![], 401),
        (runs, vec![("authorization", "Bearer 0000")], 401),
        (runs, vec![("authorization", &server.token)], 401),
        (runs, vec![with_token], 200),
        (runs, vec![with_token, ("host", "rebound.example")], 421),
        (runs, vec![with_token, ("host", "127.0.0.1")], 421),
        (
            runs,
            vec![
                with_token,
                ("host", &server.host),
                ("host", "rebound.example"),
            ],
            421,
        ),
        ("http://rebound.example/api/v1/runs", vec![with_token], 421),
        (
            runs,
            vec![with_token, ("origin", "http://evil.example")],
            403,
        ),
        (runs, vec![with_token, ("origin", "null")], 403),
        (runs, vec![with_token, ("origin", &own)], 200),
        (
            runs,
            vec![with_token, ("sec-fetch-site", "cross-site")],
            403,
        ),
        (runs, vec![with_token, ("sec-fetch-site", "same-site")], 403),
        (
            runs,
            vec![
                with_token,
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
            ],
            403,
        ),
        ("/", vec![], 200),
        ("/", vec![("host", "rebound.example")], 421),
        (
            "/",
            vec![
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
            ],
            200,
        ),
        (
            "/app.js",
            vec![
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
            403,
        ),
        (
            "/app.js",
            vec![
                ("sec-fetch-site", "same-origin"),
                ("sec-fetch-mode", "cors"),
            ],
            200,
        ),
        ("/nothing", vec![], 401),
        ("/nothing", vec![with_token], 404),
    ];
    for (path, headers, status) in cases {
        let reply = server.send("GET", path, &headers, b"");
        assert_eq!(reply.status, status, "{path} {headers:?}: {reply:?}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.contains("require-trusted-types-for 'script'"),
            "{policy}"
        );
        let cors = reply
            .headers
            .iter()
            .find(|(name, _)| name.starts_with("access-control"));
        assert_eq!(cors, None);
        assert_eq!(reply.header("set-cookie"), None);
    }
    let preflight = [
        ("origin", "http://evil.example"),
        ("access-control-request-method", "POST"),
    ];
    assert_eq!(server.send("OPTIONS", runs, &preflight, b"").status, 403);
}

#[test]
fn a_permission_is_decided_once_and_later_answers_say_by_whom() {
    let server = TestServer::start(&[]);
    let (run, request) = asked(&server);
    let path = format!("/api/v1/runs/{run}/permissions/{request}");
    let unknown = format!("/api/v1/runs/{run}/permissions/77");
    assert_eq!(server.post(&unknown, &json!({"allowed": true})).status, 404);
    assert_eq!(server.post(&path, &json!({"allow": true})).status, 400);
    // An answer that does not fit is refused at once, and the request still waits.
    let unfit = server.post(
        &path,
        &json!({"allowed": true, "updatedInput": {"optionId": "nope"}}),
    );
    assert_eq!(unfit.status, 422, "{unfit:?}");
    let commands = format!("/api/v1/runs/{run}/commands");
    let own = server.post(
        &commands,
        &json!({"command": "list_sessions", "id": "prompt"}),
    );
    assert_eq!(own.status, 409, "{own:?}");
    let late = server.get(&format!(
        "/api/v1/runs/{run}/events?after={}&format=result",
        u64::MAX
    ));
    assert_ne!(late.status, 500, "{late:?}");
    let decided = server.post(&path, &json!({"allowed": false, "message": "not today"}));
    assert_eq!(decided.status, 200, "{decided:?}");
    assert_eq!(decided.json()["event"], "permission_decision");
    assert_eq!(decided.json()["decision"], "denied");
    let late = server.post(&path, &json!({"allowed": true}));
    assert_eq!(late.status, 409, "{late:?}");
    assert_eq!(late.json()["decision"]["decision"], "denied");
    assert_eq!(late.json()["decision"]["decidedBy"], "peer");
    assert_eq!(
        late.header("content-type"),
        Some("application/problem+json")
    );
}

#[test]
fn an_answer_to_a_request_that_the_agent_has_withdrawn_is_gone() {
    let server = TestServer::start(&[]);
    configure_test_agent(&server);
    let sign = server.project().join("sign");
    let body = json!({"prompt": "drop edit sign 7; wait never", "agent": "test"});
    let run = started(&server, &body);
    let mut stream = server.open(&format!("/api/v1/runs/{run}/events"), &[SSE]);
    stream.read_until("\"event\":\"permission_request\"");
    fs::write(sign, "").unwrap();
    stream.read_until("\"event\":\"permission_decision\"");
    let path = format!("/api/v1/runs/{run}/permissions/7");
    // The table of prompts is filled by another task than the one that sends events.
    let late = loop {
        let late = server.post(&path, &json!({"allowed": true}));
        if late.status != 404 {
            break late;
        }
        std::thread::yield_now();
    };
    assert_eq!(late.status, 410, "{late:?}");
    assert!(late.json()["hint"].as_str().unwrap().contains("ended"));
}

#[test]
fn a_command_is_answered_with_its_result() {
    let server = TestServer::start(&[]);
    configure_test_agent(&server);
    let body = json!({"prompt": "say one", "agent": "test", "conversation": true});
    let run = started(&server, &body);
    let commands = format!("/api/v1/runs/{run}/commands");
    let said = server.post(
        &commands,
        &json!({"command": "send_message", "id": "mine", "text": "say two"}),
    );
    assert_eq!(said.status, 200, "{said:?}");
    let result = said.json();
    assert_eq!(result["event"], "command_result");
    assert_eq!(result["commandId"], "mine");
    assert_ne!(result["isError"], true, "{result}");
    let events = format!("/api/v1/runs/{run}/events");
    let mut stream = server.open(&events, &[SSE]);
    stream.read_until("\"textDelta\":\"two\"");
    let unknown = server
        .post(&commands, &json!({"command": "nonsense"}))
        .json();
    assert_eq!(unknown["isError"], true, "{unknown}");
    assert_eq!(
        server
            .post(&format!("/api/v1/runs/{run}/close"), &json!({}))
            .status,
        202
    );
    assert!(stream.rest().contains("\"outcome\":\"completed\""));
    assert_eq!(
        server
            .post(&commands, &json!({"command": "interrupt"}))
            .status,
        409
    );
}

#[test]
fn pages_of_a_list_are_the_list() {
    let server = TestServer::start(&[]);
    for _ in 0..3 {
        completed(&server);
    }
    // The state is written a moment after the last event.
    while server
        .command(&["runs", "list", "--format", "json"])
        .contains("\"running\"")
    {
        std::thread::yield_now();
    }
    for (path, name) in [("/api/v1/runs", "runs"), ("/api/v1/sessions", "sessions")] {
        let ids = |list: &Value| -> Vec<String> {
            let entries = list[name].as_array().unwrap().iter();
            entries
                .map(|it| it["id"].as_str().unwrap().to_owned())
                .collect()
        };
        let mut whole = ids(&server.get(path).json());
        assert_eq!(whole.len(), 3);
        let mut paged = Vec::new();
        let mut next = format!("{path}?limit=1");
        loop {
            let page = server.get(&next).json();
            assert_eq!(ids(&page).len(), 1, "{page}");
            paged.extend(ids(&page));
            let Some(cursor) = page["nextCursor"].as_str() else {
                break;
            };
            next = format!("{path}?limit=1&cursor={cursor}");
        }
        // `sessions list` prints the oldest first, and pages begin with the newest.
        whole.sort();
        paged.sort();
        assert_eq!(paged, whole, "{path}");
    }
    assert_eq!(server.get("/api/v1/sessions?cursor=nonsense").status, 400);
}

#[test]
fn a_stream_that_is_cut_anywhere_goes_on_with_the_next_event() {
    let server = TestServer::start(&[]);
    let (run, whole) = completed(&server);
    let text = String::from_utf8(whole.body).unwrap();
    let ids = event_ids(&text);
    let expected: Vec<u64> = (0..ids.len() as u64).collect();
    assert_eq!(ids, expected);
    assert!(
        text.trim_end()
            .lines()
            .last()
            .unwrap()
            .contains("\"event\":\"run_end\"")
    );
    let path = format!("/api/v1/runs/{run}/events");
    for cut in (0..text.len()).step_by(text.len() / 60) {
        let Some(head) = text.get(..cut) else {
            continue;
        };
        let mut got = event_ids(head);
        let last = got.last().map(u64::to_string);
        let resume = last.as_deref().map(|last| ("last-event-id", last));
        let headers: Vec<_> = [SSE].into_iter().chain(resume).collect();
        let rest = server.get_with(&path, &headers);
        got.extend(event_ids(&String::from_utf8(rest.body).unwrap()));
        assert_eq!(got, expected, "cut at {cut}");
    }
    // The same events as those of the command, live and from the recording.
    let lines = server.get(&path).body;
    let shown = server.command(&["runs", "show", &run, "--format", "events"]);
    assert_eq!(String::from_utf8(lines).unwrap(), shown);
}

#[test]
fn a_client_narrows_the_policy_of_the_server_and_never_widens_it() {
    let server = TestServer::start(&["--permission-mode", "acceptEdits"]);
    std::os::unix::fs::symlink("/", server.project().join("out")).unwrap();
    let start = |body: Value| server.post("/api/v1/runs", &body).status;
    assert_eq!(
        start(json!({"prompt": "x", "agent": "demo", "permissionMode": "bypassPermissions"})),
        403
    );
    assert_eq!(
        start(json!({"prompt": "x", "agent": "demo", "rules": {"allow": ["execute"]}})),
        400
    );
    assert_eq!(
        start(json!({"prompt": "x", "agent": "demo", "cwd": "/"})),
        403
    );
    assert_eq!(
        start(json!({"prompt": "x", "agent": "demo", "cwd": ".."})),
        403
    );
    assert_eq!(
        start(json!({"prompt": "x", "agent": "demo", "cwd": "out"})),
        403
    );
    assert_eq!(
        start(json!({"prompt": "x", "agent": "demo", "cwd": "missing"})),
        400
    );
    // Whether a directory outside exists is not told.
    for outside in ["out/missing", "../missing", "/missing"] {
        let body = json!({"prompt": "x", "agent": "demo", "cwd": outside});
        assert_eq!(start(body), 403, "{outside}");
    }
    // No name of a program is one of an agent, and neither are the families of agents.
    for agent in ["sh -c true", "sh", "nope", "acp", "lapidary"] {
        assert_eq!(
            start(json!({"prompt": "x", "agent": agent})),
            403,
            "{agent}"
        );
    }
    // `doctor` would start it, too.
    let started = server.home().join("started");
    let refused = server.get(&format!(
        "/api/v1/doctor?agent=touch%20{}",
        started.display()
    ));
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(
        refused.json()["hint"]
            .as_str()
            .unwrap()
            .contains("[agents.NAME]")
    );
    assert!(!started.exists());
    assert_eq!(
        start(json!({"prompt": "x", "agent": "wss://example.org"})),
        403
    );
    assert_eq!(
        start(json!({"prompt": "x", "agent": "demo", "surprise": 1})),
        400
    );
    assert_eq!(start(json!({"prompt": " ", "agent": "demo"})), 400);
    let body = json!({"prompt": "x", "agent": "demo", "permissionMode": "plan", "rules": {"deny": ["execute"]}});
    assert_eq!(start(body), 201);
    let body = json!({"prompt": "hello", "agent": "demo", "permissionMode": "default"});
    let run = server.post("/api/v1/runs", &body).json()["id"].clone();
    let run = run.as_str().unwrap();
    let command = |body: Value| {
        server
            .post(&format!("/api/v1/runs/{run}/commands"), &body)
            .status
    };
    assert_eq!(
        command(json!({"command": "set_permission_mode", "mode": "bypassPermissions"})),
        403
    );
    assert_eq!(
        command(json!({"command": "set_mode", "modeId": "yolo"})),
        403
    );
    assert_eq!(
        command(json!({"command": "create_session", "cwd": "/"})),
        403
    );
}

#[test]
fn the_lower_of_the_servers_and_the_clients_limit_ends_a_run() {
    for (own, wanted, cause) in [
        (vec![], json!({"timeout": 0.5}), "timeout_total"),
        (
            vec!["--timeout", "0.5"],
            json!({"timeout": 3000}),
            "timeout_total",
        ),
        (vec![], json!({"budget": "turns=1"}), "budget"),
        (
            vec!["--budget", "turns=1"],
            json!({"budget": "turns=100"}),
            "budget",
        ),
    ] {
        let server = TestServer::start(&own);
        let mut body = json!({"prompt": "hello", "agent": "demo"});
        for (name, limit) in wanted.as_object().unwrap() {
            body[name] = limit.clone();
        }
        // The demo waits for an answer to its request, which does not come.
        let run = started(&server, &body);
        let events = server.get(&format!("/api/v1/runs/{run}/events")).body;
        let end = events.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        let end: Value = serde_json::from_slice(end.unwrap()).unwrap();
        assert_eq!(end["cause"], cause, "{own:?} {wanted}: {end}");
    }
}

#[test]
fn a_request_key_starts_one_run_however_often_it_is_sent() {
    let server = TestServer::start(&[]);
    let body = json!({"prompt": "hello", "agent": "demo", "requestKey": "k1"});
    let first = server.post("/api/v1/runs", &body);
    let again = server.post("/api/v1/runs", &body);
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json()["id"], again.json()["id"]);
    let other = json!({"prompt": "bye", "agent": "demo", "requestKey": "k1"});
    let conflict = server.post("/api/v1/runs", &other);
    assert_eq!(conflict.status, 409);
    assert_eq!(conflict.json()["run"], first.json()["id"]);
}

#[test]
fn a_server_ends_its_runs_when_it_ends_and_knows_them_after_a_restart() {
    let mut server = TestServer::start(&[]);
    let (run, request) = asked(&server);
    kill(
        Pid::from_raw(server.child.id().cast_signed()),
        Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    let server = server.restarted();
    let shown = server.get(&format!("/api/v1/runs/{run}")).json();
    assert_eq!(shown["run"]["state"], "ended");
    assert_eq!(shown["run"]["outcome"], "cancelled");
    let events = server.get(&format!("/api/v1/runs/{run}/events")).body;
    let events = String::from_utf8(events).unwrap();
    let ends = events
        .lines()
        .filter(|line| line.contains("\"event\":\"run_end\""));
    assert_eq!(ends.count(), 1);
    let path = format!("/api/v1/runs/{run}/permissions/{request}");
    assert_eq!(server.post(&path, &json!({"allowed": true})).status, 409);
}

#[test]
fn lists_and_documents_of_the_api_are_those_of_the_commands() {
    let server = TestServer::start(&[]);
    let (run, _) = completed(&server);
    for (path, args) in [
        (
            "/api/v1/runs",
            vec!["runs", "list", "--format", "json", "--last", "0"],
        ),
        (
            "/api/v1/runs?agent=nobody",
            vec![
                "runs", "list", "--agent", "nobody", "--format", "json", "--last", "0",
            ],
        ),
        (
            "/api/v1/sessions",
            vec!["sessions", "list", "--all", "--format", "json"],
        ),
        (
            "/api/v1/sessions?agent=nobody",
            vec![
                "sessions", "list", "--all", "--agent", "nobody", "--format", "json",
            ],
        ),
        (
            "/api/v1/sessions?q=greeting",
            vec![
                "sessions", "search", "greeting", "--all", "--format", "json",
            ],
        ),
        ("/api/v1/agents", vec!["agents", "list", "--format", "json"]),
        ("/api/v1/schemas/events", vec!["schema", "events"]),
        ("/api/v1/schemas", vec!["schema"]),
        (
            "/api/v1/stats",
            vec!["sessions", "stats", "--all", "--format", "json"],
        ),
        ("/api/v1/doctor", vec!["doctor", "--format", "json"]),
        (
            "/api/v1/capabilities",
            vec!["capabilities", "--format", "json"],
        ),
    ] {
        let reply = server.get(path);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        assert_eq!(
            String::from_utf8(reply.body).unwrap(),
            server.command(&args),
            "{path}"
        );
    }
    let session = server.get("/api/v1/sessions").json()["sessions"][0]["id"].clone();
    let session = session.as_str().unwrap();
    let blocks = server.get(&format!("/api/v1/sessions/{session}?format=blocks"));
    let blocks = String::from_utf8(blocks.body).unwrap();
    assert!(blocks.contains("This is a demo."), "{blocks}");
    for format in ["events", "messages", "markdown", "html", "text"] {
        let reply = server.get(&format!("/api/v1/sessions/{session}?format={format}"));
        let shown = server.command(&["sessions", "show", "--all", "--format", format, session]);
        assert_eq!(String::from_utf8(reply.body).unwrap(), shown, "{format}");
    }
    let result = server
        .get(&format!("/api/v1/runs/{run}/events?format=result"))
        .json();
    assert_eq!(result["outcome"], "completed");
    for path in [
        "/api/v1/runs/..%2F..%2Fx",
        "/api/v1/sessions/..%2Fx",
        "/api/v1/sessions/--help",
        "/api/v1/runs/unknown/events",
    ] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}

#[test]
fn the_token_is_in_its_own_files_only() {
    let server = TestServer::start(&[]);
    completed(&server);
    let mut searched = 0;
    let own = ["token", "open.html"];
    let mut directories = vec![server.home().to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if !own.contains(&path.file_name().unwrap().to_str().unwrap()) {
                searched += 1;
                let text = fs::read(&path).unwrap();
                assert!(!contains(&text, &server.token), "{}", path.display());
            }
        }
    }
    assert!(searched > 3, "the recording is among the files");
    let process = Path::new("/proc").join(server.child.id().to_string());
    for file in ["cmdline", "environ"] {
        assert!(!contains(
            &fs::read(process.join(file)).unwrap(),
            &server.token
        ));
    }
}

fn contains(text: &[u8], token: &str) -> bool {
    text.windows(token.len())
        .any(|part| part == token.as_bytes())
}

#[test]
fn an_address_that_cannot_be_served_is_refused_with_a_hint() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let home = tempfile::tempdir().unwrap();
    for (address, code, hint) in [
        ("0.0.0.0:0", 2, "hint: listen on `127.0.0.1`"),
        ("somewhere", 2, "use `127.0.0.1:7717` or `unix:PATH`"),
        (taken.as_str(), 13, "hint: another server has it"),
    ] {
        let mut command = lapidary(["serve", "--listen", address]);
        command.env("HOME", home.path()).current_dir(home.path());
        let refused = output(command, b"");
        let stderr = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(hint), "{stderr}");
    }
}

#[test]
fn the_openapi_document_describes_each_route_and_holds_every_schema_that_it_names() {
    let server = TestServer::start(&[]);
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("{id}", "unknown")
            .replace("{requestId}", "0")
            .replace("{name}", "events");
        for method in operations.as_object().unwrap().keys() {
            let reply = server.send(
                &method.to_uppercase(),
                &path,
                &[("authorization", &format!("Bearer {}", server.token))],
                b"",
            );
            // Reading works without parameters; the home has no fleet.
            let is_plain = method == "get" && !path.contains("unknown") && !path.contains("fleet");
            assert!(!is_plain || reply.status == 200, "{path}: {reply:?}");
            let is_route = reply.status != 405
                && !reply.json_or_null()["detail"]
                    .as_str()
                    .is_some_and(|detail| detail.contains("there is no `/"));
            assert!(is_route, "{method} {path}: {reply:?}");
        }
    }
}

#[test]
fn the_log_and_the_metrics_show_each_change() {
    let server = TestServer::start(&[]);
    let (run, _) = completed(&server);
    // Reading leaves no line.
    let token = format!("Bearer {}", server.token);
    let headers = [("authorization", token.as_str())];
    assert_eq!(
        server.send("HEAD", "/api/v1/runs", &headers, b"").status,
        200
    );
    let log =
        fs::read_to_string(server.home().join(".local/state/lapidary/serve/access.log")).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["method"].as_str().unwrap(),
                line["path"].as_str().unwrap(),
                line["status"].as_u64().unwrap(),
            )
        })
        .collect();
    let answer = format!("/api/v1/runs/{run}/permissions/0");
    assert_eq!(
        told,
        [
            ("POST", "/api/v1/runs", 201),
            ("POST", answer.as_str(), 200)
        ]
    );
    // The end is read from the recording, and counted by another task.
    let metrics = loop {
        let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
        if metrics.contains("lapidary_runs_going_on 0\n") {
            break metrics;
        }
        std::thread::yield_now();
    };
    assert!(
        metrics.contains("lapidary_runs_ended_total{outcome=\"completed\"} 1\n"),
        "{metrics}"
    );
}

#[test]
fn a_client_cannot_choose_the_option_that_outlasts_the_run() {
    let server = TestServer::start(&[]);
    let (run, request) = asked(&server);
    let open = server.get("/api/v1/permissions").json();
    let options = open["permissions"][0]["request"]["options"].clone();
    let mut options = options.as_array().unwrap().iter();
    let always = options
        .find(|option| option["kind"] == "allow_always")
        .unwrap();
    let path = format!("/api/v1/runs/{run}/permissions/{request}");
    let chosen = json!({"allowed": true, "updatedInput": {"optionId": always["id"]}});
    assert_eq!(server.post(&path, &chosen).status, 403);
}

#[test]
fn a_server_on_another_loopback_address_says_so_and_answers_there() {
    let server = TestServer::start_on("127.0.0.5:0");
    assert!(server.host.starts_with("127.0.0.5:"), "{}", server.host);
    assert_eq!(server.get("/api/v1/runs").status, 200);
}
