//! The list of sessions: the sessions that count, their order and numbers; and the files that do not count, with the reason.

mod listed;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::SystemTime;

use lapidary_vocab::session::{HiddenFile, HiddenReason};

use super::by_hash::HashedIds;
use super::candidates::{DirectoryMemory, SessionCandidate, in_order, session_sightings};
use super::projects::SessionProject;
use super::scan::{CompactSummary, FileScanner, UnreadableFile};
use crate::names;
use crate::times::now_text;
use listed::SharedByProject;

pub use listed::ListedSession;

/// The sessions of some projects.
#[derive(Debug, Default)]
pub struct SessionListing {
    /// Sessions that can be resumed: project by project, the oldest first, numbered as the CLI numbers them.
    pub sessions: Vec<ListedSession>,
    /// The files that are not among them.
    pub hidden: Vec<HiddenFile>,
    /// Warnings beside that, a sentence each.
    pub warnings: Vec<String>,
}

/// The source of summaries: the files, or an index, which may also know the names in directories.
pub trait SummarySource: DirectoryMemory {
    /// A summary of each file, in their order.
    fn read_all(
        &mut self,
        files: &[&SessionCandidate],
    ) -> Vec<Result<CompactSummary, UnreadableFile>>;
}

/// Summaries from the files themselves, several at a time.
#[derive(Debug, Default, Clone, Copy)]
pub struct FromFiles;

impl DirectoryMemory for FromFiles {}

impl SummarySource for FromFiles {
    fn read_all(
        &mut self,
        files: &[&SessionCandidate],
    ) -> Vec<Result<CompactSummary, UnreadableFile>> {
        each_file(files, FileScanner::default, |scanner, file| {
            scanner.file(&file.path).map(CompactSummary::from)
        })
    }
}

impl SessionListing {
    /// Reads the files of these projects.
    pub fn read(projects: &[SessionProject], now: SystemTime) -> Self {
        Self::with(projects, now, &mut FromFiles)
    }

    /// Reads the list with summaries from this source.
    pub fn with(
        projects: &[SessionProject],
        now: SystemTime,
        summaries: &mut dyn SummarySource,
    ) -> Self {
        let (seen, warnings) = session_sightings(projects, summaries);
        let mut listing = Self::of_files(in_order(seen), projects, now, summaries);
        listing.warnings = warnings;
        listing
    }

    /// Says which session is running: the one that the caller is part of.
    pub fn mark_current(&mut self, id: &str) {
        for session in &mut self.sessions {
            session.set_current(session.id() == id);
        }
    }

    /// The same, of files that were found already. They are taken and not copied: of tens of thousands, their paths and names take
    /// most of the memory.
    pub(super) fn of_files(
        files: Vec<SessionCandidate>,
        projects: &[SessionProject],
        now: SystemTime,
        summaries: &mut dyn SummarySource,
    ) -> Self {
        let mut listing = Self::default();
        for file in &files {
            if let Some((reason, why)) = file.refused.as_deref() {
                listing.hide_file(file, projects, reason.clone(), why.clone(), None);
            }
        }
        let is_opened = |file: &&SessionCandidate| file.refused.is_none();
        let opened: Vec<&SessionCandidate> = files.iter().filter(is_opened).collect();
        let read = summaries.read_all(&opened);
        listing.sessions.reserve_exact(opened.len());
        let now = now_text(now);
        let shared = projects.iter().map(|it| SharedByProject::new(it, &now));
        let shared: Vec<_> = shared.collect();
        let opened = files.into_iter().filter(|file| file.refused.is_none());
        for (file, summary) in opened.zip(read) {
            if let Some(summary) = listing.take_summary(&file, summary, projects) {
                let project = &shared[file.project];
                let session = ListedSession::of_file(file, summary, project);
                listing.sessions.push(session);
            }
        }
        listing.keep_the_newest(projects);
        listing.number_sessions();
        listing.mark_endangered(projects);
        listing
    }

    /// The same session twice: the later of both counts, or the earlier name.
    fn keep_the_newest(&mut self, projects: &[SessionProject]) {
        let count = self.sessions.len();
        // Most lists have no session twice, which numbers show faster than ids.
        let mut hashes = HashedIds::with_capacity_and_hasher(count, BuildHasherDefault::default());
        let mut is_new = |session: &ListedSession| hashes.insert(id_hash(session));
        if self.sessions.iter().all(&mut is_new) {
            return;
        }
        let mut places: HashMap<(usize, String), usize> = HashMap::with_capacity(count);
        let mut kept: Vec<ListedSession> = Vec::with_capacity(count);
        for session in std::mem::take(&mut self.sessions) {
            let key = (session.project, session.id().to_owned());
            match places.get(&key) {
                None => {
                    places.insert(key, kept.len());
                    kept.push(session);
                }
                Some(&place) => {
                    let there = &kept[place];
                    let is_newer =
                        session.updated_ms > there.updated_ms && there.updated_ms.is_some();
                    // The CLI resumes the file in its own directory, however old.
                    let is_better = match (session.is_cli_listed(), there.is_cli_listed()) {
                        (true, false) => true,
                        (false, true) => false,
                        _ => is_newer,
                    };
                    let older = if is_better {
                        std::mem::replace(&mut kept[place], session)
                    } else {
                        session
                    };
                    self.hidden
                        .push(duplicate_file(&older, &kept[place], projects));
                }
            }
        }
        self.sessions = kept;
    }

    /// Marks sessions in danger: at its next start the CLI deletes files without content, and with them every file that ends in
    /// the same eight characters.
    fn mark_endangered(&mut self, projects: &[SessionProject]) {
        let mut dangers: HashMap<(&str, &str), &str> = HashMap::new();
        for file in &self.hidden {
            let name = file.path.rsplit(std::path::is_separator).next();
            let name = name.unwrap_or(&file.path);
            if let (Some(short), true) = (names::short_id(name), is_deleted(&file.reason)) {
                dangers.insert((&file.project_id, short), name);
            }
        }
        if dangers.is_empty() {
            return;
        }
        for session in &mut self.sessions {
            let project = &projects[session.project].id;
            let short = names::short_id(session.file_name());
            let danger = short.and_then(|short| dangers.get(&(project, short)));
            if let Some(&name) = danger {
                session.info_mut().endangered_by = Some(name.to_owned());
            }
        }
    }

    fn number_sessions(&mut self) {
        // Sessions that the CLI does not list come last, so that the others have its numbers. Keys are cached: sessions are large
        // to move.
        let key = |session: &ListedSession| {
            let is_last = !session.is_cli_listed();
            (session.project, is_last, session.started_ms)
        };
        // Files come by name, which begins with the minute: most often they are in order.
        if !self.sessions.is_sorted_by_key(key) {
            self.sessions.sort_by_cached_key(key);
        }
        let mut last = (usize::MAX, 0);
        for session in &mut self.sessions {
            let number = if last.0 == session.project {
                last.1 + 1
            } else {
                1
            };
            last = (session.project, number);
            session.set_index(number);
        }
    }

    /// The summary of a file that counts. Any other is hidden.
    fn take_summary(
        &mut self,
        file: &SessionCandidate,
        read: Result<CompactSummary, UnreadableFile>,
        projects: &[SessionProject],
    ) -> Option<CompactSummary> {
        let summary = match read {
            Ok(summary) => summary,
            Err(error) => {
                let reason = match error {
                    UnreadableFile::Io(_) => HiddenReason::Unreadable,
                    UnreadableFile::Empty => HiddenReason::Empty,
                    UnreadableFile::NotASession => HiddenReason::NotASession,
                    UnreadableFile::TooLarge => HiddenReason::TooLarge,
                };
                self.hide_file(file, projects, reason, error.to_string(), None);
                return None;
            }
        };
        let hidden = if summary.hides_content() {
            let why = "what was said in it is hidden: `lapidary sessions recover` brings it back";
            Some((HiddenReason::NoContent, why))
        } else if !summary.is_resumable() {
            let why = "it has no messages to resume";
            Some((HiddenReason::NoContent, why))
        } else if summary.is_subagent() {
            Some((HiddenReason::Subagent, "a sub-agent wrote it"))
        } else {
            None
        };
        if let Some((reason, why)) = hidden {
            let id = summary.id().to_owned();
            self.hide_file(file, projects, reason, why.to_owned(), Some(id));
            return None;
        }
        Some(summary)
    }

    fn hide_file(
        &mut self,
        file: &SessionCandidate,
        projects: &[SessionProject],
        reason: HiddenReason,
        explanation: String,
        session_id: Option<String>,
    ) {
        self.hidden.push(HiddenFile {
            path: file.path.to_string_lossy().into_owned(),
            project_id: projects[file.project].id.clone(),
            reason,
            explanation,
            session_id,
            size: file.size,
        });
    }
}

/// A number for a session's id and project. Two that are equal have the same, and others seldom.
fn id_hash(session: &ListedSession) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let start = session.project as u64;
    let chunks = session.id().as_bytes().chunks(8);
    let hash = chunks.fold(start, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR)
    });
    hash ^ (hash >> 32)
}

/// True if the CLI deletes such a file at its next start.
fn is_deleted(reason: &HiddenReason) -> bool {
    !matches!(reason, HiddenReason::Duplicate | HiddenReason::NotAFile)
}

fn duplicate_file(
    older: &ListedSession,
    newer: &ListedSession,
    projects: &[SessionProject],
) -> HiddenFile {
    let when = if older.updated_ms == newer.updated_ms {
        "was updated at the same time"
    } else {
        "was updated later"
    };
    let info = older.row().into_info();
    HiddenFile {
        path: info.path,
        project_id: projects[older.project].id.clone(),
        reason: HiddenReason::Duplicate,
        explanation: format!("`{}` is the same session and {when}", newer.file_name()),
        session_id: Some(info.id),
        size: info.size,
    }
}

/// Calls `work` for each file, on several threads, each with a value of its own, and returns the results in the order of the
/// files.
pub(super) fn each_file<'f, File: Sync, Own, Out: Send>(
    files: &[&'f File],
    own: impl Fn() -> Own + Sync,
    work: impl Fn(&mut Own, &'f File) -> Out + Sync,
) -> Vec<Out> {
    /// How many files a thread takes at a time.
    const BATCH: usize = 16;
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(files.len()));
    let share = || {
        let mut own = own();
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = files.get(from..) else {
                break;
            };
            if batch.is_empty() {
                break;
            }
            let batch = &batch[..batch.len().min(BATCH)];
            let results: Vec<_> = batch.iter().map(|file| work(&mut own, file)).collect();
            let mut done = done
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            done.push((from, results));
        }
    };
    let threads = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(8);
    thread::scope(|scope| {
        for _ in 1..threads.min(files.len().div_ceil(BATCH)) {
            scope.spawn(share);
        }
        share();
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(from, _)| *from);
    done.into_iter().flat_map(|(_, results)| results).collect()
}
