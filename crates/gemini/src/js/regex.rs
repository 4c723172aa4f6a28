//! JavaScript's regular expressions.
//!
//! `regress` judges whether a pattern is one. Its meaning is put in the syntax of `fancy-regex`, which gives up after a number of
//! steps where JavaScript would go on for years.

mod dialect;

use fancy_regex::RegexBuilder;

use dialect::{Engine, UntranslatedPattern};

/// After so many steps back a pattern is given up. Sane ones take a few dozen.
const STEPS: usize = 100_000;
/// Real patterns are shorter, and engines take them apart recursively.
const LONGEST: usize = 4096;
const DEEPEST: usize = 100;

/// Whether a pattern is found in a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternMatch {
    /// It says so.
    Certain(bool),
    /// It is no regular expression, and is compared letter for letter.
    Literal(bool),
    /// Undecidable, for this reason.
    Unknown(&'static str),
}

/// A JavaScript regular expression in the words of two engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslatedPattern {
    /// For `fancy-regex`, to be searched in one line at a time.
    pub fancy: String,
    /// For `regex` in its multi-line mode, to be searched in many lines at once. It may be no pattern there: `regex` does not look
    /// around and knows no references.
    pub lines: String,
}

/// Why a pattern is not translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternError {
    /// It is no regular expression in JavaScript; V8's words for it.
    Invalid(String),
    /// It is longer or deeper than any engine here takes.
    TooLarge,
    /// It uses what only JavaScript has.
    Foreign,
}

/// Reads a pattern as JavaScript does.
pub fn translate(pattern: &str) -> Result<TranslatedPattern, PatternError> {
    let depth = pattern.bytes().filter(|byte| *byte == b'(').count();
    if pattern.len() > LONGEST || depth > DEEPEST {
        return Err(PatternError::TooLarge);
    }
    if let Err(error) = regress::Regex::new(pattern) {
        return Err(PatternError::Invalid(in_words_of_v8(pattern, &error.text)));
    }
    let for_engine = |engine| {
        dialect::translate_for(pattern, engine).map_err(|why| match why {
            UntranslatedPattern::Wrong => PatternError::Invalid("Nothing to repeat".to_owned()),
            UntranslatedPattern::Foreign => PatternError::Foreign,
        })
    };
    Ok(TranslatedPattern {
        fancy: for_engine(Engine::Fancy)?,
        lines: for_engine(Engine::Lines)?,
    })
}

/// The sentence of V8 for what `regress` found wrong.
fn in_words_of_v8(pattern: &str, text: &str) -> String {
    let words = match text {
        "Unbalanced parenthesis" if closes_too_often(pattern) => "Unmatched ')'",
        "Unbalanced parenthesis" => "Unterminated group",
        "Unbalanced bracket" => "Unterminated character class",
        "Incomplete escape" | "Unterminated escape" => r"\ at end of pattern",
        "Invalid group modifier" => "Invalid group",
        "Invalid token at named capture group identifier" => "Invalid capture group name",
        "Invalid quantifier" => "numbers out of order in {} quantifier",
        "Invalid character range" => "Range out of order in character class",
        "Invalid atom character" | "Quantifier not allowed here" | "Invalid braced quantifier" => {
            "Nothing to repeat"
        }
        other if other.starts_with("Range values reversed") => {
            "Range out of order in character class"
        }
        other => other,
    };
    words.to_owned()
}

/// Whether a parenthesis is closed that none opened.
fn closes_too_often(pattern: &str) -> bool {
    let (mut depth, mut in_class) = (0_usize, false);
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => depth += 1,
            ')' if !in_class && depth == 0 => return true,
            ')' if !in_class => depth -= 1,
            _ => {}
        }
    }
    false
}

/// Whether a JavaScript regular expression is found anywhere in a name.
pub(crate) fn search_pattern(pattern: &str, name: &str) -> PatternMatch {
    if let Some(words) = plain_words(pattern) {
        return PatternMatch::Certain(words.into_iter().any(|word| name.contains(word)));
    }
    let depth = pattern.bytes().filter(|byte| *byte == b'(').count();
    if pattern.len() > LONGEST || depth > DEEPEST {
        return PatternMatch::Unknown("it is too long or too deep");
    }
    if regress::Regex::new(pattern).is_err() {
        return PatternMatch::Literal(pattern == name);
    }
    let translated = match dialect::translate_pattern(pattern) {
        Ok(translated) => Some(translated),
        Err(UntranslatedPattern::Wrong) => return PatternMatch::Literal(pattern == name),
        Err(UntranslatedPattern::Foreign) => None,
    };
    let built = translated.and_then(|pattern| {
        let mut builder = RegexBuilder::new(&pattern);
        builder.backtrack_limit(STEPS).build().ok()
    });
    let Some(regex) = built else {
        return PatternMatch::Unknown("it uses what only JavaScript has");
    };
    match regex.is_match(name) {
        Ok(matches) => PatternMatch::Certain(matches),
        Err(_) => PatternMatch::Unknown("it takes too many steps"),
    }
}

/// The words of a pattern that is nothing but words, such as `write_file|replace`: most are.
pub(crate) fn plain_words(pattern: &str) -> Option<Vec<&str>> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'|');
    let is_plain = pattern.bytes().all(is_plain);
    is_plain.then(|| pattern.split('|').collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What Node 20 says to `new RegExp(pattern).test(name)`, or to `pattern === name` if that throws.
    #[test]
    fn patterns_mean_what_they_mean_in_javascript() {
        let check = |pattern: &str, name: &str, expected: PatternMatch| {
            assert_eq!(
                search_pattern(pattern, name),
                expected,
                "{pattern} on {name}"
            );
        };
        let (yes, no) = (PatternMatch::Certain(true), PatternMatch::Certain(false));
        check("write_file", "write_file", yes.clone());
        check("ite_f", "write_file", yes.clone());
        check("Write_File", "write_file", no.clone());
        check("read_file|write_file", "write_file", yes.clone());
        check("", "x", yes.clone());
        check("a|", "x", yes.clone());
        check("^write_", "write_file", yes.clone());
        check("^file$", "write_file", no.clone());
        check("mcp_.*", "mcp_server_tool", yes.clone());
        check("write_file(", "write_file", PatternMatch::Literal(false));
        check("write_file(", "write_file(", PatternMatch::Literal(true));
        check("*", "*", PatternMatch::Literal(true));
        check("[", "x", PatternMatch::Literal(false));
        check(r"()\b?", "a", PatternMatch::Literal(false));
        check("^*", "a", PatternMatch::Literal(false));
        check("${2}", "a", PatternMatch::Literal(false));
        check("(?<=a)+", "a", PatternMatch::Literal(false));
        check("(?=a)(?=a)", "a", yes.clone());
        check(r"\b{", "a{", yes.clone());
        check(r"\d", "٣", no.clone());
        check(r"\w", "é", no.clone());
        check(r"\bfile\b", "read file", yes.clone());
        check(r"\bfile\b", "write_file", no.clone());
        check("a{", "a{", yes.clone());
        check("a{,2}", "a{,2}", yes.clone());
        check("^a{2}$", "aa", yes.clone());
        check("[]", "x", no.clone());
        check("[^]", "\n", yes.clone());
        check(".", "\u{2028}", no.clone());
        check("[a[b]", "[", yes.clone());
        check("[a&&b]", "&", yes.clone());
        check(r"[\w-a]", "-", yes.clone());
        check("[a-]", "-", yes.clone());
        check("(?=a)b|(?!a)b", "b", yes.clone());
        check("(?<!x)file", "xfile", no.clone());
        check(r"(a)\1", "aa", yes.clone());
        check(r"(?<n>a)\k<n>", "aa", yes.clone());
        check(r"\k<n>", "k<n>", yes.clone());
        check(r"\1", "\u{1}", yes.clone());
        check(r"\u{3}", "uuu", yes.clone());
        check(r"\u0061\x62", "ab", yes.clone());
        check(r"\p{L}", "p{L}", yes.clone());
        check("write_file\n", "write_file", no);
        check("a$", "a\n", PatternMatch::Certain(false));
        check(r"\/", "/", yes);
    }

    #[test]
    fn a_matcher_that_backtracks_for_ever_is_given_up_and_its_hook_runs() {
        let name = "a".repeat(64) + "!";
        let patterns = [
            r"^(?=a)(a+)+\1$",
            r"^(a|aa)+\1$",
            r"(?:(a*)*\1)*b",
            r"^((a+)+\2)+$",
        ];
        for pattern in patterns {
            let given_up = PatternMatch::Unknown("it takes too many steps");
            assert_eq!(search_pattern(pattern, &name), given_up, "{pattern}");
        }
        assert_eq!(
            search_pattern("^(a+)+$", &name),
            PatternMatch::Certain(false)
        );
    }

    #[test]
    fn a_pattern_of_any_size_is_answered() {
        let deep = "(".repeat(50_000) + &")".repeat(50_000);
        assert!(matches!(
            search_pattern(&deep, "x"),
            PatternMatch::Unknown(_)
        ));
        let long = "a+".repeat(40_000);
        assert!(matches!(
            search_pattern(&long, "x"),
            PatternMatch::Unknown(_)
        ));
        assert!(matches!(
            search_pattern("(?:a{1000}){1000}", "x"),
            PatternMatch::Unknown(_)
        ));
    }

    proptest! {
        /// `regress` is slow on hostile patterns but says the same on small ones.
        #[test]
        fn both_engines_agree(
            pattern in r"[ab_^$.|?*+(){}\[\]\\dwsbBWn\-1,x]{0,10}",
            name in "[ab_1{,}x -]{0,8}",
        ) {
            let Ok(oracle) = regress::Regex::new(&pattern) else { return Ok(()) };
            match search_pattern(&pattern, &name) {
                PatternMatch::Certain(found) => prop_assert_eq!(found, oracle.find(&name).is_some()),
                // `regress` lets places be repeated.
                PatternMatch::Literal(_) => prop_assert!(pattern.contains(['^', '$', 'b', 'B'])),
                PatternMatch::Unknown(_) => {}
            }
        }
    }
}
