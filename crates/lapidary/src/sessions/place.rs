//! A home with sessions: Gemini CLI's own files, sessions that only the vault has, and sessions of other providers.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lapidary_engine::agents::family;
use lapidary_engine::detect::SearchEnvironment;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_sessions::search::{SearchHits, SessionSearch};
use lapidary_sessions::vault::Vault;
use lapidary_sessions::{
    ListedSession, OnlyInVault, OtherSessions, ProjectReach, ProviderScope, SessionListing,
    SessionMemory, SessionProject, SessionStore,
};
use lapidary_vocab::event::Provider;

use super::providers;
use crate::prepare::vault_in;

/// A home with sessions, as it is now.
#[derive(Debug)]
pub struct SessionPlace {
    /// The variables and the directory from which paths count.
    pub environment: SearchEnvironment,
    /// The session files of Gemini CLI.
    pub store: SessionStore,
    /// The time of all ages and times.
    pub now: SystemTime,
}

/// The sessions that a search is about.
#[derive(Debug, Clone)]
pub struct SearchScope<'a> {
    /// The projects.
    pub projects: &'a [SessionProject],
    /// Whether these are all projects.
    pub reach: ProjectReach,
    /// The agent, by its family. All agents without one.
    pub agent: Option<Provider>,
}

impl SearchScope<'_> {
    /// The family of an agent that a user names.
    pub fn agent_family(name: Option<&str>) -> Option<Provider> {
        name.map(family)
    }

    /// True if sessions of this agent count.
    pub fn takes_provider(&self, provider: &Provider) -> bool {
        self.agent.as_ref().is_none_or(|agent| agent == provider)
    }

    /// The projects in which session files of Gemini CLI count.
    pub fn gemini_projects(&self) -> &[SessionProject] {
        if self.takes_provider(&Provider::Gemini) {
            self.projects
        } else {
            &[]
        }
    }
}

impl SessionPlace {
    /// The home of an environment. None if there is no home directory.
    pub fn open(environment: SearchEnvironment) -> Option<Self> {
        let home = GeminiHome::from_vars(Vars::new(&environment.vars), environment.home.as_deref());
        Some(Self {
            store: SessionStore::new(home?),
            environment,
            now: SystemTime::now(),
        })
    }

    /// The directory of a named project. Gemini CLI uses the canonical path; a directory that is gone has only its name.
    pub fn named_root(&self, named: &Path) -> PathBuf {
        let path = self.environment.dir.join(named);
        path.canonicalize().unwrap_or(path)
    }

    /// The sessions of those projects of which only the vault has a copy. A vault that cannot be found has none.
    pub fn only_in_vault(&self, projects: &[SessionProject]) -> OnlyInVault {
        let vault = vault_in(&self.environment);
        vault.map_or_else(
            |_| OnlyInVault::default(),
            |folder| OnlyInVault::find(&Vault::open(folder), projects),
        )
    }

    /// The sessions in those projects that other providers have, in files of Gemini CLI or not.
    pub fn provider_sessions(
        &self,
        projects: &[SessionProject],
        reach: ProjectReach,
    ) -> OtherSessions {
        self.provider_sessions_with(projects, reach, &|_| true, &mut SessionMemory::none())
    }

    /// The same of wanted agents, and with the help of an index.
    pub fn provider_sessions_with(
        &self,
        projects: &[SessionProject],
        reach: ProjectReach,
        is_wanted: &dyn Fn(&Provider) -> bool,
        memory: &mut SessionMemory<'_>,
    ) -> OtherSessions {
        let scope = ProviderScope {
            projects,
            reach,
            now: self.now,
        };
        let providers = providers(&self.environment).of_agents(is_wanted);
        providers.list_with(&scope, memory)
    }

    /// Adds sessions that only the vault or another provider has, after the others. Most users have none, and then `listing` is not
    /// called.
    pub fn add_unlisted_hits(
        &self,
        found: &mut SearchHits,
        search: &SessionSearch,
        scope: &SearchScope<'_>,
        memory: &mut SessionMemory<'_>,
        listing: impl FnOnce() -> SessionListing,
    ) {
        let kept = self.only_in_vault(scope.gemini_projects());
        let provider_scope = ProviderScope {
            projects: scope.projects,
            reach: scope.reach,
            now: self.now,
        };
        let is_wanted = |provider: &Provider| scope.takes_provider(provider);
        let mut providers = providers(&self.environment);
        let mut others = providers.search(search, &provider_scope, memory, &is_wanted);
        found.warnings.append(&mut others.warnings);
        if kept.is_empty() && others.is_empty() {
            return;
        }
        let listing = listing();
        let kept = kept.without(&listing);
        let of_vault = kept.search(search, scope.projects, self.now);
        append_hits(found, of_vault, search.limit);
        let listed = listing.sessions.iter().map(ListedSession::id);
        let listed: HashSet<&str> = listed.collect();
        others.retain(|it| !kept.has(it.id()) && !listed.contains(it.id()));
        append_hits(found, others.best_hits(search), search.limit);
    }

    /// The same with the index of this home, if there is one.
    pub fn add_hits_of_others(
        &self,
        found: &mut SearchHits,
        search: &SessionSearch,
        scope: &SearchScope<'_>,
        listing: impl FnOnce() -> SessionListing,
    ) {
        #[cfg(feature = "index")]
        let mut index = self.open_index();
        #[cfg(feature = "index")]
        let mut memory = SessionMemory::index(&mut index);
        #[cfg(not(feature = "index"))]
        let mut memory = SessionMemory::none();
        self.add_unlisted_hits(found, search, scope, &mut memory, listing);
    }

    /// Where the index of this home is, or would be.
    #[cfg(feature = "index")]
    pub fn index_path(&self) -> Option<PathBuf> {
        let cache = crate::directories::cache(&self.environment)?;
        Some(super::SessionIndex::path(&cache, &self.store.home))
    }

    /// The index of this home, if there is one.
    #[cfg(feature = "index")]
    pub fn open_index(&self) -> super::SessionIndex {
        match self.index_path() {
            Some(path) => super::SessionIndex::open(&path, self.now),
            None => super::SessionIndex::none(Path::new(""), self.now),
        }
    }

    /// The session files of those projects.
    #[cfg(feature = "index")]
    pub fn listing(&self, projects: &[SessionProject]) -> SessionListing {
        SessionListing::with(projects, self.now, &mut self.open_index())
    }

    /// The session files of those projects.
    #[cfg(not(feature = "index"))]
    pub fn listing(&self, projects: &[SessionProject]) -> SessionListing {
        SessionListing::read(projects, self.now)
    }

    /// The hits in the session files of those projects.
    #[cfg(feature = "index")]
    pub fn search_files(&self, search: &SessionSearch, projects: &[SessionProject]) -> SearchHits {
        search.with(&mut self.open_index(), projects, self.now)
    }

    /// The hits in the session files of those projects.
    #[cfg(not(feature = "index"))]
    pub fn search_files(&self, search: &SessionSearch, projects: &[SessionProject]) -> SearchHits {
        search.run(projects, self.now)
    }
}

fn append_hits(found: &mut SearchHits, more: SearchHits, limit: usize) {
    let room = limit.saturating_sub(found.hits.len());
    found.hits.extend(more.hits.into_iter().take(room));
    found.total += more.total;
    found.warnings.extend(more.warnings);
}
