//! A search query: words, phrases, or a regular expression.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::letters::LetterForm;
use super::needle::Needle;
use super::tokens::{TextToken, text_tokens};

/// How large a compiled expression may be.
const LARGEST_REGEX: usize = 4 << 20;

/// More words than a user needs: each is one bit in a mask.
const MOST_TERMS: usize = 32;

/// The terms that a session has to contain.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    pub(crate) terms: Vec<QueryTerm>,
}

/// One thing that has to occur.
#[derive(Debug, Clone)]
pub(crate) enum QueryTerm {
    /// Tokens one after the other. The last may be only the beginning of one.
    Words {
        words: Vec<String>,
        /// In which form they are compared.
        form: LetterForm,
        last_is_prefix: bool,
        /// The part of it that has to be in the bytes of a text.
        needle: Option<Needle>,
    },
    /// A regular expression.
    Regex(Regex),
}

/// Why nothing can be looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There is no word in it.
    #[error("`{text}` has no word to search for")]
    NoWords {
        /// The text as given.
        text: String,
    },
    /// There are too many.
    #[error("{count} words and phrases are too many: at most {MOST_TERMS} can be looked for")]
    TooMany {
        /// How many were given.
        count: usize,
    },
    /// It is no regular expression.
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Regex {
        /// The pattern as given.
        pattern: String,
        /// The error, on one line.
        reason: String,
    },
}

impl SearchQuery {
    /// Words, each of which has to occur in a session, without regard to case and accents; `"several words"` one after the other
    /// and with just these accents; `begin*` for words that begin so. A word with signs in it, such as `src/main.rs`, is a
    /// phrase. Text without blanks, such as Chinese, is found inside of longer texts.
    pub fn words(text: &str) -> Result<Self, QueryError> {
        let mut terms = Vec::new();
        // Every other piece stands between quotes; one that is not closed reaches to the end.
        for (place, piece) in text.split('"').enumerate() {
            if place % 2 == 1 {
                terms.extend(phrase_term(piece, LetterForm::Exact));
            } else {
                let pieces = piece.split_whitespace();
                terms.extend(pieces.filter_map(|piece| phrase_term(piece, LetterForm::Folded)));
            }
        }
        match terms.len() {
            0 => Err(QueryError::NoWords {
                text: text.to_owned(),
            }),
            count if count > MOST_TERMS => Err(QueryError::TooMany { count }),
            _ => Ok(Self { terms }),
        }
    }

    /// A regular expression over messages and tool calls, text by text.
    pub fn regex(pattern: &str) -> Result<Self, QueryError> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(LARGEST_REGEX)
            .dfa_size_limit(LARGEST_REGEX)
            .build();
        match regex {
            Ok(regex) => Ok(Self {
                terms: vec![QueryTerm::Regex(regex)],
            }),
            Err(error) => {
                let reason = error.to_string();
                let last = reason.lines().last().unwrap_or_default();
                Err(QueryError::Regex {
                    pattern: pattern.to_owned(),
                    reason: last.trim_start_matches("error: ").to_owned(),
                })
            }
        }
    }

    /// The mask of a text in which everything occurs.
    pub(crate) fn full_mask(&self) -> u32 {
        u32::MAX >> (u32::BITS as usize - self.terms.len())
    }

    /// True if it is a regular expression.
    #[cfg(feature = "index")]
    pub(crate) fn has_regex(&self) -> bool {
        self.terms
            .iter()
            .any(|term| matches!(term, QueryTerm::Regex(_)))
    }

    /// False if nothing of it can be in these bytes, unless its letters are escaped.
    pub(super) fn may_stand_in(&self, bytes: &[u8]) -> bool {
        let is_possible =
            |term: &QueryTerm| term.term_needle().is_none_or(|needle| needle.is_in(bytes));
        self.terms.iter().any(is_possible)
    }

    /// Where in a text which term occurs, in the order in which the occurrences end; `found` says whether to go on.
    pub(super) fn find_terms(
        &self,
        text: &str,
        mut found: impl FnMut(usize, Range<usize>) -> bool,
    ) {
        if let [QueryTerm::Regex(regex)] = &self.terms[..] {
            let matches = regex.find_iter(text).filter(|found| !found.is_empty());
            for at in matches {
                if !found(0, at.range()) {
                    return;
                }
            }
            return;
        }
        // Most texts have nothing of it: that is told without looking at their words.
        if !self.may_stand_in(text.as_bytes()) {
            return;
        }
        let longest = self.terms.iter().map(QueryTerm::len).max().unwrap_or(1);
        let mut last: Vec<TextToken> = Vec::with_capacity(longest + 1);
        let mut buffer = String::new();
        for token in text_tokens(text) {
            if last.len() == longest {
                last.remove(0);
            }
            last.push(token);
            for (place, term) in self.terms.iter().enumerate() {
                if let Some(range) = term.ends_at(text, &last, &mut buffer)
                    && !found(place, range)
                {
                    return;
                }
            }
        }
    }

    /// Which terms occur in a text, and where the first of them does.
    pub(super) fn look_at(&self, text: &str) -> (u32, Option<Range<usize>>) {
        let everything = self.full_mask();
        let mut mask = 0;
        let mut first = None;
        self.find_terms(text, |place, range| {
            mask |= 1 << place;
            first.get_or_insert(range);
            mask != everything
        });
        (mask, first)
    }
}

/// Words as a term, if there are any.
fn phrase_term(text: &str, form: LetterForm) -> Option<QueryTerm> {
    let as_compared = |token: TextToken| {
        let mut word = String::new();
        token.add_comparable(text, form, &mut word);
        word
    };
    let words: Vec<_> = text_tokens(text).map(as_compared).collect();
    (!words.is_empty()).then(|| QueryTerm::Words {
        needle: Needle::new(text),
        last_is_prefix: text.trim_end().ends_with('*'),
        words,
        form,
    })
}

impl QueryTerm {
    pub(super) fn term_needle(&self) -> Option<&Needle> {
        match self {
            Self::Words { needle, .. } => needle.as_ref(),
            Self::Regex(_) => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Words { words, .. } => words.len(),
            Self::Regex(_) => 0,
        }
    }

    /// Where it stands, if the last of these words are it.
    fn ends_at(&self, text: &str, last: &[TextToken], buffer: &mut String) -> Option<Range<usize>> {
        let Self::Words {
            words: wanted,
            form,
            last_is_prefix,
            ..
        } = self
        else {
            return None;
        };
        let (newest, before) = wanted.split_last()?;
        let from = last.len().checked_sub(wanted.len())?;
        let here = last.last()?;
        let is_last = if *last_is_prefix {
            here.has_prefix(text, *form, newest, buffer)
        } else {
            here.is(text, *form, newest, buffer)
        };
        let is_rest = is_last && {
            let mut pairs = before.iter().zip(&last[from..]);
            pairs.all(|(wanted, token)| token.is(text, *form, wanted, buffer))
        };
        is_rest.then(|| last[from].range.start..here.range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, text: &str) -> Vec<(usize, String)> {
        let mut all = Vec::new();
        SearchQuery::words(query)
            .unwrap()
            .find_terms(text, |term, range| {
                all.push((term, text[range].to_owned()));
                true
            });
        all
    }

    #[test]
    fn words_phrases_and_beginnings_are_found_where_they_stand() {
        let text = "The Quick brown-fox; quick, the brown foxes";
        let is = |query, expected: &[(usize, &str)]| {
            let expected: Vec<_> = expected
                .iter()
                .map(|(term, text)| (*term, (*text).to_owned()))
                .collect();
            assert_eq!(found(query, text), expected, "{query}");
        };
        is("quick", &[(0, "Quick"), (0, "quick")]);
        is("fox QUICK", &[(1, "Quick"), (0, "fox"), (1, "quick")]);
        is("fox*", &[(0, "fox"), (0, "foxes")]);
        is("\"brown fox\"", &[(0, "brown-fox")]);
        is("\"brown fo*\"", &[(0, "brown-fox"), (0, "brown foxes")]);
        is("brown/fox", &[(0, "brown-fox")]);
        is("\"the quick", &[(0, "The Quick")]);
        is("ick", &[]);
    }

    #[test]
    fn an_invalid_search_query_is_a_typed_error() {
        assert!(matches!(
            SearchQuery::words(" \"\" -- "),
            Err(QueryError::NoWords { .. })
        ));
        let many = "word ".repeat(MOST_TERMS + 1);
        assert!(matches!(
            SearchQuery::words(&many),
            Err(QueryError::TooMany { count: 33 })
        ));
        assert!(SearchQuery::words(&"word ".repeat(MOST_TERMS)).is_ok());
        let error = SearchQuery::regex("a(b").unwrap_err().to_string();
        assert_eq!(error, "`a(b` is not a regular expression: unclosed group");
        let error = SearchQuery::regex(r"(\w{900}){900}")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("size limit") && !error.contains('\n'),
            "{error}"
        );
    }

    fn mask_of(query: &SearchQuery, text: &str) -> u32 {
        query.look_at(text).0
    }

    #[test]
    fn an_empty_match_of_an_expression_is_none() {
        let query = SearchQuery::regex("x*").unwrap();
        assert_eq!(mask_of(&query, "abc"), 0);
        assert_eq!(mask_of(&query, "abxc"), 1);
    }
}
