//! Searching through the files themselves.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use super::filters::{SearchFilters, SearchScore};
use super::prefilter::{Prefilter, SweepResult};
use super::query::SearchQuery;
use super::snippet;
use super::{MatchedSession, SearchProgress};
use crate::candidates::{DirectoryMemory, SessionCandidate};
use crate::listing::{SessionListing, SummarySource, each_file};
use crate::projects::SessionProject;
use crate::scan::{self, CompactSummary, FileScanner, FileSummary, UnreadableFile};
use lapidary_vocab::session::TextMatch;

/// The result of searching one file.
#[derive(Debug)]
pub(crate) enum FileLook {
    /// Everything that is looked for is in it.
    Hit(Box<FileSummary>, SearchScore, Vec<TextMatch>),
    /// Not everything; and this is its session's id.
    Miss(String),
    /// Not everything; the id of its session takes a full scan.
    Odd,
}

/// Searches files until `watch` stops it. Files that cannot be read are odd: a full scan tells the reason.
pub(crate) fn look_at_files(
    files: &[&SessionCandidate],
    query: &SearchQuery,
    filters: &SearchFilters,
    watch: &SearchProgress<'_>,
) -> Option<Vec<FileLook>> {
    let prefilter = Prefilter::new(query);
    let (done, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let looks = each_file(files, Vec::new, |buffer, file| {
        if is_over.load(Ordering::Relaxed)
            || !watch(done.fetch_add(1, Ordering::Relaxed), files.len())
        {
            is_over.store(true, Ordering::Relaxed);
            return FileLook::Odd;
        }
        let Ok(bytes) = read_file_bytes(&file.path, file.size, buffer) else {
            return FileLook::Odd;
        };
        if let SweepResult::Nothing(id) = prefilter.sweep_bytes(bytes) {
            return id.map_or(FileLook::Odd, |id| FileLook::Miss(id.to_owned()));
        }
        let Ok(summary) = FileScanner::bytes(bytes) else {
            return FileLook::Odd;
        };
        match snippet::cut_snippets(query, filters, &summary, bytes) {
            Some((score, snippets)) => FileLook::Hit(Box::new(summary), score, snippets),
            None => FileLook::Miss(summary.id),
        }
    });
    (!is_over.into_inner()).then_some(looks)
}

/// The largest file that is searched, in bytes: it has to be held whole. A sparse file of any size costs an agent nothing.
pub(crate) const LARGEST_FILE: usize = 1 << 30;

/// A file's bytes, in memory that is used again. `size` is the last known size: the file may have grown.
pub(crate) fn read_file_bytes<'b>(
    path: &Path,
    size: u64,
    buffer: &'b mut Vec<u8>,
) -> io::Result<&'b [u8]> {
    let mut file: File = scan::open(path)?;
    let expected = usize::try_from(size).unwrap_or(usize::MAX);
    let mut filled = 0;
    loop {
        if filled.max(expected) > LARGEST_FILE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if buffer.len() <= filled.max(expected) {
            buffer.resize((filled.max(expected) + 1).next_multiple_of(64 * 1024), 0);
        }
        match file.read(&mut buffer[filled..]) {
            Ok(0) => return Ok(&buffer[..filled]),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // A read that leaves room was the last one of a plain file.
        if filled >= expected && filled < buffer.len() {
            return Ok(&buffer[..filled]);
        }
    }
}

/// The sessions among files in which everything is. Which file counts for a session, and whether it counts at all, depends on
/// others of the same id: these are read, too, and no more.
pub(super) fn search_sessions(
    files: &[SessionCandidate],
    projects: &[SessionProject],
    now: SystemTime,
    query: &SearchQuery,
    filters: &SearchFilters,
    watch: &SearchProgress<'_>,
) -> Option<Vec<MatchedSession>> {
    let opened: Vec<&SessionCandidate> =
        files.iter().filter(|file| file.refused.is_none()).collect();
    let looks = look_at_files(&opened, query, filters, watch)?;
    if !looks.iter().any(|look| matches!(look, FileLook::Hit(..))) {
        return Some(Vec::new());
    }
    let hit_ids: HashSet<(usize, String)> = ids_of_hits(&opened, &looks);
    let concerned: Vec<bool> = opened
        .iter()
        .zip(&looks)
        .map(|(file, look)| match look {
            FileLook::Hit(..) | FileLook::Odd => true,
            FileLook::Miss(id) => hit_ids.contains(&(file.project, id.clone())),
        })
        .collect();
    let some: Vec<SessionCandidate> = opened
        .iter()
        .zip(&concerned)
        .filter(|(_, is)| **is)
        .map(|(file, _)| (*file).clone())
        .collect();
    let mut summaries = Vec::new();
    let mut fits = Vec::new();
    for (look, _) in looks.into_iter().zip(concerned).filter(|(_, is)| *is) {
        let (summary, fit) = match look {
            FileLook::Hit(summary, score, snippets) => {
                (Some(*summary), Some((score, Some(snippets))))
            }
            FileLook::Miss(_) | FileLook::Odd => (None, None),
        };
        summaries.push(summary);
        fits.push(fit);
    }
    let listing = SessionListing::of_files(
        some.clone(),
        projects,
        now,
        &mut PreloadedSummaries(summaries),
    );
    Some(super::matched_sessions(listing, &some, fits))
}

fn ids_of_hits(files: &[&SessionCandidate], looks: &[FileLook]) -> HashSet<(usize, String)> {
    files
        .iter()
        .zip(looks)
        .filter_map(|(file, look)| match look {
            FileLook::Hit(summary, ..) => Some((file.project, summary.id.clone())),
            FileLook::Miss(_) | FileLook::Odd => None,
        })
        .collect()
}

/// Summaries that are there already, and others from the files.
struct PreloadedSummaries(Vec<Option<FileSummary>>);

impl DirectoryMemory for PreloadedSummaries {}

impl SummarySource for PreloadedSummaries {
    fn read_all(
        &mut self,
        files: &[&SessionCandidate],
    ) -> Vec<Result<CompactSummary, UnreadableFile>> {
        let mut scanner = FileScanner::default();
        let known = std::mem::take(&mut self.0).into_iter();
        known
            .zip(files)
            .map(|(summary, file)| match summary {
                Some(summary) => Ok(summary.into()),
                None => scanner.file(&file.path).map(Into::into),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_more_than_a_gibibyte_is_not_read_whole() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let size = LARGEST_FILE as u64 + 1;
        file.as_file().set_len(size).unwrap();
        let mut buffer = Vec::new();
        for known in [size, u64::MAX] {
            let read = read_file_bytes(file.path(), known, &mut buffer);
            assert_eq!(read.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        }
        assert_eq!(buffer.capacity(), 0);
    }
}
