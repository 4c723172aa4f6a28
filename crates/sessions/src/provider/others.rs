//! Sessions of other providers than Gemini CLI's own files, each with its provider.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;

use lapidary_vocab::Event;
use lapidary_vocab::session::{AgentFileCounts, HiddenFile};

use super::{ProviderCapabilities, RawReplay, SessionProvider, UsageFile, UsageFiles, UsageReader};
use crate::listing::{ListedSession, SessionListing};
use crate::provider_scope::WantedDirectories;
use crate::replay_error::ReplaySessionError;
use crate::store_files::add_new_warnings;
use crate::stored_sessions::StoredSessions;

/// A provider that a list owns.
pub(crate) type DynProvider = dyn SessionProvider + Send + Sync;

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
    /// The ids of all sessions that were added.
    known: HashSet<String>,
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
    usage_files: Vec<UsageFile>,
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
    /// Adds the sessions of a provider. Those that another provider has already do not count.
    pub(crate) fn add_listing(&mut self, provider: Box<DynProvider>, mut listing: SessionListing) {
        let counts = file_counts(provider.name(), &listing);
        self.counts.extend(counts);
        let sessions = &mut listing.sessions;
        sessions.retain(|session| self.known.insert(session.id().to_owned()));
        add_new_warnings(&mut self.warnings, listing.warnings);
        self.hidden.append(&mut listing.hidden);
        self.groups.push(ProvidedSessions {
            provider,
            sessions: listing.sessions,
            usage_files: Vec::new(),
        });
    }

    /// Adds the files to count of a provider.
    pub(crate) fn add_usage_files(&mut self, provider: Box<DynProvider>, files: UsageFiles) {
        add_new_warnings(&mut self.warnings, files.warnings);
        self.groups.push(ProvidedSessions {
            provider,
            sessions: Vec::new(),
            usage_files: files.files,
        });
    }

    /// Adds the sessions of more providers, behind.
    pub(crate) fn append(&mut self, mut more: Self) {
        self.groups.append(&mut more.groups);
        add_new_warnings(&mut self.warnings, more.warnings);
        self.hidden.append(&mut more.hidden);
    }

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
    pub(crate) fn usage_files(&self) -> impl Iterator<Item = (&dyn UsageReader, &UsageFile)> {
        self.groups.iter().flat_map(|group| {
            let reader = group.provider.usage_reader();
            let files = group.usage_files.iter();
            files.filter_map(move |file| Some((reader?, file)))
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

    /// The sessions that it is one of, if they can be read one by one.
    pub(crate) fn stored_sessions(&self) -> Option<&dyn StoredSessions> {
        self.provider.stored_sessions()
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
