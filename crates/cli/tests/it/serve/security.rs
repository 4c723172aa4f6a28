//! Lines of the security list that need an agent's process, or a proxy.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use lapidary_testkit::patience::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::http::{TestServer, command_in};
use super::streams::{configure_test_agent, started};
use super::{SSE, contains};
use crate::run::world::{MARK, Mark, World};

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

/// Starts a server that opens the page in the browser of this directory. Returns its first line, and the text on its stderr at its end.
fn opened_server(home: &Path, programs: &Path) -> (String, String) {
    let mut command = command_in(home, home, &["serve", "--listen", "127.0.0.1:0", "--open"]);
    command.env("DISPLAY", ":0").env("PATH", programs);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let told = programs.join("xdg-open.told");
    let mut stderr = BufReader::new(server.stderr.take().unwrap());
    let mut note = String::new();
    if programs.join("xdg-open").exists() {
        wait_until("the browser was started", || told.exists());
    } else {
        stderr.read_line(&mut note).unwrap();
    }
    assert_eq!(server.try_wait().unwrap(), None, "{note}");
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).unwrap();
    assert!(server.wait().unwrap().success());
    (line, note)
}

#[test]
fn the_browser_gets_the_path_of_the_page_and_not_the_token() {
    let home = tempfile::tempdir().unwrap();
    let world = World::with_agent("");
    let script =
        "#!/bin/sh\n{ echo \"$@\"; /usr/bin/env; } > \"$0.new\"; /bin/mv \"$0.new\" \"$0.told\"\n";
    world.program("xdg-open", script);
    opened_server(home.path(), &world.path(""));
    let told = fs::read_to_string(world.path("xdg-open.told")).unwrap();
    let state = home.path().join(".local/state/lapidary/serve");
    let page = format!("{}\n", state.join("open.html").display());
    assert!(told.starts_with(&page), "{told}");
    let token = fs::read_to_string(state.join("token")).unwrap();
    assert!(!told.contains(token.trim()), "{told}");
}

#[test]
fn a_server_whose_browser_cannot_be_started_serves_and_names_the_page() {
    let (home, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (line, note) = opened_server(home.path(), programs.path());
    assert!(line.starts_with("{\"url\":\"http://127.0.0.1:"), "{line}");
    let page = home.path().join(".local/state/lapidary/serve/open.html");
    let expected = format!(
        "note: cannot start `xdg-open`: No such file or directory (os error 2); open `file://{}`\n",
        page.display()
    );
    assert_eq!(note, expected);
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
