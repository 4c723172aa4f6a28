//! The sessions of this home: Gemini CLI's own files, sessions that only the vault has, and sessions of other providers.

use std::time::SystemTime;

use lapidary_engine::detect::SearchEnvironment;
use lapidary_gemini::{GeminiHome, Vars};
use lapidary_sessions::search::{SearchHits, SessionSearch};
use lapidary_sessions::vault::Vault;
use lapidary_sessions::{
    OnlyInVault, OtherSessions, ProjectReach, ProviderScope, SessionListing, SessionProject,
    SessionStore,
};

use crate::prepare::vault_in;
use crate::sessions::providers;

/// A home with sessions, as it is now.
pub(super) struct SessionPlace {
    pub(super) environment: SearchEnvironment,
    pub(super) store: SessionStore,
    pub(super) now: SystemTime,
}

impl SessionPlace {
    pub(super) fn open(environment: &SearchEnvironment) -> Result<Self, String> {
        let home = GeminiHome::from_vars(Vars::new(&environment.vars), environment.home.as_deref());
        let home = home.ok_or("there is no home directory to look in")?;
        Ok(Self {
            environment: environment.clone(),
            store: SessionStore::new(home),
            now: SystemTime::now(),
        })
    }

    /// The projects: the one of a directory, or all.
    pub(super) fn projects_in_reach(
        &self,
        named: Option<&str>,
    ) -> (Vec<SessionProject>, ProjectReach) {
        let Some(named) = named else {
            return (self.store.projects(), ProjectReach::Everywhere);
        };
        let path = self.environment.dir.join(named);
        let root = path.canonicalize().unwrap_or(path);
        (vec![self.store.project(&root)], ProjectReach::Named)
    }

    pub(super) fn only_in_vault(&self, projects: &[SessionProject]) -> OnlyInVault {
        let vault = vault_in(&self.environment);
        vault.map_or_else(
            |_| OnlyInVault::default(),
            |folder| OnlyInVault::find(&Vault::open(folder), projects),
        )
    }

    pub(super) fn other_sessions(
        &self,
        projects: &[SessionProject],
        reach: ProjectReach,
    ) -> OtherSessions {
        providers(&self.environment).list(&ProviderScope {
            projects,
            reach,
            now: self.now,
        })
    }

    #[cfg(feature = "index")]
    pub(super) fn listing(&self, projects: &[SessionProject]) -> SessionListing {
        SessionListing::with(projects, self.now, &mut self.open_index())
    }

    #[cfg(not(feature = "index"))]
    pub(super) fn listing(&self, projects: &[SessionProject]) -> SessionListing {
        SessionListing::read(projects, self.now)
    }

    #[cfg(feature = "index")]
    pub(super) fn search(&self, search: &SessionSearch, projects: &[SessionProject]) -> SearchHits {
        search.with(&mut self.open_index(), projects, self.now)
    }

    #[cfg(not(feature = "index"))]
    pub(super) fn search(&self, search: &SessionSearch, projects: &[SessionProject]) -> SearchHits {
        search.run(projects, self.now)
    }

    #[cfg(feature = "index")]
    fn open_index(&self) -> lapidary_sessions::SessionIndex {
        use lapidary_sessions::SessionIndex;
        match crate::directories::cache(&self.environment) {
            Some(cache) => {
                SessionIndex::open(&SessionIndex::path(&cache, &self.store.home), self.now)
            }
            None => SessionIndex::none(std::path::Path::new(""), self.now),
        }
    }
}
