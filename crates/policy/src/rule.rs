//! A permission rule: which actions it matches, and whether they are allowed, denied or asked about.

use std::fmt;
use std::path::{Path, PathBuf};

use lapidary_vocab::event::ToolKind;

use super::glob::{self, PathGlob};
use super::host::{CallHost, HostPattern};
use super::host_reach::{self, HostReach};
use super::servers::{ServerSpelling, ambiguous_server, may_name_server};
use super::shell::{self, CommandLine, CommandPart};
use super::{PermissionEffect, ToolAction};

/// The author of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuleOrigin {
    /// The user, on the command line: it comes before every other.
    Flag,
    /// A project. It can only narrow the user's rules and mode.
    Project,
    /// The user, in a file, or a program.
    User,
}

/// One rule: the actions that it is about, and the decision about them. An absent condition matches every action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The decision.
    pub then: PermissionEffect,
    /// Why, in words for the agent.
    pub reason: Option<String>,
    /// Where it stands, such as `lapidary.toml:12` or `--deny 'execute'`.
    pub name: String,
    /// Its author.
    pub origin: RuleOrigin,
    /// The actions that the rule is about.
    pub about: RuleSubject,
}

/// The conditions of a rule. All that are given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSubject {
    /// Names or families of agents, with `*` and `?`: the rule counts only in their runs.
    pub agents: Vec<String>,
    /// Kinds of tools.
    pub kinds: Vec<ToolKind>,
    /// Names of tools, with `*` and `?`.
    pub tools: Vec<String>,
    /// MCP servers, by name.
    pub servers: Vec<String>,
    /// Commands, with `*`.
    pub commands: Vec<String>,
    /// Files and directories.
    pub paths: Vec<PathGlob>,
    /// Hosts.
    pub hosts: Vec<HostPattern>,
}

impl RuleSubject {
    /// Whether it looks at more than the tool: at commands, files or hosts.
    pub(super) fn is_narrow(&self) -> bool {
        !(self.commands.is_empty() && self.paths.is_empty() && self.hosts.is_empty())
    }
}

/// Kinds of calls that an agent asks about in any case.
const ASKED_KINDS: [ToolKind; 6] = [
    ToolKind::Edit,
    ToolKind::Delete,
    ToolKind::Move,
    ToolKind::Execute,
    ToolKind::Fetch,
    ToolKind::Mcp,
];

impl Rule {
    /// Whether it denies or asks about calls that an agent makes without asking, such as reading a file.
    pub fn narrows_unasked_calls(&self) -> bool {
        let about = &self.about;
        let is_of_command = !about.commands.is_empty() || !about.servers.is_empty();
        let is_of_asked_kinds =
            !about.kinds.is_empty() && about.kinds.iter().all(|kind| ASKED_KINDS.contains(kind));
        self.then != PermissionEffect::Allow && !is_of_command && !is_of_asked_kinds
    }
}

/// Rules in the order in which they count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// These rules, in this order.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self(rules.into_iter().collect())
    }

    /// Adds a rule behind the others.
    pub fn push(&mut self, rule: Rule) {
        self.0.push(rule);
    }

    /// These rules before others.
    pub fn before(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Rule> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Marks the rules as a project's. Their names keep the file name alone, because the project's path differs between machines.
    pub fn become_projects(&mut self) {
        for rule in &mut self.0 {
            rule.origin = RuleOrigin::Project;
            if let Some((_, name)) = rule.name.rsplit_once('/') {
                rule.name = name.to_owned();
            }
        }
    }

    /// The rules that count in runs of an agent that has these names.
    pub fn for_agent(&self, names: &[&str]) -> Self {
        let rules = self.0.iter().filter(|rule| rule.is_for_agent(names));
        Self(rules.cloned().collect())
    }

    /// Takes the rules away that are refused, and hands them over.
    pub fn refuse(&mut self, refused: impl Fn(&Rule) -> bool) -> Vec<Rule> {
        self.0.extract_if(.., |rule| refused(rule)).collect()
    }
}

impl<'a> IntoIterator for &'a Rules {
    type Item = &'a Rule;
    type IntoIter = std::slice::Iter<'a, Rule>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// An action, or one command of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActionStep<'a> {
    pub(super) action: &'a ToolAction,
    /// The line and the simple command in it, if it runs one.
    pub(super) command: Option<(&'a CommandLine, &'a CommandPart)>,
}

/// How a rule is about a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleMatch<'a> {
    /// The call shows that the rule matches.
    Certain,
    /// It cannot be told, and the rule refuses or asks: it counts as matched.
    Presumed(MatchPresumption<'a>),
    /// The rule is about commands, and only a running shell knows the command: the user has to be asked.
    Unreadable,
}

/// Why a rule counts as matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchPresumption<'a> {
    /// The call names no file.
    NoFile,
    /// It is about more files than are looked at.
    TooManyFiles,
    /// A file of the rule stands where no file is expected.
    PossibleFile(&'a Path),
    /// A file of the rule is named, but not the action on it.
    UnknownKind(&'a Path),
    /// A directory is deleted or moved in which such a file may lie.
    Directory(&'a Path),
    /// The call shows no host.
    NoHost,
    /// It does not show every host.
    HiddenHost,
    /// A host of the rule stands where no address is expected, or in a call that may have any effect.
    PossibleHost(&'a CallHost),
}

impl fmt::Display for MatchPresumption<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("the call does not say which file it is about"),
            Self::TooManyFiles => f.write_str("the call is about more files than are looked at"),
            Self::PossibleFile(path) => write!(f, "the call may be about `{}`", path.display()),
            Self::UnknownKind(path) => {
                write!(
                    f,
                    "the call does not say what it does to `{}`",
                    path.display()
                )
            }
            Self::Directory(path) => {
                write!(f, "such a file may lie in `{}`", path.display())
            }
            Self::NoHost => f.write_str("the call does not say which host it reaches"),
            Self::HiddenHost => f.write_str("the call does not show every host that it reaches"),
            Self::PossibleHost(host) => write!(f, "the call may reach `{}`", host.name),
        }
    }
}

impl Rule {
    /// Whether the rule counts in runs of an agent that has these names: its own and that of its family.
    pub fn is_for_agent(&self, names: &[&str]) -> bool {
        let patterns = &self.about.agents;
        let is_meant = |pattern: &String| {
            names
                .iter()
                .any(|name| glob::wildcard_matches(pattern, name))
        };
        patterns.is_empty() || patterns.iter().any(is_meant)
    }

    /// Whether the rule is about this step, and how surely. A rule that allows must be sure of all of it; for one that refuses or
    /// asks, any part is enough, and hidden parts are presumed to match.
    pub(super) fn match_step<'a>(&self, step: ActionStep<'a>) -> Option<RuleMatch<'a>> {
        let about = &self.about;
        let is_sure = self.then == PermissionEffect::Allow;
        let is_of_kind = about.kinds.is_empty() || kinds_match(&about.kinds, step.action, is_sure);
        let is_of_tool = (about.tools.is_empty()
            || tool_matches(&about.tools, step.action, is_sure))
            && (about.servers.is_empty() || server_matches(&about.servers, step.action, is_sure));
        if !is_of_tool {
            return None;
        }
        let is_wide = !is_sure && (self.is_about_files() || self.is_about_hosts());
        if !is_of_kind && !is_wide {
            return self.command_of_kind(step);
        }
        let command = if about.commands.is_empty() {
            RuleMatch::Certain
        } else {
            command_matches(&about.commands, step, is_sure)?
        };
        let file = match about.paths.as_slice() {
            [] => RuleMatch::Certain,
            globs if is_sure => {
                covers_each_file(globs, step.action).then_some(RuleMatch::Certain)?
            }
            globs => RuleMatch::of_files(globs, &about.kinds, is_of_kind, step.action)?,
        };
        let host = match about.hosts.as_slice() {
            [] => RuleMatch::Certain,
            hosts if is_sure => {
                reaches_only(hosts, &about.kinds, step.action).then_some(RuleMatch::Certain)?
            }
            hosts => RuleMatch::of_hosts(hosts, is_of_kind, step)?,
        };
        let mut unsure = [command, file, host].into_iter();
        Some(
            unsure
                .find(|it| *it != RuleMatch::Certain)
                .unwrap_or(RuleMatch::Certain),
        )
    }

    /// How a rule about all deletions, or all moves, is about a command.
    fn command_of_kind<'a>(&self, step: ActionStep<'a>) -> Option<RuleMatch<'a>> {
        let patterns = self.commands_of_kinds();
        let is_any = !patterns.is_empty();
        is_any.then(|| command_matches(&patterns, step, false))?
    }

    /// Commands that the rule is about although it is not about commands. None if it allows: then it has to be sure.
    pub(super) fn commands_of_kinds(&self) -> Vec<&'static str> {
        let about = &self.about;
        if self.then == PermissionEffect::Allow || about.is_narrow() {
            return Vec::new();
        }
        let commands = about.kinds.iter().flat_map(shell::commands_of);
        commands.copied().collect()
    }

    /// Whether it names files, and kinds of actions on them.
    pub(super) fn is_about_files(&self) -> bool {
        let about = &self.about;
        !about.paths.is_empty() && about.kinds.iter().any(is_file_kind)
    }
}

impl Rule {
    /// Whether it names hosts, and that it is about fetching from them.
    pub(super) fn is_about_hosts(&self) -> bool {
        let about = &self.about;
        let is_fetch = |kind: &ToolKind| matches!(kind, ToolKind::Fetch | ToolKind::Browse);
        !about.hosts.is_empty() && about.kinds.iter().any(is_fetch)
    }
}

fn is_file_kind(kind: &ToolKind) -> bool {
    use ToolKind::{Delete, Edit, Move, Read};
    matches!(kind, Read | Edit | Delete | Move)
}

impl<'a> RuleMatch<'a> {
    /// How a rule that refuses is about the files of a call. `is_of_kind` says whether it is about its kind.
    fn of_files(
        globs: &[PathGlob],
        kinds: &[ToolKind],
        is_of_kind: bool,
        action: &'a ToolAction,
    ) -> Option<Self> {
        let touched = |paths: &'a [PathBuf]| {
            let mut paths = paths.iter();
            let path = paths.find(|path| globs.iter().any(|glob| glob.touches_path(path)))?;
            Some(path.as_path())
        };
        // A command may have any effect on files that it names, and a tool of no known kind on those in its arguments.
        let is_command = action.command.is_some();
        if !is_of_kind && !is_command && !is_of_unknown_kind(action) {
            return None;
        }
        if action.has_unseen_paths {
            return Some(Self::Presumed(MatchPresumption::TooManyFiles));
        }
        if let Some(path) = touched(&action.paths) {
            return Some(if is_of_kind {
                Self::Certain
            } else {
                Self::Presumed(MatchPresumption::UnknownKind(path))
            });
        }
        let reads = kinds.is_empty() || kinds.contains(&ToolKind::Read);
        let read = || touched(&action.read_paths).filter(|_| reads);
        if let Some(path) = touched(&action.possible_paths).or_else(read) {
            return Some(Self::Presumed(MatchPresumption::PossibleFile(path)));
        }
        if let Some(path) = emptied_directory(globs, action).filter(|_| is_of_kind) {
            return Some(Self::Presumed(MatchPresumption::Directory(path)));
        }
        let is_unnamed = action.paths.is_empty() && !is_command;
        let is_about_files = (is_of_kind && works_on_files(action)) || says_nothing(action);
        (is_unnamed && is_about_files).then_some(Self::Presumed(MatchPresumption::NoFile))
    }
}

impl<'a> RuleMatch<'a> {
    /// How a rule that refuses is about the hosts of a call. `is_of_kind` says whether it is about its kind.
    fn of_hosts(hosts: &[HostPattern], is_of_kind: bool, step: ActionStep<'a>) -> Option<Self> {
        let action = step.action;
        let named = &action.hosts;
        let touched = |named: &'a [CallHost]| {
            let mut named = named.iter();
            named.find(|host| hosts.iter().any(|pattern| pattern.touches_host(host)))
        };
        let may_do_anything = action.command.is_some() || action.mcp_server.is_some();
        let reach = HostReach::from_tool(&action.kind, action.tool.as_deref().unwrap_or_default());
        let is_open = may_do_anything || reach == HostReach::Unknown;
        if !is_of_kind && !is_open {
            return None;
        }
        if let Some(host) = touched(&named.named) {
            return Some(if is_of_kind {
                Self::Certain
            } else {
                Self::Presumed(MatchPresumption::PossibleHost(host))
            });
        }
        if !is_open && reach == HostReach::None {
            return None;
        }
        let possible = touched(&named.possible).or_else(|| touched(&named.mentioned));
        if let Some(host) = possible {
            return Some(Self::Presumed(MatchPresumption::PossibleHost(host)));
        }
        if named.is_hidden {
            return Some(Self::Presumed(MatchPresumption::HiddenHost));
        }
        if let Some((line, _)) = step.command {
            return line.is_unreadable().then_some(Self::Unreadable);
        }
        let is_fetch = is_of_kind && reach == HostReach::Fetches;
        let is_silent = named.is_empty() && (is_fetch || says_nothing(action));
        is_silent.then_some(Self::Presumed(MatchPresumption::NoHost))
    }
}

/// Whether a call fetches, and only from these hosts. A tool that may have any effect counts if the rule names its kind; a
/// command never does: its words do not show the hosts that it reaches.
fn reaches_only(hosts: &[HostPattern], kinds: &[ToolKind], action: &ToolAction) -> bool {
    let covers = |host: &CallHost| hosts.iter().any(|pattern| pattern.covers_host(host));
    let fetches = |kind: &ToolKind| {
        matches!(kind, ToolKind::Fetch | ToolKind::Browse)
            || (host_reach::is_open(kind) && kinds.contains(kind))
    };
    let named = &action.hosts;
    let mut all = named.named.iter().chain(&named.possible);
    action.command.is_none()
        && kinds_of(action).all(fetches)
        && !named.is_hidden
        && !named.named.is_empty()
        && all.all(covers)
}

/// The directory that a call deletes or moves, in which a file of these may lie.
fn emptied_directory<'a>(globs: &[PathGlob], action: &'a ToolAction) -> Option<&'a Path> {
    let takes_away = [ToolKind::Delete, ToolKind::Move];
    let mut paths = action
        .paths
        .iter()
        .filter(|_| takes_away.contains(&action.kind));
    let path = paths.find(|path| globs.iter().any(|glob| glob.may_lie_in(path)))?;
    Some(path.as_path())
}

fn works_on_files(action: &ToolAction) -> bool {
    kinds_of(action).any(is_file_kind)
}

fn is_of_unknown_kind(action: &ToolAction) -> bool {
    let is_unknown = matches!(
        action.kind,
        ToolKind::Unclassified | ToolKind::Other(_) | ToolKind::Mcp | ToolKind::Execute
    );
    is_unknown && !kinds_of(action).any(is_file_kind)
}

/// Whether nothing is known of a call: neither its kind, nor its tool, nor any text in it.
fn says_nothing(action: &ToolAction) -> bool {
    let tool = action.tool.as_deref().unwrap_or_default();
    let is_nameless = matches!(tool, "" | "tool" | "other") || tool == action.kind.as_str();
    is_of_unknown_kind(action)
        && is_nameless
        && action.mcp_server.is_none()
        && action.possible_paths.is_empty()
}

/// Whether rules that allow cover each file of a call.
fn covers_each_file(globs: &[PathGlob], action: &ToolAction) -> bool {
    let covers = |path: &PathBuf| globs.iter().any(|glob| glob.covers_path(path));
    !action.has_unseen_paths && !action.paths.is_empty() && action.paths.iter().all(covers)
}

/// The kinds of an action. With a command it is an `execute`, with a diff an `edit`, with a server an `mcp`, in addition to the
/// agent's own kind. Tools that are known by name to change files do so under every kind.
fn kinds_of(action: &ToolAction) -> impl Iterator<Item = &ToolKind> {
    let also = [
        action.command.as_ref().map(|_| &ToolKind::Execute),
        action.shows_diff.then_some(&ToolKind::Edit),
        action.mcp_server.as_ref().map(|_| &ToolKind::Mcp),
        kind_by_name(action),
    ];
    also.into_iter().flatten().chain([&action.kind])
}

fn kind_by_name(action: &ToolAction) -> Option<&'static ToolKind> {
    let tool = action.tool.as_deref()?;
    match lapidary_normalize::tools::kind_of_any_agent(tool) {
        ToolKind::Execute => Some(&ToolKind::Execute),
        ToolKind::Edit => Some(&ToolKind::Edit),
        _ => None,
    }
}

fn kinds_match(kinds: &[ToolKind], action: &ToolAction, is_sure: bool) -> bool {
    let mut all = kinds_of(action);
    if is_sure {
        all.all(|kind| kinds.contains(kind))
    } else {
        all.any(|kind| kinds.contains(kind))
    }
}

/// A rule that refuses also looks at the title: agents without names for tools have theirs there.
fn tool_matches(tools: &[String], action: &ToolAction, is_sure: bool) -> bool {
    let matches = |name: &str| {
        tools
            .iter()
            .any(|pattern| glob::wildcard_matches(pattern, name))
    };
    let title = action.title.as_deref().filter(|_| !is_sure);
    action.tool.as_deref().is_some_and(matches) || title.is_some_and(matches)
}

/// `mcp_my_server_my_tool` does not show where the server's name ends. A rule that refuses tries every place, one that allows
/// only a certain one.
fn server_matches(servers: &[String], action: &ToolAction, is_sure: bool) -> bool {
    let tool = action.tool.as_deref().unwrap_or_default();
    let rest = ambiguous_server(tool);
    let server = action.mcp_server.as_deref();
    if is_sure {
        let is_certain = rest.is_none_or(|rest| rest.matches('_').count() == 1);
        let server = server.filter(|_| is_certain);
        return server.is_some_and(|server| any_matches(servers, server));
    }
    let spelled = rest.map(ServerSpelling::BeforeTool);
    let spelled = spelled.into_iter().chain(server.map(ServerSpelling::Whole));
    // Names of servers may have `__` in them, too.
    let marked = tool.strip_prefix("mcp__").unwrap_or_default();
    let ends = marked.match_indices("__").map(|(end, _)| &marked[..end]);
    let mut spelled = spelled.chain(ends.map(ServerSpelling::Whole));
    spelled.any(|name| servers.iter().any(|pattern| may_name_server(pattern, name)))
}

fn any_matches(patterns: &[String], name: &str) -> bool {
    let mut patterns = patterns.iter();
    patterns.any(|pattern| glob::wildcard_matches(pattern, name))
}

fn command_matches<'a>(
    patterns: &[impl AsRef<str>],
    step: ActionStep<'a>,
    is_sure: bool,
) -> Option<RuleMatch<'a>> {
    let (line, part) = step.command?;
    if is_sure {
        let is_allowed = |pattern: &str| {
            // A rule without `*` names the whole line, so its author has seen all of it.
            (!pattern.contains('*') && pattern == line.whole)
                || (part.is_plain && says(pattern, &part.text))
        };
        let mut patterns = patterns.iter().map(AsRef::as_ref);
        let is_allowed = !step.action.is_unclear && patterns.any(is_allowed);
        return is_allowed.then_some(RuleMatch::Certain);
    }
    let suspects = part.suspect_commands();
    let mut patterns = patterns.iter().map(AsRef::as_ref);
    let is_said = patterns.any(|pattern| {
        (shell::has_operators(pattern) && says(pattern, &line.whole))
            || suspects.iter().any(|suspect| says(pattern, suspect))
    });
    if is_said {
        return Some(RuleMatch::Certain);
    }
    line.is_unreadable().then_some(RuleMatch::Unreadable)
}

/// `git diff *` is `git diff` with or without arguments, and not `git difftool`.
fn says(pattern: &str, command: &str) -> bool {
    glob::command_matches(pattern, command)
        || pattern
            .strip_suffix(" *")
            .is_some_and(|program| glob::command_matches(program, command))
}
