//! Rules that are no mistakes, and hardly meant: two that contradict each other, tools that no agent has, and unknown agents.

use std::fmt;

use lapidary_normalize::tools;

use super::{PermissionEffect, Rule, Rules, glob};
use crate::nearest::nearest_of;

/// A remark for the author of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleRemark {
    /// Two rules are about the same calls, and say different things.
    Contradiction {
        /// The rule that counts.
        first: String,
        /// Its decision.
        says: PermissionEffect,
        /// The rule that never decides.
        second: String,
    },
    /// A rule names a tool that no known agent has.
    UnknownTool {
        /// The rule.
        rule: String,
        /// The tool.
        tool: String,
        /// The tool that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A rule names an agent that is not known: it counts in no run.
    UnknownAgent {
        /// The rule.
        rule: String,
        /// The agent.
        agent: String,
        /// The agent that was probably meant.
        nearest: Option<String>,
    },
}

impl RuleRemark {
    /// The rule that the remark is about, by its name.
    pub fn rule(&self) -> &str {
        match self {
            Self::Contradiction { second, .. } => second,
            Self::UnknownTool { rule, .. } | Self::UnknownAgent { rule, .. } => rule,
        }
    }
}

impl fmt::Display for RuleRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contradiction {
                first,
                says,
                second,
            } => write!(
                f,
                "{second} never decides: {first} is about the same calls, comes first, and says `{}`",
                says.as_str()
            ),
            Self::UnknownTool {
                rule,
                tool,
                nearest,
            } => {
                write!(
                    f,
                    "{rule}: no agent that Lapidary knows has a tool `{tool}`"
                )?;
                write_did_you_mean(*nearest, f)
            }
            Self::UnknownAgent {
                rule,
                agent,
                nearest,
            } => {
                write!(
                    f,
                    "{rule}: no agent that Lapidary knows is called `{agent}`"
                )?;
                write_did_you_mean(nearest.as_deref(), f)
            }
        }
    }
}

fn write_did_you_mean(nearest: Option<&str>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match nearest {
        Some(nearest) => write!(f, " (did you mean `{nearest}`?)"),
        None => Ok(()),
    }
}

impl Rules {
    /// Remarks for their author. `agents` are the names and families of the known agents.
    pub fn remarks(&self, agents: &[&str]) -> Vec<RuleRemark> {
        let rules: Vec<_> = self.iter().collect();
        let contradictions = rules.iter().enumerate().filter_map(|(at, second)| {
            let mut before = rules[..at].iter();
            let first = before.find(|first| rules_contradict(first, second))?;
            Some(RuleRemark::Contradiction {
                first: first.name.clone(),
                says: first.then,
                second: second.name.clone(),
            })
        });
        let unknown = rules.iter().flat_map(|rule| unknown_tools(rule));
        let strangers = rules.iter().flat_map(|rule| unknown_agents(rule, agents));
        contradictions.chain(unknown).chain(strangers).collect()
    }
}

fn rules_contradict(first: &Rule, second: &Rule) -> bool {
    first.origin == second.origin && first.about == second.about && first.then != second.then
}

fn unknown_tools(rule: &Rule) -> impl Iterator<Item = RuleRemark> {
    let unknown = rule.about.tools.iter().filter(|tool| {
        let is_name = !glob::is_pattern(tool) && !tool.contains(['/', ' ']);
        is_name && !tool.starts_with("mcp_") && !tools::KNOWN_NAMES.contains(&tool.as_str())
    });
    unknown.map(|tool| RuleRemark::UnknownTool {
        rule: rule.name.clone(),
        tool: tool.escape_debug().to_string(),
        nearest: nearest_of(tool, tools::KNOWN_NAMES.iter().copied()),
    })
}

fn unknown_agents(rule: &Rule, known: &[&str]) -> impl Iterator<Item = RuleRemark> {
    let is_unknown = |agent: &&String| {
        let is_meant = |known: &&str| glob::wildcard_matches(agent, known);
        !glob::is_pattern(agent) && !known.iter().any(is_meant)
    };
    let unknown = rule.about.agents.iter().filter(is_unknown);
    unknown.map(|agent| RuleRemark::UnknownAgent {
        rule: rule.name.clone(),
        agent: agent.escape_debug().to_string(),
        nearest: nearest_of(agent, known.iter().copied()).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn remarks(flags: &[(PermissionEffect, &str)]) -> Vec<String> {
        let rules = flags
            .iter()
            .map(|(effect, spec)| Rule::parse_flag(*effect, spec, Path::new("/p")).unwrap());
        let remarks = Rules::new(rules).remarks(&[]);
        remarks.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rules_that_contradict_each_other_are_remarked_on() {
        assert_eq!(
            remarks(&[
                (PermissionEffect::Deny, "execute"),
                (PermissionEffect::Allow, "execute")
            ]),
            [
                "--allow 'execute' never decides: --deny 'execute' is about the same calls, comes first, and says `deny`"
            ]
        );
        assert_eq!(
            remarks(&[
                (PermissionEffect::Deny, "execute:rm *"),
                (PermissionEffect::Allow, "execute")
            ]),
            [""; 0]
        );
    }

    #[test]
    fn a_rule_for_a_tool_that_no_agent_has_is_remarked_on() {
        assert_eq!(
            remarks(&[(PermissionEffect::Deny, "tool=run_shel_command")]),
            [
                "--deny 'tool=run_shel_command': no agent that Lapidary knows has a tool `run_shel_command` (did you mean `run_shell_command`?)"
            ]
        );
        let fine = [
            "tool=Bash",
            "tool=mcp_x_y",
            "tool=save_*",
            "tool=fs/write_text_file",
        ];
        for spec in fine {
            assert_eq!(
                remarks(&[(PermissionEffect::Deny, spec)]),
                [""; 0],
                "{spec}"
            );
        }
    }

    #[test]
    fn a_rule_for_an_unknown_agent_is_remarked_on() {
        let remarks = |agent: &str| {
            let mut rule =
                Rule::parse_flag(PermissionEffect::Deny, "execute", Path::new("/p")).unwrap();
            rule.about.agents.push(agent.to_owned());
            let remarks = Rules::new([rule]).remarks(&["claude", "gemini"]);
            remarks.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let told = "--deny 'execute': no agent that Lapidary knows is called `cluade` (did you mean `claude`?)";
        assert_eq!(remarks("cluade"), [told]);
        assert_eq!(remarks("claude"), [""; 0]);
        assert_eq!(remarks("my-*"), [""; 0]);
    }
}
