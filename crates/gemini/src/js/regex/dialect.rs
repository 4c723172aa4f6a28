//! JavaScript's regular expressions in the words of `fancy-regex`.
//!
//! Only what `regress` accepts comes here, so nothing is judged: each item is written so that it means the same there. Letters
//! and classes go as code points, which leaves no room for what only one of the two dialects takes for special.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";
const SPACE: &str = r"\u{9}-\u{d}\u{20}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";
/// What `.` does not match.
const LINE_END: &str = r"\u{a}\u{d}\u{2028}\u{2029}";
const WORD_EDGE: &str = "(?:(?<=[A-Za-z0-9_])(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])(?=[A-Za-z0-9_]))";
const NO_WORD_EDGE: &str =
    "(?:(?<=[A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<![A-Za-z0-9_])(?![A-Za-z0-9_]))";

/// Why a pattern has no translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UntranslatedPattern {
    /// JavaScript does not take it either.
    Wrong,
    /// `fancy-regex` has nothing like it.
    Foreign,
}

/// The regex engine that a translation is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// `fancy-regex`, on a text of its own.
    Fancy,
    /// `regex`, on a line within a text: `^` and `$` are for its multi-line mode. A pattern that looks around is no pattern there.
    Lines,
}

/// The same pattern for `fancy-regex`.
pub(super) fn translate_pattern(pattern: &str) -> Result<String, UntranslatedPattern> {
    translate_for(pattern, Engine::Fancy)
}

/// The same pattern for an engine.
pub(super) fn translate_for(pattern: &str, engine: Engine) -> Result<String, UntranslatedPattern> {
    let mut translation = PatternTranslation {
        engine,
        rest: pattern.chars().peekable(),
        out: String::with_capacity(pattern.len() * 2),
        groups: count_groups(pattern),
        has_names: pattern.contains("(?<") && has_names(pattern),
        open: Vec::new(),
        is_edge: false,
    };
    translation.translate_all()?;
    Ok(translation.out)
}

struct PatternTranslation<'a> {
    engine: Engine,
    rest: Peekable<Chars<'a>>,
    out: String,
    groups: u32,
    has_names: bool,
    /// Whether each open group looks behind.
    open: Vec<bool>,
    /// Whether the last element is a position and no letter: JavaScript does not repeat positions, which `regress` does not know.
    is_edge: bool,
}

/// The meaning of an escape.
enum RegexEscape {
    Letter(char),
    /// Members of a class, and whether all others are meant.
    Class(&'static str, bool),
    /// Written as it is, where no class is open.
    Verbatim(String),
}

impl PatternTranslation<'_> {
    fn translate_all(&mut self) -> Result<(), UntranslatedPattern> {
        while let Some(letter) = self.rest.next() {
            if std::mem::take(&mut self.is_edge) && self.is_quantifier(letter) {
                return Err(UntranslatedPattern::Wrong);
            }
            self.translate_item(letter)
                .ok_or(UntranslatedPattern::Foreign)?;
        }
        Ok(())
    }

    fn translate_item(&mut self, letter: char) -> Option<()> {
        match letter {
            '\\' => {
                self.is_edge = matches!(self.rest.peek(), Some('b' | 'B'));
                self.translate_escape()?;
            }
            '[' => self.translate_class()?,
            '(' => self.open_group(),
            ')' => {
                self.is_edge = self.open.pop() == Some(true);
                self.out.push(')');
            }
            '.' => self.push_text(&format!("[^{LINE_END}]")),
            '^' | '$' => {
                self.is_edge = true;
                self.push_text(match (self.engine, letter) {
                    (Engine::Fancy, '^') => r"\A",
                    (Engine::Fancy, _) => r"\z",
                    (Engine::Lines, '^') => "^",
                    (Engine::Lines, _) => "$",
                });
            }
            '{' => self.translate_brace(),
            '|' | '*' | '+' | '?' => self.out.push(letter),
            _ => self.push_letter(letter),
        }
        Some(())
    }

    /// Whether a letter is a quantifier.
    fn is_quantifier(&self, letter: char) -> bool {
        matches!(letter, '*' | '+' | '?') || (letter == '{' && self.quantifier_bounds().is_some())
    }

    fn push_text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn push_letter(&mut self, letter: char) {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            self.out.push(letter);
        } else {
            push_code_point(&mut self.out, letter);
        }
    }

    /// A group opens; its kind, if it has one, is the same in both dialects.
    fn open_group(&mut self) {
        self.out.push('(');
        self.open.push(false);
        if self.rest.next_if_eq(&'?').is_none() {
            return;
        }
        self.out.push('?');
        while let Some(letter) = self.rest.next() {
            self.out.push(letter);
            let is_lookbehind = letter == '<' && matches!(self.rest.peek(), Some('=' | '!'));
            if is_lookbehind {
                self.open.pop();
                self.open.push(true);
            } else if matches!(letter, ':' | '=' | '!' | '>') {
                return;
            }
        }
    }

    /// A number of repetitions, or a brace that stands for itself.
    fn translate_brace(&mut self) {
        let Some(bounds) = self.quantifier_bounds() else {
            return self.push_letter('{');
        };
        let _ = write!(self.out, "{{{bounds}}}");
        self.rest.by_ref().nth(bounds.chars().count());
    }

    /// The text between a brace and the next, if it is a quantifier.
    fn quantifier_bounds(&self) -> Option<String> {
        let ahead = self.rest.clone();
        let ahead: String = ahead.take_while(|letter| *letter != '}').collect();
        let is_closed = self.rest.clone().nth(ahead.chars().count()) == Some('}');
        let (least, most) = ahead.split_once(',').unwrap_or((&ahead, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let says = is_closed && !least.is_empty() && is_number(least) && is_number(most);
        says.then_some(ahead)
    }

    fn translate_escape(&mut self) -> Option<()> {
        match self.read_escape()? {
            RegexEscape::Letter(letter) => self.push_letter(letter),
            RegexEscape::Class(members, false) => self.push_text(&format!("[{members}]")),
            RegexEscape::Class(members, true) => self.push_text(&format!("[^{members}]")),
            RegexEscape::Verbatim(text) => self.push_text(&text),
        }
        Some(())
    }

    fn read_escape(&mut self) -> Option<RegexEscape> {
        let letter = self.rest.next()?;
        Some(match letter {
            'b' if self.engine == Engine::Lines => RegexEscape::Verbatim(r"(?-u:\b)".to_owned()),
            'b' => RegexEscape::Verbatim(WORD_EDGE.to_owned()),
            'B' => RegexEscape::Verbatim(NO_WORD_EDGE.to_owned()),
            'k' if self.has_names => RegexEscape::Verbatim(r"\k".to_owned() + &self.read_name()?),
            '1'..='9' => self.back_reference(letter)?,
            other => self.simple_escape(other)?,
        })
    }

    fn read_name(&mut self) -> Option<String> {
        self.rest.next_if_eq(&'<')?;
        let mut name = "<".to_owned();
        loop {
            let letter = self.rest.next()?;
            name.push(letter);
            if letter == '>' {
                return Some(name);
            }
        }
    }

    /// A reference to a group by its number; without such a group it is a letter by its octal number.
    fn back_reference(&mut self, first: char) -> Option<RegexEscape> {
        let mut digits = String::from(first);
        let mut ahead = self.rest.clone();
        while let Some(digit) = ahead.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if digits
            .parse::<u32>()
            .is_ok_and(|number| number <= self.groups)
        {
            self.rest = ahead;
            return Some(RegexEscape::Verbatim(format!(r"(?:\{digits})")));
        }
        self.read_octal(first)
    }

    fn read_octal(&mut self, first: char) -> Option<RegexEscape> {
        let Some(mut number) = first.to_digit(8) else {
            return Some(RegexEscape::Letter(first));
        };
        for _ in 0..2 {
            let Some(digit) = self.rest.peek().and_then(|letter| letter.to_digit(8)) else {
                break;
            };
            if number * 8 + digit > 0o377 {
                break;
            }
            number = number * 8 + digit;
            self.rest.next();
        }
        char::from_u32(number).map(RegexEscape::Letter)
    }

    /// An escape that means the same inside a class and outside.
    fn simple_escape(&mut self, letter: char) -> Option<RegexEscape> {
        Some(match letter {
            'd' => RegexEscape::Class(DIGIT, false),
            'D' => RegexEscape::Class(DIGIT, true),
            'w' => RegexEscape::Class(WORD, false),
            'W' => RegexEscape::Class(WORD, true),
            's' => RegexEscape::Class(SPACE, false),
            'S' => RegexEscape::Class(SPACE, true),
            't' => RegexEscape::Letter('\t'),
            'n' => RegexEscape::Letter('\n'),
            'v' => RegexEscape::Letter('\u{b}'),
            'f' => RegexEscape::Letter('\u{c}'),
            'r' => RegexEscape::Letter('\r'),
            '0'..='7' => self.read_octal(letter)?,
            'x' => RegexEscape::Letter(self.read_hex(2).unwrap_or('x')),
            'u' => RegexEscape::Letter(self.read_hex(4).unwrap_or('u')),
            'c' => self.read_control(),
            other => RegexEscape::Letter(other),
        })
    }

    /// The letter of so many hexadecimal digits, if they are there.
    fn read_hex(&mut self, digits: usize) -> Option<char> {
        let ahead: String = self.rest.clone().take(digits).collect();
        let is_hex = ahead.len() == digits && ahead.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex {
            return None;
        }
        self.rest.by_ref().nth(digits - 1);
        let number = u32::from_str_radix(&ahead, 16).ok()?;
        // Half a letter of UTF-16 is in no name.
        Some(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn read_control(&mut self) -> RegexEscape {
        match self.rest.next_if(char::is_ascii_alphabetic) {
            Some(letter) => RegexEscape::Letter(char::from(letter as u8 % 32)),
            None => {
                // The backslash stands for itself, and the `c` is read again as a letter.
                RegexEscape::Verbatim(r"\u{5c}c".to_owned())
            }
        }
    }

    fn translate_class(&mut self) -> Option<()> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut members = String::new();
        while self.rest.peek()? != &']' {
            self.translate_member(&mut members)?;
        }
        self.rest.next();
        match (members.is_empty(), is_negated) {
            (true, false) => self.push_text("(?!)"),
            (true, true) => self.push_text("(?s:.)"),
            (false, false) => self.push_text(&format!("[{members}]")),
            (false, true) => self.push_text(&format!("[^{members}]")),
        }
        Some(())
    }

    /// One member of a class, or a range of them.
    fn translate_member(&mut self, members: &mut String) -> Option<()> {
        let first = self.class_atom()?;
        let mut ahead = self.rest.clone();
        let is_range = ahead.next() == Some('-') && !matches!(ahead.peek(), Some(']') | None);
        if !is_range {
            return write_atom(members, &first);
        }
        self.rest.next();
        let last = self.class_atom()?;
        if let (RegexEscape::Letter(first), RegexEscape::Letter(last)) = (&first, &last) {
            push_code_point(members, *first);
            members.push('-');
            push_code_point(members, *last);
            return Some(());
        }
        // With a class at either end the hyphen stands for itself.
        write_atom(members, &first)?;
        push_code_point(members, '-');
        write_atom(members, &last)
    }

    fn class_atom(&mut self) -> Option<RegexEscape> {
        match self.rest.next()? {
            '\\' => match self.rest.next()? {
                'b' => Some(RegexEscape::Letter('\u{8}')),
                other => self.simple_escape(other),
            },
            letter => Some(RegexEscape::Letter(letter)),
        }
    }
}

fn write_atom(members: &mut String, atom: &RegexEscape) -> Option<()> {
    match atom {
        RegexEscape::Letter(letter) => push_code_point(members, *letter),
        RegexEscape::Class(inner, false) => members.push_str(inner),
        RegexEscape::Class(inner, true) => {
            let _ = write!(members, "[^{inner}]");
        }
        RegexEscape::Verbatim(_) => return None,
    }
    Some(())
}

fn push_code_point(out: &mut String, letter: char) {
    let _ = write!(out, r"\u{{{:x}}}", u32::from(letter));
}

/// How many groups capture.
fn count_groups(pattern: &str) -> u32 {
    let mut count = 0;
    walk_groups(pattern, |ahead| {
        let is_named =
            ahead.starts_with("?<") && !ahead.starts_with("?<=") && !ahead.starts_with("?<!");
        count += u32::from(!ahead.starts_with('?') || is_named);
    });
    count
}

fn has_names(pattern: &str) -> bool {
    let mut found = false;
    walk_groups(pattern, |ahead| {
        found |= ahead.starts_with("?<") && !ahead.starts_with("?<=") && !ahead.starts_with("?<!");
    });
    found
}

/// Calls `at` with the text behind each opening parenthesis of a group.
fn walk_groups(pattern: &str, mut at: impl FnMut(&str)) {
    let mut letters = pattern.char_indices();
    let mut in_class = false;
    while let Some((place, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => at(&pattern[place + 1..]),
            _ => {}
        }
    }
}
