//! The terms of a typed search.

use lapidary::sessions::search::{exact, folded};

/// The terms of a query in lower case: words, and `"several words"` as they stand. For marking matches.
pub(super) fn query_terms(query: &str) -> Vec<String> {
    let terms = split_query(query).into_iter();
    terms.map(|(term, _)| term.to_lowercase()).collect()
}

/// Words, and `"several words"` between quotes; true for the latter.
fn split_query(query: &str) -> Vec<(String, bool)> {
    let mut terms = Vec::new();
    // Every other piece stands between quotes; one that is not closed reaches to the end.
    for (place, piece) in query.split('"').enumerate() {
        if place % 2 == 1 {
            terms.push((piece.split_whitespace().collect::<Vec<_>>().join(" "), true));
        } else {
            let words = piece.split_whitespace();
            terms.extend(words.map(|word| (word.to_owned(), false)));
        }
    }
    for (term, _) in &mut terms {
        let end = term.trim_end_matches('*').len();
        term.truncate(end);
    }
    terms.retain(|(term, _)| !term.is_empty());
    terms
}

/// A term to find in titles, in the form in which `sessions search` compares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TitleTerm {
    text: String,
    /// Between quotes accents count.
    is_quoted: bool,
}

/// The terms of a query, for titles.
pub(super) fn title_terms(query: &str) -> Vec<TitleTerm> {
    let terms = split_query(query)
        .into_iter()
        .map(|(term, is_quoted)| TitleTerm {
            text: if is_quoted {
                exact(&term)
            } else {
                folded(&term)
            },
            is_quoted,
        });
    terms.filter(|term| !term.text.is_empty()).collect()
}

/// The text of a session in the list, in the forms in which terms are compared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TitleText {
    folded: String,
    /// None if it is the same.
    exact: Option<String>,
}

impl TitleText {
    pub(super) fn new(parts: &[&str]) -> Self {
        let joined = |form: fn(&str) -> String| {
            let parts: Vec<String> = parts.iter().map(|part| form(part)).collect();
            parts.join("\n")
        };
        let is_ascii = parts.iter().all(|part| part.is_ascii());
        Self {
            folded: joined(folded),
            exact: (!is_ascii).then(|| joined(exact)),
        }
    }

    pub(super) fn has_term(&self, term: &TitleTerm) -> bool {
        let text = match &self.exact {
            Some(exact) if term.is_quoted => exact,
            _ => &self.folded,
        };
        text.contains(&term.text)
    }
}

/// The query for `sessions search`. A word that is still being typed may be the beginning of one; a blank ends it.
pub(super) fn as_search(query: &str) -> String {
    let is_unfinished = query.chars().next_back().is_some_and(char::is_alphanumeric);
    let star = if is_unfinished { "*" } else { "" };
    format!("{query}{star}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_apart_and_what_is_quoted_is_together() {
        for (query, expected) in [
            ("Fix  LOGIN", &["fix", "login"][..]),
            ("a \"Login  test\" b", &["a", "login test", "b"]),
            ("\"not closed", &["not closed"]),
            ("begin* \"in a*\" * \"\"", &["begin", "in a"]),
            (" ", &[]),
        ] {
            assert_eq!(query_terms(query), expected, "{query}");
        }
    }

    #[test]
    fn titles_are_compared_as_texts_are() {
        let title = TitleText::new(&["Le Café de Straßburg", "0000000a-1", "日本語"]);
        let has = |query: &str| title_terms(query).iter().all(|term| title.has_term(term));
        for query in [
            "cafe",
            "CAFÉ strassburg",
            "cafe\u{301}",
            "\"café de\"",
            "00a-1",
            "本語",
            "af",
        ] {
            assert!(has(query), "{query}");
        }
        for query in ["\"cafe\"", "tea", "cafe tea"] {
            assert!(!has(query), "{query}");
        }
    }

    #[test]
    fn only_a_word_that_is_being_typed_may_go_on() {
        for (query, expected) in [
            ("bask", "bask*"),
            ("bask ", "bask "),
            ("bask*", "bask*"),
            ("\"the bask", "\"the bask*"),
            ("\"the bask\"", "\"the bask\""),
            ("", ""),
        ] {
            assert_eq!(as_search(query), expected);
        }
    }
}
