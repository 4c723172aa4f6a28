//! Lines of the security list that need an agent's process, or a proxy.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use super::http::TestServer;
use super::streams::{configure_test_agent, started};
use super::{SSE, contains};
use crate::run::world::{MARK, Mark};

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
    configure_test_agent(&server);
    let body = json!({"prompt": "say here; hang", "agent": "test"});
    let run = started(&server, &body);
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

#[test]
fn a_new_token_replaces_the_old_one_and_the_page_hands_it_to_the_browser() {
    let mut server = TestServer::start(&[]);
    let state = server.home().join(".local/state/lapidary/serve");
    let (host, old) = (server.host.clone(), server.token.clone());
    let page = |token: &str| format!("url=http://{host}/#token={token}\"");
    let open = || fs::read_to_string(state.join("open.html")).unwrap();
    assert!(open().contains(&page(&old)));
    server.stop();
    let (home, project) = (server.home().to_owned(), server.project().to_owned());
    let fresh = TestServer::start_at(home, project, &host, &["--new-token"]);
    assert_ne!(fresh.token, old);
    assert_eq!(fresh.get("/api/v1/runs").status, 200);
    server.token = old; // as a client of the earlier server
    assert_eq!(server.get("/api/v1/runs").status, 401);
    assert!(open().contains(&page(&fresh.token)));
    for file in ["open.html", "token"] {
        let mode = fs::metadata(state.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}
