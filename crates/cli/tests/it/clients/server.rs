//! `lapidary serve` for the clients.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::lapidary;

/// A server, ended when this is dropped.
#[derive(Debug)]
pub(super) struct DemoServer {
    child: Child,
    url: String,
    token_file: String,
    _home: TempDir,
}

impl DemoServer {
    pub(super) fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = lapidary(["serve", "--listen", "127.0.0.1:0"]);
        command
            .current_dir(&home)
            .env("HOME", home.path())
            .env("LAPIDARY_STATE_DIR", home.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        Self {
            url: text("url"),
            token_file: text("tokenFile"),
            child,
            _home: home,
        }
    }

    /// Variables that tell a client where the server is.
    pub(super) fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("LAPIDARY_URL", self.url.clone()),
            ("LAPIDARY_TOKEN_FILE", self.token_file.clone()),
            ("SERVER_PID", self.child.id().to_string()),
        ]
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
