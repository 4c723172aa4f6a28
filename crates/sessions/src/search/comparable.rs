//! Short texts, such as titles, in the form in which a search compares them: for callers that look for parts of words.

use super::letters::LetterForm;
use super::tokens::text_tokens;

/// The text without cases and marks: `Café_NOIR` is `cafe noir`.
pub fn folded(text: &str) -> String {
    comparable_text(text, LetterForm::Folded)
}

/// The text without cases, but with its marks: `Café_NOIR` is `café noir`.
pub fn exact(text: &str) -> String {
    comparable_text(text, LetterForm::Exact)
}

/// The text in the form in which it is compared. Each run of separators becomes a blank.
fn comparable_text(text: &str, form: LetterForm) -> String {
    let mut compared = String::with_capacity(text.len());
    let mut end = 0;
    for token in text_tokens(text) {
        if token.range.start > end && !compared.is_empty() {
            compared.push(' ');
        }
        token.add_comparable(text, form, &mut compared);
        end = token.range.end;
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_as_a_search_compares_them() {
        assert_eq!(folded("Caf\u{e9}_NOIR"), "cafe noir");
        assert_eq!(folded("cafe\u{301}"), folded("CAFÉ"));
        assert_eq!(exact("cafe\u{301}"), exact("CAFÉ"));
        assert_ne!(exact("cafe"), exact("café"));
        assert_eq!(folded("STRASSE"), folded("Straße"));
        assert!(!folded("が").contains(&folded("か")));
        assert!(folded("日本語の勉強").contains(&folded("本語")));
        assert_eq!(folded("00000002-0000"), "00000002 0000");
    }
}
