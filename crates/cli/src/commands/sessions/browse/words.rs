//! What somebody typed to search for.

/// What is typed, term by term, in lower case: words, and `"several words"` as they stand. For titles, and for marking what was found.
pub(super) fn terms(query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let mut terms = Vec::new();
    // Every other piece stands between quotes; one that is not closed reaches to the end.
    for (place, piece) in query.split('"').enumerate() {
        if place % 2 == 1 {
            terms.push(piece.split_whitespace().collect::<Vec<_>>().join(" "));
        } else {
            terms.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    for term in &mut terms {
        let end = term.trim_end_matches('*').len();
        term.truncate(end);
    }
    terms.retain(|term| !term.is_empty());
    terms
}

/// What `sessions search` would be asked. A word that is still being typed may be the beginning of one; a blank ends it.
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
            assert_eq!(terms(query), expected, "{query}");
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
