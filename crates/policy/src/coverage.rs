//! The decision of rules and mode about every call of a tool: whether the agent has to ask before it uses the tool.

use lapidary_vocab::event::ToolKind;

use super::host_reach::{HostReach, is_open};
use super::rule::{Rule, RuleOrigin};
use super::{PermissionEffect, Policy, glob};
use crate::permission_mode::PermissionMode;

/// A tool as an agent has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentTool<'a> {
    /// The agent's name for it.
    pub name: &'a str,
    /// The kind of tool.
    pub kind: &'a ToolKind,
    /// The MCP server that it belongs to.
    pub server: Option<&'a str>,
}

/// The decision about all calls of a tool together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolCoverage {
    /// Every call is allowed.
    Allowed,
    /// No rule is about the tool, and the permission mode allows the agent's usual actions: read the workspace, plan, take notes.
    Usual,
    /// Some calls are not allowed, or it is unknown: each has to be asked about.
    Asked,
    /// Every call is denied.
    Denied,
}

/// Whether a rule is about the calls of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleReach {
    None,
    Some,
    All,
}

/// The decisions that calls of a tool can get.
#[derive(Debug, Clone, Copy, Default)]
struct ToolOutcomes {
    allow: bool,
    ask: bool,
    deny: bool,
    usual: bool,
    /// A rule is about all calls: later ones do not count.
    is_decided: bool,
}

impl Policy {
    /// The decision about all calls of a tool together.
    pub fn coverage(&self, tool: AgentTool<'_>) -> ToolCoverage {
        let flags = self.tool_outcomes(RuleOrigin::Flag, tool);
        if flags.is_decided {
            return flags.tool_coverage();
        }
        let mut own = self.tool_outcomes(RuleOrigin::User, tool);
        if !own.is_decided {
            own = own.union_with(of_mode(self.mode(), tool));
        }
        let project = self.tool_outcomes(RuleOrigin::Project, tool);
        flags.union_with(own.narrowed_by(project)).tool_coverage()
    }

    /// Whether a rule that does not allow is about tools or MCP servers by their names.
    pub fn narrows_servers(&self) -> bool {
        let mut narrow = self
            .rules()
            .iter()
            .filter(|rule| rule.then != PermissionEffect::Allow);
        narrow.any(|rule| !rule.about.tools.is_empty() || !rule.about.servers.is_empty())
    }

    fn tool_outcomes(&self, origin: RuleOrigin, tool: AgentTool<'_>) -> ToolOutcomes {
        let mut outcomes = ToolOutcomes::default();
        for rule in self.rules().iter().filter(|rule| rule.origin == origin) {
            let reach = rule.reach_of_tool(tool);
            if reach != RuleReach::None {
                outcomes.add_effect(rule.then);
            }
            if reach == RuleReach::All {
                outcomes.is_decided = true;
                break;
            }
        }
        outcomes
    }
}

impl ToolOutcomes {
    fn add_effect(&mut self, effect: PermissionEffect) {
        match effect {
            PermissionEffect::Allow => self.allow = true,
            PermissionEffect::Ask => self.ask = true,
            PermissionEffect::Deny => self.deny = true,
        }
    }

    fn union_with(self, other: Self) -> Self {
        Self {
            allow: self.allow || other.allow,
            ask: self.ask || other.ask,
            deny: self.deny || other.deny,
            usual: self.usual || other.usual,
            is_decided: self.is_decided || other.is_decided,
        }
    }

    /// With rules of a project, which can only make an outcome stricter.
    fn narrowed_by(self, project: Self) -> Self {
        let stays = !project.is_decided;
        let is_asked = project.ask && !self.is_only_denied();
        Self {
            allow: self.allow && stays,
            usual: self.usual && stays,
            ask: (self.ask && (stays || project.ask)) || is_asked,
            deny: self.deny || project.deny,
            is_decided: self.is_decided,
        }
    }

    fn is_only_denied(self) -> bool {
        self.deny && !self.allow && !self.ask && !self.usual
    }

    fn tool_coverage(self) -> ToolCoverage {
        match (self.allow, self.usual, self.ask, self.deny) {
            (_, false, false, false) => ToolCoverage::Allowed,
            (_, true, false, false) => ToolCoverage::Usual,
            (false, false, false, true) => ToolCoverage::Denied,
            _ => ToolCoverage::Asked,
        }
    }
}

/// In plan mode the agent plans by itself: its own mode holds it back, and it writes its plans where it wants to.
fn of_mode(mode: PermissionMode, tool: AgentTool<'_>) -> ToolOutcomes {
    let mut outcomes = ToolOutcomes::default();
    let is_usual = matches!(
        tool.kind,
        ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Ask
    );
    match mode {
        PermissionMode::BypassPermissions => outcomes.allow = true,
        PermissionMode::Plan => outcomes.usual = true,
        PermissionMode::Default | PermissionMode::AcceptEdits => {
            outcomes.usual = is_usual && tool.server.is_none();
            outcomes.ask = !outcomes.usual;
        }
    }
    outcomes
}

impl Rule {
    fn reach_of_tool(&self, tool: AgentTool<'_>) -> RuleReach {
        let about = &self.about;
        let is_named = |patterns: &[String], name: &str| {
            patterns
                .iter()
                .any(|pattern| glob::wildcard_matches(pattern, name))
        };
        let is_of_kind = self.is_of_kind(tool);
        let is_out = !(is_of_kind || self.may_be_about(tool) || self.may_be_command(tool))
            || !(about.tools.is_empty() || is_named(&about.tools, tool.name))
            || !(about.servers.is_empty()
                || tool
                    .server
                    .is_some_and(|server| is_named(&about.servers, server)))
            || !(about.commands.is_empty() || *tool.kind == ToolKind::Execute)
            || !(about.hosts.is_empty() || may_reach_hosts(tool));
        if is_out {
            RuleReach::None
        } else if is_of_kind && !about.is_narrow() {
            RuleReach::All
        } else {
            RuleReach::Some
        }
    }

    /// Whether a rule about files or hosts is about a tool of another kind: a command may have any effect on files and hosts that
    /// it names, and a tool of no known kind on those in its arguments.
    fn may_be_about(&self, tool: AgentTool<'_>) -> bool {
        let is_open = tool.server.is_some() || is_open(tool.kind);
        self.then != PermissionEffect::Allow
            && (self.is_about_files() || self.is_about_hosts())
            && is_open
    }

    /// Whether a rule about deletions or moves is about a tool that runs commands: some commands delete or move.
    fn may_be_command(&self, tool: AgentTool<'_>) -> bool {
        *tool.kind == ToolKind::Execute && !self.commands_of_kinds().is_empty()
    }

    /// Whether the kinds of the rule fit. One that allows has to name all that a tool is.
    fn is_of_kind(&self, tool: AgentTool<'_>) -> bool {
        let kinds = &self.about.kinds;
        let mcp = tool.server.map(|_| &ToolKind::Mcp);
        let mut own = mcp.into_iter().chain([tool.kind]);
        kinds.is_empty()
            || match self.then {
                PermissionEffect::Allow => own.all(|kind| kinds.contains(kind)),
                PermissionEffect::Ask | PermissionEffect::Deny => {
                    own.any(|kind| kinds.contains(kind))
                }
            }
    }
}

/// Whether calls of a tool may reach a host.
fn may_reach_hosts(tool: AgentTool<'_>) -> bool {
    tool.server.is_some() || HostReach::from_tool(tool.kind, tool.name) != HostReach::None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Rules;

    const SHELL: AgentTool<'_> = AgentTool {
        name: "run_shell_command",
        kind: &ToolKind::Execute,
        server: None,
    };
    const READ: AgentTool<'_> = AgentTool {
        name: "read_file",
        kind: &ToolKind::Read,
        server: None,
    };
    const EDIT: AgentTool<'_> = AgentTool {
        name: "write_file",
        kind: &ToolKind::Edit,
        server: None,
    };
    const LEAK: AgentTool<'_> = AgentTool {
        name: "mcp_vault_leak",
        kind: &ToolKind::Mcp,
        server: Some("vault"),
    };

    #[track_caller]
    fn check(
        mode: PermissionMode,
        rules: &[(PermissionEffect, &str)],
        expected: [ToolCoverage; 4],
    ) {
        let rules = rules
            .iter()
            .map(|(effect, spec)| Rule::parse_flag(*effect, spec, Path::new("/work")).unwrap());
        let policy = Policy::new(Rules::new(rules), mode);
        let found = [SHELL, READ, EDIT, LEAK].map(|tool| policy.coverage(tool));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rule_narrows_calls_that_are_not_asked_about_unless_it_is_only_about_others() {
        for (effect, spec, expected) in [
            (PermissionEffect::Deny, "read:secrets/**", true),
            (PermissionEffect::Ask, "tool=read_file", true),
            (PermissionEffect::Allow, "read", false),
            (PermissionEffect::Deny, "execute:git push*", false),
            (PermissionEffect::Deny, "edit", false),
        ] {
            let rule = Rule::parse_flag(effect, spec, Path::new("/work")).unwrap();
            assert_eq!(rule.narrows_unasked_calls(), expected, "{spec}");
        }
    }

    #[test]
    fn a_mode_asks_about_what_can_do_harm() {
        use ToolCoverage::{Allowed, Asked, Usual};
        check(PermissionMode::Default, &[], [Asked, Usual, Asked, Asked]);
        check(
            PermissionMode::AcceptEdits,
            &[],
            [Asked, Usual, Asked, Asked],
        );
        check(PermissionMode::BypassPermissions, &[], [Allowed; 4]);
        check(PermissionMode::Plan, &[], [Usual; 4]);
    }

    #[test]
    fn a_rule_about_all_calls_decides_and_one_about_some_is_asked() {
        use PermissionEffect::{Allow, Ask, Deny};
        use ToolCoverage::{Allowed, Asked, Denied, Usual};
        let yolo = PermissionMode::BypassPermissions;
        check(
            yolo,
            &[(Deny, "execute")],
            [Denied, Allowed, Allowed, Allowed],
        );
        check(
            yolo,
            &[(Deny, "execute:rm *")],
            [Asked, Allowed, Allowed, Allowed],
        );
        check(
            yolo,
            &[(Deny, "read:secret.txt")],
            [Asked, Asked, Allowed, Asked],
        );
        check(
            yolo,
            &[(Deny, "mcp:vault")],
            [Allowed, Allowed, Allowed, Denied],
        );
        check(yolo, &[(Deny, "mcp:other")], [Allowed; 4]);
        let shell_asks = [Asked, Allowed, Allowed, Allowed];
        check(yolo, &[(Deny, "delete")], shell_asks);
        check(yolo, &[(Ask, "move")], shell_asks);
        check(
            yolo,
            &[(Ask, "tool=write_*")],
            [Allowed, Allowed, Asked, Allowed],
        );
        check(
            yolo,
            &[(Deny, "fetch:evil.com")],
            [Asked, Allowed, Allowed, Asked],
        );
        check(yolo, &[(Deny, "*")], [Denied; 4]);
        let default = PermissionMode::Default;
        check(
            default,
            &[(Allow, "execute:ls")],
            [Asked, Usual, Asked, Asked],
        );
        check(
            default,
            &[(Allow, "execute")],
            [Allowed, Usual, Asked, Asked],
        );
        check(
            default,
            &[(Deny, "edit"), (Allow, "*")],
            [Allowed, Allowed, Denied, Allowed],
        );
    }

    #[test]
    fn a_tool_that_fetches_is_asked_about_if_a_rule_names_a_host() {
        let of = |effect, mode| {
            let rule = Rule::parse_flag(effect, "fetch:docs.rs", Path::new("/work")).unwrap();
            let tool = AgentTool {
                name: "web_fetch",
                kind: &ToolKind::Fetch,
                server: None,
            };
            Policy::new(Rules::new([rule]), mode).coverage(tool)
        };
        let (default, yolo) = (PermissionMode::Default, PermissionMode::BypassPermissions);
        assert_eq!(of(PermissionEffect::Allow, default), ToolCoverage::Asked);
        assert_eq!(of(PermissionEffect::Deny, yolo), ToolCoverage::Asked);
    }

    #[test]
    fn a_rule_of_a_project_only_narrows() {
        use ToolCoverage::{Allowed, Asked, Denied, Usual};
        let rule = |effect, spec| {
            let mut rule = Rule::parse_flag(effect, spec, Path::new("/work")).unwrap();
            rule.origin = RuleOrigin::Project;
            Rules::new([rule])
        };
        let of = |mode, rules| {
            let policy = Policy::new(rules, mode);
            [SHELL, READ].map(|tool| policy.coverage(tool))
        };
        let yolo = PermissionMode::BypassPermissions;
        assert_eq!(
            of(yolo, rule(PermissionEffect::Deny, "execute")),
            [Denied, Allowed]
        );
        assert_eq!(
            of(yolo, rule(PermissionEffect::Ask, "execute")),
            [Asked, Allowed]
        );
        let default = PermissionMode::Default;
        assert_eq!(
            of(default, rule(PermissionEffect::Deny, "read:x")),
            [Asked, Asked]
        );
        assert_eq!(
            of(default, rule(PermissionEffect::Deny, "execute")),
            [Denied, Usual]
        );
    }
}
