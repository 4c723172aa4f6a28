//! The output of commands that change agents.

use std::path::Path;

use lapidary::vocab::agents::{AgentAction, AgentChange, CHANGE_SCHEMA, ChangedAgent};
use lapidary::vocab::line;

use crate::commands::sessions::SessionsFormat;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The format of the report on a change.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct AgentChangeFormat {
    /// What to print: text goes to stderr, also when piped
    #[arg(long, value_enum, default_value_t = SessionsFormat::Text)]
    format: SessionsFormat,
}

/// The result of a change.
pub(super) struct ChangeOutcome {
    /// Sentences for people.
    pub(super) words: Vec<String>,
    pub(super) change: AgentChange,
}

impl ChangeOutcome {
    pub(super) fn new(action: AgentAction) -> Self {
        let change = AgentChange {
            schema: CHANGE_SCHEMA.to_owned(),
            action,
            applied: false,
            changed: Vec::new(),
            agents: Vec::new(),
            remarks: Vec::new(),
        };
        let words = Vec::new();
        Self { words, change }
    }

    /// Notes an agent that the change is about.
    pub(super) fn note_agent(&mut self, name: &str) {
        self.change.agents.push(ChangedAgent {
            name: name.to_owned(),
            imported_from: None,
            dropped: Vec::new(),
        });
    }

    /// Notes a file that was written.
    pub(super) fn note_written_file(&mut self, path: &Path) {
        self.change.applied = true;
        self.change.changed.push(path.display().to_string());
    }
}

impl AgentChangeFormat {
    pub(super) fn print_outcome(
        self,
        outcome: &ChangeOutcome,
        out: &mut Printer,
    ) -> Result<CommandExit, Failure> {
        let change = &outcome.change;
        self.format
            .print_words(&outcome.words, &change.remarks, out);
        if self.format == SessionsFormat::Json {
            line::write(out, change)?;
        }
        Ok(CommandExit::Success)
    }
}
