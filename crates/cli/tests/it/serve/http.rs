//! A server of our binary in a home of its own, and a client that hides nothing: one request per connection.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{DEADLINE, lapidary, output};

pub(super) struct TestServer {
    /// The home, deleted with the server; absent if the test has made it.
    own: Option<TempDir>,
    home: PathBuf,
    project: PathBuf,
    pub(super) child: Child,
    pub(super) host: String,
    pub(super) token: String,
}

impl TestServer {
    pub(super) fn start(args: &[&str]) -> Self {
        Self::start_with("127.0.0.1:0", args)
    }

    pub(super) fn start_on(address: &str) -> Self {
        Self::start_with(address, &[])
    }

    fn start_with(address: &str, args: &[&str]) -> Self {
        let own = tempfile::tempdir().unwrap();
        let (home, project) = (own.path().to_owned(), own.path().join("project"));
        fs::create_dir(&project).unwrap();
        let mut server = Self::start_at(home, project, address, args);
        server.own = Some(own);
        server
    }

    /// A server in a home that the test has made.
    pub(super) fn start_in_home(home: &Path, project: &Path) -> Self {
        Self::start_at(home.to_owned(), project.to_owned(), "127.0.0.1:0", &[])
    }

    /// A server whose agents get these variables.
    pub(super) fn start_in_environment(
        home: &Path,
        project: &Path,
        environment: &[(OsString, OsString)],
    ) -> Self {
        let mut command = command_in(home, project, &["serve", "--listen", "127.0.0.1:0"]);
        command.envs(environment.iter().cloned());
        Self::start_command(home.to_owned(), project.to_owned(), command)
    }

    pub(super) fn start_at(home: PathBuf, project: PathBuf, address: &str, args: &[&str]) -> Self {
        let mut command = command_in(&home, &project, &["serve", "--listen", address]);
        command.args(args);
        Self::start_command(home, project, command)
    }

    fn start_command(home: PathBuf, project: PathBuf, mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(said["pid"], child.id());
        let token = fs::read_to_string(said["tokenFile"].as_str().unwrap()).unwrap();
        let url = said["url"].as_str().unwrap();
        let host = url.split_once("://").map(|(_, host)| host);
        Self {
            own: None,
            home,
            project,
            child,
            host: host.unwrap().to_owned(),
            token: token.trim().to_owned(),
        }
    }

    /// Ends the server as the user would.
    pub(super) fn stop(&mut self) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, Signal::SIGTERM).unwrap();
        self.child.wait().unwrap();
    }

    /// A server with these variables besides its own, in a home of its own.
    pub(super) fn start_marked(variables: &[(OsString, OsString)]) -> Self {
        Self::start_by(|command| {
            command.envs(variables.iter().cloned());
        })
    }

    /// A server whose files have at most so many kilobytes.
    pub(super) fn start_limited(kilobytes: u64) -> Self {
        let own = tempfile::tempdir().unwrap();
        let (home, project) = (own.path().to_owned(), own.path().join("project"));
        fs::create_dir(&project).unwrap();
        let direct = command_in(&home, &project, &["serve", "--listen", "127.0.0.1:0"]);
        let mut command = Command::new("sh");
        // A write beyond the limit fails instead of ending the process.
        let script = format!(
            "trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"",
            kilobytes * 2
        );
        command.args(["-c", &script]).arg(direct.get_program());
        command
            .args(direct.get_args())
            .current_dir(&project)
            .env_clear();
        let variables = direct
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        command.envs(variables);
        let mut server = Self::start_command(home, project, command);
        server.own = Some(own);
        server
    }

    fn start_by(change: impl FnOnce(&mut Command)) -> Self {
        let own = tempfile::tempdir().unwrap();
        let (home, project) = (own.path().to_owned(), own.path().join("project"));
        fs::create_dir(&project).unwrap();
        let mut command = command_in(&home, &project, &["serve", "--listen", "127.0.0.1:0"]);
        change(&mut command);
        let mut server = Self::start_command(home, project, command);
        server.own = Some(own);
        server
    }

    /// The server after `SIGKILL`.
    pub(super) fn killed(mut self) -> Self {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self
    }

    /// The server after it has ended by itself.
    pub(super) fn stopped(mut self) -> Self {
        let id = Pid::from_raw(self.child.id().cast_signed());
        kill(id, Signal::SIGTERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self
    }

    /// Another one at the same address, in the same home.
    pub(super) fn restarted(mut self) -> Self {
        let (host, token) = (self.host.clone(), self.token.clone());
        let (home, project) = (self.home.clone(), self.project.clone());
        let mut server = Self::start_at(home, project, &host, &[]);
        server.own = self.own.take();
        assert_eq!((&server.host, &server.token), (&host, &token));
        server
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// The output of a command in the server's home.
    pub(super) fn command(&self, args: &[&str]) -> String {
        let printed = output(command_in(&self.home, &self.project, args), b"");
        String::from_utf8(printed.stdout).unwrap()
    }

    pub(super) fn get(&self, path: &str) -> HttpReply {
        self.get_with(path, &[])
    }

    pub(super) fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> HttpReply {
        self.open(path, headers).read_reply()
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> HttpReply {
        let token = format!("Bearer {}", self.token);
        let headers = [super::JSON, ("authorization", token.as_str())];
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    /// Sends a request with the token, whose response is read later.
    pub(super) fn open(&self, path: &str, headers: &[(&str, &str)]) -> HttpStream {
        let token = format!("Bearer {}", self.token);
        let mut headers = headers.to_vec();
        headers.push(("authorization", &token));
        self.connect("GET", path, &headers, b"")
    }

    /// Sends a request with these headers only, and its host if they have none.
    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> HttpReply {
        self.connect(method, path, headers, body).read_reply()
    }

    /// Sends a `GET` whose headers say what becomes of the connection, and reads the head of the response.
    pub(super) fn send_keeping(&self, path: &str, headers: &[(&str, &str)]) -> HttpReply {
        self.connect("GET", path, headers, b"").read_reply()
    }

    fn connect(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> HttpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let has_host = headers.iter().any(|(name, _)| *name == "host");
        let own = [("host", self.host.as_str())];
        let own = own.iter().filter(|_| !has_host);
        let headers = headers.iter().chain(own);
        let headers: String = headers
            .map(|(name, value)| [name, ": ", value, "\r\n"].concat())
            .collect();
        let length = body.len();
        let close = if headers.contains("connection:") {
            ""
        } else {
            "connection: close\r\n"
        };
        let text =
            format!("{method} {path} HTTP/1.1\r\n{close}{headers}content-length: {length}\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        HttpStream {
            stream,
            read: Vec::new(),
        }
    }
}

impl Drop for TestServer {
    /// Ends the server. A server that is killed leaves no counters for `cargo xtask coverage`, so it is first asked to end there.
    fn drop(&mut self) {
        let is_counted = std::env::var_os("LAPIDARY_COVERAGE").is_some();
        let deadline = Instant::now() + if is_counted { DEADLINE } else { Duration::ZERO };
        if is_counted && let Ok(None) = self.child.try_wait() {
            let pid = Pid::from_raw(self.child.id().cast_signed());
            let _ = kill(pid, Signal::SIGTERM);
        }
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

pub(super) fn command_in(home: &Path, project: &Path, args: &[&str]) -> Command {
    let mut command = lapidary(args);
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin");
    command.current_dir(project);
    command
}

pub(super) struct HttpStream {
    stream: TcpStream,
    read: Vec<u8>,
}

impl HttpStream {
    /// Reads until a text has come.
    pub(super) fn read_until(&mut self, text: &str) {
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&self.read).contains(text) {
            let count = self.stream.read(&mut piece).unwrap();
            assert_ne!(
                count,
                0,
                "the stream ended: {}",
                String::from_utf8_lossy(&self.read)
            );
            self.read.extend_from_slice(&piece[..count]);
        }
    }

    /// The text that was read so far, without its chunks.
    pub(super) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.read);
        let (_, text) = text.split_once("\r\n\r\n").unwrap();
        let lines = text
            .split("\r\n")
            .filter(|line| u64::from_str_radix(line, 16).is_err());
        lines.collect()
    }

    /// The whole body, once the server has ended the response.
    pub(super) fn rest(self) -> String {
        String::from_utf8(self.read_reply().body).unwrap()
    }

    fn read_reply(mut self) -> HttpReply {
        self.stream.read_to_end(&mut self.read).unwrap();
        let end = self
            .read
            .windows(4)
            .position(|part| part == b"\r\n\r\n")
            .unwrap();
        let head = std::str::from_utf8(&self.read[..end]).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        });
        let reply = HttpReply {
            status: status.parse().unwrap(),
            headers: headers.collect(),
            body: self.read[end + 4..].to_vec(),
        };
        match reply.header("transfer-encoding") {
            Some("chunked") => HttpReply {
                body: unchunked(&reply.body),
                ..reply
            },
            _ => reply,
        }
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|part| part == b"\r\n").unwrap();
        let size = std::str::from_utf8(&body[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 2 + size + 2..];
    }
}

#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl HttpReply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn json_or_null(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}
