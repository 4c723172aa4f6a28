//! The real tools, in one Node process that answers line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::cases::Case;
use crate::support::TestWorkspace;

#[derive(Debug)]
pub(crate) struct Oracle {
    node: Child,
    calls: ChildStdin,
    answers: BufReader<ChildStdout>,
    home: tempfile::TempDir,
}

/// The answer of a tool to the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OracleAnswer {
    pub(super) text: String,
    pub(super) parts: Vec<Value>,
    pub(super) error: Option<String>,
}

impl Oracle {
    pub(crate) fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/oracle/tools.mjs");
        let home = tempfile::tempdir().unwrap();
        let mut node = Command::new("node")
            .arg(script)
            .arg(peers())
            .env("HOME", home.path())
            .env("GEMINI_CLI_HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut oracle = Self {
            calls: node.stdin.take().unwrap(),
            answers: BufReader::new(node.stdout.take().unwrap()),
            node,
            home,
        };
        assert_eq!(oracle.line()["ready"], true);
        oracle
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The answer to one line.
    pub(crate) fn ask_line(&mut self, asked: &Value) -> Value {
        writeln!(self.calls, "{asked}").unwrap();
        let answer = self.line();
        assert!(answer.get("thrown").is_none(), "{asked}: {answer}");
        answer
    }

    pub(super) fn ask(&mut self, case: &Case, workspace: &TestWorkspace) -> OracleAnswer {
        self.ask_with(case, &case.arguments, workspace)
    }

    /// Asks with other arguments.
    pub(super) fn ask_with(
        &mut self,
        case: &Case,
        arguments: &Value,
        workspace: &TestWorkspace,
    ) -> OracleAnswer {
        let mut asked =
            json!({ "tool": case.tool, "params": arguments, "workspace": workspace.root });
        if let Some(path) = case.path {
            asked["path"] = path.into();
        }
        let answer = self.ask_line(&asked);
        let (text, parts) = match &answer["text"] {
            Value::String(text) => (text.clone(), Vec::new()),
            part => (String::new(), vec![part.clone()]),
        };
        let temporary = answer["temporary"].as_str().unwrap();
        assert!(temporary.starts_with(self.home.path().to_str().unwrap()));
        OracleAnswer {
            text: normal(workspace, case, &text.replace(temporary, "<temporary>")),
            parts,
            error: answer["error"].as_str().map(str::to_owned),
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

/// A text without the parts that cannot be the same: the temporary directory, and the order of files in a search.
pub(super) fn normal(workspace: &TestWorkspace, case: &Case, text: &str) -> String {
    let temporary = workspace.outside().join("temporary");
    let text = text.replace(temporary.to_str().unwrap(), "<temporary>");
    match case.tool {
        "grep_search" => by_file(&text),
        "get_internal_docs" => without_pages(&text),
        _ => text,
    }
}

/// The heading of the pages, and sentences without the place of the pages.
fn without_pages(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let first = first.replace("Gemini CLI", "Lapidary");
    let docs = peers().join("node_modules/gemini-0.61.0/bundle/docs/");
    first.replace(docs.to_str().unwrap(), "")
}

/// Where `cargo xtask test` installed the real programs.
pub(crate) fn peers() -> PathBuf {
    let installed = std::env::var_os("LAPIDARY_PEERS");
    let installed =
        PathBuf::from(installed.expect("LAPIDARY_PEERS is set: run `cargo xtask test`"));
    // Node follows links, and answers name the paths of the program's own pages.
    installed.canonicalize().unwrap()
}

fn by_file(text: &str) -> String {
    let mut blocks: Vec<_> = text.split("\n---").map(str::to_owned).collect();
    if let Some(files) = blocks.get_mut(1..) {
        files.sort();
    }
    blocks.join("\n---")
}
