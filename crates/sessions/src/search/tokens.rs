//! The tokens of a text: for the search through files, for the index, and for queries.
//!
//! Where a script separates words, a token is a word: a run of letters and digits. Every other character separates words:
//! `read_file` is two. Where a script does not, each character is a token, so that a phrase of them is found inside longer texts.
//! Emoji are tokens, too. `letters` defines the class of each character.

use std::collections::VecDeque;
use std::ops::Range;

use super::letters::{
    self, LetterClass, LetterForm, is_attached, is_half_flag, is_hangul, is_part_of_syllable,
    is_skin_tone, letter_class,
};

/// A longer run is no word: it is a picture, a key, a hash of hashes. Marks on letters do not count.
const LONGEST: usize = 128;

/// Stands between two characters of a script without words that have a separator between them: `日本。語` is no `日本語`. It is a
/// character for private use, so no text is read as this token.
pub(crate) const GAP: char = '\u{e000}';

/// A piece of a text that is compared as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextToken {
    /// Where it stands.
    pub(super) range: Range<usize>,
    kind: TextTokenKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextTokenKind {
    /// Of ASCII only: all forms of it are equal but for the case.
    AsciiWord,
    Word,
    /// A character of a script without words, or a gap between two.
    Unit(char),
    Symbol,
}

impl TextToken {
    /// Adds the token as it is compared.
    pub(crate) fn add_comparable(&self, text: &str, form: LetterForm, to: &mut String) {
        match self.kind {
            TextTokenKind::AsciiWord | TextTokenKind::Word => {
                letters::add_word(&text[self.range.clone()], form, to);
            }
            TextTokenKind::Unit(unit) => to.push(unit),
            TextTokenKind::Symbol => to.extend(symbol_letters(&text[self.range.clone()], form)),
        }
    }

    /// True if the token equals `wanted`. `buffer` is scratch space for the compared form.
    pub(super) fn is(
        &self,
        text: &str,
        form: LetterForm,
        wanted: &str,
        buffer: &mut String,
    ) -> bool {
        match self.kind {
            TextTokenKind::AsciiWord => text[self.range.clone()].eq_ignore_ascii_case(wanted),
            TextTokenKind::Unit(unit) => is_char(wanted, unit),
            TextTokenKind::Word | TextTokenKind::Symbol => {
                buffer.clear();
                self.add_comparable(text, form, buffer);
                buffer == wanted
            }
        }
    }

    /// True if it begins so.
    pub(super) fn has_prefix(
        &self,
        text: &str,
        form: LetterForm,
        wanted: &str,
        buffer: &mut String,
    ) -> bool {
        match self.kind {
            TextTokenKind::AsciiWord => {
                let start = text.as_bytes()[self.range.clone()].get(..wanted.len());
                start.is_some_and(|start| start.eq_ignore_ascii_case(wanted.as_bytes()))
            }
            TextTokenKind::Unit(unit) => is_char(wanted, unit),
            TextTokenKind::Word | TextTokenKind::Symbol => {
                buffer.clear();
                self.add_comparable(text, form, buffer);
                buffer.starts_with(wanted)
            }
        }
    }

    /// True if its forms may differ.
    #[cfg(feature = "index")]
    pub(crate) fn has_forms(&self) -> bool {
        matches!(self.kind, TextTokenKind::Word | TextTokenKind::Symbol)
    }

    /// True for a character of a script without words, and not for a gap.
    pub(super) fn is_unit(&self) -> bool {
        matches!(self.kind, TextTokenKind::Unit(unit) if unit != GAP)
    }
}

fn is_char(text: &str, letter: char) -> bool {
    let mut letters = text.chars();
    letters.next() == Some(letter) && letters.next().is_none()
}

/// A symbol as it is compared: its tone is like a mark on a letter.
fn symbol_letters(symbol: &str, form: LetterForm) -> impl Iterator<Item = char> {
    let letters = symbol.chars().enumerate();
    letters
        .filter(move |(place, letter)| {
            let is_kept = form == LetterForm::Exact || *place == 0 || !is_skin_tone(*letter);
            is_kept && !letters::is_invisible(*letter)
        })
        .map(|(_, letter)| letter)
}

/// The tokens of a text, in order.
pub(crate) fn text_tokens(text: &str) -> TextTokenIter<'_> {
    TextTokenIter {
        text,
        at: 0,
        units: VecDeque::new(),
        units_to: None,
    }
}

/// The tokens of a text, in order: see [`text_tokens`].
#[derive(Debug)]
pub(crate) struct TextTokenIter<'t> {
    text: &'t str,
    at: usize,
    /// Found, but not handed over yet.
    units: VecDeque<TextToken>,
    /// The end of the text behind the last token that no separator interrupts, if that token was a unit.
    units_to: Option<usize>,
}

impl Iterator for TextTokenIter<'_> {
    type Item = TextToken;

    fn next(&mut self) -> Option<TextToken> {
        if let Some(token) = self.units.pop_front() {
            return Some(token);
        }
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if byte.is_ascii_alphanumeric() {
                let from = self.at;
                let end = end_of_ascii(bytes, from);
                if bytes.get(end).is_none_or(u8::is_ascii) {
                    self.at = end;
                    if end - from <= LONGEST {
                        self.units_to = None;
                        let kind = TextTokenKind::AsciiWord;
                        return Some(TextToken {
                            range: from..end,
                            kind,
                        });
                    }
                } else if let Some(token) = self.next_word() {
                    return Some(token);
                }
            } else if byte.is_ascii() {
                self.at += 1;
                // Combining characters after a sign are part of it.
                if bytes.get(self.at).is_some_and(|next| !next.is_ascii()) {
                    self.at = self.end_of_cluster(self.at - 1);
                }
            } else if let Some(token) = self.next_non_ascii() {
                return Some(token);
            }
        }
        None
    }
}

fn end_of_ascii(bytes: &[u8], from: usize) -> usize {
    let rest = bytes[from..].iter();
    from + rest.take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

impl TextTokenIter<'_> {
    /// Goes on from a character that is not ASCII.
    fn next_non_ascii(&mut self) -> Option<TextToken> {
        let from = self.at;
        let letter = self.text[from..].chars().next()?;
        let class = if is_attached(letter) {
            // At the beginning of a text, or behind a symbol: there is nothing that it could change.
            LetterClass::Invisible
        } else {
            letter_class(letter)
        };
        match class {
            LetterClass::Letter => self.next_word(),
            LetterClass::Symbol => Some(self.next_symbol(letter)),
            LetterClass::Unit => {
                self.take_letter(letter);
                self.units.pop_front()
            }
            LetterClass::Invisible => {
                self.at = self.end_of_cluster(from);
                if self.units_to == Some(from) {
                    self.units_to = Some(self.at);
                }
                None
            }
            LetterClass::Separator => {
                self.at = self.end_of_cluster(from);
                None
            }
        }
    }

    /// Goes to the end of the word that begins here. None if it is too long.
    fn next_word(&mut self) -> Option<TextToken> {
        let from = self.at;
        let mut count = 0;
        let mut end = from;
        while let Some(letter) = self.text[self.at..].chars().next() {
            match letter_class(letter) {
                LetterClass::Letter => {
                    self.at = self.end_of_cluster(self.at);
                    end = self.at;
                    count += 1;
                }
                LetterClass::Invisible => self.at = self.end_of_cluster(self.at),
                LetterClass::Unit | LetterClass::Symbol | LetterClass::Separator => break,
            }
        }
        if count > LONGEST {
            return None;
        }
        self.units_to = None;
        let range = from..end;
        let kind = TextTokenKind::Word;
        Some(TextToken { range, kind })
    }

    fn next_symbol(&mut self, letter: char) -> TextToken {
        let from = self.at;
        self.at += letter.len_utf8();
        while let Some(next) = self.text[self.at..].chars().next() {
            let is_other_half =
                self.at == from + letter.len_utf8() && is_half_flag(letter) && is_half_flag(next);
            let is_shape = matches!(next, '\u{fe0e}' | '\u{fe0f}');
            if !is_other_half && !is_shape && !is_skin_tone(next) {
                break;
            }
            self.at += next.len_utf8();
        }
        self.units_to = None;
        let range = from..self.at;
        let kind = TextTokenKind::Symbol;
        TextToken { range, kind }
    }

    /// Takes the characters of a letter and the marks on it.
    fn take_letter(&mut self, letter: char) {
        let from = self.at;
        self.at = self.end_of_cluster(from);
        if is_hangul(letter) {
            while let Some(next) = self.text[self.at..].chars().next()
                && is_part_of_syllable(next)
            {
                self.at = self.end_of_cluster(self.at);
            }
        }
        let range = from..self.at;
        if self.units_to.is_some_and(|end| end != from) {
            self.units.push_back(TextToken {
                range: from..from,
                kind: TextTokenKind::Unit(GAP),
            });
        }
        let units = letters::units_of(&self.text[range.clone()]);
        self.units.extend(units.map(|unit| TextToken {
            range: range.clone(),
            kind: TextTokenKind::Unit(unit),
        }));
        self.units_to = Some(self.at);
    }

    /// Where a character ends, with all that stands on it.
    fn end_of_cluster(&self, from: usize) -> usize {
        let mut rest = self.text[from..].char_indices();
        rest.next();
        let next = rest.find(|(_, letter)| !is_attached(*letter));
        next.map_or(self.text.len(), |(at, _)| from + at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    fn words_of(text: &str, form: LetterForm) -> Vec<String> {
        let add = |token: TextToken| {
            let mut word = String::new();
            token.add_comparable(text, form, &mut word);
            word
        };
        text_tokens(text).map(add).collect()
    }

    fn folded(text: &str) -> Vec<String> {
        words_of(text, LetterForm::Folded)
    }

    fn exact(text: &str) -> Vec<String> {
        words_of(text, LetterForm::Exact)
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(
            folded("Read_file(\"src/main.rs\")"),
            ["read", "file", "src", "main", "rs"]
        );
        assert_eq!(folded("Привет x2"), ["привет", "x2"]);
        assert_eq!(folded(""), Vec::<String>::new());
        assert_eq!(folded(" … — ├── "), Vec::<String>::new());
        assert_eq!(folded("हिन्दी, नमस्ते"), ["हिन्दी", "नमस्ते"]);
    }

    #[test]
    fn an_overlong_run_of_letters_is_no_word() {
        let long = "a".repeat(LONGEST);
        assert_eq!(folded(&format!("{long} {long}b c")), [long, "c".to_owned()]);
        let accents = "e\u{301}".repeat(LONGEST);
        assert_eq!(folded(&accents), ["e".repeat(LONGEST)]);
        assert_eq!(folded(&format!("{accents}é x")), ["x"]);
    }

    #[test]
    fn marks_count_only_where_the_exact_form_is_asked_for() {
        assert_eq!(
            folded("Café RÉSUMÉ Ångström ёлка שָׁלוֹם كَتَبَ"),
            ["cafe", "resume", "angstrom", "елка", "שלום", "كتب"]
        );
        assert_eq!(
            folded("Łódź smørrebrød œuvre đặng"),
            ["lodz", "smorrebrod", "oeuvre", "dang"]
        );
        assert_eq!(exact("Café"), ["café"]);
        assert_eq!(exact("Cafe\u{301}"), ["café"]);
        assert_eq!(exact("łódź"), ["łódź"]);
        assert_eq!(folded("👍🏽 👍"), ["👍", "👍"]);
        assert_eq!(exact("👍🏽 👍"), ["👍🏽", "👍"]);
    }

    #[test]
    fn cases_and_widths_are_equal_in_both_forms() {
        for form in [LetterForm::Folded, LetterForm::Exact] {
            let read = |text| words_of(text, form);
            assert_eq!(
                read("STRASSE Straße STRAẞE"),
                ["strasse", "strasse", "strasse"]
            );
            assert_eq!(read("ΛΟΓΟΣ λογος"), ["λογοσ", "λογοσ"]);
            assert_eq!(read("I İ ı i"), ["i", "i", "i", "i"]);
            assert_eq!(read("\u{212a} ﬁle ＡＰＩ１"), ["k", "file", "api1"]);
            assert_eq!(read("ﾃﾞｰﾀ"), read("データ"));
        }
    }

    #[test]
    fn scripts_without_words_are_taken_character_by_character() {
        assert_eq!(folded("日本語"), ["日", "本", "語"]);
        assert_eq!(folded("Rustで書く"), ["rust", "で", "書", "く"]);
        assert_eq!(folded("か\u{3099}か"), ["が", "か"]);
        assert_eq!(
            folded("\u{1112}\u{1161}\u{11ab}글 하"),
            ["한", "글", "\u{e000}", "하"]
        );
        assert_eq!(folded("ที่นี่").concat(), "ที่นี่");
        assert_eq!(folded("ที่นี่").len(), "ที่นี่".chars().count());
        assert_eq!(folded("၁၂ မြန်မာ").len(), 2 - 1 + "မြန်မာ".chars().count());
    }

    #[test]
    fn punctuation_in_a_script_without_word_breaks_leaves_a_gap() {
        assert_eq!(folded("日本。語"), ["日", "本", "\u{e000}", "語"]);
        assert_eq!(folded("日本\u{200b}語"), ["日", "本", "語"]);
        assert_eq!(folded("日 a 語"), ["日", "a", "語"]);
        assert_eq!(folded("日🎉語"), ["日", "🎉", "語"]);
    }

    #[test]
    fn emoji_are_found_in_every_joined_sequence() {
        assert_eq!(folded("a🔥b ⚠️ ✅ 1️⃣"), ["a", "🔥", "b", "⚠", "✅", "1"]);
        assert_eq!(folded("👩\u{200d}👩\u{200d}👧"), ["👩", "👩", "👧"]);
        assert_eq!(folded("🇩🇪🇫🇷"), ["🇩🇪", "🇫🇷"]);
    }

    #[test]
    fn invisible_characters_are_not_there() {
        assert_eq!(folded("so\u{ad}fa می\u{200c}خواهم"), ["sofa", "میخواهم"]);
        assert_eq!(folded("مـــد"), ["مد"]);
        assert_eq!(folded("\u{300}\u{17d2}ក 👍\u{17d2}"), ["ក", "👍"]);
    }

    fn letters() -> impl Strategy<Value = char> {
        let ranges = [
            ' '..='~',
            '\u{a0}'..='\u{24f}',
            '\u{300}'..='\u{36f}',
            '\u{370}'..='\u{52f}',
            '\u{590}'..='\u{6ff}',
            '\u{900}'..='\u{97f}',
            '\u{980}'..='\u{9ff}',
            '\u{e00}'..='\u{fff}',
            '\u{1000}'..='\u{11ff}',
            '\u{1780}'..='\u{17ff}',
            '\u{1e00}'..='\u{206f}',
            '\u{3000}'..='\u{30ff}',
            '\u{ac00}'..='\u{acff}',
            '\u{f900}'..='\u{faff}',
            '\u{fe00}'..='\u{feff}',
            '\u{ff00}'..='\u{ffef}',
            '\u{1f1e6}'..='\u{1f6ff}',
        ];
        let ranges = ranges.into_iter();
        let ranges = ranges.map(|range| proptest::char::range(*range.start(), *range.end()));
        prop::strategy::Union::new(ranges)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn composed_and_decomposed_texts_have_the_same_tokens(letters in prop::collection::vec(letters(), 0..12)) {
            let text: String = letters.into_iter().collect();
            let (composed, decomposed): (String, String) = (text.nfc().collect(), text.nfd().collect());
            prop_assert_eq!(folded(&text), folded(&decomposed));
            prop_assert_eq!(exact(&text), exact(&decomposed));
            prop_assert_eq!(folded(&composed), folded(&decomposed));
            prop_assert_eq!(exact(&composed), exact(&decomposed));
        }

        #[test]
        fn tokens_stand_in_order_at_characters_and_are_never_empty(text in any::<String>()) {
            let mut end = 0;
            for token in text_tokens(&text) {
                prop_assert!(token.range.start >= end || token.is_unit(), "{token:?}");
                prop_assert!(text.get(token.range.clone()).is_some());
                for form in [LetterForm::Folded, LetterForm::Exact] {
                    let mut word = String::new();
                    token.add_comparable(&text, form, &mut word);
                    prop_assert!(!word.is_empty() && !word.contains(' '), "{token:?}");
                    // A query of the same text has the same tokens, unless it begins with a mark that now stands alone.
                    let again = words_of(&word, form).concat();
                    let is_part = word.starts_with(|letter| letter == GAP || is_attached(letter));
                    prop_assert!(is_part || again == word, "{token:?} {again}");
                }
                end = token.range.start;
            }
        }
    }
}
