//! Asking the index which texts have which words.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::SessionIndex;
use super::rows;
use super::schema::TEXTS_PER_FILE;
use super::states::{self, IndexPlace};
use super::texts::{IS_EXACT, TextOwner};
use crate::candidates::{FileSightings, SessionCandidate};
use crate::listing::{FromFiles, SummarySource as _};
use crate::scan::{CompactSummary, UnreadableFile};
use crate::search::SearchProgress;
use crate::search::direct::{self, FileLook};
use crate::search::filters::{SearchFilters, SearchScore, SessionTally};
use crate::search::letters::LetterForm;
use crate::search::query::{QueryTerm, SearchQuery};

/// A file that a search returns: it is a hit, it belongs to the same session as a hit, or it is not known whether it is one.
#[derive(Debug)]
pub(crate) struct IndexedFile {
    pub(crate) file: SessionCandidate,
    pub(crate) summary: Result<CompactSummary, UnreadableFile>,
    /// How well it fits, if it does.
    pub(crate) score: Option<SearchScore>,
}

/// The answer of the index.
#[derive(Debug, Default)]
struct IndexAnswer {
    /// The files of all sessions of which one is a hit.
    found: Vec<(
        IndexPlace,
        Result<CompactSummary, UnreadableFile>,
        Option<SearchScore>,
    )>,
    /// The files that it does not know as they are now.
    changed: Vec<IndexPlace>,
}

impl SessionIndex {
    /// Searches files: in the index as far as it knows them, else in the files themselves. None if the index cannot answer this
    /// query, or `watch` stops the search.
    pub(crate) fn search_files(
        &mut self,
        seen: &[FileSightings],
        query: &SearchQuery,
        filters: &SearchFilters,
        watch: &SearchProgress<'_>,
    ) -> Option<Vec<IndexedFile>> {
        if !self.is_open() || query.has_regex() {
            return None;
        }
        let mut answer = self.ask_index(seen, query, filters, &HashSet::new())?;
        self.keep_noted_names();
        if !answer.changed.is_empty() {
            let changed = candidates_of(seen, &answer.changed);
            self.update_on_the_way(&changed.iter().collect::<Vec<_>>());
            answer = self.ask_index(seen, query, filters, &HashSet::new())?;
        }
        let changed = answer.changed.iter().map(|(directory, _)| *directory);
        let changed = changed.zip(candidates_of(seen, &answer.changed));
        let linked = seen.iter().enumerate();
        let linked = linked.flat_map(|(directory, seen)| {
            let files = seen.linked_candidates().cloned();
            files.map(move |file| (directory, file))
        });
        let unsure: Vec<(usize, SessionCandidate)> = changed.chain(linked).collect();
        let files: Vec<_> = unsure.iter().map(|(_, file)| file).collect();
        let looks = direct::look_at_files(&files, query, filters, watch)?;
        let hits: HashSet<String> = ids_of_hits(&looks).collect();
        if !hits.is_empty() {
            answer = self.ask_index(seen, query, filters, &hits)?;
        }
        Some(merge_results(seen, answer, unsure, looks))
    }

    fn ask_index(
        &mut self,
        seen: &[FileSightings],
        query: &SearchQuery,
        filters: &SearchFilters,
        hits: &HashSet<String>,
    ) -> Option<IndexAnswer> {
        let connection = self.connection.as_mut()?;
        match query_index(connection, seen, query, filters, hits) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.give_up(&error.into());
                None
            }
        }
    }
}

fn candidates_of(seen: &[FileSightings], places: &[IndexPlace]) -> Vec<SessionCandidate> {
    let files = places.iter();
    files
        .map(|&(directory, place)| seen[directory].candidate_at(place))
        .collect()
}

/// The results of the index and of the files together, in the order of the files. A file without a hit is skipped unless its
/// session has one.
fn merge_results(
    seen: &[FileSightings],
    answer: IndexAnswer,
    unsure: Vec<(usize, SessionCandidate)>,
    looks: Vec<FileLook>,
) -> Vec<IndexedFile> {
    let found = answer.found.iter();
    let found = found.filter_map(|(_, summary, _)| Some(summary.as_ref().ok()?.id().to_owned()));
    let mut hits: HashSet<String> = found.collect();
    hits.extend(ids_of_hits(&looks));
    let mut all = Vec::with_capacity(answer.found.len());
    for ((directory, place), summary, score) in answer.found {
        let file = seen[directory].candidate_at(place);
        all.push((
            directory,
            IndexedFile {
                file,
                summary,
                score,
            },
        ));
    }
    for ((directory, file), look) in unsure.into_iter().zip(looks) {
        let (summary, score) = match look {
            FileLook::Hit(summary, score, _) => (Ok(CompactSummary::from(&*summary)), Some(score)),
            FileLook::Miss(id) if !hits.contains(&id) => continue,
            // Without any hit it does not matter which file counts.
            FileLook::Odd if hits.is_empty() => continue,
            FileLook::Miss(_) | FileLook::Odd => (summary_of(&file), None),
        };
        all.push((
            directory,
            IndexedFile {
                file,
                summary,
                score,
            },
        ));
    }
    all.sort_by(|(one, file), (other, other_file)| {
        let names = || file.file.file_name().cmp(other_file.file.file_name());
        one.cmp(other).then_with(names)
    });
    all.into_iter().map(|(_, looked)| looked).collect()
}

fn ids_of_hits(looks: &[FileLook]) -> impl Iterator<Item = String> {
    looks.iter().filter_map(|look| match look {
        FileLook::Hit(summary, ..) => Some(summary.id.clone()),
        FileLook::Miss(_) | FileLook::Odd => None,
    })
}

/// States, rows and words in one and the same state of the index. `hits` are sessions with a hit in another file.
fn query_index(
    connection: &mut Connection,
    seen: &[FileSightings],
    query: &SearchQuery,
    filters: &SearchFilters,
    hits: &HashSet<String>,
) -> rusqlite::Result<IndexAnswer> {
    let transaction = connection.transaction()?;
    let recognised = states::recognise_all(&transaction, seen)?;
    let mut answer = IndexAnswer {
        changed: recognised.changed,
        found: Vec::new(),
    };
    let masks = term_masks(&transaction, query)?;
    if masks.is_empty() && hits.is_empty() {
        return Ok(answer);
    }
    let mut known = recognised.known;
    known.sort_unstable();
    let place_of = |file: i64| {
        let place = known.binary_search_by_key(&file, |(id, _)| *id).ok()?;
        Some(known[place].1)
    };
    let mut scores = Vec::new();
    for texts in masks.chunk_by(|one, other| file_of(one.0) == file_of(other.0)) {
        let file = file_of(texts[0].0);
        let found = texts.iter().fold(0, |found, (_, mask)| found | mask);
        if found == query.full_mask()
            && place_of(file).is_some()
            && let Some(score) = file_score(&transaction, file, texts, query, filters)?
        {
            scores.push((file, score));
        }
    }
    let files: Vec<i64> = scores.iter().map(|(file, _)| *file).collect();
    let mut sessions = rows::sessions_of(&transaction, &files)?;
    sessions.extend(hits.iter().cloned());
    for (file, summary) in rows::session_rows(&transaction, &sessions)? {
        if let Some(place) = place_of(file) {
            let score = scores.binary_search_by_key(&file, |(file, _)| *file);
            let score = score.ok().map(|place| scores[place].1);
            answer.found.push((place, summary, score));
        }
    }
    Ok(answer)
}

/// The file that a text is of.
pub(super) fn file_of(text: i64) -> i64 {
    text.div_euclid(TEXTS_PER_FILE)
}

/// Texts, by number, and which terms are in each.
pub(super) type TermMasks = Vec<(i64, u32)>;

/// Which terms are in which texts.
pub(super) fn term_masks(
    connection: &Connection,
    query: &SearchQuery,
) -> rusqlite::Result<TermMasks> {
    let mut statement =
        connection.prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1")?;
    let mut texts = TermMasks::new();
    for (place, term) in query.terms.iter().enumerate() {
        let Some(expression) = fts_expression(term) else {
            continue;
        };
        let mut found = statement.query(params![expression])?;
        while let Some(row) = found.next()? {
            texts.push((row.get(0)?, 1 << place));
        }
    }
    // Each term's are in order already, which this kind of sort makes use of.
    texts.sort_unstable();
    texts.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 |= if is_same { next.1 } else { 0 };
        is_same
    });
    Ok(texts)
}

/// A term in the language of FTS5. Tokens have no quotes in them, so quotes around them are enough.
fn fts_expression(term: &QueryTerm) -> Option<String> {
    let QueryTerm::Words {
        words,
        form,
        last_is_prefix,
        ..
    } = term
    else {
        return None;
    };
    let star = if *last_is_prefix { " *" } else { "" };
    let phrase = format!("\"{}\"{star}", words.join(" "));
    Some(match form {
        LetterForm::Folded => format!("folded : {phrase}"),
        // Most texts read the same in both forms, and have only the first.
        LetterForm::Exact => {
            format!("(folded : {phrase} NOT exact : \"{IS_EXACT}\") OR exact : {phrase}")
        }
    })
}

pub(super) fn file_score(
    connection: &Connection,
    file: i64,
    texts: &[(i64, u32)],
    query: &SearchQuery,
    filters: &SearchFilters,
) -> rusqlite::Result<Option<SearchScore>> {
    let everything = query.full_mask();
    let mut tally = SessionTally::default();
    if filters.take_every_text() {
        for &(number, mask) in texts {
            // The title is always the first.
            tally.add_text(number % TEXTS_PER_FILE == 0, mask, everything);
        }
        return Ok(tally.search_score(everything));
    }
    let owners: Option<String> = connection
        .prepare_cached("SELECT list FROM texts WHERE file = ?1")?
        .query_row(params![file], |row| row.get(0))
        .optional()?;
    let owners: Vec<TextOwner> = owners
        .and_then(|list| serde_json::from_str(&list).ok())
        .unwrap_or_default();
    for &(number, mask) in texts {
        let text = number % TEXTS_PER_FILE;
        let owner = usize::try_from(text).ok().and_then(|text| owners.get(text));
        if let Some(owner) = owner
            && filters.is_wanted_text(owner.entry_role(), owner.1.as_deref(), owner.2.as_deref())
        {
            tally.add_text(text == 0, mask, everything);
        }
    }
    Ok(tally.search_score(everything))
}

fn summary_of(file: &SessionCandidate) -> Result<CompactSummary, UnreadableFile> {
    let mut only = FromFiles.read_all(&[file]);
    only.pop().unwrap_or(Err(UnreadableFile::NotASession))
}
