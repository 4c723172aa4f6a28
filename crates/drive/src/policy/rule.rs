//! Rules: what somebody wrote down about what an agent may do.

use lapidary_vocab::event::ToolKind;

use super::glob::{self, PathGlob};
use super::shell::{self, CommandLine, Part};
use super::{Deed, Effect};

/// Who wrote a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The user, on the command line: it comes before every other.
    Flag,
    /// A project. It can only narrow what the user's rules and mode say.
    Project,
    /// The user, in a file, or a program.
    User,
}

/// One rule: which deeds it is about, and what becomes of them. What it does not say anything about it does not look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What becomes of the deed.
    pub then: Effect,
    /// Why, in words for the agent.
    pub reason: Option<String>,
    /// Where it stands, such as `lapidary.toml:12` or `--deny 'execute'`.
    pub name: String,
    /// Who wrote it.
    pub origin: Origin,
    pub(crate) about: About,
}

/// What a rule looks at. Everything that is given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(super) kinds: Vec<ToolKind>,
    pub(super) tools: Vec<String>,
    pub(super) servers: Vec<String>,
    pub(super) commands: Vec<String>,
    pub(super) paths: Vec<PathGlob>,
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

    /// Says that a project wrote them. It is named by its file alone: everybody who works on it has it elsewhere.
    pub(crate) fn become_projects(&mut self) {
        for rule in &mut self.0 {
            rule.origin = Origin::Project;
            if let Some((_, name)) = rule.name.rsplit_once('/') {
                rule.name = name.to_owned();
            }
        }
    }

    /// Takes the rules away that are refused, and hands them over.
    pub(crate) fn refuse(&mut self, refused: impl Fn(&Rule) -> bool) -> Vec<Rule> {
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

/// A deed, or one command of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) deed: &'a Deed,
    /// The line and the simple command in it, if it runs one.
    pub(super) command: Option<(&'a CommandLine, &'a Part)>,
}

impl Rule {
    /// Whether the rule is about this. A rule that allows must be sure of all of it; for one that refuses or asks, any part is
    /// enough.
    pub(super) fn matches(&self, step: Step<'_>) -> bool {
        let about = &self.about;
        let is_sure = self.then == Effect::Allow;
        (about.kinds.is_empty() || kinds_match(&about.kinds, step.deed, is_sure))
            && (about.tools.is_empty() || tool_matches(&about.tools, step.deed))
            && (about.servers.is_empty() || server_matches(&about.servers, step.deed, is_sure))
            && (about.commands.is_empty() || command_matches(&about.commands, step, is_sure))
            && (about.paths.is_empty() || paths_match(&about.paths, step.deed, is_sure))
    }
}

/// What runs a command is an `execute`, what shows a diff an `edit`, and what belongs to a server is an `mcp`, whatever else the agent calls it.
fn kinds_match(kinds: &[ToolKind], deed: &Deed, is_sure: bool) -> bool {
    let also = [
        deed.command.as_ref().map(|_| &ToolKind::Execute),
        deed.shows_diff.then_some(&ToolKind::Edit),
        deed.mcp_server.as_ref().map(|_| &ToolKind::Mcp),
    ];
    let mut all = also.into_iter().flatten().chain([&deed.kind]);
    if is_sure {
        all.all(|kind| kinds.contains(kind))
    } else {
        all.any(|kind| kinds.contains(kind))
    }
}

fn tool_matches(tools: &[String], deed: &Deed) -> bool {
    let tool = deed.tool.as_deref();
    tool.is_some_and(|tool| tools.iter().any(|pattern| glob::matches(pattern, tool)))
}

/// `mcp_my_server_my_tool` does not say where the server's name ends. A rule that refuses tries every place, one that allows
/// only what is certain.
fn server_matches(servers: &[String], deed: &Deed, is_sure: bool) -> bool {
    let matches = |name: &str| servers.iter().any(|pattern| glob::matches(pattern, name));
    let tool = deed.tool.as_deref().unwrap_or_default();
    let ambiguous = super::deed::ambiguous_server(tool);
    match ambiguous {
        Some(rest) if is_sure => {
            rest.matches('_').count() == 1 && deed.mcp_server.as_deref().is_some_and(matches)
        }
        Some(rest) => rest
            .match_indices('_')
            .any(|(end, _)| matches(&rest[..end])),
        None => deed.mcp_server.as_deref().is_some_and(matches),
    }
}

fn command_matches(patterns: &[String], step: Step<'_>, is_sure: bool) -> bool {
    let Some((line, part)) = step.command else {
        return false;
    };
    if is_sure {
        return !step.deed.is_unclear
            && patterns.iter().any(|pattern| {
                // Who writes a line out knows what is in it.
                (!pattern.contains('*') && *pattern == line.whole)
                    || (part.is_plain && says(pattern, &part.text))
            });
    }
    let suspects = shell::suspects(&part.text);
    patterns.iter().any(|pattern| {
        (shell::has_operators(pattern) && says(pattern, &line.whole))
            || suspects.iter().any(|suspect| says(pattern, suspect))
    })
}

/// `git diff *` is `git diff` with or without arguments, and not `git difftool`.
fn says(pattern: &str, command: &str) -> bool {
    glob::command_matches(pattern, command)
        || pattern
            .strip_suffix(" *")
            .is_some_and(|program| glob::command_matches(program, command))
}

fn paths_match(globs: &[PathGlob], deed: &Deed, is_sure: bool) -> bool {
    let mut paths = deed.paths.iter();
    if deed.has_unseen_paths() {
        return !is_sure;
    }
    if is_sure {
        !deed.paths.is_empty() && paths.all(|path| globs.iter().any(|glob| glob.covers(path)))
    } else {
        paths.any(|path| globs.iter().any(|glob| glob.touches(path)))
    }
}
