//! The places of matches, each with a little of the text around it.

use std::ops::Range;

use lapidary_vocab::session::TextMatch;
use unicode_segmentation::UnicodeSegmentation as _;

use super::entries::{self, EntryRole, TextEntry};
use super::filters::{SearchFilters, SearchScore, SessionTally};
use super::letters::is_attached;
use super::prefilter;
use super::query::SearchQuery;
use crate::scan::FileSummary;

/// How many places of a session are shown.
const MOST: usize = 3;

/// How many characters, as a reader counts them, before a match, of it, and behind it.
const BEFORE: usize = 50;
const MATCHED: usize = 120;
const BEHIND: usize = 90;

/// A character with more marks than that is cut.
const LONGEST_CHARACTER: usize = 32;

/// How well a session fits, and the first places in it: those where everything is in one text before the others. None if not
/// everything is in it.
pub(super) fn cut_snippets(
    query: &SearchQuery,
    filters: &SearchFilters,
    summary: &FileSummary,
    bytes: &[u8],
) -> Option<(SearchScore, Vec<TextMatch>)> {
    let mut finder = SnippetFinder::new(query, filters);
    // Hardly any file has such letters: whether it has is asked once, not of each of its records.
    let is_escaped = prefilter::is_letter_escaped(bytes);
    let may_be_in = |record: &[u8]| {
        query.may_stand_in(record) || is_escaped && prefilter::is_letter_escaped(record)
    };
    entries::for_each_text(summary, bytes, may_be_in, |entry| {
        finder.look_at_text(entry);
        true
    });
    finder.finish()
}

/// Looks at the texts of one session.
#[derive(Debug)]
pub(super) struct SnippetFinder<'q> {
    query: &'q SearchQuery,
    filters: &'q SearchFilters,
    tally: SessionTally,
    /// Places where everything is in one text.
    whole: Vec<TextMatch>,
    others: Vec<TextMatch>,
}

impl<'q> SnippetFinder<'q> {
    pub(super) fn new(query: &'q SearchQuery, filters: &'q SearchFilters) -> Self {
        Self {
            query,
            filters,
            tally: SessionTally::default(),
            whole: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Looks at one text.
    pub(super) fn look_at_text(&mut self, entry: &TextEntry<'_>) {
        if !self.filters.take_entry(entry) {
            return;
        }
        let everything = self.query.full_mask();
        let (mask, first) = self.query.look_at(&entry.text);
        let is_title = entry.role == EntryRole::Title;
        self.tally.add_text(is_title, mask, everything);
        let list = if mask == everything {
            &mut self.whole
        } else {
            &mut self.others
        };
        if let Some(first) = first
            && list.len() < MOST
        {
            list.push(match_excerpt(entry, first));
        }
    }

    /// The score and the places, as [`cut_snippets`] has them.
    pub(super) fn finish(mut self) -> Option<(SearchScore, Vec<TextMatch>)> {
        let score = self.tally.search_score(self.query.full_mask())?;
        self.whole.extend(self.others);
        self.whole.truncate(MOST);
        Some((score, self.whole))
    }
}

fn match_excerpt(entry: &TextEntry<'_>, at: Range<usize>) -> TextMatch {
    let text = entry.text.as_ref();
    let at = at.start..end_of_character(text, at.end);
    TextMatch {
        before: end_of(&text[..at.start]),
        matched: start_of(&text[at.clone()], MATCHED),
        after: start_of(&text[at.end..], BEHIND),
        role: entry.role.as_str().to_owned(),
        tool: entry.tool.as_deref().map(|tool| start_of(tool, MATCHED)),
        message: entry.message,
    }
}

/// Where the marks end that stand on the last letter of a match.
fn end_of_character(text: &str, at: usize) -> usize {
    let marks = text[at..].chars().take(LONGEST_CHARACTER);
    let marks = marks.take_while(|letter| is_attached(*letter));
    at + marks.map(char::len_utf8).sum::<usize>()
}

/// The first characters, on one line, with a sign that there are more.
fn start_of(text: &str, most: usize) -> String {
    let mut characters = one_line(text.graphemes(true));
    let mut line: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        line.push('…');
    }
    line
}

/// The last characters, likewise.
fn end_of(text: &str) -> String {
    let mut characters = one_line(text.graphemes(true).rev());
    let mut line: Vec<&str> = characters.by_ref().take(BEFORE).collect();
    if characters.next().is_some() {
        line.push("…");
    }
    line.into_iter().rev().collect()
}

/// Runs of white space as one blank each.
fn one_line<'t>(characters: impl Iterator<Item = &'t str>) -> impl Iterator<Item = &'t str> {
    let mut was_space = false;
    characters.filter_map(move |character| {
        let is_space = character.chars().all(char::is_whitespace);
        let is_more = std::mem::replace(&mut was_space, is_space) && is_space;
        let end = character.char_indices().nth(LONGEST_CHARACTER);
        let end = end.map_or(character.len(), |(at, _)| at);
        (!is_more).then_some(if is_space { " " } else { &character[..end] })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_short_and_on_one_line() {
        assert_eq!(start_of(" a\n\n\tb ", 9), " a b ");
        assert_eq!(start_of("äöü", 2), "äö…");
        assert_eq!(start_of("cafe\u{301} noir", 4), "cafe\u{301}…");
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(start_of(&family.repeat(2), 1), format!("{family}…"));
        let many = "e\u{301}".repeat(BEFORE + 1);
        assert_eq!(end_of(&many), format!("…{}", "e\u{301}".repeat(BEFORE)));
        assert_eq!(end_of_character("cafe\u{301} noir", 4), 6);
        let tower = format!("e{}", "\u{301}".repeat(500));
        assert_eq!(start_of(&tower, 1).chars().count(), LONGEST_CHARACTER);
        assert_eq!(end_of("a \n b"), "a b");
        let long = "x".repeat(70) + " end";
        let end = end_of(&long);
        assert!(
            end.starts_with('…') && end.ends_with("x end") && end.chars().count() == BEFORE + 1
        );
    }
}
