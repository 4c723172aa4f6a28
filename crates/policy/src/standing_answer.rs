//! Answers that hold for the rest of a run: `always` at the terminal.
//!
//! Such an answer is as narrow as it can be and still be of use: the same tool with the same command line, or with the same
//! files, or with the same hosts, or the same tool if it has none of them. The agent's own `allow_always` is never chosen for it.
//! The agent decides which calls that option allows (Gemini CLI: any command that begins alike; Claude Code: a rule that it
//! writes into the project's settings), the option may outlast the run, and the agent would not ask again, so no rule, no hook
//! and no recording of ours would see those calls.

use std::fmt;
use std::path::Path;

use lapidary_vocab::event::{DecidedBy, ToolKind};

use super::host::CallHost;
use super::host_reach::HostReach;
use super::{Decision, PermissionEffect, ToolAction};

/// How many files and hosts a description names.
const MOST_NAMED: usize = 3;

/// Ports that a web address has if it names none.
const USUAL_PORTS: [Option<u16>; 3] = [None, Some(80), Some(443)];

/// An action that the user has allowed for the rest of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingAnswer(ToolAction);

impl StandingAnswer {
    /// How the names begin by which decisions name such an answer as their rule.
    pub const RULE: &str = "answer `always`";

    /// The answer that allows this again. None if nothing certain is known about it: a command in an unknown shape, more files than
    /// are looked at, a fetch from a host that is not shown, or no tool's name.
    pub fn from_policy(action: &ToolAction) -> Option<Self> {
        let is_certain = !action.is_unclear && !action.has_unseen_paths && !hides_hosts(action);
        let is_named =
            action.command.is_some() || !action.paths.is_empty() || action.tool.is_some();
        (is_certain && is_named).then(|| Self(action.clone()))
    }

    /// Whether it answers for this, too.
    pub fn covers(&self, wanted: &ToolAction) -> bool {
        let allowed = &self.0;
        let is_same_tool = allowed.kind == wanted.kind
            && allowed.tool == wanted.tool
            && allowed.mcp_server == wanted.mcp_server;
        // Beside files, another argument may name one more.
        let is_no_more_possible = wanted
            .possible_paths
            .iter()
            .all(|path| allowed.possible_paths.contains(path) || allowed.paths.contains(path));
        let is_no_more = (allowed.shows_diff || !wanted.shows_diff)
            && !wanted.is_unclear
            && !wanted.has_unseen_paths
            && wanted.paths.is_empty() == allowed.paths.is_empty()
            && wanted.paths.iter().all(|path| allowed.paths.contains(path))
            && (wanted.paths.is_empty() || is_no_more_possible);
        is_same_tool && is_no_more && allowed.command == wanted.command && self.covers_hosts(wanted)
    }

    /// Whether a call names no other host. A host in the texts of a tool that does not fetch is not one that it reaches.
    fn covers_hosts(&self, wanted: &ToolAction) -> bool {
        let allowed = &self.0.hosts;
        let is_named = |host: &CallHost| allowed.named.iter().any(|own| is_same_host(own, host));
        let is_possible =
            |host: &CallHost| allowed.possible.iter().any(|own| is_same_host(own, host));
        let mut possible = wanted
            .hosts
            .possible
            .iter()
            .filter(|_| fetches_address(wanted));
        !hides_hosts(wanted)
            && wanted.hosts.named.is_empty() == allowed.named.is_empty()
            && wanted.hosts.named.iter().all(is_named)
            && possible.all(|host| is_named(host) || is_possible(host))
    }

    /// The decision about an action that this answer covers.
    pub fn decision(&self) -> Decision {
        let answer = self.to_string();
        Decision {
            rule: Some(format!("{}: {answer}", Self::RULE)),
            ..Decision::new(
                PermissionEffect::Allow,
                DecidedBy::Rule,
                format!("the user allowed {answer} for this run"),
            )
        }
    }
}

/// The command, files, hosts or tool that it allows.
impl fmt::Display for StandingAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = &self.0;
        if let Some(command) = &action.command {
            return write!(f, "the command `{command}`");
        }
        if action.paths.is_empty() && !action.hosts.named.is_empty() {
            return self.fmt_hosts(f);
        }
        let what = match (&action.kind, &action.tool) {
            (ToolKind::Edit, _) => "edits of",
            (ToolKind::Read, _) => "reads of",
            (ToolKind::Delete, _) => "deleting",
            (ToolKind::Move, _) => "moving",
            (_, Some(tool)) if action.paths.is_empty() => return write!(f, "any call of `{tool}`"),
            (_, Some(tool)) => &format!("calls of `{tool}` about"),
            (_, None) => "calls about",
        };
        match action.paths.get(MOST_NAMED..).map_or(0, <[_]>::len) {
            0 => write!(f, "{what} {}", action_name(action)),
            more => write!(f, "{what} {} and {more} more files", action_name(action)),
        }
    }
}

impl StandingAnswer {
    fn fmt_hosts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = &self.0.hosts.named;
        let names: Vec<_> = hosts.iter().take(MOST_NAMED).map(host_name).collect();
        match &self.0.tool {
            Some(tool) => write!(f, "calls of `{tool}` to {}", names.join(", "))?,
            None => write!(f, "calls to {}", names.join(", "))?,
        }
        match hosts.get(MOST_NAMED..).map_or(0, <[_]>::len) {
            0 => Ok(()),
            more => write!(f, " and {more} more hosts"),
        }
    }
}

fn host_name(host: &CallHost) -> String {
    match host.port {
        Some(port) if !USUAL_PORTS.contains(&Some(port)) => format!("`{}:{port}`", host.name),
        _ => format!("`{}`", host.name),
    }
}

fn is_same_host(one: &CallHost, other: &CallHost) -> bool {
    let are_usual = [one, other].map(|host| USUAL_PORTS.contains(&host.port)) == [true; 2];
    one.name == other.name && (one.port == other.port || are_usual)
}

fn fetches_address(action: &ToolAction) -> bool {
    let tool = action.tool.as_deref().unwrap_or_default();
    HostReach::from_tool(&action.kind, tool) == HostReach::Fetches
}

/// Whether a call fetches from hosts that it does not show.
fn hides_hosts(action: &ToolAction) -> bool {
    fetches_address(action) && action.hosts.is_hidden
}

fn action_name(action: &ToolAction) -> String {
    let paths = action.paths.iter().take(MOST_NAMED);
    let paths: Vec<_> = paths.map(|path| quoted_path(path)).collect();
    paths.join(", ")
}

fn quoted_path(path: &Path) -> String {
    format!("`{}`", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(kind: ToolKind, tool: &str, command: Option<&str>, paths: &[&str]) -> ToolAction {
        ToolAction {
            tool: Some(tool.to_owned()),
            command: command.map(str::to_owned),
            paths: paths.iter().map(Into::into).collect(),
            ..ToolAction::new(kind)
        }
    }

    fn run(command: &str) -> ToolAction {
        action(ToolKind::Execute, "shell", Some(command), &[])
    }

    fn edit(paths: &[&str]) -> ToolAction {
        action(ToolKind::Edit, "replace", None, paths)
    }

    #[test]
    fn always_is_the_same_command_and_no_other() {
        let answer = StandingAnswer::from_policy(&run("rm *.o")).unwrap();
        assert_eq!(answer.to_string(), "the command `rm *.o`");
        assert!(answer.covers(&run("rm *.o")));
        for other in ["rm x.o", "rm *.o; ls", "rm *", "rm *.o "] {
            assert!(!answer.covers(&run(other)), "{other}");
        }
        let unclear = ToolAction {
            is_unclear: true,
            ..run("rm *.o")
        };
        assert!(!answer.covers(&unclear));
        assert_eq!(StandingAnswer::from_policy(&unclear), None);
        let elsewhere = action(ToolKind::Execute, "other_shell", Some("rm *.o"), &[]);
        assert!(!answer.covers(&elsewhere));
    }

    #[test]
    fn always_is_the_same_files_and_no_others() {
        let answer = StandingAnswer::from_policy(&edit(&["/p/a", "/p/b"])).unwrap();
        assert_eq!(answer.to_string(), "edits of `/p/a`, `/p/b`");
        assert!(answer.covers(&edit(&["/p/b"])));
        assert!(!answer.covers(&edit(&["/p/b", "/p/c"])));
        assert!(!answer.covers(&edit(&[])), "no file is not one of these");
        assert!(!answer.covers(&action(ToolKind::Delete, "replace", None, &["/p/a"])));
        let many = edit(&["/a", "/b", "/c", "/d", "/e"]);
        let many = StandingAnswer::from_policy(&many).unwrap().to_string();
        assert_eq!(many, "edits of `/a`, `/b`, `/c` and 2 more files");
    }

    fn fetch(addresses: &[(&str, u16)]) -> ToolAction {
        let host = |(name, port): &(&str, u16)| CallHost {
            name: (*name).to_owned(),
            port: Some(*port),
        };
        let mut fetch = action(ToolKind::Fetch, "web_fetch", None, &[]);
        fetch.hosts.named = addresses.iter().map(host).collect();
        fetch
    }

    #[test]
    fn always_is_the_same_hosts_and_no_others() {
        let docs = fetch(&[("docs.rs", 443), ("crates.io", 443)]);
        let answer = StandingAnswer::from_policy(&docs).unwrap();
        let said = "calls of `web_fetch` to `docs.rs`, `crates.io`";
        assert_eq!(answer.to_string(), said);
        assert!(answer.covers(&docs));
        assert!(answer.covers(&fetch(&[("docs.rs", 80)])));
        for other in [
            ("evil.com", 443),
            ("docs.rs", 8443),
            ("docs.rs.evil.com", 443),
        ] {
            assert!(!answer.covers(&fetch(&[other])), "{other:?}");
            assert!(
                !answer.covers(&fetch(&[("docs.rs", 443), other])),
                "{other:?}"
            );
        }
        assert!(!answer.covers(&fetch(&[])), "no host is not one of these");
        let mut elsewhere = fetch(&[("docs.rs", 443)]);
        elsewhere.hosts.possible = fetch(&[("evil.com", 443)]).hosts.named;
        assert!(!answer.covers(&elsewhere));
        let mut odd = fetch(&[("docs.rs", 443)]);
        odd.hosts.is_hidden = true;
        assert!(!answer.covers(&odd));
        assert_eq!(StandingAnswer::from_policy(&odd), None);
        let local = StandingAnswer::from_policy(&fetch(&[("localhost", 8080)])).unwrap();
        assert_eq!(
            local.to_string(),
            "calls of `web_fetch` to `localhost:8080`"
        );
    }

    #[test]
    fn always_is_the_same_tool_where_there_is_nothing_else() {
        let fetch = action(ToolKind::Fetch, "web_fetch", None, &[]);
        let answer = StandingAnswer::from_policy(&fetch).unwrap();
        assert_eq!(answer.to_string(), "any call of `web_fetch`");
        assert!(answer.covers(&fetch));
        assert!(!answer.covers(&action(ToolKind::Fetch, "web_search", None, &[])));
        assert!(!answer.covers(&action(ToolKind::Fetch, "web_fetch", None, &["/etc"])));
        let nameless = ToolAction {
            tool: None,
            ..fetch
        };
        assert_eq!(StandingAnswer::from_policy(&nameless), None);
    }
}
