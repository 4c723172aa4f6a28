//! A scripted agent's folder and its output.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// The agent's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentTransport {
    /// `stream-json`, as Gemini CLI 0.61.0 does.
    Stream,
    Acp,
}

/// How the agent writes its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStyle {
    /// In large pieces.
    Whole,
    /// Each line by itself, as agents do.
    LineByLine,
}

/// Deltas as they come from a model: some words each.
const PIECES: [&str; 8] = [
    "The parser reads ",
    "a line at a time, and so we can keep `raw` beside it. ",
    "First I will look ",
    "at the failing test:\\n\\n",
    "it says \\\"unexpected end\\\", ",
    "which is naïve ",
    "about input ",
    "that has no newline at its end. ",
];
const INIT: &str = r#"{"type":"init","timestamp":"2026-11-15T18:19:26.575Z","session_id":"2571a25a-c6c5-4920-a1ff-8824c9c44051","model":"gemini-2.5-flash"}"#;
const RESULT: &str = r#"{"type":"result","timestamp":"2026-11-15T18:19:28.100Z","status":"success","stats":{"total_tokens":110,"input_tokens":100,"output_tokens":10,"cached":0,"input":100,"duration_ms":1525,"tool_calls":0}}"#;
/// The requests of a client of the ACP agent, for when there is none.
const REQUESTS: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}
{"jsonrpc":"2.0","id":1,"method":"session/new"}
{"jsonrpc":"2.0","id":2,"method":"session/prompt"}
"#;

/// A scripted agent in its folder.
#[derive(Debug)]
pub(super) struct AgentStage {
    folder: PathBuf,
    pub(super) tongue: AgentTransport,
    /// How many lines it writes before it comes to the gate.
    pub(super) lines_before: u64,
}

impl AgentStage {
    pub(super) fn set_up(
        folder: PathBuf,
        script: &Path,
        tongue: AgentTransport,
        deltas: u32,
        writes: WriteStyle,
    ) -> Result<Self> {
        fs::create_dir_all(&folder)?;
        let stage = Self {
            folder,
            tongue,
            lines_before: u64::from(deltas) + u64::from(tongue == AgentTransport::Stream),
        };
        fs::copy(script, stage.agent_path())
            .with_context(|| format!("cannot copy {}", script.display()))?;
        stage.write_words(deltas)?;
        fs::write(stage.stage_file("after"), format!("{RESULT}\n"))?;
        fs::write(stage.stage_file("requests"), REQUESTS)?;
        if writes == WriteStyle::LineByLine {
            symlink(std::env::current_exe()?, stage.stage_file("writer"))?;
        }
        Ok(stage)
    }

    /// Has the agent write the time, now and then, instead of its usual output.
    pub(super) fn tell_the_time(&self) -> Result<()> {
        symlink(std::env::current_exe()?, self.stage_file("clock"))?;
        Ok(())
    }

    fn write_words(&self, deltas: u32) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(self.stage_file("before"))?);
        if self.tongue == AgentTransport::Stream {
            writeln!(out, "{INIT}")?;
        }
        for (_, text) in (0..deltas).zip(PIECES.iter().cycle()) {
            match self.tongue {
                AgentTransport::Stream => writeln!(
                    out,
                    r#"{{"type":"message","timestamp":"2026-11-15T18:19:27.100Z","role":"assistant","content":"{text}","delta":true}}"#
                ),
                AgentTransport::Acp => writeln!(
                    out,
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"bench","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
                ),
            }?;
        }
        out.flush()
    }

    /// The agent's program.
    pub(super) fn agent_path(&self) -> PathBuf {
        self.stage_file(match self.tongue {
            AgentTransport::Stream => "agent",
            AgentTransport::Acp => "acp-agent",
        })
    }

    /// The same program under the name of an agent that is told of rules by its own configuration.
    pub(super) fn told_agent(&self) -> Result<PathBuf> {
        let link = self.stage_file("qwen");
        symlink(self.agent_path(), &link)?;
        Ok(link)
    }

    pub(super) fn stage_file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The agent without a runner.
    pub(super) fn agent_command(&self) -> Vec<OsString> {
        match self.tongue {
            AgentTransport::Stream => vec![self.agent_path().into()],
            AgentTransport::Acp => vec![
                "sh".into(),
                "-c".into(),
                r#"exec "$0" <"$1""#.into(),
                self.agent_path().into(),
                self.stage_file("requests").into(),
            ],
        }
    }

    /// Has the agent do an action first.
    pub(super) fn order_action(&self, orders: &str) -> io::Result<()> {
        fs::write(self.stage_file("orders"), orders)
    }

    /// Has the agent wait before its last line, until the gate is opened or dropped.
    pub(super) fn set_start_gate(&self) -> Result<StartGate> {
        let gate = StartGate(self.stage_file("gate"));
        mkfifo(&gate.0, Mode::S_IRUSR | Mode::S_IWUSR).context("cannot make a gate")?;
        Ok(gate)
    }
}

/// A gate that agents wait at.
#[derive(Debug)]
pub(super) struct StartGate(PathBuf);

impl StartGate {
    /// Lets all agents through for as long as the file is kept. Opened for reading and writing, so as not to wait for an agent.
    pub(super) fn open(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(&self.0)
    }
}

impl Drop for StartGate {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
