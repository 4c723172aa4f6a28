//! A mock model API in a process of its own, so that its cost is not that of the agents.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The process. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct ApiProcess {
    child: Child,
    /// Where it listens.
    pub(super) url: String,
}

impl ApiProcess {
    pub(super) fn start(program: &Path, arguments: &[&str]) -> Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `agent_cost`")?;
        let output = child.stdout.take().context("stdout is piped")?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url)?;
        let url = url.trim_end().to_owned();
        let process = Self { child, url };
        ensure!(
            process.url.starts_with("http://"),
            "the mock API did not start"
        );
        Ok(process)
    }
}

impl Drop for ApiProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take()); // it ends with its stdin
        let _ = self.child.wait();
    }
}
