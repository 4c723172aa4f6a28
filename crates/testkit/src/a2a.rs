//! The official A2A servers, on loopback, for the tests of our client.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::gemini::peers_beside;

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct A2aPeer {
    /// Its port on 127.0.0.1.
    pub port: u16,
    child: Child,
    log: Arc<(Mutex<Vec<Value>>, Condvar)>,
    reader: Option<JoinHandle<()>>,
}

/// A server on an official SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum A2aServer {
    /// The JavaScript SDK 0.3.14.
    JavaScript03,
    /// The JavaScript SDK 1.3.0.
    JavaScript1,
    /// The Python SDK 1.3.0, which speaks both versions on one port.
    Python,
}

impl A2aPeer {
    /// Starts a server that streams, or that has to be polled. `tokens` are its variables `A2A_TOKEN` and `A2A_CARD_TOKEN`.
    ///
    /// # Panics
    /// If the peers are not installed, or the server does not start: nothing passes for want of a peer.
    pub fn start(server: A2aServer, mode: &str, tokens: &[(&str, &str)]) -> Self {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/a2a");
        let mut command = match server {
            A2aServer::JavaScript03 => node(&scripts, "0.3"),
            A2aServer::JavaScript1 => node(&scripts, "1.0"),
            A2aServer::Python => {
                let mut command = Command::new("python3");
                command.env("PYTHONPATH", peers_beside("peers-a2a-python"));
                command.arg(scripts.join("server.py"));
                command
            }
        };
        command.arg(mode).envs(tokens.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("node and python3 are installed");
        let output = child.stdout.take().expect("stdout is piped");
        let mut lines = BufReader::new(output).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let log = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let kept = Arc::clone(&log);
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let value = serde_json::from_str(&line);
                let (log, change) = &*kept;
                let mut log = log.lock().expect("no thread panicked");
                log.push(value.unwrap_or(Value::String(line)));
                change.notify_all();
            }
        });
        Self {
            port: first.trim().parse().expect("the server prints its port"),
            child,
            log,
            reader: Some(reader),
        }
    }

    /// The URL of its card.
    pub fn card_url(&self) -> String {
        format!("http://127.0.0.1:{}/card.json", self.port)
    }

    /// The prompts and cancellations that it has seen.
    ///
    /// # Panics
    /// If its reader panicked.
    pub fn log(&self) -> Vec<Value> {
        let (log, _) = &*self.log;
        log.lock().expect("no thread panicked").clone()
    }

    /// The lines after the first `seen`, once they are enough: the log comes over a pipe of its own, later than an answer.
    ///
    /// # Panics
    /// If they never are.
    pub fn log_after(&self, seen: usize, is_enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let (log, change) = &*self.log;
        let log = log.lock().expect("no thread panicked");
        let is_short = |log: &mut Vec<Value>| !is_enough(&log[seen..]);
        let (log, waited) = change
            .wait_timeout_while(log, Duration::from_secs(20), is_short)
            .expect("no thread panicked");
        assert!(!waited.timed_out(), "{:?}", &log[seen..]);
        log[seen..].to_vec()
    }
}

impl Drop for A2aPeer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn node(scripts: &Path, version: &str) -> Command {
    let mut command = Command::new("node");
    command.current_dir(peers_beside("peers-a2a"));
    command.arg(scripts.join("server.mjs")).arg(version);
    command
}
