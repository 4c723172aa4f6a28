//! The examples of a README.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::server::DemoServer;
use crate::support::ended;

/// The mark of an example that needs a server, on the line before it.
const NEEDS_SERVER: &str = "<!-- needs a server";

/// An example of a README.
#[derive(Debug)]
pub(super) struct ReadmeExample {
    pub(super) name: String,
    pub(super) needs_server: bool,
}

/// Writes the examples of a language into files of a folder.
pub(super) fn write_examples(readme: &Path, language: &str, folder: &Path) -> Vec<ReadmeExample> {
    let text = fs::read_to_string(readme).unwrap();
    let fence = format!("```{language}\n");
    let mut examples = Vec::new();
    for (number, part) in text.split(&fence).enumerate().skip(1) {
        let (code, _) = part.split_once("```").unwrap();
        let before = text.split(&fence).nth(number - 1).unwrap();
        let extension = if language == "ts" { "mts" } else { "py" };
        let name = format!("readme_{number}.{extension}");
        fs::write(folder.join(&name), code).unwrap();
        let last = before.lines().next_back().unwrap_or_default();
        examples.push(ReadmeExample {
            name,
            needs_server: last.starts_with(NEEDS_SERVER),
        });
    }
    assert!(examples.len() >= 5, "{examples:?}");
    examples
}

/// Runs all examples at once, and returns their outputs. The demo pauses as if it thought, so they hardly compete.
pub(super) fn run_examples(
    examples: &[ReadmeExample],
    command: impl Fn(&ReadmeExample, &Path) -> Command,
) -> Vec<String> {
    let server = DemoServer::start();
    let states: Vec<_> = examples
        .iter()
        .map(|_| tempfile::tempdir().unwrap())
        .collect();
    let start = |(example, state): (&ReadmeExample, &tempfile::TempDir)| -> Child {
        let mut command = command(example, state.path());
        if example.needs_server {
            command.envs(server.variables());
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<_> = examples.iter().zip(&states).map(start).collect();
    let results = children.into_iter().zip(examples).map(|(child, example)| {
        let ended = ended(child);
        let stdout = String::from_utf8(ended.stdout).unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        let code = ended.status.code();
        assert_eq!(
            (code, stderr.as_str()),
            (Some(0), ""),
            "{}: {stdout}",
            example.name
        );
        stdout
    });
    results.collect()
}

/// What the examples of both READMEs print, in their order.
const EXPECTED: [&str; 6] = [
    "completed: end_turn",
    // An outcome alone: the exit code in one language, the word in the other.
    "",
    "may it? Edit greet.sh",
    "I leave it to you.",
    "run_shell_command",
    "run_end",
];

/// Checks the outputs against what the READMEs say.
pub(super) fn check_outputs(outputs: &[String]) {
    assert_eq!(outputs.len(), EXPECTED.len(), "{outputs:#?}");
    for (output, expected) in outputs.iter().zip(EXPECTED) {
        assert!(output.contains(expected), "{expected}: {output}");
        assert!(!output.trim().is_empty());
    }
}
