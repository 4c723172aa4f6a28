//! How many tokens a text takes, roughly.

/// An estimate by Gemini CLI's own rule: a quarter of a token for each ASCII character, and 1.3 tokens for any other. Only the
/// model knows the real count.
pub fn tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let others = text.chars().filter(|letter| !letter.is_ascii()).count() as u64;
    // In hundredths.
    (ascii * 25 + others * 130).div_ceil(100)
}
