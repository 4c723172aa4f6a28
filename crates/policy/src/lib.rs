//! The actions that an agent may take, and the rules and modes that decide.
//!
//! An agent asks for permission to take a [`ToolAction`]. A [`Policy`] decides: first the [`Rules`], of which the first match
//! counts, then the permission mode. An action is judged by the agent's own description of it. `docs/permissions.md` is this
//! for people who write rules.
//!
//! [`budget`] limits the use of a run: tokens, money, calls of tools and turns.
//!
//! [`WorkspaceRoots`] and [`confined_files`] keep files that are opened for an agent inside its directories.

mod argument_names;
mod argument_roles;
pub mod budget;
mod command;
pub mod confined_files;
mod coverage;
mod glob;
mod host;
mod host_reach;
mod hosts;
mod mode;
pub mod nearest;
mod options;
mod patch;
mod paths;
mod permission_mode;
mod resolved_path;
mod roots;
mod rule;
mod rule_flag;
mod rule_remarks;
mod servers;
mod shell;
mod standing_answer;
mod tool_action;
mod wildcard;

use std::path::PathBuf;

use lapidary_vocab::event::{DecidedBy, PermissionDecision, ToolKind};

use rule::{ActionStep, RuleMatch};
use shell::CommandLine;

pub use coverage::{AgentTool, ToolCoverage};
pub use glob::{PathGlob, PathGlobError};
pub use host::{CallHost, HostPattern, HostPatternError};
pub use hosts::CallHosts;
pub use mode::SENSITIVE_NAMES;
pub use options::{OptionChoice, choose, only_always};
pub use permission_mode::PermissionMode;
pub use resolved_path::{lexical, resolved};
pub use roots::{LostPath, PlaceError, RootedPlace, WorkspaceRoots, follow};
pub use rule::{Rule, RuleOrigin, RuleSubject, Rules};
pub use rule_flag::FlagError;
pub use rule_remarks::RuleRemark;
pub use shell::{command_line, may_configure_git, quoted};
pub use standing_answer::StandingAnswer;
pub use tool_action::{ToolActions, arguments};

/// The file in which rules are written. A change of it needs a permission of its own: it decides about all other actions.
pub const CONFIG_FILE_NAME: &str = "lapidary.toml";

/// An action that an agent wants to take.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAction {
    /// The kind of tool.
    pub kind: ToolKind,
    /// The tool's name, as far as it is known: the agent's own, or the method of the protocol.
    pub tool: Option<String>,
    /// The agent's title for the call.
    pub title: Option<String>,
    /// The command, if it runs one.
    pub command: Option<String>,
    /// Its command stands in no known shape: `command` is the arguments as they stand, and the program is unknown.
    pub is_unclear: bool,
    /// The files and directories that it is about, absolute.
    pub paths: Vec<PathBuf>,
    /// Files that it may be about, too: texts among its arguments under names that say nothing, words of its title, words of
    /// its command. Rules that refuse look at them, and none that allows is sure of them.
    pub possible_paths: Vec<PathBuf>,
    /// Files that its command names and does not change.
    pub read_paths: Vec<PathBuf>,
    /// It is about more files than are looked at, or they stand too deep in its arguments: any file may be meant.
    pub has_unseen_paths: bool,
    /// It shows or describes a change of files, or was announced as an edit: then it changes them, even if its kind is another.
    pub shows_diff: bool,
    /// The hosts that it names.
    pub hosts: CallHosts,
    /// The MCP server that the tool belongs to.
    pub mcp_server: Option<String>,
}

/// The decision about an action, from least to most strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PermissionEffect {
    /// The action is allowed.
    Allow,
    /// A person or a client has to be asked.
    Ask,
    /// The action is refused.
    Deny,
}

impl PermissionEffect {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Deny, Self::Ask];

    /// The word for it in a rule and in a flag.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        }
    }

    /// The effect that `word` stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == word)
    }
}

/// Whether a person or client made the decision, or would have made it if one had been there: not a rule, a mode or a hook
/// alone.
pub fn was_asked(decision: &PermissionDecision) -> bool {
    match &decision.decided_by {
        None | Some(DecidedBy::User | DecidedBy::Peer) => true,
        Some(_) => decision.unattended,
    }
}

/// The answer to an action, its origin and its reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Allow, ask or deny.
    pub effect: PermissionEffect,
    /// The rule, mode, hook or person that decided.
    pub by: DecidedBy,
    /// The rule that decided, named by where it stands, such as `lapidary.toml:12`.
    pub rule: Option<String>,
    /// Why, in words for the agent and for people.
    pub reason: String,
    /// A person would have been asked, but none was there.
    pub is_unattended: bool,
    /// It holds for the rest of the run.
    pub is_for_run: bool,
    /// A rule decided because the call does not show its file or host: a later message may show that the rule does not match.
    pub is_presumed: bool,
}

impl Decision {
    /// A decision that is no rule's.
    pub fn new(effect: PermissionEffect, by: DecidedBy, reason: impl Into<String>) -> Self {
        Self {
            effect,
            by,
            rule: None,
            reason: reason.into(),
            is_unattended: false,
            is_for_run: false,
            is_presumed: false,
        }
    }

    /// The decision where no person can be asked: a refusal that names a way to allow the call.
    pub fn unattended(self) -> Self {
        self.refused_with_hint("--allow")
    }

    fn refused_with_hint(self, flag: &str) -> Self {
        let file = crate::CONFIG_FILE_NAME;
        self.without_anybody(&format!("; `{flag}` or a rule in {file} would allow it"))
    }

    /// Turns a decision to ask into a refusal.
    pub fn without_anybody(self, remedy: &str) -> Self {
        if self.effect != PermissionEffect::Ask {
            return self;
        }
        Self {
            effect: PermissionEffect::Deny,
            reason: format!("{}, and no person can be asked{remedy}", self.reason),
            is_unattended: true,
            ..self
        }
    }
}

/// Decides about the actions of an agent.
///
/// ```
/// use lapidary_policy::PermissionMode;
/// use lapidary_policy::{ToolAction, PermissionEffect, Policy, Rule, Rules};
/// use lapidary_vocab::event::ToolKind;
///
/// let here = std::path::Path::new("/work");
/// let rules = Rules::new([Rule::parse_flag(PermissionEffect::Allow, "execute:git diff *", here)?]);
/// let policy = Policy::new(rules, PermissionMode::Default).with_roots([here]);
/// let run = |command: &str| ToolAction {
///     command: Some(command.to_owned()),
///     ..ToolAction::new(ToolKind::Execute)
/// };
/// assert_eq!(policy.decide(&run("git diff --stat")).effect, PermissionEffect::Allow);
/// assert_eq!(policy.decide(&run("git diff; rm -rf /")).effect, PermissionEffect::Ask);
/// # Ok::<(), lapidary_policy::FlagError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    rules: Rules,
    mode: PermissionMode,
    /// Where the agent may work, links followed.
    roots: Vec<PathBuf>,
    answer_calls: &'static [AnswerCall],
}

/// A call by which the agent hands its answer to us, and does nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerCall {
    /// A call of the tool with this name.
    Named(&'static str),
    /// A call with this title, of a tool of this MCP server. For agents that report calls of MCP tools without their names, as Codex
    /// does, and whose titles and servers no model writes.
    Titled {
        /// The title.
        title: &'static str,
        /// The server.
        server: &'static str,
    },
}

impl AnswerCall {
    fn is_made_by(self, action: &ToolAction) -> bool {
        match self {
            Self::Named(name) => {
                action.tool.as_deref() == Some(name) && !has_effect_of_its_own(&action.kind)
            }
            Self::Titled { title, server } => {
                action.title.as_deref() == Some(title)
                    && action.mcp_server.as_deref() == Some(server)
            }
        }
    }
}

/// A decision, and which rules had a part in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyEvaluation {
    /// The decision.
    pub decision: Decision,
    /// The rules that decided, by their place among the rules. More than one for a line of several commands.
    pub decided: Vec<usize>,
    /// The rules that are about it, whether or not another came first.
    pub matched: Vec<usize>,
}

/// The decision about a step, and its rule.
struct StepDecision {
    decision: Decision,
    rule: Option<usize>,
}

impl Policy {
    /// These rules, then this mode. No directory counts as the workspace yet.
    pub fn new(rules: Rules, mode: PermissionMode) -> Self {
        Self {
            rules,
            mode,
            roots: Vec::new(),
            answer_calls: &[],
        }
    }

    /// Sets where the agent may work. Links in these paths are followed now: a later change of their targets does not count.
    pub fn with_roots<P: Into<PathBuf>>(mut self, roots: impl IntoIterator<Item = P>) -> Self {
        let roots = roots.into_iter().map(Into::into);
        self.roots = roots
            .filter_map(|root: PathBuf| resolved_path::resolved(&root))
            .collect();
        self
    }

    /// Sets the calls by which the agent hands its answer to us. They are allowed where no rule denies the tool itself: the answer may
    /// name files, commands and hosts, and has no effect on them.
    pub fn with_answer_calls(mut self, calls: &'static [AnswerCall]) -> Self {
        self.answer_calls = calls;
        self
    }

    fn is_answer(&self, action: &ToolAction) -> bool {
        self.answer_calls.iter().any(|call| call.is_made_by(action))
    }

    /// Changes the mode. The rules stay.
    pub fn set_mode(&mut self, mode: PermissionMode) {
        self.mode = mode;
    }

    /// The mode.
    pub fn mode(&self) -> PermissionMode {
        self.mode
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Decides.
    pub fn decide(&self, action: &ToolAction) -> Decision {
        self.judge(action).decision
    }

    /// Decides where no person can be asked: a decision to ask becomes a refusal that names a flag to allow the call.
    pub fn decide_unattended(&self, action: &ToolAction) -> Decision {
        let flag = format!("--allow '{}'", action.as_flag());
        self.decide(action).refused_with_hint(&flag)
    }

    /// Decides, and says which rules had to do with it.
    ///
    /// A line of several commands is decided command by command, and the strictest decision holds.
    pub fn judge(&self, action: &ToolAction) -> PolicyEvaluation {
        let bare = self.is_answer(action).then(|| action.without_arguments());
        let action = bare.as_ref().unwrap_or(action);
        let line = action.command.as_deref().map(CommandLine::parse);
        let steps: Vec<_> = match &line {
            Some(line) => line
                .parts
                .iter()
                .map(|part| ActionStep {
                    action,
                    command: Some((line, part)),
                })
                .collect(),
            None => vec![ActionStep {
                action,
                command: None,
            }],
        };
        let matched = self.rules.iter().enumerate();
        let is_about = |rule: &Rule| steps.iter().any(|step| rule.match_step(*step).is_some());
        let matched = matched.filter(|(_, rule)| is_about(rule));
        let matched = matched.map(|(at, _)| at).collect();
        let verdicts = steps
            .into_iter()
            .map(|step| self.step_verdict(step))
            .collect();
        strictest_decision(verdicts, matched)
    }

    /// The decision of rules and mode. Where a rule refuses commands and one of the line cannot be read, the user is asked.
    fn step_verdict(&self, step: ActionStep<'_>) -> StepDecision {
        let verdict = self.readable_verdict(step);
        if verdict.decision.effect != PermissionEffect::Allow {
            return verdict;
        }
        let mut rules = self.rules.iter().enumerate();
        let unread = rules.find(|(at, rule)| {
            rule.match_step(step) == Some(RuleMatch::Unreadable)
                && self.comes_before(*at, verdict.rule)
        });
        unread.map_or(verdict, |(at, rule)| {
            rule.match_verdict(at, RuleMatch::Unreadable)
        })
    }

    /// Rules of flags come first. Then the stricter verdict counts: the project's rules, or the user's rules and the mode.
    fn readable_verdict(&self, step: ActionStep<'_>) -> StepDecision {
        let first = |origin| {
            let mut rules = self.rules.iter().enumerate();
            rules.find_map(|(at, rule)| {
                let matching = rule
                    .match_step(step)
                    .filter(|it| *it != RuleMatch::Unreadable)?;
                (rule.origin == origin).then(|| rule.match_verdict(at, matching))
            })
        };
        if let Some(flag) = first(RuleOrigin::Flag) {
            return flag;
        }
        let own = first(RuleOrigin::User).unwrap_or_else(|| StepDecision {
            decision: self.decide_without_rule(step.action),
            rule: None,
        });
        match first(RuleOrigin::Project) {
            Some(narrow) if narrow.decision.effect >= own.decision.effect => narrow,
            _ => own,
        }
    }

    fn decide_without_rule(&self, action: &ToolAction) -> Decision {
        if self.is_answer(action) {
            let reason = "it hands the answer to Lapidary";
            return Decision::new(PermissionEffect::Allow, DecidedBy::Default, reason);
        }
        mode::decide_by_mode(self.mode, action, &self.roots)
    }

    /// Whether a rule counts before the one that has decided. The mode decides last, and a project's rule counts beside the
    /// user's.
    fn comes_before(&self, at: usize, decided: Option<usize>) -> bool {
        let Some(decided) = decided else { return true };
        let rank = |at: usize| match self.rules.iter().nth(at).map(|rule| rule.origin) {
            Some(RuleOrigin::Flag) => (0, at),
            Some(RuleOrigin::Project) => (1, 0),
            Some(RuleOrigin::User) | None => (1, at),
        };
        rank(at) < rank(decided)
    }
}

/// Whether an agent says by the kind of a call that it does more than pass data.
fn has_effect_of_its_own(kind: &ToolKind) -> bool {
    use ToolKind::{Browse, Delete, Edit, Execute, Fetch, Move};
    matches!(kind, Browse | Delete | Edit | Execute | Fetch | Move)
}

impl Rule {
    fn match_verdict(&self, at: usize, matching: RuleMatch<'_>) -> StepDecision {
        let usual = match self.then {
            PermissionEffect::Allow => format!("allowed by {}", self.name),
            PermissionEffect::Deny => format!("denied by {}", self.name),
            PermissionEffect::Ask => format!("{} requires a person to be asked", self.name),
        };
        let reason = self.reason.clone().unwrap_or(usual);
        let (effect, reason) = match matching {
            RuleMatch::Certain => (self.then, reason),
            RuleMatch::Presumed(why) => (self.then, format!("{reason}: {why}")),
            RuleMatch::Unreadable => (
                PermissionEffect::Ask,
                format!(
                    "{} may match, and only a shell knows what this command runs",
                    self.name
                ),
            ),
        };
        StepDecision {
            decision: Decision {
                rule: Some(self.name.clone()),
                is_presumed: matching != RuleMatch::Certain,
                ..Decision::new(effect, DecidedBy::Rule, reason)
            },
            rule: Some(at),
        }
    }
}

/// The first of the strictest decisions, a rule's rather than the mode's. If several rules allow it, all of them are named.
fn strictest_decision(verdicts: Vec<StepDecision>, matched: Vec<usize>) -> PolicyEvaluation {
    let effect = verdicts.iter().map(|verdict| verdict.decision.effect).max();
    let effect = effect.unwrap_or(PermissionEffect::Deny);
    let mut decided = Vec::new();
    let mut names = Vec::new();
    let mut first: Option<Decision> = None;
    for verdict in verdicts {
        if verdict.decision.effect != effect {
            continue;
        }
        if let Some(at) = verdict.rule.filter(|at| !decided.contains(at)) {
            decided.push(at);
            names.extend(verdict.decision.rule.clone());
        }
        if first
            .as_ref()
            .is_none_or(|first| first.rule.is_none() && verdict.rule.is_some())
        {
            first = Some(verdict.decision);
        }
    }
    let mut decision =
        first.expect("there is a verdict on each step, and there is at least one step");
    if decision.rule.is_some() && effect == PermissionEffect::Allow {
        decision.rule = Some(names.join(", "));
    }
    PolicyEvaluation {
        decision,
        decided,
        matched,
    }
}

impl ToolAction {
    /// The value for `--allow`.
    fn as_flag(&self) -> String {
        match (&self.mcp_server, &self.tool) {
            (Some(_), Some(tool)) => format!("tool={tool}"),
            _ if self.command.is_some() && self.kind == ToolKind::Execute => {
                "execute:COMMAND".to_owned()
            }
            _ if self.command.is_some() => "command=COMMAND".to_owned(),
            _ => {
                let kind = match &self.kind {
                    ToolKind::Other(_) => "other",
                    kind => kind.as_str(),
                };
                let is_also_edit = self.shows_diff && self.kind != ToolKind::Edit;
                format!("{}{kind}", if is_also_edit { "edit," } else { "" })
            }
        }
    }
}
