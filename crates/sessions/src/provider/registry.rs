//! The providers that are asked beside Gemini CLI's own files, and the sessions that they have.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;

use lapidary_vocab::Event;
use lapidary_vocab::session::{AgentFileCounts, HiddenFile};

use super::{ProviderCapabilities, ProviderScope, RawReplay, ReplaySessionError, SessionProvider};
use crate::listing::{ListedSession, SessionListing};

type DynProvider = dyn SessionProvider + Send + Sync;

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

    /// Asks each provider for the sessions of a scope. Of a session that several have, the first one counts.
    pub fn list(self, scope: &ProviderScope<'_>) -> OtherSessions {
        let mut others = OtherSessions::default();
        let mut known = HashSet::new();
        for mut provider in self.providers {
            let mut listing = provider.list(scope);
            let counts = file_counts(provider.name(), &listing);
            others.counts.extend(counts);
            let sessions = &mut listing.sessions;
            sessions.retain(|session| known.insert(session.id().to_owned()));
            others.warnings.append(&mut listing.warnings);
            others.hidden.append(&mut listing.hidden);
            others.groups.push(ProvidedSessions {
                provider,
                sessions: listing.sessions,
            });
        }
        others
    }
}

impl fmt::Debug for SessionProviders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.providers.iter().map(|provider| provider.name());
        f.debug_list().entries(names).finish()
    }
}

/// How many files of a provider were read and skipped; none if it has no files.
pub fn file_counts(provider: &str, listing: &SessionListing) -> Option<AgentFileCounts> {
    let mut reasons = BTreeMap::new();
    for file in &listing.hidden {
        *reasons.entry(file.reason.to_string()).or_default() += 1;
    }
    let counts = AgentFileCounts {
        provider: provider.to_owned(),
        read: listing.sessions.len() as u64,
        skipped: listing.hidden.len() as u64,
        reasons,
    };
    (counts.read + counts.skipped > 0).then_some(counts)
}

/// Sessions of other providers than Gemini CLI's own files.
#[derive(Debug, Default)]
pub struct OtherSessions {
    groups: Vec<ProvidedSessions>,
    hidden: Vec<HiddenFile>,
    /// How many files of each provider were read and skipped.
    pub counts: Vec<AgentFileCounts>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// The sessions of one provider.
struct ProvidedSessions {
    provider: Box<DynProvider>,
    sessions: Vec<ListedSession>,
}

impl fmt::Debug for ProvidedSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ProvidedSessions");
        debug.field("provider", &self.provider.name());
        debug.field("sessions", &self.sessions).finish()
    }
}

impl OtherSessions {
    /// Each session with its provider.
    pub fn iter(&self) -> impl Iterator<Item = OtherSession<'_>> {
        self.groups.iter().flat_map(|group| {
            let sessions = group.sessions.iter();
            sessions.map(|listed| OtherSession {
                listed,
                provider: &*group.provider,
            })
        })
    }

    /// The session in this file or directory.
    pub fn in_path(&self, path: &Path) -> Option<OtherSession<'_>> {
        self.iter().find(|session| session.listed.path == path)
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.sessions.is_empty())
    }

    /// Drops the sessions that are not wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&ListedSession) -> bool) {
        for group in &mut self.groups {
            group.sessions.retain(&is_wanted);
        }
    }

    /// Drops the sessions that a list has.
    pub fn remove_listed(&mut self, listing: &SessionListing) {
        if self.is_empty() {
            return;
        }
        let listed = listing.sessions.iter().map(ListedSession::id);
        let listed: HashSet<&str> = listed.collect();
        self.retain(|session| !listed.contains(session.id()));
    }

    /// The sessions as a list.
    pub fn into_listing(self) -> SessionListing {
        let sessions = self.groups.into_iter().flat_map(|group| group.sessions);
        SessionListing {
            sessions: sessions.collect(),
            hidden: self.hidden,
            warnings: self.warnings,
        }
    }
}

/// A session and the provider that has it.
#[derive(Clone, Copy)]
pub struct OtherSession<'o> {
    /// The session.
    pub listed: &'o ListedSession,
    provider: &'o DynProvider,
}

impl OtherSession<'_> {
    /// The operations that it supports.
    pub fn capabilities(&self) -> ProviderCapabilities {
        self.provider.capabilities()
    }

    /// Passes on its events, as [`SessionProvider::replay`] does.
    pub fn replay(&self, take: &mut dyn FnMut(Event)) -> Result<(), ReplaySessionError> {
        self.provider.replay(self.listed, take)
    }

    /// Replays it with its `raw`, if it is no file of its own.
    pub fn raw_replay(&self) -> Option<&dyn RawReplay> {
        self.provider.raw_replay()
    }
}

impl fmt::Debug for OtherSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("OtherSession");
        debug.field("provider", &self.provider.name());
        debug.field("listed", self.listed).finish()
    }
}
