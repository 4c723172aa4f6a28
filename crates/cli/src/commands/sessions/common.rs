//! Options of all `sessions` commands: the projects and the format.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lapidary::engine::agents::family;
use lapidary::engine::detect::SearchEnvironment;
use lapidary::gemini::Vars;
use lapidary::gemini::setup::Setup;
use lapidary::sessions::{
    ListedSession, OtherSession, OtherSessions, ProjectReach, SearchScope, SelectionMode,
    SessionIndex, SessionListing, SessionMemory, SessionPlace, SessionProject,
    UnsupportedOperation, select,
};
use lapidary::vocab::event::Provider;

use super::identify::{beginning_with, not_found};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Which projects.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ProjectScope {
    /// The project's directory [default: here]
    #[arg(short = 'C', long, value_name = "DIR", conflicts_with = "all")]
    pub(super) project: Option<PathBuf>,
    /// Every project
    #[arg(short, long)]
    pub(super) all: bool,
    /// Read the files even if there is an index of them
    #[arg(long)]
    pub(super) no_index: bool,
}

/// The agent whose sessions count.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct AgentFilter {
    /// Only sessions of this agent, such as `gemini` or `claude`
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

impl ProjectScope {
    /// Every project.
    pub(super) fn everywhere() -> Self {
        Self {
            project: None,
            all: true,
            no_index: false,
        }
    }

    /// Whether all projects are in it.
    pub(super) fn project_reach(&self) -> ProjectReach {
        if self.all {
            ProjectReach::Everywhere
        } else {
            ProjectReach::Named
        }
    }
}

impl AgentFilter {
    #[cfg(test)]
    pub(super) fn named(agent: &str) -> Self {
        let agent = Some(agent.to_owned());
        Self { agent }
    }

    /// The scope of a search in these projects.
    pub(super) fn search_scope<'p>(
        &self,
        scope: &ProjectScope,
        projects: &'p [SessionProject],
    ) -> SearchScope<'p> {
        SearchScope {
            projects,
            reach: scope.project_reach(),
            agent: SearchScope::agent_family(self.agent.as_deref()),
        }
    }

    /// Whether an agent was named.
    pub(super) fn is_given(&self) -> bool {
        self.agent.is_some()
    }

    /// The agent that was named.
    pub(super) fn named_agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Whether sessions of this agent count.
    pub(super) fn takes_provider(&self, provider: &Provider) -> bool {
        let agent = self.agent.as_deref();
        agent.is_none_or(|agent| family(agent) == *provider)
    }

    /// The projects in which session files of Gemini CLI count.
    pub(super) fn gemini_projects<'p>(
        &self,
        projects: &'p [SessionProject],
    ) -> &'p [SessionProject] {
        if self.takes_provider(&Provider::Gemini) {
            projects
        } else {
            &[]
        }
    }
}

/// How lists are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::commands) enum SessionsFormat {
    /// For reading on a terminal
    Text,
    /// One object, as `lapidary schema` describes it
    Json,
}

impl SessionsFormat {
    /// Text for people, JSON for programs.
    pub(in crate::commands) fn or_usual(format: Option<Self>, is_terminal: bool) -> Self {
        let usual = if is_terminal { Self::Text } else { Self::Json };
        format.unwrap_or(usual)
    }

    /// Prints the words about a change on stderr, unless its object is asked for, and remarks either way.
    pub(in crate::commands) fn print_words(
        self,
        words: &[String],
        remarks: &[String],
        out: &Printer,
    ) {
        if self == Self::Text {
            for words in words {
                out.print_message(words);
            }
        }
        for remark in remarks {
            out.print_message(&format!("warning: {remark}"));
        }
    }
}

/// A home, opened: where sessions are, and where ours are kept.
pub(in crate::commands) struct SessionsContext {
    pub(in crate::commands) invocation: Arc<Invocation>,
    place: SessionPlace,
}

impl Deref for SessionsContext {
    type Target = SessionPlace;

    fn deref(&self) -> &SessionPlace {
        &self.place
    }
}

impl SessionsContext {
    pub(in crate::commands) fn open(invocation: &Arc<Invocation>) -> Result<Self, Failure> {
        Self::seen_with(invocation, &[])
    }

    /// The same with some variables replaced.
    pub(in crate::commands) fn seen_with(
        invocation: &Arc<Invocation>,
        assigned: &[(OsString, OsString)],
    ) -> Result<Self, Failure> {
        let here = invocation.current_dir().unwrap_or_default();
        let vars = invocation.all_variables().chain(assigned.iter().cloned());
        let environment = SearchEnvironment::from_vars(vars, here);
        let Some(place) = SessionPlace::open(environment) else {
            let failure = Failure::bad_input(anyhow!("there is no home directory to look in"));
            return Err(failure.with_hint("set HOME or GEMINI_CLI_HOME"));
        };
        Ok(Self {
            invocation: invocation.clone(),
            place,
        })
    }

    /// The projects of the scope.
    pub(super) fn scope_projects(
        &self,
        scope: &ProjectScope,
    ) -> Result<Vec<SessionProject>, Failure> {
        if scope.all {
            return Ok(self.store.projects());
        }
        let root = self.project_root(scope.project.as_deref())?;
        Ok(vec![self.store.project(&root)])
    }

    /// The settings that count in the project at this path, else in the current directory.
    pub(in crate::commands) fn read_setup(&self, named: Option<&Path>) -> Result<Setup, Failure> {
        let root = self.project_root(named)?;
        if !root.is_dir() {
            let failure = anyhow!("`{}` is not a directory", root.display());
            return Err(Failure::bad_input(failure));
        }
        let vars = Vars::new(&self.environment.vars);
        Ok(Setup::read(&self.store.home, &root, vars))
    }

    /// The directory of the named project, or the current directory. Gemini CLI uses the canonical path; a directory that is gone
    /// has only its name.
    pub(in crate::commands) fn project_root(
        &self,
        named: Option<&Path>,
    ) -> Result<PathBuf, Failure> {
        let Some(named) = named else {
            let here = self.invocation.current_dir();
            let here = here.context("cannot determine the current directory");
            return here.map_err(|error| {
                Failure::bad_input(error).with_hint("name a project with --project, or say --all")
            });
        };
        Ok(self.named_root(named))
    }

    /// The sessions of those projects.
    pub(super) fn list_sessions(&self, scope: &ProjectScope) -> Result<SessionListing, Failure> {
        Ok(self.listing_of(scope, &self.scope_projects(scope)?))
    }

    /// The same of projects that were found already.
    pub(super) fn listing_of(
        &self,
        scope: &ProjectScope,
        projects: &[SessionProject],
    ) -> SessionListing {
        let mut index = self.session_index(scope);
        let mut listing = SessionListing::with(projects, self.now, &mut index);
        listing.warnings.append(&mut index.warnings);
        listing
    }

    /// The sessions in those projects that other providers have, in files of Gemini CLI or not.
    pub(super) fn other_sessions(
        &self,
        scope: &ProjectScope,
        projects: &[SessionProject],
    ) -> OtherSessions {
        self.sessions_of(&AgentFilter::default(), scope, projects)
    }

    /// The same of one agent.
    pub(super) fn sessions_of(
        &self,
        whose: &AgentFilter,
        scope: &ProjectScope,
        projects: &[SessionProject],
    ) -> OtherSessions {
        let mut index = self.session_index(scope);
        let mut memory = SessionMemory::index(&mut index);
        let reach = scope.project_reach();
        let is_wanted = |provider: &Provider| whose.takes_provider(provider);
        let mut others = self.provider_sessions_with(projects, reach, &is_wanted, &mut memory);
        others.retain(|session| is_wanted(session.provider()));
        others.warnings.append(&mut index.warnings);
        others
    }

    /// The same for a count.
    pub(super) fn other_usage(
        &self,
        scope: &ProjectScope,
        projects: &[SessionProject],
    ) -> OtherSessions {
        let scope = lapidary::sessions::ProviderScope {
            projects,
            reach: scope.project_reach(),
            now: self.now,
        };
        lapidary::sessions::providers(&self.environment).for_usage(&scope)
    }

    /// Those of them that neither this list nor the vault has.
    pub(super) fn only_others(
        &self,
        scope: &ProjectScope,
        listing: &SessionListing,
    ) -> Result<OtherSessions, Failure> {
        let mut others = self.other_sessions(scope, &self.scope_projects(scope)?);
        others.remove_listed(listing);
        Ok(others)
    }

    /// The index of this home, if there is one and `--no-index` is not given.
    pub(super) fn session_index(&self, scope: &ProjectScope) -> SessionIndex {
        if scope.no_index {
            let path = self.index_path().unwrap_or_default();
            return SessionIndex::none(&path, self.now);
        }
        self.open_index()
    }
}

#[cfg(test)]
impl SessionsContext {
    /// A home of a test, seen from its project.
    pub(super) fn of_test(home: &lapidary_testkit::recorded::RecordedHome) -> Self {
        let vars = [("HOME".into(), home.home().into())];
        let environment = SearchEnvironment::from_vars(vars, home.project());
        Self {
            invocation: Arc::new(Invocation::from_process()),
            place: SessionPlace::open(environment).expect("the test has a home"),
        }
    }
}

#[cfg(test)]
impl ProjectScope {
    /// The project of a test's home.
    pub(super) fn of_test(home: &lapidary_testkit::recorded::RecordedHome) -> Self {
        Self {
            project: Some(home.project()),
            all: false,
            no_index: true,
        }
    }
}

/// A session that only another provider has: by the id of its newest run, by its own id, or the only one whose id begins so.
pub(super) fn other_named<'o>(
    named: &str,
    others: &'o OtherSessions,
) -> Result<Option<OtherSession<'o>>, Failure> {
    let is_run = |it: &OtherSession<'_>| it.listed.row().run == Some(named);
    if let Some(found) = others.iter().find(is_run) {
        return Ok(Some(found));
    }
    let ids: BTreeSet<&str> = others.iter().map(|it| it.listed.id()).collect();
    let found = if ids.contains(named) {
        vec![named]
    } else {
        beginning_with(named, &ids)?
    };
    let mut sessions = others.iter();
    Ok(sessions.find(|it| found.contains(&it.listed.id())))
}

/// The session that was updated last.
pub(super) enum NewestSession<'s> {
    /// One of Gemini CLI.
    File(&'s ListedSession),
    /// One of another provider.
    Other(OtherSession<'s>),
}

impl<'s> NewestSession<'s> {
    /// The newest of both, if there is any.
    pub(super) fn find(listing: &'s SessionListing, others: &'s OtherSessions) -> Option<Self> {
        let other = others.iter().max_by_key(|it| it.listed.updated_ms);
        let updated = other.as_ref().map(|it| it.listed.updated_ms);
        match (listing.most_recent(), other) {
            (Some(file), _) if updated.is_none_or(|it| it <= file.updated_ms) => {
                Some(Self::File(file))
            }
            (_, other) => other.map(Self::Other),
        }
    }
}

/// The failure of an operation that a provider does not support.
pub(super) fn unsupported_failure(refused: UnsupportedOperation) -> Failure {
    let hint = refused.hint.clone();
    Failure::bad_input(anyhow!(refused)).with_hint(hint)
}

/// The named session, or a failure with a hint.
pub(super) fn select_session<'l>(
    listing: &'l SessionListing,
    identifier: &str,
    selection: SelectionMode,
) -> Result<&'l ListedSession, Failure> {
    select(listing, identifier, selection).map_err(not_found)
}
