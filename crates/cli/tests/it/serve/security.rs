//! Lines of the security list that need an agent's process, or a proxy.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::json;

use super::http::TestServer;
use super::{SSE, contains};
use crate::run::world::{MARK, Mark};
use crate::support::root;

/// The directories in `/proc` of all processes that carry a mark.
fn marked_processes(mark: &Mark) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let all = all.map(|entry| entry.path());
    all.filter(|path| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        contains(&environment, &format!("{MARK}={}", mark.value()))
    })
    .collect()
}

#[test]
fn no_agent_gets_the_token_in_its_environment_or_its_arguments() {
    let mark = Mark::fresh();
    let server = TestServer::start_marked(&[(MARK.into(), mark.value().into())]);
    let config = server.home().join(".config/lapidary");
    fs::create_dir_all(&config).unwrap();
    let agent = root().join("examples/agent.py");
    let text = format!(
        "[agents.test]\ncommand = ['python3', '{}']\n",
        agent.display()
    );
    fs::write(config.join("lapidary.toml"), text).unwrap();
    let body = json!({"prompt": "say here; hang", "agent": "test"});
    let started = server.post("/api/v1/runs", &body);
    assert_eq!(started.status, 201, "{started:?}");
    let run = started.json()["id"].as_str().unwrap().to_owned();
    let mut stream = server.open(&format!("/api/v1/runs/{run}/events"), &[SSE]);
    stream.read_until("\"textDelta\":\"here\"");
    let processes = marked_processes(&mark);
    // The server, the supervisor and the agent.
    assert!(processes.len() >= 3, "{processes:?}");
    for process in processes {
        for file in ["environ", "cmdline"] {
            let text = fs::read(process.join(file)).unwrap_or_default();
            assert!(!contains(&text, &server.token), "{}", process.display());
        }
    }
    let server = server.killed();
    mark.assert_nothing_is_left();
    drop(server);
}

#[test]
fn behind_a_proxy_the_proxys_host_is_the_servers() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    fs::create_dir(&project).unwrap();
    let args = ["--behind-proxy", "agents.example"];
    let address = free.to_string();
    let mut server = TestServer::start_at(home.path().to_owned(), project, &address, &args);
    assert_eq!(server.host, "agents.example", "the URL is the proxy's");
    server.host = address;
    let token = format!("Bearer {}", server.token);
    let status = |host: &str, origin: &str| {
        let headers = [
            ("authorization", token.as_str()),
            ("host", host),
            ("origin", origin),
        ];
        server.send("GET", "/api/v1/runs", &headers, b"").status
    };
    assert_eq!(status("agents.example", "https://agents.example"), 200);
    assert_eq!(status("agents.example", "http://agents.example"), 403);
    assert_eq!(status("agents.example", "https://evil.example"), 403);
    assert_eq!(status("evil.example", "https://evil.example"), 421);
}
