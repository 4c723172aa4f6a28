//! The options of every command that starts an agent, for a server: all but the options of one run or one program.

use crate::commands::common::CommonOptions;
use crate::commands::narrowed_options::{NarrowedOptions, OptionNarrowing, refuse_given};
use crate::failure::Failure;

/// A server: it has no use for options of one run or one program.
#[derive(Debug)]
pub(in crate::commands) struct ServerNarrowing;

impl OptionNarrowing for ServerNarrowing {
    type All = CommonOptions;
    const HIDDEN: &'static [&'static str] = &[
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
}

/// The options of a server.
pub(in crate::commands) type ServerOptions = NarrowedOptions<ServerNarrowing>;

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
