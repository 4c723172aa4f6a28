//! Asking the index which texts have which words.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::Index;
use super::rows::{self, Row};
use super::schema::TEXTS_PER_FILE;
use super::texts::{IS_EXACT, Owner};
use crate::sessions::candidates::Candidate;
use crate::sessions::listing::{FromFiles, Summaries as _};
use crate::sessions::scan::{Summary, Unreadable};
use crate::sessions::search::Watch;
use crate::sessions::search::direct::{self, Look};
use crate::sessions::search::filters::{Filters, Score, Tally};
use crate::sessions::search::letters::Form;
use crate::sessions::search::query::{Query, Term};

/// What is known of a file that is looked through.
pub(in crate::sessions) type Looked = (Result<Summary, Unreadable>, Option<Score>);

/// What the index says of a file.
enum Said {
    /// It does not know the file as it is now.
    Unknown,
    /// How well it fits, if it does.
    Known(Box<Row>, Option<Score>),
}

impl Index {
    /// Looks through files: in the index as far as it knows them, in the files themselves else. None if it is of no use here, or
    /// somebody does not want to know any more.
    pub(in crate::sessions) fn look(
        &mut self,
        files: &[&Candidate],
        query: &Query,
        filters: &Filters,
        watch: &Watch<'_>,
    ) -> Option<Vec<Looked>> {
        if !self.is_open() || query.has_regex() {
            return None;
        }
        let mut said = self.ask(files, query, filters)?;
        let changed = unknown(files, &said);
        if !changed.is_empty() {
            self.update_on_the_way(&changed);
            said = self.ask(files, query, filters)?;
        }
        let unsure = unknown(files, &said);
        let mut looks = direct::look(&unsure, query, filters, watch)?.into_iter();
        let mut results = Vec::with_capacity(files.len());
        for (file, said) in files.iter().zip(said) {
            results.push(match said {
                Said::Known(row, score) => (row.summary, score),
                Said::Unknown => match looks.next() {
                    Some(Look::Hit(summary, score, _)) => (Ok(*summary), Some(score)),
                    _ => (summary_of(file), None),
                },
            });
        }
        Some(results)
    }

    fn ask(&mut self, files: &[&Candidate], query: &Query, filters: &Filters) -> Option<Vec<Said>> {
        let connection = self.connection.as_mut()?;
        match ask(connection, files, query, filters) {
            Ok(said) => Some(said),
            Err(error) => {
                self.give_up(&error.into());
                None
            }
        }
    }
}

/// Rows and words in one and the same state of the index.
fn ask(
    connection: &mut Connection,
    files: &[&Candidate],
    query: &Query,
    filters: &Filters,
) -> rusqlite::Result<Vec<Said>> {
    let transaction = connection.transaction()?;
    let rows = rows::of(&transaction, files)?;
    let masks = masks(&transaction, query)?;
    let mut said = Vec::with_capacity(rows.len());
    for row in rows {
        said.push(match row {
            None => Said::Unknown,
            Some(row) => {
                let texts = of_file(&masks, row.id);
                let found = texts.iter().fold(0, |found, (_, mask)| found | mask);
                let score = if found == query.everything() {
                    score(&transaction, row.id, texts, query, filters)?
                } else {
                    None
                };
                Said::Known(Box::new(row), score)
            }
        });
    }
    Ok(said)
}

fn unknown<'f>(files: &[&'f Candidate], said: &[Said]) -> Vec<&'f Candidate> {
    let both = files.iter().zip(said);
    both.filter(|(_, said)| matches!(said, Said::Unknown))
        .map(|(file, _)| *file)
        .collect()
}

/// Texts, by number, and which terms are in each.
type Masks = Vec<(i64, u32)>;

/// Which terms are in which texts.
fn masks(connection: &Connection, query: &Query) -> rusqlite::Result<Masks> {
    let mut statement =
        connection.prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1")?;
    let mut texts = Masks::new();
    for (place, term) in query.terms.iter().enumerate() {
        let Some(expression) = expression(term) else {
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

fn of_file(masks: &Masks, file: i64) -> &[(i64, u32)] {
    let place = |file: i64| {
        let first = file.saturating_mul(TEXTS_PER_FILE);
        masks.partition_point(|(text, _)| *text < first)
    };
    &masks[place(file)..place(file.saturating_add(1))]
}

/// A term in the language of FTS5. Tokens have no quotes in them, so quotes around them are enough.
fn expression(term: &Term) -> Option<String> {
    let Term::Words {
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
        Form::Folded => format!("folded : {phrase}"),
        // Most texts read the same in both forms, and have only the first.
        Form::Exact => {
            format!("(folded : {phrase} NOT exact : \"{IS_EXACT}\") OR exact : {phrase}")
        }
    })
}

fn score(
    connection: &Connection,
    file: i64,
    texts: &[(i64, u32)],
    query: &Query,
    filters: &Filters,
) -> rusqlite::Result<Option<Score>> {
    let everything = query.everything();
    let mut tally = Tally::default();
    if filters.take_every_text() {
        for &(number, mask) in texts {
            // The title is always the first.
            tally.add_text(number % TEXTS_PER_FILE == 0, mask, everything);
        }
        return Ok(tally.score(everything));
    }
    let owners: Option<String> = connection
        .prepare_cached("SELECT list FROM texts WHERE file = ?1")?
        .query_row(params![file], |row| row.get(0))
        .optional()?;
    let owners: Vec<Owner> = owners
        .and_then(|list| serde_json::from_str(&list).ok())
        .unwrap_or_default();
    for &(number, mask) in texts {
        let text = number % TEXTS_PER_FILE;
        let owner = usize::try_from(text).ok().and_then(|text| owners.get(text));
        if let Some(owner) = owner
            && filters.take(owner.role(), owner.1.as_deref(), owner.2.as_deref())
        {
            tally.add_text(text == 0, mask, everything);
        }
    }
    Ok(tally.score(everything))
}

fn summary_of(file: &Candidate) -> Result<Summary, Unreadable> {
    let mut only = FromFiles.of(&[file]);
    only.pop().unwrap_or(Err(Unreadable::NotASession))
}
