//! Agents with a stream of their own: `claude -p` and `codex exec`. A row for each names the program, its dialect, and the function
//! that lays out its arguments.
//!
//! Such a run needs no ACP adapter. In exchange the agent never asks: each permission mode becomes flags of the agent, and options
//! that need a conversation are refused.

mod claude;
mod codex;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::{Config, PermissionMode};
use crate::detect::{self, SearchEnvironment};
use crate::gemini_cli::LaunchError;
use crate::run::{CLAUDE_STREAM, CODEX_EXEC, StreamDialect};

/// An agent with a stream of its own.
#[derive(Debug)]
pub struct StreamAgent {
    /// Its name, as `--agent` takes it.
    pub name: &'static str,
    /// The product.
    pub product: &'static str,
    /// Its program.
    pub program: &'static str,
    /// How one gets it.
    pub install: &'static str,
    /// How it writes.
    pub dialect: &'static StreamDialect,
    /// It takes the schema of its answer as a file, not as an argument.
    pub takes_schema_file: bool,
    prepare: fn(&StreamLaunch<'_>) -> Result<StreamInvocation, LaunchError>,
}

/// The agents with a stream of their own, beside Gemini CLI.
pub static STREAM_AGENTS: [StreamAgent; 2] = [
    StreamAgent {
        name: "claude",
        product: "Claude Code",
        program: "claude",
        install: "npm install -g @anthropic-ai/claude-code",
        dialect: &CLAUDE_STREAM,
        takes_schema_file: false,
        prepare: claude::prepare,
    },
    StreamAgent {
        name: "codex",
        product: "Codex CLI",
        program: "codex",
        install: "npm install -g @openai/codex",
        dialect: &CODEX_EXEC,
        takes_schema_file: true,
        prepare: codex::prepare,
    },
];

/// A run that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct StreamLaunch<'a> {
    /// How.
    pub config: &'a Config,
    /// Where the caller is: relative paths count from here. An absolute path.
    pub dir: &'a Path,
    /// The prompt.
    pub prompt: &'a str,
    /// The session to continue: `latest` or an id.
    pub resume: Option<&'a str>,
    /// The id that a new session gets.
    pub session_id: Option<&'a str>,
    /// Arguments of the user's own, passed on behind ours.
    pub extra_args: &'a [OsString],
    /// The schema of the answer, for agents that take it as text.
    pub schema: Option<&'a serde_json::Value>,
    /// The file with the schema of the answer, for agents that take it as a file.
    pub schema_file: Option<&'a Path>,
}

/// An invocation, without the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamInvocation {
    /// The arguments.
    pub args: Vec<OsString>,
    /// Its stdin, all of it there from the start.
    pub stdin: Vec<u8>,
    /// Notices for the user: deviations from the request.
    pub notices: Vec<String>,
}

impl StreamAgent {
    /// The agent of this name, if it has a stream of its own.
    pub fn named(name: &str) -> Option<&'static Self> {
        STREAM_AGENTS.iter().find(|agent| agent.name == name)
    }

    /// Where its program is, if it is installed.
    pub fn locate(&self, environment: &SearchEnvironment) -> Option<PathBuf> {
        detect::on_path(self.program, environment)
    }

    /// Its arguments and its stdin. Nothing is read or written.
    pub fn prepare(&self, launch: &StreamLaunch<'_>) -> Result<StreamInvocation, LaunchError> {
        if launch.resume.is_some() && launch.session_id.is_some() {
            return Err(LaunchError::ResumeAndSessionId);
        }
        (self.prepare)(launch)
    }

    /// The word of the agent for a permission mode, for people.
    pub fn mode_flags(&self, mode: PermissionMode) -> &'static [&'static str] {
        match self.name {
            "claude" => claude::mode_flags(mode),
            _ => codex::mode_flags(mode),
        }
    }
}

impl StreamLaunch<'_> {
    /// The system prompt, a blank line, the prompt.
    fn whole_prompt(&self) -> String {
        match &self.config.system_prompt {
            Some(system) => format!("{system}\n\n{}", self.prompt),
            None => self.prompt.to_owned(),
        }
    }

    /// The directories beside the working directory.
    fn included_directories(&self) -> impl Iterator<Item = PathBuf> {
        let included = self.config.include_directories.iter().flatten();
        included.map(|dir| self.dir.join(dir))
    }

    fn mode(&self) -> PermissionMode {
        self.config.permission_mode_or_default()
    }

    fn trusts_workspace(&self) -> bool {
        self.config.trust_workspace == Some(true)
    }

    /// Refuses arguments of the user's that would take the run out of our hands.
    fn check_extra_arguments(&self, reserved: &[&str]) -> Result<(), LaunchError> {
        for argument in self.extra_args {
            let text = argument.to_string_lossy();
            let name = text.split('=').next().unwrap_or_default();
            if reserved.contains(&name) {
                return Err(LaunchError::Reserved {
                    argument: name.to_owned(),
                    reason: "Lapidary sets it",
                });
            }
        }
        Ok(())
    }
}

/// A value of the user's that cannot be taken for a flag.
fn checked_value<'a>(what: &'static str, value: &'a str) -> Result<&'a str, LaunchError> {
    let reason = if value.trim().is_empty() {
        "it is empty"
    } else if value.starts_with('-') {
        "it begins with a hyphen"
    } else if value.contains('\0') {
        "it holds a NUL character"
    } else {
        return Ok(value);
    };
    Err(LaunchError::BadValue {
        what,
        value: value.to_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests;
