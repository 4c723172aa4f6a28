//! The options of `run` for an agent definition: all but the options of a program.

use crate::commands::narrowed_options::{NarrowedOptions, OptionNarrowing, refuse_given};
use crate::commands::run::RunExtras;
use crate::failure::Failure;

/// An agent definition: it has no use for options of a program.
#[derive(Debug)]
pub(super) struct DefinitionNarrowing;

impl OptionNarrowing for DefinitionNarrowing {
    type All = RunExtras;
    const HIDDEN: &'static [&'static str] = &[
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
}

/// The options of `run` for an agent definition.
pub(super) type DefinitionOptions = NarrowedOptions<DefinitionNarrowing>;

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
