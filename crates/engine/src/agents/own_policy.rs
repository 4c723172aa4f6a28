//! Rules and mode in the words of an agent's own configuration, for one run: so that the agent asks before each call that is not
//! allowed.
//!
//! Pure: nothing is read or written here. The user's and the project's files are never touched. No event would report a call that
//! an agent denies by itself, so the agent is told to ask; Gemini CLI without ACP cannot ask, and denies.

mod claude;
mod codex;
mod denials;
mod gemini;
mod opencode;
mod qwen;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lapidary_vocab::Json;
use lapidary_vocab::capabilities::RuleKeeping;
use lapidary_vocab::event::ToolKind;

pub use denials::{denial_layers, denial_words};

use super::gemini_versions;
use crate::detect::AgentVersion;
use crate::policy::{AgentTool, Policy, ToolCoverage};

/// The input for an agent's own policy.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInput<'a> {
    /// Our rules and mode.
    pub policy: &'a Policy,
    /// Directories of the agent's own state, which it may read.
    pub state: &'a [PathBuf],
    /// Where a file of ours would be, for agents that need one.
    pub file: &'a Path,
    /// Whether the agent can ask.
    pub asking: AskAbility,
    /// Beginnings of commands that Gemini CLI's own list of tools allows.
    pub allowed_commands: &'a [String],
    /// The MCP servers of the run, by their names.
    pub servers: &'a [String],
    /// Configuration files of the project that the agent would read.
    pub project_files: &'a [String],
    /// The present value of the variable that carries the agent's configuration, if it has one: see [`config_variable`].
    pub agent_config: Option<&'a str>,
}

/// Whether an agent can ask for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskAbility {
    /// It can, over ACP.
    Possible,
    /// It cannot: requests that would be asked are denied.
    Impossible,
}

/// The carriers of an agent's own policy, for one run only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnPolicy {
    /// Arguments.
    pub args: Vec<OsString>,
    /// Variables.
    pub env: Vec<(OsString, OsString)>,
    /// The content of the file of ours.
    pub file: Option<String>,
    /// `_meta` of the request that opens a session.
    pub session_meta: Option<Json>,
    /// Notices for the user.
    pub notices: Vec<String>,
    /// The reaction of the agent to a call that is not allowed.
    pub denial: AgentDenial,
    /// Why the agent may take actions without asking that a rule denies.
    pub unkept: Option<String>,
}

/// The reaction of an agent with its own policy to a call that is not allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentDenial {
    /// It asks, and we deny.
    #[default]
    Asked,
    /// It refuses by itself, or has no tool for it.
    Refused,
}

/// How rules are enforced with the agent of this name, over ACP. An older Gemini CLI takes no policy.
pub fn rule_keeping(agent: &str, version: Option<&AgentVersion>) -> RuleKeeping {
    match agent {
        "gemini" if !gemini_versions::version_has(version, gemini_versions::OWN_POLICY) => {
            RuleKeeping::Watched
        }
        "gemini" | "claude" | "opencode" | "qwen" => RuleKeeping::Asked,
        "codex" => RuleKeeping::Partly,
        _ => RuleKeeping::Watched,
    }
}

/// The variable that carries the configuration of the agent of this name, if the user's value in it has to be kept.
pub fn config_variable(agent: &str) -> Option<&'static str> {
    (agent == "codex").then_some(codex::CONFIG)
}

/// The policy of the agent of this name. None for an agent that is not known, or that needs no policy.
pub fn own_policy(agent: &str, input: &PolicyInput<'_>) -> Option<OwnPolicy> {
    match agent {
        "gemini" => gemini::own_policy(input),
        "claude" => claude::own_policy(input),
        "codex" => codex::own_policy(input),
        "opencode" => opencode::own_policy(input),
        "qwen" => qwen::own_policy(input),
        _ => None,
    }
}

/// A tool of an agent, and its kind.
type ToolRow = (&'static str, ToolKind);

impl PolicyInput<'_> {
    fn tool_coverage(&self, name: &str, kind: &ToolKind, server: Option<&str>) -> ToolCoverage {
        self.policy.coverage(AgentTool { name, kind, server })
    }

    /// The tools that have to be asked about, in the order of the table.
    fn asked_tools<'a>(&self, rows: &'a [ToolRow]) -> Vec<&'a str> {
        let rows = rows.iter();
        let asked =
            rows.filter(|(name, kind)| self.tool_coverage(name, kind, None) >= ToolCoverage::Asked);
        asked.map(|(name, _)| *name).collect()
    }

    /// The `ask` list of Claude Code and Qwen Code: the tools that have to be asked about, then those of all MCP servers. None if
    /// nothing has to be asked about.
    fn ask_list(&self, rows: &[ToolRow]) -> Option<Vec<String>> {
        let asked = self.asked_tools(rows).into_iter();
        let mut ask: Vec<_> = asked.map(str::to_owned).collect();
        if self.asks_about_servers() {
            ask.push("mcp__*".to_owned());
        }
        (!ask.is_empty()).then_some(ask)
    }

    /// The servers of the run whose tools are all allowed.
    fn allowed_servers(&self) -> impl Iterator<Item = &str> {
        let servers = self.servers.iter().map(String::as_str);
        servers.filter(|server| {
            let name = format!("mcp_{server}_tool");
            let coverage = self.tool_coverage(&name, &ToolKind::Mcp, Some(server));
            coverage < ToolCoverage::Asked
        })
    }

    /// Whether tools of MCP servers have to be asked about. A rule about one server or one tool is enough: only we know which server a
    /// tool belongs to.
    fn asks_about_servers(&self) -> bool {
        let some = self.tool_coverage("mcp__some__tool", &ToolKind::Mcp, Some("some"));
        some >= ToolCoverage::Asked || self.policy.narrows_servers()
    }
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::policy::PermissionMode;
    use crate::policy::{PermissionEffect, Rule, Rules};

    /// The policy that an agent gets in a mode, with rules that deny, in a project with files.
    pub(super) fn given(
        agent: &str,
        mode: PermissionMode,
        deny: &[&str],
        (asking, project_files): (AskAbility, &[String]),
    ) -> Option<OwnPolicy> {
        let rules = deny.iter();
        let rules = rules
            .map(|spec| Rule::parse_flag(PermissionEffect::Deny, spec, Path::new("/w")).unwrap());
        let policy = Policy::new(Rules::new(rules), mode);
        own_policy(
            agent,
            &PolicyInput {
                policy: &policy,
                state: &[PathBuf::from("/home/me/.state")],
                file: Path::new("/rules"),
                asking,
                allowed_commands: &["git status".to_owned()],
                servers: &["lapidary".to_owned(), "other".to_owned()],
                project_files,
                agent_config: None,
            },
        )
    }

    /// The same over ACP, where the project has none.
    pub(super) fn asked(agent: &str, mode: PermissionMode, deny: &[&str]) -> Option<OwnPolicy> {
        given(agent, mode, deny, (AskAbility::Possible, &[]))
    }

    #[test]
    fn an_agent_that_may_do_everything_gets_no_rules() {
        for agent in ["gemini", "claude", "codex", "opencode", "qwen"] {
            let all = PermissionMode::BypassPermissions;
            assert_eq!(asked(agent, all, &[]), None, "{agent}");
            assert!(asked(agent, all, &["tool=x"]).is_some(), "{agent}");
        }
        assert_eq!(asked("unknown", PermissionMode::Default, &["*"]), None);
    }
}
