//! The options of `run` for an agent definition: all but the options of a program.

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::commands::narrowed_options::{hide_options, refuse_given};
use crate::commands::run::RunExtras;
use crate::failure::Failure;

/// Options that an agent definition has no use for, by their ids. The help does not list them.
const FOR_PROGRAMS: [&str; 10] = [
    "agent",
    "attach",
    "auth",
    "for_agent",
    "mcp_config",
    "no_vault",
    "sandbox",
    "show_files",
    "transport",
    "with_agents",
];

/// The options of `run` for an agent definition.
#[derive(Debug)]
pub(super) struct DefinitionOptions(pub(super) RunExtras);

impl DefinitionOptions {
    /// Refuses options that would change nothing: dropping them in silence would mislead.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let common = &self.0.common;
        let given = [
            ("--agent", common.agent.is_some()),
            ("--agent-arg", !common.for_agent.is_empty()),
            ("--attach", self.0.has_attachments()),
            ("--auth", common.auth.is_some()),
            ("--mcp-config", common.mcp_config.is_some()),
            ("--sandbox", common.sandbox),
            ("--with-agents", common.with_agents),
        ];
        let hint = "`lapidary run` has it, for agents that are programs";
        refuse_given("an agent definition", &given, hint)
    }
}

impl Args for DefinitionOptions {
    fn augment_args(command: Command) -> Command {
        hide_options(RunExtras::augment_args(command), &FOR_PROGRAMS)
    }

    fn augment_args_for_update(command: Command) -> Command {
        hide_options(RunExtras::augment_args_for_update(command), &FOR_PROGRAMS)
    }
}

impl FromArgMatches for DefinitionOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        RunExtras::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
