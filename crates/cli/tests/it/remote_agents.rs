//! Agents behind `ws://`, `wss://`, `http://` and `https://`, as users name them: the official SDK's server, and agents behind a bridge.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use lapidary_testkit::gemini::peers;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::world::{MARK, Mark, Told};
use crate::support::{Ran, lapidary, output, program, root};

const TOKEN: &str = "tok-0123456789-remote";

/// A server in Node, which ends when its stdin closes.
struct NodeServer {
    child: Child,
    port: u16,
}

impl NodeServer {
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut node = program("node");
        node.arg(root().join("peers/remote/agent.mjs")).arg(peers());
        node.args(arguments).envs(environment.iter().copied());
        let mut child = node
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { child, port }
    }
}

impl Drop for NodeServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A home and a project with a note, and the recordings of runs.
struct RemoteWorld {
    directory: TempDir,
    mark: Mark,
}

impl RemoteWorld {
    fn new(config: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::create_dir_all(path.join("project")).unwrap();
        fs::write(path.join("project/note.txt"), "a note\n").unwrap();
        fs::create_dir_all(path.join("config/lapidary")).unwrap();
        fs::write(path.join("config/lapidary/lapidary.toml"), config).unwrap();
        fs::write(path.join("token"), format!("{TOKEN}\n")).unwrap();
        let mark = Mark::fresh();
        Self { directory, mark }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = lapidary(args);
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("LAPIDARY_STATE_DIR", self.path("state"))
            .env("MY_TOKEN", TOKEN)
            .env("SSL_CERT_FILE", certificate("server.pem"))
            .env("NODE_EXTRA_CA_CERTS", certificate("authority.pem"))
            .env(MARK, self.mark.value());
        command
    }

    fn run(&self, args: &[&str]) -> Told {
        let told = Told::by(self.command(&[&["run"], args].concat()));
        self.mark.assert_nothing_is_left();
        told
    }

    /// Checks that no file of ours contains the token, but for the one that it comes from.
    fn assert_no_token(&self) {
        let mut found = Vec::new();
        for name in ["state", "home", "project", "config"] {
            search(&self.path(name), &mut found);
        }
        assert_eq!(found, Vec::<PathBuf>::new());
    }
}

fn search(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            search(&path, found);
        } else if let Ok(bytes) = fs::read(&path)
            && String::from_utf8_lossy(&bytes).contains(TOKEN)
        {
            found.push(path);
        }
    }
}

fn certificate(name: &str) -> String {
    let path = root().join("crates/native/tests/certificates").join(name);
    path.to_str().unwrap().to_owned()
}

fn text(told: &Told) -> String {
    let deltas = told
        .events
        .iter()
        .filter(|it| it["event"] == "stream_delta");
    deltas
        .filter_map(|delta| delta["textDelta"].as_str())
        .collect()
}

fn cause(told: &Told) -> Value {
    told.end()["cause"].clone()
}

fn assert_played(told: &Told, permission: &str) {
    let said = text(told);
    assert!(
        said.starts_with("note: a note; refused outside; "),
        "{said}"
    );
    assert!(
        said.contains(&format!("permission: {permission}")),
        "{said}"
    );
    assert_eq!(cause(told), "end_turn", "{told:?}");
    assert!(!format!("{told:?}").contains(TOKEN), "{told:?}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_official_server_plays_a_turn_over_each_transport_and_the_token_is_nowhere() {
    let plain = NodeServer::start(&[], &[("TOKEN", TOKEN)]);
    let (key, chain) = (certificate("server.key"), certificate("server.pem"));
    let noted = tempfile::NamedTempFile::new().unwrap();
    let secure = [
        ("TOKEN", TOKEN),
        ("TLS_KEY", &key),
        ("TLS_CERT", &chain),
        ("REQUESTS", noted.path().to_str().unwrap()),
    ];
    let secure = NodeServer::start(&[], &secure);
    let (plain_port, secure_port) = (plain.port, secure.port);
    let world = RemoteWorld::new(&format!(
        "[agents.ws]\nurl = 'ws://127.0.0.1:{plain_port}/acp'\ntoken_file = '../../token'\n\
         [agents.http]\nurl = 'http://127.0.0.1:{plain_port}/acp'\ntoken_command = ['cat', '../token']\n\
         [agents.wss]\nurl = 'wss://localhost:{secure_port}/acp'\ntoken_env = 'MY_TOKEN'\n\
         [agents.https]\nurl = 'https://localhost:{secure_port}/acp'\ntoken_env = 'MY_TOKEN'\n"
    ));
    for agent in ["ws", "http", "wss", "https"] {
        let allowed = world.run(&["--agent", agent, "--allow", "execute:env", "go"]);
        assert_played(&allowed, "yes");
        let said = text(&allowed);
        assert!(said.contains("PATH="), "it ran `env` here: {said}");
        assert!(said.contains("processes: seen, 0 show the token"), "{said}");
    }
    let requests = fs::read_to_string(noted.path()).unwrap();
    let is_http_2 = requests.lines().all(|line| line.starts_with("2.0 "));
    assert!(is_http_2 && requests.contains("POST"), "{requests}");
    let denied = world.run(&["--agent", "wss", "--deny", "execute", "go"]);
    assert_played(&denied, "no");
    for url in [
        format!("ws://127.0.0.1:{plain_port}/acp"),
        format!("https://localhost:{secure_port}/acp"),
    ] {
        let refused = world.run(&["--agent", &url, "go"]);
        assert_eq!(cause(&refused), "auth_required", "{refused:?}");
        assert_eq!(refused.end()["exitCode"], 11);
    }
    let elsewhere = world.run(&[
        "--agent",
        &format!("ws://127.0.0.1:{plain_port}/other"),
        "go",
    ]);
    assert_eq!(cause(&elsewhere), "agent_missing", "{elsewhere:?}");
    let proven = output(
        world.command(&["doctor", "--agent", "wss", "--prove", "--format", "text"]),
        b"",
    );
    let proven = String::from_utf8(proven.stdout).unwrap();
    assert!(
        proven.contains("remote-example 1.0.0 speaks protocol 1"),
        "{proven}"
    );
    assert!(proven.contains("all is well"), "{proven}");
    world.assert_no_token();
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_server_that_vanishes_in_mid_turn_is_a_lost_connection_over_each_transport() {
    for scheme in ["ws", "http"] {
        let server = NodeServer::start(&[], &[]);
        let world = RemoteWorld::new("");
        let url = format!("{scheme}://127.0.0.1:{}/acp", server.port);
        let told = world.run(&["--agent", &url, "vanish"]);
        assert_eq!(cause(&told), "agent_crashed", "{told:?}");
        assert_eq!(text(&told), "Going.");
        let hint = told.end()["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("--resume"), "{hint}");
    }
}

/// An agent elsewhere cannot start our MCP server, so it is offered none and answers with text.
#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_schema_holds_for_an_agent_behind_each_transport() {
    let server = NodeServer::start(&[], &[]);
    let world = RemoteWorld::new("");
    let schema =
        r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#;
    fs::write(world.path("project/s.json"), schema).unwrap();
    for scheme in ["ws", "http"] {
        let url = format!("{scheme}://127.0.0.1:{}/acp", server.port);
        let asked =
            |prompt: &str| world.run(&["--agent", &url, "--output-schema", "s.json", prompt]);
        let told = asked("count");
        let answer = &told.end()["answer"];
        assert_eq!(answer["data"], json!({"n": 2, "servers": 0}), "{told:?}");
        assert_eq!(
            (&answer["dataSource"], cause(&told)),
            (&json!("text"), json!("end_turn"))
        );
        let told = asked("chat");
        assert_eq!(
            (told.code, cause(&told)),
            (Some(19), json!("schema_mismatch")),
            "{told:?}"
        );
        assert_eq!(text(&told), "There are two.".repeat(3), "two repairs");
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_recorded_run_behind_a_websocket_is_the_same_run() {
    let server = NodeServer::start(&[], &[]);
    let world = RemoteWorld::new("");
    let url = format!("ws://127.0.0.1:{}/acp", server.port);
    let records = world.path("records");
    let records = records.to_str().unwrap();
    let first = world.run(&[
        "--agent",
        &url,
        "--deny",
        "execute",
        "--record-dir",
        records,
        "go",
    ]);
    assert_played(&first, "no");
    let recording = first.end()["extensions"]["lapidary.recording"].clone();
    let replay = [
        "stdio",
        env!("CARGO_BIN_EXE_lapidary"),
        "replay",
        "--fast",
        recording.as_str().unwrap(),
    ];
    let bridge = NodeServer::start(&replay, &[]);
    let url = format!("ws://127.0.0.1:{}/acp", bridge.port);
    let again = world.run(&["--agent", &url, "--deny", "execute", "go"]);
    assert_eq!(text(&again), text(&first));
    assert_eq!(cause(&again), cause(&first));
    let command = format!("'{}'", replay[1..].join("' '"));
    let here = world.run(&["--agent", &command, "--deny", "execute", "go"]);
    assert_eq!(text(&here), text(&first), "as a program, too");
    assert_eq!(cause(&here), cause(&first));
}

#[test]
fn a_proof_of_an_agent_that_is_not_there_says_so_and_ends() {
    let world = RemoteWorld::new("[agents.far]\nurl = 'ws://127.0.0.1:1/acp'\n");
    for agent in ["far", "http://127.0.0.1:1/acp"] {
        let doctor = ["doctor", "--agent", agent, "--prove", "--format", "json"];
        let ran = output(world.command(&doctor), b"");
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
        let checkup: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let mut checks = checkup["checks"].as_array().unwrap().iter();
        let start = checks.find(|check| check["name"] == "acp_start").unwrap();
        assert_eq!(start["state"], "problem", "{start}");
        let message = start["message"].as_str().unwrap();
        assert!(
            message.contains("cannot connect to `127.0.0.1:1`"),
            "{message}"
        );
    }
}

#[test]
fn a_server_without_tls_is_named_with_its_port_and_no_certificate_is_blamed() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = plain.local_addr().unwrap().port();
    // It ends with the process.
    thread::spawn(move || {
        for mut stream in plain.incoming().flatten() {
            let _ = stream.read(&mut [0; 8192]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let world = RemoteWorld::new("");
    for scheme in ["wss", "https"] {
        let url = format!("{scheme}://127.0.0.1:{port}/acp");
        let told = world.run(&["--agent", &url, "go"]);
        let end = told.end();
        let said = format!("{} {}", end["message"], end["hint"]);
        let named = format!("cannot connect to `127.0.0.1:{port}`");
        assert!(said.contains(&named), "{said}");
        assert!(said.contains("speaks no TLS at this port"), "{said}");
        assert!(!said.contains("SSL_CERT_FILE"), "{said}");
    }
}

#[test]
fn an_agent_of_a_configuration_that_cannot_be_read_is_not_called_unknown() {
    let world = RemoteWorld::new("[agents.far]\nurl = 'ws://h.example/acp'\ntoken_file = 't'\n");
    let ran = output(world.command(&["doctor", "--agent", "far"]), b"");
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(13), "{said}");
    assert!(
        said.contains("lapidary.toml:3:14: token_file needs"),
        "{said}"
    );
    assert!(said.contains("hint: use wss:// or https://"), "{said}");
}

#[test]
fn a_url_with_credentials_is_refused_and_recorded_without_them() {
    let world = RemoteWorld::new("");
    for url in [
        format!("wss://me:{TOKEN}@h.example/acp"),
        format!("https://h.example/?token={TOKEN}"),
    ] {
        let ran = output(world.command(&["run", "--agent", &url, "go"]), b"");
        let ran = Ran {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        };
        assert_eq!(ran.code, Some(13), "{ran:?}");
        assert!(
            ran.stderr.contains("which would be shown and recorded"),
            "{ran:?}"
        );
        assert!(
            ran.stderr
                .contains("hint: name the token with `token_file`"),
            "{ran:?}"
        );
        assert!(!format!("{ran:?}").contains(TOKEN), "{ran:?}");
    }
    world.assert_no_token();
}

#[test]
fn an_agent_that_cannot_be_reached_ends_the_run_with_the_reason() {
    let world =
        RemoteWorld::new("[agents.far]\nurl = 'wss://127.0.0.1:1/acp'\ntoken_file = 'nowhere'\n");
    let nothing = world.run(&["--agent", "http://127.0.0.1:1/acp", "go"]);
    assert_eq!(cause(&nothing), "spawn_failed", "{nothing:?}");
    let no_token = world.run(&["--agent", "far", "go"]);
    assert_eq!(cause(&no_token), "auth_required", "{no_token:?}");
    let said = no_token.end()["message"].as_str().unwrap().to_owned();
    assert!(said.starts_with("cannot read the token from"), "{said}");
}
