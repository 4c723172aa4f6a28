//! The part of a word that stands in bytes as it is: the quick look before the thorough one.

use fearless_simd::{Level, Simd, dispatch};

use super::letters::{self, LetterClass, LetterForm, letter_class};
use super::tokens::{GAP, text_tokens};

/// How many bytes are looked at in one go.
pub(super) const BLOCK: usize = 128;

/// How many bytes of a run are compared before all of it is: two everywhere, the others where these two are.
pub(super) const RARE: usize = 4;

/// How many characters that count for nothing may stand among those of a run before it is said to be there without a closer look.
const MOST_INVISIBLE: usize = 8;

/// A run of letters, compared without case and marks.
///
/// Two of its bytes, the rarest, are compared at their distance, a block at a time, in a loop that compilers turn into vector
/// instructions: three times as fast as the automaton of a regular expression, and all but free beside reading the file.
/// Characters that are no ASCII are looked at one by one, where there are any: `é` may be the last letter of `cafe`.
#[derive(Debug, Clone)]
pub(crate) struct Needle {
    /// As letters are compared, marks aside.
    run: String,
    /// Where in the run its rarest bytes are; one of them several times if there are not so many.
    rare: [usize; RARE],
}

impl Needle {
    /// The longest run of letters that has to stand together where this text is found. None if there is none.
    pub(super) fn new(text: &str) -> Option<Self> {
        let run = letter_runs(text).into_iter().max_by_key(String::len)?;
        let bytes = run.as_bytes();
        let mut places: Vec<usize> = (0..run.len()).collect();
        places.sort_by_key(|&place| byte_commonness(bytes[place]));
        let last = *places.last()?;
        let rare = std::array::from_fn(|nth| places.get(nth).copied().unwrap_or(last));
        Some(Self { run, rare })
    }

    pub(super) fn len(&self) -> usize {
        self.run.len()
    }

    /// True if the needle is in these bytes, or may be.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        dispatch!(Level::new(), simd => self.is_in_by(simd, bytes))
            || self.varies_in(bytes, 0, bytes.len())
    }

    #[expect(
        clippy::inline_always,
        reason = "only then the widest registers are used"
    )]
    #[inline(always)]
    fn is_in_by<S: Simd>(&self, _: S, bytes: &[u8]) -> bool {
        let Some(starts) = (bytes.len() + 1).checked_sub(self.run.len()) else {
            return false;
        };
        let blocks = |place: usize| bytes[place..place + starts].as_chunks::<BLOCK>().0;
        let [(one, first), (two, second), ..] =
            self.rarest_bytes().map(|(at, byte)| (blocks(at), byte));
        for (place, (one, two)) in one.iter().zip(two).enumerate() {
            let mut may_be = 0u8;
            for (one, two) in one.iter().zip(two) {
                // Small letters; other bytes that this makes equal are rejected below.
                may_be |= u8::from(one | 0x20 == first) & u8::from(two | 0x20 == second);
            }
            if may_be != 0 && self.begins_in(bytes, place * BLOCK, BLOCK) {
                return true;
            }
        }
        self.begins_in(bytes, one.len() * BLOCK, BLOCK)
    }

    /// Its rarest bytes, small, and where in it they are.
    pub(super) fn rarest_bytes(&self) -> [(usize, u8); RARE] {
        self.rare
            .map(|place| (place, self.run.as_bytes()[place] | 0x20))
    }

    /// True if it begins in this many bytes from here on, as it stands.
    #[cold]
    pub(super) fn begins_in(&self, bytes: &[u8], from: usize, count: usize) -> bool {
        let run = self.run.as_bytes();
        let to = (from + count + run.len() - 1).min(bytes.len());
        let place = self.rare[0];
        let (rarest, here) = (run[place], &bytes[from..to]);
        let may_be = here.get(place..).unwrap_or_default();
        memchr::memchr2_iter(rarest, rarest.to_ascii_uppercase(), may_be).any(|at| {
            let found = here.get(at..at + run.len());
            found.is_some_and(|found| found.eq_ignore_ascii_case(run))
        })
    }

    /// True if a character begins in this many bytes from here on that is no ASCII and may make it whole.
    #[cold]
    pub(super) fn varies_in(&self, bytes: &[u8], from: usize, count: usize) -> bool {
        let to = (from + count).min(bytes.len());
        let mut at = from;
        while let Some(next) = next_of_others(&bytes[at..to]) {
            at += next;
            let sure = sure_length(&bytes[at..]);
            if sure > 0 {
                at = (at + sure).min(to);
                continue;
            }
            let Some(letter) = first_letter(&bytes[at..]) else {
                at += 1;
                continue;
            };
            let end = at + letter.len_utf8();
            if self.may_have(letter, &bytes[..at], &bytes[end..]) && self.is_around(bytes, at) {
                return true;
            }
            at = end.min(to);
        }
        false
    }

    /// True if a character may be part of it, wherever it stands.
    pub(super) fn may_include(&self, letter: char) -> bool {
        self.run.contains(letter) || self.may_have(letter, &[], &[])
    }

    /// True if a character may be part of it between these bytes, without being one of its characters.
    fn may_have(&self, letter: char, before: &[u8], behind: &[u8]) -> bool {
        if letters::is_surely_itself(letter) {
            return false;
        }
        if letters::is_composed(letter) {
            return !self.run.is_ascii();
        }
        let run = self.run.as_bytes();
        let fits = |place: usize, beside: Option<&u8>| {
            beside.is_none_or(|byte| !byte.is_ascii() || byte.to_ascii_lowercase() == run[place])
        };
        let is_after = |place: usize| place == 0 || fits(place - 1, before.last());
        let is_before = |end: usize| end >= run.len() || fits(end, behind.first());
        let has = |only: u8| {
            (0..run.len()).any(|at| run[at] == only && is_after(at) && is_before(at + 1))
        };
        let mut buffer = String::new();
        match letters::known_letter(letter) {
            Some(known) => match known.folded_ascii() {
                Some(only) => return has(only),
                None => known.add_folded(&mut buffer),
            },
            None if letter_class(letter) == LetterClass::Separator => return false,
            None => letters::add_letter(letter, &mut buffer),
        }
        match buffer.as_bytes() {
            // A mark, or nothing that is seen: the run goes on behind it.
            [] => (1..run.len()).any(|place| is_after(place) && is_before(place)),
            [only] => has(*only),
            _ if is_itself(&buffer, letter) => false,
            _ => buffer.chars().any(|letter| self.run.contains(letter)),
        }
    }

    /// True if it is found among the characters around a place, as they are compared.
    fn is_around(&self, bytes: &[u8], at: usize) -> bool {
        let reach = 4 * (self.run.len() + MOST_INVISIBLE);
        let around = &bytes[at.saturating_sub(reach)..(at + reach).min(bytes.len())];
        let mut compared = String::new();
        let mut invisible = 0;
        for letter in String::from_utf8_lossy(around).chars() {
            let before = compared.len();
            letters::add_letter(letter, &mut compared);
            invisible += usize::from(compared.len() == before);
            if letters::is_composed(letter) {
                return true;
            }
        }
        invisible > MOST_INVISIBLE || compared.contains(&self.run)
    }
}

/// The letters of a text that stand together wherever it is found.
fn letter_runs(text: &str) -> Vec<String> {
    let mut runs = vec![String::new()];
    let mut was_unit = false;
    for token in text_tokens(text) {
        let mut word = String::new();
        token.add_comparable(text, LetterForm::Folded, &mut word);
        if !(was_unit && token.is_unit()) {
            runs.push(String::new());
        }
        was_unit = token.is_unit();
        for letter in word.chars() {
            // Marks may stand in another order; a gap is nothing that stands anywhere.
            if letters::is_attached(letter) || letter == GAP {
                runs.push(String::new());
            } else if let Some(run) = runs.last_mut() {
                run.push(letter);
            }
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Where the first byte is that is no ASCII.
fn next_of_others(bytes: &[u8]) -> Option<usize> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let high = u64::from_le_bytes(*word) & HIGH;
        if high != 0 {
            return Some(place * 8 + high.trailing_zeros() as usize / 8);
        }
    }
    let rest = rest.iter().position(|byte| !byte.is_ascii());
    rest.map(|at| words.len() * 8 + at)
}

/// The length of the character that begins here, if its bytes show that it is compared as itself and as no other; else 0. This
/// covers most characters that are neither ASCII nor letters, without decoding them.
fn sure_length(bytes: &[u8]) -> usize {
    match bytes {
        // From U+4000 to U+9FFF, and much of Hangul; arrows and mathematics; frames, ticks and dingbats.
        [0xe4..=0xe9 | 0xeb | 0xec, ..] | [0xe2, 0x87..=0x90 | 0x94..=0xaa, ..] => 3,
        // Emoji.
        [0xf0, 0x9f, 0x80..=0x8e | 0x90..=0xab, ..] => 4,
        _ => 0,
    }
}

/// The character that begins here, if one does.
fn first_letter(bytes: &[u8]) -> Option<char> {
    let length = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    std::str::from_utf8(bytes.get(..length)?)
        .ok()?
        .chars()
        .next()
}

fn is_itself(text: &str, letter: char) -> bool {
    let mut letters = text.chars();
    letters.next() == Some(letter) && letters.next().is_none()
}

/// How common a letter is, roughly, in texts of people and programs.
fn byte_commonness(byte: u8) -> usize {
    const RAREST_FIRST: &[u8] = b"qzjx9786543kvywbg20hfpmu1dclnsoriate";
    let place = RAREST_FIRST.iter().position(|letter| *letter == byte);
    // The first byte of a character is that of many others.
    place.unwrap_or(RAREST_FIRST.len() + usize::from(byte >= 0xc0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_needle_is_found_wherever_it_is() {
        for word in ["x", "no", "needle", "2024", "aaaaaaaaaab", "日本語", "дом"] {
            let needle = Needle::new(word).unwrap();
            for length in 0..3 * BLOCK {
                let mut bytes = vec![b'a'; length];
                assert!(!needle.is_in(&bytes), "{word} in nothing of {length}");
                bytes.extend(word.to_uppercase().bytes());
                assert!(needle.is_in(&bytes), "{word} behind {length}");
                bytes.extend(b"and more".repeat(length % 40));
                assert!(needle.is_in(&bytes), "{word} behind {length}, and more");
            }
        }
    }

    #[test]
    fn the_longest_part_that_stands_together_is_taken() {
        let of = |text: &str| Needle::new(text).map(|needle| needle.run);
        assert_eq!(of("a word").as_deref(), Some("word"));
        assert_eq!(of("École").as_deref(), Some("ecole"));
        assert_eq!(of("дом").as_deref(), Some("дом"));
        assert_eq!(of("日本。語です").as_deref(), Some("語です"));
        assert_eq!(of("Rustで書く").as_deref(), Some("で書く"));
        assert_eq!(of("--"), None);
    }

    #[test]
    fn characters_that_are_compared_as_its_own_are_seen() {
        let is_in = |needle: &str, text: &str| Needle::new(needle).unwrap().is_in(text.as_bytes());
        for (needle, text) in [
            ("cafe", "un CAFÉ noir"),
            ("resume", "re\u{301}sume\u{301}"),
            ("strasse", "Straße"),
            ("kelvin", "\u{212a}elvin"),
            ("file", "a ﬁle"),
            ("api", "ＡＰＩ"),
            ("sofa", "so\u{ad}fa"),
            ("дом", "ДОМ"),
            ("データ", "ﾃﾞｰﾀ"),
            ("한글", "\u{1112}\u{1161}\u{11ab}글"),
            ("日本語", "日本\u{200b}語"),
        ] {
            assert!(is_in(needle, text), "{needle} in {text}");
        }
        for (needle, text) in [
            ("cafe", "caf, é; cafard"),
            ("needle", "é à ü ß — … ’ ✓ ⚠️ 日本語 ДОМ"),
            ("日本", "日 本 東京"),
            ("дом", "ДУМ and more"),
        ] {
            assert!(!is_in(needle, text), "{needle} in {text}");
        }
    }

    #[test]
    fn a_letter_classified_as_surely_itself_folds_to_itself() {
        for letter in ('\u{80}'..=char::MAX).filter(|letter| letters::is_surely_itself(*letter)) {
            let mut compared = String::new();
            letters::add_letter(letter, &mut compared);
            let is_sign = letter_class(letter) == LetterClass::Separator;
            assert!(
                is_sign || is_itself(&compared, letter),
                "{letter:?} {compared:?}"
            );
        }
        let skipped = ('\u{80}'..=char::MAX).filter(|letter| {
            let length = sure_length(letter.encode_utf8(&mut [0; 4]).as_bytes());
            assert!(length == 0 || length == letter.len_utf8(), "{letter:?}");
            length > 0
        });
        let mut count = 0;
        for letter in skipped {
            assert!(letters::is_surely_itself(letter), "{letter:?}");
            count += 1;
        }
        assert!(count > 30_000, "{count}");
    }

    fn piece() -> impl Strategy<Value = String> {
        let fixed = prop::sample::select(vec![
            "cafe",
            "CAFÉ",
            "cafe\u{301}",
            "Straße",
            "strasse",
            "か\u{3099}",
            "が",
            "ｶﾞ",
            "日本",
            "語",
            "дом",
            "ДОМ",
            "ё",
            "한",
            "\u{1112}\u{1161}\u{11ab}",
            "\u{200d}",
            "\u{ad}",
            "👍",
            "🏽",
            "⚠️",
            "ﬁ",
            "Ｆ",
            "i",
            "İ",
            "ı",
            "\u{301}",
            " ",
            ".",
            "ท",
            "\u{e38}",
            "\u{e48}",
        ]);
        prop_oneof![4 => fixed.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        /// Whatever is found by comparing tokens is let through by the look at the bytes.
        #[test]
        fn no_text_is_held_back_that_has_the_words(before in prop::collection::vec(piece(), 0..40), wanted in prop::collection::vec(piece(), 1..4), behind in prop::collection::vec(piece(), 0..4), escaped: prop::sample::Index) {
            let wanted = wanted.concat();
            let text = before.concat() + &wanted + &behind.concat();
            let words = |text: &str| -> Vec<String> {
                text_tokens(text).map(|token| {
                    let mut word = String::new();
                    token.add_comparable(text, LetterForm::Folded, &mut word);
                    word
                }).collect()
            };
            let (has, needed) = (words(&text), words(&wanted));
            if let Some(needle) = Needle::new(&wanted) && has.windows(needed.len()).any(|window| window == needed) {
                prop_assert!(needle.is_in(text.as_bytes()), "{needle:?} in {text:?}");
                let letters: Vec<(usize, char)> = text.char_indices().collect();
                let (at, letter) = letters[escaped.index(letters.len())];
                let with_escape = format!("{}\\u0000{}", &text[..at], &text[at + letter.len_utf8()..]);
                let is_let_through = needle.may_include(letter) || needle.is_in(with_escape.as_bytes());
                prop_assert!(is_let_through, "{needle:?} in {text:?} with an escape for {letter:?}");
            }
        }
    }
}
