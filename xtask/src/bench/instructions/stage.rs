//! The inputs, the scripted agent that writes them, and the counting itself.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Answers like Gemini CLI 0.61.0: reads its prompt, then writes the input that it is told of.
const AGENT: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo 0.61.0; exit 0; }
cat >/dev/null
exec cat "$CG_INPUT"
"#;

const DELTAS: usize = 20_000;
const CALLS: usize = 2_000;
/// Characters of each call's result.
const OUTPUT: usize = 400;

/// The translated input, or the agent's output.
#[derive(Debug, Clone, Copy)]
pub(super) enum StageInput {
    ThreeLines,
    Deltas,
    /// Two deltas, a call that reads a file, its result; and so on.
    Calls,
}

impl StageInput {
    const ALL: [Self; 3] = [Self::ThreeLines, Self::Deltas, Self::Calls];

    fn file_name(self) -> &'static str {
        match self {
            Self::ThreeLines => "three-lines.jsonl",
            Self::Deltas => "deltas.jsonl",
            Self::Calls => "calls.jsonl",
        }
    }

    fn input_text(self) -> String {
        let mut stream = StageStream::default();
        stream.write_line(
            "init",
            r#""session_id":"2571a25a-c6c5-4920-a1ff-8824c9c44051","model":"gemini-2.5-flash""#,
        );
        match self {
            Self::ThreeLines => stream.write_delta(),
            Self::Deltas => (0..DELTAS).for_each(|_| stream.write_delta()),
            Self::Calls => (0..CALLS).for_each(|number| {
                stream.write_delta();
                stream.write_delta();
                stream.write_call(number);
            }),
        }
        stream.write_line("result", r#""status":"success","stats":{"total_tokens":110,"input_tokens":100,"output_tokens":10,"cached":0,"input":100,"duration_ms":1525,"tool_calls":0}"#);
        stream.text
    }
}

/// Lines of `gemini -o stream-json`, a millisecond after each other.
#[derive(Default)]
struct StageStream {
    text: String,
    lines: usize,
}

impl StageStream {
    fn write_line(&mut self, kind: &str, rest: &str) {
        let (seconds, ms) = (self.lines / 1_000, self.lines % 1_000);
        let _ = writeln!(
            self.text,
            r#"{{"type":"{kind}","timestamp":"2026-11-15T18:19:{seconds:02}.{ms:03}Z",{rest}}}"#
        );
        self.lines += 1;
    }

    fn write_delta(&mut self) {
        let words = "a few words of the answer, as a model gives them, ";
        let rest = format!(r#""role":"assistant","content":"{words}","delta":true"#);
        self.write_line("message", &rest);
    }

    fn write_call(&mut self, number: usize) {
        let id = format!("read_file__read_file_1794767310417_{number}");
        let part = number % 40;
        self.write_line("tool_use", &format!(r#""tool_name":"read_file","tool_id":"{id}","parameters":{{"file_path":"src/part_{part}.rs"}}"#));
        let output = "let line = lines.next();\\n".repeat(OUTPUT / 25);
        self.write_line(
            "tool_result",
            &format!(r#""tool_id":"{id}","status":"success","output":"{output}""#),
        );
    }
}

/// A folder with the inputs, the agent, its project, and an empty home.
pub(super) struct InstructionStage {
    folder: PathBuf,
}

impl InstructionStage {
    pub(super) fn set_up(folder: &Path) -> Result<Self> {
        let _ = fs::remove_dir_all(folder); // of an earlier bench
        fs::create_dir_all(folder.join("project"))?;
        let stage = Self {
            folder: folder.to_owned(),
        };
        for input in StageInput::ALL {
            fs::write(stage.input_file(input), input.input_text())?;
        }
        fs::write(stage.agent_path(), AGENT)?;
        fs::set_permissions(stage.agent_path(), fs::Permissions::from_mode(0o755))?;
        Ok(stage)
    }

    pub(super) fn input_file(&self, input: StageInput) -> PathBuf {
        self.folder.join(input.file_name())
    }

    fn agent_path(&self) -> PathBuf {
        self.folder.join("gemini")
    }

    /// The arguments behind `run`.
    pub(super) fn run_arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = ["--format", "events", "--no-config"]
            .map(OsString::from)
            .into();
        arguments.extend(["--working-dir".into(), self.folder.join("project").into()]);
        arguments.push("Tidy up the parser.".into());
        arguments
    }

    /// Runs a command under callgrind, with a new home and nothing of our environment but `PATH`.
    pub(super) fn run_callgrind(&self, command: &[OsString], input: StageInput) -> Result<u64> {
        let home = self.folder.join("home");
        let _ = fs::remove_dir_all(&home); // of an earlier count
        fs::create_dir_all(&home)?;
        let counts = self.folder.join("callgrind.out");
        let mut out_file = OsString::from("--callgrind-out-file=");
        out_file.push(&counts);
        let output = Command::new("valgrind")
            .arg("--tool=callgrind")
            .arg(out_file)
            .args(command)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", home)
            .env("CG_INPUT", self.input_file(input))
            .env("GEMINI_CLI_PATH", self.agent_path())
            .env("GEMINI_API_KEY", "none")
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "failed: {}", complaint.trim_end());
        total_count(&fs::read_to_string(counts)?).context("callgrind wrote no total")
    }
}

/// The sum over all threads, which callgrind writes last.
fn total_count(counts: &str) -> Option<u64> {
    let mut lines = counts.lines().rev();
    let total = lines.find_map(|line| line.strip_prefix("totals: "))?;
    total.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_valid_and_as_long_as_the_table_says() {
        for (input, lines) in [
            (StageInput::ThreeLines, 3),
            (StageInput::Deltas, DELTAS + 2),
            (StageInput::Calls, 4 * CALLS + 2),
        ] {
            let text = input.input_text();
            assert_eq!(text.lines().count(), lines, "{input:?}");
            for line in text.lines() {
                serde_json::from_str::<serde_json::Value>(line).unwrap();
            }
        }
        let calls = StageInput::Calls.input_text();
        let output = calls.lines().nth(4).unwrap();
        let output: serde_json::Value = serde_json::from_str(output).unwrap();
        assert_eq!(output["output"].as_str().unwrap().len(), OUTPUT);
    }

    #[test]
    fn the_total_is_the_last_line_of_what_callgrind_writes() {
        let counts = "version: 1\nsummary: 7\n\nfn=(1) main\n0 7\n\ntotals: 1234\n";
        assert_eq!(total_count(counts), Some(1_234));
        assert_eq!(total_count("version: 1\n"), None);
    }
}
