//! The providers that are asked beside Gemini CLI's own files, and the sessions that they have.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use lapidary_vocab::Event;
use lapidary_vocab::session::{AgentFileCounts, HiddenFile};

use super::{
    ProviderCapabilities, ProviderScope, RawReplay, ReplaySessionError, SessionProvider,
    UsageReader, VaultSource, WantedDirectories,
};
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

    /// The providers whose files the vault copies, by their names.
    pub fn vault_sources(&self) -> impl Iterator<Item = (&'static str, &dyn VaultSource)> {
        let providers = self.providers.iter();
        providers.filter_map(|it| Some((it.name(), it.vault_source()?)))
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
                usage_files: Vec::new(),
            });
        }
        others
    }

    /// The same for a count: a provider with a [`UsageReader`] is asked for its files, and lists no sessions.
    pub fn for_usage(self, scope: &ProviderScope<'_>) -> OtherSessions {
        let mut others = OtherSessions::default();
        let mut listed = Self::default();
        for provider in self.providers {
            match provider.usage_reader().map(|it| it.usage_files(scope)) {
                None => listed.providers.push(provider),
                Some(mut files) => {
                    others.warnings.append(&mut files.warnings);
                    others.groups.push(ProvidedSessions {
                        provider,
                        sessions: Vec::new(),
                        usage_files: files.paths,
                    });
                }
            }
        }
        let mut listed = listed.list(scope);
        others.groups.append(&mut listed.groups);
        others.warnings.append(&mut listed.warnings);
        others.hidden.append(&mut listed.hidden);
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
    /// The directories whose usage files count.
    pub(crate) wanted: WantedDirectories,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
}

/// The sessions of one provider.
struct ProvidedSessions {
    provider: Box<DynProvider>,
    sessions: Vec<ListedSession>,
    /// The files to count, of a provider that reads usage from files.
    usage_files: Vec<PathBuf>,
}

impl fmt::Debug for ProvidedSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ProvidedSessions");
        debug.field("provider", &self.provider.name());
        debug.field("usage_files", &self.usage_files);
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

    /// Each file to count with the reader of its provider.
    pub(crate) fn usage_files(&self) -> impl Iterator<Item = (&dyn UsageReader, &Path)> {
        self.groups.iter().flat_map(|group| {
            let reader = group.provider.usage_reader();
            let files = group.usage_files.iter();
            files.filter_map(move |file| Some((reader?, file.as_path())))
        })
    }

    /// Drops the files to count of providers that are not wanted, by their names.
    pub fn retain_usage_of(&mut self, is_wanted: impl Fn(&str) -> bool) {
        for group in &mut self.groups {
            if !is_wanted(group.provider.name()) {
                group.usage_files.clear();
            }
        }
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

    /// The command of its agent that continues it, with `{id}` for its id.
    pub fn resume_command(&self) -> Option<&'static [&'static str]> {
        self.provider.resume_command()
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
