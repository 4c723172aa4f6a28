//! The providers that are asked beside Gemini CLI's own files.

use std::collections::HashSet;
use std::fmt;

use lapidary_vocab::event::Provider;

use crate::provider::{DynProvider, OtherSessions, SessionProvider, VaultSource};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::search::{ProviderMatches, SessionSearch};
use crate::session_memory::SessionMemory;
use crate::stored_sessions::{StoredSessions, list_stored};

/// The providers beside Gemini CLI's own files, in the order in which they are asked.
#[derive(Default)]
pub struct SessionProviders {
    providers: Vec<Box<DynProvider>>,
}

impl SessionProviders {
    /// The same with one more, if it is there.
    #[must_use]
    pub fn with(mut self, provider: Option<impl SessionProvider + Send + Sync + 'static>) -> Self {
        let provider = provider.map(|it| Box::new(it) as Box<DynProvider>);
        self.providers.extend(provider);
        self
    }

    /// Those that may have sessions of a wanted agent. A provider without a store of its own may have sessions of any.
    #[must_use]
    pub fn of_agents(mut self, is_wanted: &dyn Fn(&Provider) -> bool) -> Self {
        self.providers.retain(|it| {
            let store = it.stored_sessions();
            store.is_none_or(|store| is_wanted(&store.provider()))
        });
        self
    }

    /// The providers whose files the vault copies, by their names.
    pub fn vault_sources(&self) -> impl Iterator<Item = (&'static str, &dyn VaultSource)> {
        let providers = self.providers.iter();
        providers.filter_map(|it| Some((it.name(), it.vault_source()?)))
    }

    /// Asks each provider for the sessions of a scope. Of a session that several have, the first one counts.
    pub fn list(self, scope: &ProviderScope<'_>) -> OtherSessions {
        self.list_with(scope, &mut SessionMemory::none())
    }

    /// The same with the help of an index.
    pub fn list_with(
        self,
        scope: &ProviderScope<'_>,
        memory: &mut SessionMemory<'_>,
    ) -> OtherSessions {
        let mut others = OtherSessions::default();
        for mut provider in self.providers {
            let listing = match provider.stored_sessions() {
                Some(store) => list_stored(store, scope, memory.as_summaries()),
                None => provider.list(scope),
            };
            others.add_listing(provider, listing);
        }
        others
    }

    /// Searches the sessions of a scope that are of a wanted agent. Of a session that several providers have, the first one counts.
    pub fn search(
        &mut self,
        search: &SessionSearch,
        scope: &ProviderScope<'_>,
        memory: &mut SessionMemory<'_>,
        is_wanted: &dyn Fn(&Provider) -> bool,
    ) -> ProviderMatches<'_> {
        let (with_store, providers): (Vec<_>, Vec<_>) = std::mem::take(&mut self.providers)
            .into_iter()
            .partition(|it| it.stored_sessions().is_some());
        self.providers = with_store;
        let mut others = Self { providers }.list(scope);
        others.retain(|session| is_wanted(session.provider()));
        let mut replayed = search.replay_others(&others);
        let ids = replayed.matched.iter();
        let ids: HashSet<String> = ids.map(|(session, _)| session.id().to_owned()).collect();
        let stores = self.stores().filter(|store| is_wanted(&store.provider()));
        let stores: Vec<&dyn StoredSessions> = stores.collect();
        let words = memory.as_words();
        let (mut found, listed) = search.in_stores(&stores, scope, words, &ids);
        replayed
            .matched
            .retain(|(session, _)| !listed.contains(session.id()));
        found.warnings.append(&mut others.warnings);
        found.add_replayed(replayed);
        found
    }

    /// The stores whose sessions are found without being read.
    pub fn stores(&self) -> impl Iterator<Item = &dyn StoredSessions> {
        self.providers.iter().filter_map(|it| it.stored_sessions())
    }

    /// The same for a count: a provider with a [`UsageReader`](crate::UsageReader) is asked for its files, and lists no sessions.
    pub fn for_usage(self, scope: &ProviderScope<'_>) -> OtherSessions {
        let mut others = OtherSessions::default();
        let mut listed = Self::default();
        for provider in self.providers {
            match provider.usage_reader().map(|it| it.usage_files(scope)) {
                None => listed.providers.push(provider),
                Some(files) => others.add_usage_files(provider, files),
            }
        }
        others.append(listed.list(scope));
        others.wanted = WantedDirectories::from_scope(scope);
        others
    }
}

impl fmt::Debug for SessionProviders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.providers.iter().map(|provider| provider.name());
        f.debug_list().entries(names).finish()
    }
}
