//! Messages of hooks, as far as they are passed on.

/// How many bytes of a hook's message are passed on, to people and to the agent: a hook may write far more than a person reads.
pub(super) const MOST_WORDS: usize = 64 << 10;

/// The beginning of a text, and how much was left out.
pub(super) fn cut_message(text: &str) -> String {
    if text.len() <= MOST_WORDS {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MOST_WORDS);
    format!("{}… ({} bytes more)", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_hook_message_is_cut_between_characters_with_a_count() {
        let fits = "x".repeat(MOST_WORDS);
        assert_eq!(cut_message(&fits), fits);
        let long = "ä".repeat(MOST_WORDS / 2) + "ä";
        assert_eq!(
            cut_message(&long),
            fits.replace("xx", "ä") + "… (2 bytes more)"
        );
        let odd = "x".to_owned() + &long;
        let told = cut_message(&odd);
        assert!(told.ends_with("ä… (4 bytes more)"), "{}", told.len());
    }
}
