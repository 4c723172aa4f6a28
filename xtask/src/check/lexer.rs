//! Rust source as words, marks and comments. Strings, characters and numbers are skipped.
//!
//! A lexer, not a parser: the reports of `cargo xtask check` need no more, and it needs no crate that would be compiled with every
//! `cargo xtask`.

/// One piece of a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourcePiece<'a> {
    /// An identifier, a keyword or a number.
    Word(&'a str),
    /// `::`, `->`, or a single punctuation mark.
    Mark(&'a str),
    /// A comment with its slashes.
    Comment(&'a str),
}

impl<'a> SourcePiece<'a> {
    /// The text of a word or a mark; `None` for a comment.
    pub(crate) fn code_text(self) -> Option<&'a str> {
        match self {
            Self::Word(text) | Self::Mark(text) => Some(text),
            Self::Comment(_) => None,
        }
    }
}

/// The pieces of a source text, in their order.
pub(crate) fn source_pieces(text: &str) -> Vec<SourcePiece<'_>> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (length, piece) = piece_at(rest, first);
        found.extend(piece);
        rest = &rest[length..];
    }
    found
}

/// The length of the first element of `rest`, and the piece it makes if it is not skipped.
fn piece_at(rest: &str, first: char) -> (usize, Option<SourcePiece<'_>>) {
    if let Some(length) = comment_length(rest) {
        return (length, Some(SourcePiece::Comment(&rest[..length])));
    }
    if let Some(length) = literal_length(rest) {
        return (length, None);
    }
    if is_word_letter(first) {
        let length = word_length(rest);
        return (length, Some(SourcePiece::Word(&rest[..length])));
    }
    let is_pair = rest.starts_with("::") || rest.starts_with("->");
    let length = if is_pair { 2 } else { first.len_utf8() };
    let piece = (!first.is_whitespace()).then(|| SourcePiece::Mark(&rest[..length]));
    (length, piece)
}

fn is_word_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn word_length(rest: &str) -> usize {
    let end = rest.find(|letter: char| !is_word_letter(letter));
    end.unwrap_or(rest.len())
}

fn comment_length(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    rest.starts_with("/*").then(|| length_until(rest, 2, "*/"))
}

/// The length of the string, character or lifetime that `rest` starts with.
fn literal_length(rest: &str) -> Option<usize> {
    if rest.starts_with('\'') {
        return Some(quote_length(rest));
    }
    let prefix = rest.len() - rest.trim_start_matches(['b', 'c']).len();
    let prefix = prefix.min(1);
    let behind = &rest[prefix..];
    if behind.starts_with('"') {
        return Some(prefix + string_length(behind));
    }
    if prefix == 1 && behind.starts_with('\'') {
        return Some(prefix + quote_length(behind));
    }
    raw_string_length(behind).map(|length| prefix + length)
}

fn length_until(rest: &str, start: usize, end: &str) -> usize {
    let found = rest[start..].find(end);
    found.map_or(rest.len(), |at| start + at + end.len())
}

fn raw_string_length(rest: &str) -> Option<usize> {
    let hashes = rest.strip_prefix('r')?;
    let marks = hashes.len() - hashes.trim_start_matches('#').len();
    let opening = 1 + marks + 1;
    hashes[marks..]
        .starts_with('"')
        .then(|| length_until(rest, opening, &format!("\"{}", "#".repeat(marks))))
}

/// The length of a string literal, escaped quotes included.
fn string_length(rest: &str) -> usize {
    end_of_quoted(rest, '"')
}

/// The length of a character literal; for a lifetime, the length of its apostrophe.
fn quote_length(rest: &str) -> usize {
    let mut letters = rest.chars().skip(1);
    match (letters.next(), letters.next()) {
        (Some('\\'), _) => end_of_quoted(rest, '\''),
        (Some(letter), Some('\'')) => letter.len_utf8() + 2,
        _ => 1,
    }
}

fn end_of_quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if letter == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    rest.len()
}

/// `#[cfg(test)]`.
pub(crate) const TEST_ATTRIBUTE: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

/// Takes out each item that is compiled for tests alone: `#[cfg(test)] mod tests { … }` up to its closing brace or semicolon, with
/// the comments inside.
pub(crate) fn without_tests<'a>(pieces: &[SourcePiece<'a>]) -> Vec<SourcePiece<'a>> {
    let mut kept = Vec::with_capacity(pieces.len());
    let mut at = 0;
    while at < pieces.len() {
        let codes = pieces[at..].iter().map(|piece| piece.code_text());
        if codes.take(7).eq(TEST_ATTRIBUTE.iter().map(|it| Some(*it))) {
            at = end_of_item(pieces, at + TEST_ATTRIBUTE.len());
        } else {
            kept.push(pieces[at]);
            at += 1;
        }
    }
    kept
}

fn end_of_item(pieces: &[SourcePiece<'_>], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(piece) = pieces.get(at) {
        at += 1;
        match piece.code_text() {
            Some("{") => depth += 1,
            Some("}") => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            Some(";") if depth == 0 => break,
            _ => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<&str> {
        source_pieces(text)
            .iter()
            .filter_map(|it| it.code_text())
            .collect()
    }

    #[test]
    fn strings_characters_and_lifetimes_are_skipped() {
        let text = r##"f::<'a>('"', b'\'', "a \" b", r#"c " d"#, br"e", '\u{1f}') // g"##;
        assert_eq!(code(text).join(" "), "f :: < a > ( , , , , , )");
        assert_eq!(
            source_pieces(text).last(),
            Some(&SourcePiece::Comment("// g"))
        );
    }

    #[test]
    fn comments_of_a_test_module_go_with_it() {
        let text =
            "// kept\nfn a() {}\n#[cfg(test)]\nmod tests {\n// gone\nfn b() {}\n}\nfn c() {}";
        let left = without_tests(&source_pieces(text));
        let comments = left.iter().filter(|it| it.code_text().is_none()).count();
        let names: Vec<&str> = left.iter().filter_map(|it| it.code_text()).collect();
        assert_eq!(
            (comments, names.join(" ").as_str()),
            (1, "fn a ( ) { } fn c ( ) { }")
        );
    }
}
