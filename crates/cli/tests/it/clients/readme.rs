//! The examples of a README.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::ran;
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

/// Writes the examples of a language into files of a folder, whose names begin with `start`.
pub(super) fn write_examples(
    readme: &Path,
    language: &str,
    folder: &Path,
    start: &str,
) -> Vec<ReadmeExample> {
    let text = fs::read_to_string(readme).unwrap();
    let fence = format!("```{language}\n");
    let extension = if language == "ts" { "mts" } else { "py" };
    let parts: Vec<_> = text.split(&fence).collect();
    let examples = parts.windows(2).zip(1..).map(|(parts, number)| {
        let name = format!("{start}_{number}.{extension}");
        fs::write(folder.join(&name), code_of(parts[1])).unwrap();
        let last = parts[0].lines().next_back().unwrap_or_default();
        ReadmeExample {
            name,
            needs_server: last.starts_with(NEEDS_SERVER),
        }
    });
    examples.collect()
}

/// The examples of a README that need no server, for another agent than the demo.
pub(super) fn examples_for(agent: &str, readme: &Path, language: &str) -> Vec<String> {
    let text = fs::read_to_string(readme).unwrap();
    let fence = format!("```{language}\n");
    let (text, _) = text.split_once(NEEDS_SERVER).unwrap();
    let examples = text.split(&fence).skip(1).map(code_of);
    let examples = examples.map(|code| code.replace("\"demo\"", &format!("{agent:?}")));
    examples.collect()
}

/// The code up to the end of its block.
fn code_of(part: &str) -> &str {
    part.split_once("```").unwrap().0
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

/// What the examples of a package's README print, in their order, and then that of the project's README.
const EXPECTED: [&str; 7] = [
    "completed: end_turn",
    // An outcome alone: the exit code in one language, the word in the other.
    "",
    "may it? Edit greet.sh",
    "I leave it to you.",
    "run_shell_command",
    "run_end",
    // The text in one language, the outcome in the other.
    "",
];

/// Runs the demo by the command that a package brings.
pub(super) fn check_command(mut lapidary: Command) {
    lapidary.args([
        "run",
        "--agent",
        "demo",
        "--format",
        "result",
        "what can you do?",
    ]);
    let ran = ran(lapidary);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(r#""success":true"#), "{ran:?}");
}

/// Checks the outputs against what the READMEs say.
pub(super) fn check_outputs(outputs: &[String]) {
    assert_eq!(outputs.len(), EXPECTED.len(), "{outputs:#?}");
    for (output, expected) in outputs.iter().zip(EXPECTED) {
        assert!(output.contains(expected), "{expected}: {output}");
        assert!(!output.trim().is_empty());
    }
}
