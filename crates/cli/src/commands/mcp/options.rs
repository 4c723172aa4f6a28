//! The options of every command that starts an agent, for a server: all but the options of one run or one program.

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::commands::common::CommonOptions;
use crate::commands::narrowed_options::{hide_options, refuse_given};
use crate::failure::Failure;

/// Options that a server has no use for, by their ids. The help does not list them.
const OF_ONE_RUN: [&str; 14] = [
    "agent",
    "auth",
    "deltas",
    "for_agent",
    "max_line",
    "mcp_config",
    "no_raw",
    "no_vault",
    "run_id",
    "sandbox",
    "show_files",
    "system_prompt",
    "transport",
    "with_agents",
];

/// The options of a server.
#[derive(Debug)]
pub(in crate::commands) struct ServerOptions(pub(in crate::commands) CommonOptions);

impl ServerOptions {
    /// Refuses options that would change nothing: dropping them in silence would mislead.
    pub(in crate::commands) fn check(&self, server: &str) -> Result<(), Failure> {
        let common = &self.0;
        let given = [
            ("--agent", common.agent.is_some()),
            ("--agent-arg", !common.for_agent.is_empty()),
            ("--auth", common.auth.is_some()),
            ("--mcp-config", common.mcp_config.is_some()),
            ("--run-id", common.run_id.is_some()),
            ("--sandbox", common.sandbox),
            ("--system-prompt", common.system_prompt.is_some()),
            ("--transport", common.transport.is_some()),
            ("--with-agents", common.with_agents),
        ];
        let hint = "`lapidary run` has it, for one run of an agent";
        refuse_given(server, &given, hint)
    }
}

impl Args for ServerOptions {
    fn augment_args(command: Command) -> Command {
        hide_options(CommonOptions::augment_args(command), &OF_ONE_RUN)
    }

    fn augment_args_for_update(command: Command) -> Command {
        hide_options(CommonOptions::augment_args_for_update(command), &OF_ONE_RUN)
    }
}

impl FromArgMatches for ServerOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        CommonOptions::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
