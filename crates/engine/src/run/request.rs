//! The request for a run, with its limits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapidary_normalize::{AgentSetup, NormalizeOptions};
use lapidary_sessions::PriceTable;
use tokio::time::Instant;

use super::agent_task::RecordedOutput;
use super::dialect::{OutputKind, StreamDialect};
use super::follow_up;
use crate::PermissionWatch;
use crate::budget::{Budget, BudgetUnknown};
use crate::confine::ConfinedRun;
use crate::gemini_cli::LogPlace;
use crate::output_schema::OutputSchema;
use crate::policy::Policy;
use crate::process::{Command, Supervisor};
use crate::recording::{PolicyFile, PromptDirectory, RecordingOptions};
use crate::session_guard::{ResumeTarget, SessionGuard};

/// A run to be made.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Its id, which also names its recording.
    pub run: String,
    /// The agent's name.
    pub agent: String,
    /// How the agent is started.
    pub command: Command,
    /// The recorded output that is played instead, if one is. Then the command is not started: it only describes the agent.
    pub replay: Option<RecordedOutput>,
    /// The bytes of its stdin, all of them there from the start.
    pub input: Vec<u8>,
    /// How it writes.
    pub dialect: &'static StreamDialect,
    /// The program that supervises it.
    pub supervisor: Supervisor,
    /// How long things may take.
    pub timeouts: RunTimeouts,
    /// How long it has between being asked to end and being ended.
    pub grace: Duration,
    /// How many times it may be started again, where that is safe.
    pub retries: u32,
    /// Its limits on tokens, cost, turns and time.
    pub budget: Budget,
    /// Prices of tokens, from the user's own table; see [`Config::prices`](crate::config::Config::prices).
    pub prices: Option<PriceTable>,
    /// The reaction to an agent that does not report its use.
    pub budget_unknown: BudgetUnknown,
    /// Where it is recorded.
    pub records: RecordingOptions,
    /// The options for translating its output.
    pub options: NormalizeOptions,
    /// Notices for the reader, sent before the agent's first event: each becomes a diagnostic.
    pub notices: Vec<String>,
    /// Warnings of the result, for any outcome.
    pub warnings: Vec<String>,
    /// The state of the confinement that needs care during the run. The supervisor does the confining itself.
    pub confined: Option<Arc<ConfinedRun>>,
    /// Whether batches carry the agent's bytes too.
    pub with_bytes: bool,
    /// The longest line that is translated whole. Of a longer one a diagnostic keeps the beginning, and the recording all.
    pub max_line: usize,
    /// A directory that holds the prompt for the agent to read. It goes when the recording goes.
    pub prompt_directory: Option<PromptDirectory>,
    /// The sessions to protect from the agent.
    pub safekeeping: Option<SessionGuard>,
    /// The directory of the agent's session logs, if it is Gemini CLI: they have details that its output lacks.
    pub session_logs: Option<LogPlace>,
    /// The directory of Codex CLI, if the agent is that with its own stream: its rollouts have calls that the stream lacks.
    pub codex_home: Option<PathBuf>,
    /// The setup of the agent, for the message about its end.
    pub setup: AgentSetup,
    /// How calls without permission are found, and the reaction to them.
    pub watch: PermissionWatch,
    /// The policy for a headless agent. None leaves its permissions to the agent.
    pub policy: Option<Policy>,
    /// A policy for the agent to read.
    pub policy_file: Option<PolicyFile>,
    /// The schema that the answer must fit.
    pub output_schema: Option<OutputSchema>,
    /// Whether the agent got the schema by an option of its own.
    pub has_schema_option: bool,
}

impl RunRequest {
    /// The request for another prompt in the session of this run: a headless agent takes one prompt for each process. None if the
    /// prompt of this run was too long for stdin.
    pub(super) fn follow_up(&self, session: &str, prompt: String) -> Option<Self> {
        if self.prompt_directory.is_some() {
            return None;
        }
        let mut next = self.clone();
        next.input =
            follow_up::resume_session(&mut next.command, &self.dialect.provider, session, prompt)?;
        if let Some(guard) = &mut next.safekeeping {
            guard.resume = ResumeTarget::One(session.to_owned());
        }
        Some(next)
    }

    /// How long a start may take in a run that must end then. An agent that writes one document has no start timeout: it is
    /// for the first line.
    pub(crate) fn start_patience(&self, must_end: Option<Instant>) -> Duration {
        let left = must_end.map(|end| end.saturating_duration_since(Instant::now()));
        let is_stream = self.dialect.speech == OutputKind::Stream;
        let limits = left
            .into_iter()
            .chain(self.timeouts.start.filter(|_| is_stream));
        limits.min().unwrap_or(Duration::MAX)
    }
}

/// How long things may take. None is for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTimeouts {
    /// Until the first line. It does not apply to an agent that writes only at its end.
    pub start: Option<Duration>,
    /// Without a sign of life on stdout or stderr, once the first line has come. Nor does this apply to such an agent.
    pub idle: Option<Duration>,
    /// The whole run, retries included.
    pub total: Option<Duration>,
}

impl Default for RunTimeouts {
    /// A minute to start, ten for the whole, and silence is no crime.
    fn default() -> Self {
        Self {
            start: Some(Duration::from_mins(1)),
            idle: None,
            total: Some(Duration::from_mins(10)),
        }
    }
}
