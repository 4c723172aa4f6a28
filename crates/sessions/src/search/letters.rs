//! The class of a character in a search, and the forms in which it is compared.
//!
//! Two forms of a text are compared. *Exact*: canonically equivalent texts are equal (NFC and NFD), and so are cases (`ß` and
//! `SS`, both small sigmas, all four letters `i` of Turkish) and widths (`ＡＢＣ`). *Folded*: marks on letters do not count either,
//! where they are no letters of their own: accents of Latin, Greek and Cyrillic, points of Hebrew and Arabic, skin tones of
//! emoji.

use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{
    canonical_combining_class, decompose_compatible, is_combining_mark,
};

/// How much of a letter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetterForm {
    /// Marks do not: `cafe` is `café`.
    Folded,
    /// Marks do.
    Exact,
}

/// The unit of text that a character is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterClass {
    /// A word of a script that parts words.
    Letter,
    /// A text of a script that does not part words: it stands for itself.
    Unit,
    /// An emoji or another symbol that stands for itself.
    Symbol,
    /// Nothing: it is not seen, or stands on the character before it.
    Invisible,
    /// The gap between words.
    Separator,
}

/// The class of a character.
pub(super) fn letter_class(letter: char) -> LetterClass {
    match usual_width(letter) {
        letter if letter.is_ascii_alphanumeric() => LetterClass::Letter,
        letter if letter.is_ascii() => LetterClass::Separator,
        letter if is_invisible(letter) || is_diacritic(letter) => LetterClass::Invisible,
        letter if is_unit(letter) => LetterClass::Unit,
        letter if is_symbol(letter) => LetterClass::Symbol,
        letter if letter.is_alphanumeric() || is_combining_mark(letter) => LetterClass::Letter,
        _ => LetterClass::Separator,
    }
}

/// True for a character that belongs to the one before it.
pub(super) fn is_attached(letter: char) -> bool {
    !letter.is_ascii()
        && (canonical_combining_class(letter) != 0
            // Voicing marks of half width, and Tibetan vowels that are two marks in one.
            || matches!(letter, '\u{ff9e}' | '\u{ff9f}' | '\u{f73}' | '\u{f75}' | '\u{f81}'))
}

/// True for a character that may become another one together with those around it.
pub(super) fn is_composed(letter: char) -> bool {
    matches!(letter,
        '\u{1100}'..='\u{11ff}' | '\u{3099}' | '\u{309a}' | '\u{a960}'..='\u{a97c}' | '\u{d7b0}'..='\u{d7fb}'
        | '\u{ff9e}'..='\u{ffdc}')
}

/// True for the vowels and finals of a Hangul syllable that is written in parts.
pub(super) fn is_part_of_syllable(letter: char) -> bool {
    matches!(letter, '\u{1161}'..='\u{1175}' | '\u{11a8}'..='\u{11c2}')
}

/// The same character in its usual width.
fn usual_width(letter: char) -> char {
    if !is_odd_width(letter) {
        return letter;
    }
    let mut first = None;
    decompose_compatible(letter, |letter| {
        first.get_or_insert(letter);
    });
    first.unwrap_or(letter)
}

fn is_odd_width(letter: char) -> bool {
    matches!(letter, '\u{ff00}'..='\u{ffef}')
}

/// Invisible characters: joiners, directions, selectors of a shape, and the line that makes Arabic words longer.
pub(super) fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{640}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Marks without which a word is still the same to most readers.
pub(super) fn is_diacritic(letter: char) -> bool {
    matches!(letter,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
        // Hebrew.
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        // Arabic, Syriac.
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}'
        | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}' | '\u{711}' | '\u{730}'..='\u{74a}' | '\u{898}'..='\u{89f}'
        | '\u{8ca}'..='\u{8e1}' | '\u{8e3}'..='\u{8ff}')
}

/// True for characters of scripts that put no blanks between words. Korean puts some, but also endings right behind a word.
pub(super) fn is_unit(letter: char) -> bool {
    is_hangul(letter)
        || is_kana(letter)
        || matches!(letter,
            // Han, Bopomofo, Yi.
            '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303b}' | '\u{3105}'..='\u{312f}'
            | '\u{31a0}'..='\u{31bf}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a000}'..='\u{a48c}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
        // South-East Asia: letters and marks only. Digits and signs of these scripts are treated as in other scripts.
        || matches!(letter,
            // Thai, Lao; Burmese; Khmer; Tai Le, New Tai Lue; Tai Tham; Balinese; Javanese, Burmese; Tai Viet.
            '\u{e01}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19df}'
            | '\u{1a20}'..='\u{1aad}' | '\u{1b00}'..='\u{1b7f}' | '\u{a980}'..='\u{a9fe}' | '\u{aa60}'..='\u{aadf}')
            && (letter.is_alphabetic() || is_combining_mark(letter))
}

fn is_kana(letter: char) -> bool {
    matches!(letter,
        '\u{3031}'..='\u{3035}' | '\u{3041}'..='\u{3096}' | '\u{3099}' | '\u{309a}' | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{1b000}'..='\u{1b16f}')
}

pub(super) fn is_hangul(letter: char) -> bool {
    matches!(letter,
        '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{a960}'..='\u{a97c}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{d7b0}'..='\u{d7fb}')
}

/// Emoji, and the symbols among which they stand.
pub(super) fn is_symbol(letter: char) -> bool {
    matches!(letter,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{2199}'
        | '\u{21a9}' | '\u{21aa}' | '\u{231a}' | '\u{231b}' | '\u{2328}' | '\u{23cf}' | '\u{23e9}'..='\u{23f3}'
        | '\u{23f8}'..='\u{23fa}' | '\u{24c2}' | '\u{25aa}' | '\u{25ab}' | '\u{25b6}' | '\u{25c0}'
        | '\u{25fb}'..='\u{25fe}' | '\u{2600}'..='\u{2767}' | '\u{2794}'..='\u{27bf}' | '\u{2934}' | '\u{2935}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Half of a flag.
pub(super) fn is_half_flag(letter: char) -> bool {
    matches!(letter, '\u{1f1e6}'..='\u{1f1ff}')
}

pub(super) fn is_skin_tone(letter: char) -> bool {
    matches!(letter, '\u{1f3fb}'..='\u{1f3ff}')
}

/// Adds a word as it is compared.
pub(super) fn add_word(word: &str, form: LetterForm, to: &mut String) {
    let from = to.len();
    if word.is_ascii() {
        to.push_str(word);
        to[from..].make_ascii_lowercase();
    } else if !add_by_table(word, form, to) {
        to.truncate(from);
        add_thoroughly(word, form, to);
    }
}

/// The characters of a script without words, as they are compared: of a letter and the marks on it.
pub(super) fn units_of(cluster: &str) -> impl Iterator<Item = char> {
    let base = cluster.chars().next().map(usual_width).unwrap_or_default();
    let kept = cluster
        .chars()
        .flat_map(usual_width_chars)
        .nfd()
        .filter(|letter| !is_invisible(*letter) && !is_diacritic(*letter));
    // A mark of these makes another letter: `が` is no `か`.
    let is_composed = is_kana(base) || is_hangul(base);
    let units: String = if is_composed {
        kept.nfc().collect()
    } else {
        kept.collect()
    };
    units.chars().collect::<Vec<_>>().into_iter()
}

/// Adds a word, letter by letter. False if a letter is not in the table, or if its place among marks matters.
fn add_by_table(word: &str, form: LetterForm, to: &mut String) -> bool {
    for letter in word.chars() {
        if letter.is_ascii() {
            to.push(letter.to_ascii_lowercase());
        } else {
            let Some(known) = known_letter(letter) else {
                return false;
            };
            if form == LetterForm::Exact && known.is_mark {
                return false;
            }
            let as_compared = match form {
                LetterForm::Folded => &known.folded,
                LetterForm::Exact => &known.exact,
            };
            to.extend(as_compared.iter().take_while(|letter| **letter != '\0'));
        }
    }
    true
}

/// Adds a word by the rules. Composed in the exact form, so that a word does not begin like one whose next mark it lacks.
fn add_thoroughly(word: &str, form: LetterForm, to: &mut String) {
    let parts = word
        .chars()
        .flat_map(usual_width_chars)
        .nfd()
        .flat_map(lowercase_letters)
        .nfd();
    let mut was_i = false;
    let kept = parts.filter(|letter| {
        let is_dot_of_i = was_i && *letter == '\u{307}';
        was_i = *letter == 'i';
        !is_invisible(*letter) && !is_dot_of_i
    });
    match form {
        LetterForm::Exact => to.extend(kept.nfc()),
        LetterForm::Folded => {
            for letter in kept.filter(|letter| !is_diacritic(*letter)) {
                match without_stroke(letter) {
                    Some(plain) => to.push_str(plain),
                    None => to.push(letter),
                }
            }
        }
    }
}

/// A character in its usual width.
fn usual_width_chars(letter: char) -> impl Iterator<Item = char> {
    let mut letters = Vec::new();
    if is_odd_width(letter) {
        decompose_compatible(letter, |letter| letters.push(letter));
    }
    let itself = (!is_odd_width(letter)).then_some(letter);
    itself.into_iter().chain(letters)
}

/// A letter in small, so that all its cases are equal. Marks have none.
fn lowercase_letters(letter: char) -> impl Iterator<Item = char> {
    let is_i = matches!(letter, 'I' | 'i' | '\u{130}' | '\u{131}');
    let has_case = !is_i && !is_combining_mark(letter);
    // The capital may be several letters (`ß`), and a capital may be of its own (`ẞ`).
    let cases = has_case.then(|| {
        let capitals = letter.to_lowercase().flat_map(char::to_uppercase);
        capitals.flat_map(char::to_lowercase)
    });
    let itself = (!has_case).then_some(if is_i { 'i' } else { letter });
    cases.into_iter().flatten().chain(itself)
}

/// Letters with a stroke or of two letters, which Unicode does not take apart.
fn without_stroke(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ø' => "o",
        'ł' => "l",
        'đ' => "d",
        'ħ' => "h",
        'ŧ' => "t",
        'æ' => "ae",
        'œ' => "oe",
        _ => return None,
    })
}

/// How a letter is compared, looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoldedLetter {
    folded: [char; 4],
    exact: [char; 4],
    is_mark: bool,
}

impl FoldedLetter {
    /// Adds the letter as it is compared without marks.
    pub(super) fn add_folded(&self, to: &mut String) {
        to.extend(self.folded.iter().take_while(|letter| **letter != '\0'));
    }

    /// The letter as it is compared without marks, if that is one of ASCII.
    pub(super) fn folded_ascii(&self) -> Option<u8> {
        let [only @ '\u{1}'..='\u{7f}', '\0', ..] = self.folded else {
            return None;
        };
        u8::try_from(only).ok()
    }

    fn new(letter: char) -> Self {
        let form = |form| {
            let mut text = String::new();
            add_thoroughly(letter.encode_utf8(&mut [0; 4]), form, &mut text);
            let mut letters = text.chars();
            std::array::from_fn(|_| letters.next().unwrap_or('\0'))
        };
        Self {
            folded: form(LetterForm::Folded),
            exact: form(LetterForm::Exact),
            is_mark: is_combining_mark(letter),
        }
    }
}

/// Up to here, and from here to there, letters are looked up: Latin, Greek, Cyrillic, Hebrew, Arabic and their neighbours.
const LOW: u32 = 0x800;
const HIGH: std::ops::Range<u32> = 0x1e00..0x2000;

/// How a letter is compared, if it is one of many languages' texts.
pub(super) fn known_letter(letter: char) -> Option<&'static FoldedLetter> {
    // Made when the first such letter is met: that takes half a millisecond, which most searches do without.
    static TABLE: LazyLock<Vec<FoldedLetter>> = LazyLock::new(|| {
        let letters = (0..LOW).chain(HIGH).filter_map(char::from_u32);
        letters.map(FoldedLetter::new).collect()
    });
    let code = u32::from(letter);
    let place = if code < LOW {
        code
    } else if HIGH.contains(&code) {
        code - HIGH.start + LOW
    } else {
        return None;
    };
    TABLE.get(place as usize)
}

/// Adds a single letter as it is compared without marks: nothing for a mark, a blank for a separator.
pub(super) fn add_letter(letter: char, to: &mut String) {
    match letter_class(letter) {
        LetterClass::Separator => to.push(' '),
        LetterClass::Invisible => {}
        LetterClass::Symbol => to.push(letter),
        LetterClass::Unit => to.extend(units_of(letter.encode_utf8(&mut [0; 4]))),
        LetterClass::Letter => add_word(letter.encode_utf8(&mut [0; 4]), LetterForm::Folded, to),
    }
}

/// True for a character that is surely compared as itself and does not change the one before it; decided without a lookup. Most
/// characters in texts that are no letters of the table are among these.
pub(super) fn is_surely_itself(letter: char) -> bool {
    matches!(letter,
        '\u{80}'..='\u{a8}' | '\u{b7}'..='\u{bf}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205f}'
        | '\u{2190}'..='\u{245f}' | '\u{2500}'..='\u{2adb}' | '\u{2add}'..='\u{2bff}' | '\u{3000}'..='\u{3029}'
        | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}' | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
}
