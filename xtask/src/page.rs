//! A server with a home of its own, for the bench of the page and for screenshots: its sessions are made up, its runs are the demo's.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::workspace::Workspace;

/// A home with sessions.
#[derive(Debug)]
pub(crate) struct PageHome {
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

impl PageHome {
    /// An empty home below `folder`, in place of an earlier one.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let _ = fs::remove_dir_all(folder); // of an earlier time
        let (home, project) = (folder.join("home"), folder.join("shop"));
        fs::create_dir_all(home.join(".gemini/tmp/shop/chats"))?;
        fs::create_dir_all(&project)?;
        let projects = json!({"projects": {project.display().to_string(): "shop"}});
        fs::write(home.join(".gemini/projects.json"), projects.to_string())?;
        let root = home.join(".gemini/tmp/shop/.project_root");
        fs::write(root, project.display().to_string())?;
        Ok(Self { home, project })
    }

    /// Writes a session of Gemini CLI in which `prompts` are answered, the first on the day `day`.
    pub(crate) fn write_session(
        &self,
        number: u32,
        day: &str,
        prompts: &[String],
    ) -> Result<String> {
        let id = format!("{number:08x}-0000-4000-8000-000000000000");
        let time = |minute: usize| {
            let (hour, minute) = (8 + minute / 60 % 12, minute % 60);
            format!("{day}T{hour:02}:{minute:02}:00.000Z")
        };
        let head = json!({
            "sessionId": id, "projectHash": "shop", "startTime": time(0), "lastUpdated": time(prompts.len()), "kind": "main",
        });
        let mut text = format!("{head}\n");
        for (at, prompt) in prompts.iter().enumerate() {
            let user = json!({"id": format!("u{at}"), "timestamp": time(at), "type": "user", "content": [{"text": prompt}]});
            let answer = answer_record(number as usize + at, at, &time(at));
            text.extend([
                user.to_string(),
                "\n".into(),
                answer.to_string(),
                "\n".into(),
            ]);
        }
        let file = format!("session-{day}T08-00-{number:08x}.jsonl");
        fs::write(self.home.join(".gemini/tmp/shop/chats").join(file), text)?;
        Ok(id)
    }

    /// A command of the program, with this home.
    pub(crate) fn command(&self, lapidary: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(lapidary);
        command.args(args).current_dir(&self.project).env_clear();
        command.env("HOME", &self.home).env("PATH", "/usr/bin:/bin");
        command
    }
}

/// An answer of the model: a thought, three calls, a text with code, and its tokens.
fn answer_record(seed: usize, at: usize, time: &str) -> Value {
    let file = format!(
        "src/{}.rs",
        ["client", "cart", "orders", "config"][seed % 4]
    );
    let code = "use std::time::Duration;\n\n/// Waits longer after each attempt.\npub fn backoff(attempt: u32) -> Duration {\n    Duration::from_millis(250 << attempt.min(8))\n}\n";
    let tests = "running 12 tests\ntest retries_end ... ok\ntest waits_grow ... ok\n\ntest result: ok. 12 passed; 0 failed\n";
    let diff = format!(
        "--- a/{file}\n+++ b/{file}\n@@ -1,3 +1,3 @@\n pub fn send(request: &Request) -> Result<Response> {{\n-    once(request)\n+    with_retries(request, backoff)\n }}\n"
    );
    let call = |number: usize, name: &str, args: Value, shown: Value| {
        let is_failed = number == 1 && seed % 5 == 2;
        json!({
            "id": format!("t{at}-{number}"), "name": name, "args": args, "timestamp": time, "resultDisplay": shown,
            "status": if is_failed { "error" } else { "success" },
        })
    };
    let calls = [
        call(0, "read_file", json!({"file_path": file}), json!(code)),
        call(
            1,
            "run_shell_command",
            json!({"command": "cargo test"}),
            json!(tests),
        ),
        call(
            2,
            "replace",
            json!({"file_path": file, "old_string": "once(request)", "new_string": "with_retries(request, backoff)"}),
            json!({"fileDiff": diff, "fileName": file}),
        ),
    ];
    let text = format!(
        "`{file}` retries now, with a wait that **doubles**:\n\n```rust\n{code}```\n\n- the first retry waits 250 ms\n- the last one a minute\n"
    );
    let input = 9_000 + 7_919 * (seed % 13);
    let output = 300 + 97 * (seed % 7);
    let model = ["gemini-3-pro-preview", "gemini-3-flash-preview"][seed % 2];
    json!({
        "id": format!("g{at}"), "timestamp": time, "type": "gemini", "content": text, "toolCalls": calls,
        "model": model,
        "thoughts": [{"subject": "Looking for the retry loop", "description": "The client gives up at the first error.", "timestamp": time}],
        "tokens": {"input": input, "output": output, "cached": input / 2, "thoughts": 40, "tool": 0, "total": input + output + 40},
    })
}

/// A server that is killed when this is dropped. Its runs end with it.
#[derive(Debug)]
pub(crate) struct PageServer {
    child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
}

impl PageServer {
    pub(crate) fn start(home: &PageHome, lapidary: &Path) -> Result<Self> {
        let mut command = home.command(lapidary, &["serve", "--listen", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("the server has no stdout")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let address: Value = serde_json::from_str(&line).context("the server did not start")?;
        let text = |name: &str| address[name].as_str().unwrap_or_default().to_owned();
        let token = fs::read_to_string(text("tokenFile"))?.trim().to_owned();
        let url = text("url");
        Ok(Self { child, url, token })
    }

    /// Runs a script of `peers/browser` with the address and these arguments, and returns its output.
    pub(crate) fn run_script(
        &self,
        workspace: &Workspace,
        name: &str,
        args: &[&str],
    ) -> Result<String> {
        let script = workspace.root.join("peers/browser").join(name);
        let output = Command::new("node")
            .arg(script)
            .args([self.url.as_str(), &self.token])
            .args(args)
            .current_dir(workspace.target.join("peers-browser"))
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start node")?;
        ensure!(output.status.success(), "`{name}` failed");
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}
