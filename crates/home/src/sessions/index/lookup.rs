//! Asking the index which texts have which words.

use std::collections::HashMap;
use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::rows::{self, Row};
use super::schema::TEXTS_PER_FILE;
use super::texts::Owner;
use super::{Index, missing};
use crate::sessions::candidates::Candidate;
use crate::sessions::listing::{FromFiles, Summaries as _};
use crate::sessions::scan::{Summary, Unreadable};
use crate::sessions::search::Watch;
use crate::sessions::search::direct::{self, Look};
use crate::sessions::search::filters::{Filters, Score, Tally};
use crate::sessions::search::query::{Query, Term};

/// What is known of a file that is looked through.
pub(in crate::sessions) type Looked = (Result<Summary, Unreadable>, Option<Score>);

/// What the index says of a file.
enum Said {
    /// It does not know the file as it is now.
    Unknown,
    /// Everything may be in it; side by side or not, the file tells.
    Perhaps,
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
        let known = self.known(files);
        let changed = missing(files, &known);
        drop(known);
        if !changed.is_empty() {
            self.update_on_the_way(&changed);
        }
        let said = self.ask(files, query, filters)?;
        let unsure = files.iter().zip(&said);
        let unsure: Vec<&Candidate> = unsure
            .filter(|(_, said)| !matches!(said, Said::Known(..)))
            .map(|(file, _)| *file)
            .collect();
        let mut looks = direct::look(&unsure, query, filters, watch)?.into_iter();
        let mut results = Vec::with_capacity(files.len());
        for (file, said) in files.iter().zip(said) {
            results.push(match said {
                Said::Known(row, score) => (row.summary, score),
                Said::Unknown | Said::Perhaps => match looks.next() {
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
                let texts = masks.get(&row.id).map_or(&[][..], Vec::as_slice);
                let found = texts.iter().fold(0, |found, (_, mask)| found | mask);
                if found != query.everything() {
                    Said::Known(Box::new(row), None)
                } else if query.has_phrase() {
                    Said::Perhaps
                } else {
                    let score = score(&transaction, row.id, texts, query, filters)?;
                    Said::Known(Box::new(row), score)
                }
            }
        });
    }
    Ok(said)
}

type Masks = HashMap<i64, Vec<(i64, u32)>>;

/// Which terms are in which texts, file by file.
fn masks(connection: &Connection, query: &Query) -> rusqlite::Result<Masks> {
    let mut statement =
        connection.prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1")?;
    let mut texts: Vec<(i64, u32)> = Vec::new();
    for (place, term) in query.terms.iter().enumerate() {
        let Some(expression) = expression(term) else {
            continue;
        };
        let mut found = statement.query(params![expression])?;
        while let Some(row) = found.next()? {
            texts.push((row.get(0)?, 1 << place));
        }
    }
    if query.terms.len() > 1 {
        texts.sort_unstable();
    }
    let mut masks = Masks::new();
    for (number, mask) in texts {
        let file = number.div_euclid(TEXTS_PER_FILE);
        let text = number.rem_euclid(TEXTS_PER_FILE);
        let of_file = masks.entry(file).or_default();
        match of_file.last_mut() {
            Some((newest, known)) if *newest == text => *known |= mask,
            _ => of_file.push((text, mask)),
        }
    }
    Ok(masks)
}

/// A term in the language of FTS5. Words are letters and digits, so quotes around them are enough.
fn expression(term: &Term) -> Option<String> {
    let Term::Words {
        words,
        last_is_prefix,
        ..
    } = term
    else {
        return None;
    };
    let mut expression = String::new();
    for (place, word) in words.iter().enumerate() {
        let and = if place == 0 { "" } else { " AND " };
        let star = if *last_is_prefix && place + 1 == words.len() {
            " *"
        } else {
            ""
        };
        let _ = write!(expression, "{and}\"{word}\"{star}");
    }
    Some(expression)
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
        for &(text, mask) in texts {
            // The title is always the first.
            tally.add_text(text == 0, mask, everything);
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
    for &(text, mask) in texts {
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
