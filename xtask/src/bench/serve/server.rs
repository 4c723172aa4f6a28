//! A server of the measured build, and a client that reads no more than it is told to.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// A server that says nothing for so long has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// Clock ticks of a second, as `/proc` counts CPU time.
const TICKS: u64 = 100;

pub(super) struct BenchServer {
    child: Child,
    pub(super) host: String,
    token: String,
    home: PathBuf,
}

impl BenchServer {
    /// Starts a server in a home, whose project is its root.
    pub(super) fn start(lapidary: &Path, home: &Path, address: &str) -> Result<Self> {
        fs::create_dir_all(home.join("project"))?;
        let mut child = Command::new(lapidary)
            .args(["serve", "--listen", address])
            .current_dir(home.join("project"))
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("stdout is piped")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line).context("the server did not start")?;
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            child,
            host: text("url").trim_start_matches("http://").to_owned(),
            token: fs::read_to_string(text("tokenFile"))?.trim().to_owned(),
            home: home.to_owned(),
        })
    }

    pub(super) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Kills the server, and starts another one at the same address.
    pub(super) fn killed_and_restarted(mut self, lapidary: &Path) -> Result<Self> {
        self.child.kill()?;
        self.child.wait()?;
        let (home, host) = (self.home.clone(), self.host.clone());
        Self::start(lapidary, &home, &host)
    }

    /// CPU time of the server so far, also of threads that have ended.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu_of(self.pid())
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<(u16, Value)> {
        let body = body.to_string();
        let length = body.len();
        let more = format!("content-type: application/json\r\ncontent-length: {length}\r\n");
        let mut stream = self.send("POST", path, &more, &body)?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (head, body) = response.split_once("\r\n\r\n").context("no response")?;
        let status = head.split(' ').nth(1).context("no status")?.parse()?;
        Ok((status, serde_json::from_str(body).unwrap_or_default()))
    }

    pub(super) fn get(&self, path: &str) -> Result<Value> {
        let mut stream = self.watch(path, None)?;
        let mut body = Vec::new();
        stream.read_to_end(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }

    /// Opens a stream of events behind one of them. The head of the response is read.
    pub(super) fn watch(&self, path: &str, after: Option<u64>) -> Result<ChunkReader> {
        let more = after.map(|seq| format!("last-event-id: {seq}\r\n"));
        let more = format!("accept: text/event-stream\r\n{}", more.unwrap_or_default());
        let mut stream = BufReader::new(self.send("GET", path, &more, "")?);
        let mut status = String::new();
        stream.read_line(&mut status)?;
        ensure!(status.contains(" 200 "), "{path}: {status}");
        let mut is_chunked = false;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            is_chunked |= line.trim_end() == "transfer-encoding: chunked";
            if line == "\r\n" {
                break;
            }
        }
        Ok(ChunkReader {
            stream,
            left: if is_chunked { Some(0) } else { None },
        })
    }

    fn send(&self, method: &str, path: &str, more: &str, body: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (host, token) = (&self.host, &self.token);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n{more}\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        Ok(stream)
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

/// CPU time of a process so far.
pub(super) fn cpu_of(pid: i32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, behind_name) = stat.rsplit_once(") ").context("no name")?;
    let fields: Vec<_> = behind_name.split(' ').collect();
    let ticks = |place: usize| fields.get(place).and_then(|it| it.parse::<u64>().ok());
    let ticks = ticks(11).context("no user time")? + ticks(12).context("no system time")?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS))
}

/// The body of a response, without its chunks.
pub(super) struct ChunkReader {
    stream: BufReader<TcpStream>,
    /// Bytes of this chunk that are left; none if the body is not chunked.
    left: Option<usize>,
}

impl std::io::Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(mut left) = self.left else {
            return self.stream.read(buffer);
        };
        if left == 0 {
            let mut line = String::new();
            while line.trim().is_empty() {
                line.clear();
                if self.stream.read_line(&mut line)? == 0 {
                    return Ok(0); // cut off
                }
            }
            left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            if left == 0 {
                return Ok(0);
            }
        }
        let wanted = buffer.len().min(left);
        let read = self.stream.read(&mut buffer[..wanted])?;
        self.left = Some(left - read);
        Ok(read)
    }
}
