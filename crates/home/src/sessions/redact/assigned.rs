//! Secrets that only their name gives away: `password=…`, `"api_key": "…"`, `--token …`.

use regex::bytes::{Regex, RegexBuilder};

use super::{Hit, SecretKind};

/// Names whose values are secret, whatever they look like.
const PASSWORDS: &str = r"pass(?:word|wd|phrase)|pwd|secret";
/// Names whose values are secret if they look random: the same names are often given to something else.
const TOKENS: &str = r"token|api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?(?:access[_-]?)?key|private[_-]?key|auth[_-]?key|(?:signing|encryption|account|master|session)[_-]?key|client[_-]?secret|credentials?|authorization|cookie";

/// How much of a name is looked at.
const LONGEST_NAME: usize = 128;

/// What stands for a secret in examples, schemas and code.
const STAND_INS: [&str; 24] = [
    "string",
    "str",
    "text",
    "required",
    "optional",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "password",
    "passwd",
    "secret",
    "token",
    "example",
    "changeme",
    "placeholder",
    "hidden",
    "redacted",
    "masked",
    "boolean",
    "number",
    "prompt",
];

/// Finds secrets by what they are called.
#[derive(Debug)]
pub(super) struct Detector {
    in_text: Regex,
    name: Regex,
}

impl Detector {
    pub(super) fn new() -> Self {
        let names = format!("(?:(?P<password>{PASSWORDS})|(?P<token>{TOKENS}))");
        let quote = r#"\\*["'`]"#;
        // A quoted value may hold anything but its quote; a bare one ends where a shell or a URL would end it.
        let value = format!(
            r#"(?:{quote}(?P<quoted>[^"'`\r\n\\]{{4,}})(?:{quote}|\\*$)|(?P<bare>[^\s"'`,;&|<>(){{}}\[\]$\\]{{6,}}))"#
        );
        let between = format!(r"(?:(?:{quote})?\s{{0,3}}(?:=>|:=|[:=])\s{{0,3}}|(?:{quote})?\s+)");
        Self {
            in_text: regex(&format!("(?P<name>{names})(?P<between>{between}){value}")),
            name: regex(&format!("(?P<name>{names})$")),
        }
    }

    /// Assignments in a text.
    pub(super) fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for found in self.in_text.captures_iter(text) {
            let is_password = found.name("password").is_some();
            let between = found.name("between").map_or(&b""[..], |it| it.as_bytes());
            let (value, is_quoted) = match (found.name("quoted"), found.name("bare")) {
                (Some(value), _) => (value, true),
                (None, Some(value)) => (value, false),
                (None, None) => continue,
            };
            let manner = Manner {
                is_password,
                is_quoted,
                is_assigned: between.iter().any(|byte| b":=".contains(byte)),
            };
            let Some(name) = found.name("name") else {
                continue;
            };
            let is_option = is_option(&text[..name.start()]);
            if (manner.is_assigned || is_option) && is_secret(value.as_bytes(), manner) {
                hits.push(Hit {
                    range: value.range(),
                    kind: kind(name.as_bytes(), is_password),
                });
            }
        }
        hits
    }

    /// The value of a member of an object, all of it.
    pub(super) fn member(&self, key: &[u8], value: &[u8]) -> Option<Hit> {
        let key = &key[key.len().saturating_sub(LONGEST_NAME)..];
        let found = self.name.captures(key)?;
        let manner = Manner {
            is_password: found.name("password").is_some(),
            is_quoted: true,
            is_assigned: true,
        };
        let is_short = value.len() <= 4096 && !value.contains(&b'\n');
        (is_short && value.len() >= 4 && is_secret(value, manner)).then(|| Hit {
            range: 0..value.len(),
            kind: kind(key, manner.is_password),
        })
    }
}

/// True if the word that a name ends begins like an option: `--db-`.
fn is_option(before: &[u8]) -> bool {
    let word = before.iter().rev().take(LONGEST_NAME);
    let word = word.take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
    before[before.len() - word.count()..].starts_with(b"--")
}

/// How a value came to its name.
#[derive(Debug, Clone, Copy)]
struct Manner {
    is_password: bool,
    is_quoted: bool,
    is_assigned: bool,
}

fn regex(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .case_insensitive(true)
        .build()
        .expect("the pattern is a regular expression")
}

fn kind(name: &[u8], is_password: bool) -> SecretKind {
    let name = name.to_ascii_lowercase();
    let has = |word: &str| name.windows(word.len()).any(|it| it == word.as_bytes());
    if has("secret_access") || has("secretaccess") || has("secret-access") {
        SecretKind::AwsSecretKey
    } else if is_password && !has("secret") {
        SecretKind::Password
    } else {
        SecretKind::Secret
    }
}

fn is_secret(value: &[u8], manner: Manner) -> bool {
    if is_stand_in(value) {
        return false;
    }
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let has_digit = has(u8::is_ascii_digit);
    let has_letter = has(u8::is_ascii_alphabetic);
    if manner.is_password && manner.is_quoted {
        return !has(u8::is_ascii_whitespace) || (manner.is_assigned && is_phrase(value));
    }
    if manner.is_password {
        // Without quotes it may as well be code: `password = read_password`, `pwd: /home`.
        return has_digit && has_letter && !is_code(value);
    }
    value.len() >= 12 && has_digit && has_letter && !is_code(value) && bits(value) >= 3.0
}

/// A few words that say nothing about passwords: then they may be one.
fn is_phrase(value: &[u8]) -> bool {
    const MOST_WORDS: usize = 6;
    const SPEAKS_OF_IT: [&[u8]; 16] = [
        b"password",
        b"secret",
        b"token",
        b"key",
        b"enter",
        b"your",
        b"the",
        b"for",
        b"to",
        b"is",
        b"must",
        b"user",
        b"of",
        b"a",
        b"an",
        b"not",
    ];
    let lower = value.to_ascii_lowercase();
    let words = lower.split(u8::is_ascii_whitespace);
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let is_said = |word: &&[u8]| {
        let word = word.trim_ascii_end();
        let word = word.strip_suffix(b":").unwrap_or(word);
        SPEAKS_OF_IT.contains(&word)
    };
    let is_text = |byte: &u8| !b"(){}<>=;".contains(byte);
    words.len() <= MOST_WORDS && !words.iter().any(is_said) && value.iter().all(is_text)
}

/// Something that stands for a secret: a variable, a template, a word of a schema, or what a redactor left.
pub(super) fn is_stand_in(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let begins = |prefix: &[u8]| lower.starts_with(prefix);
    let is_marked = value.contains(&b'*') && value.iter().all(|byte| b"*x. ".contains(byte));
    let mut bytes = lower.iter();
    let first = bytes.next();
    let is_one_char = bytes.all(|byte| Some(byte) == first);
    STAND_INS.iter().any(|word| word.as_bytes() == lower)
        || is_marked
        || is_one_char
        || [
            &b"$"[..],
            b"${",
            b"{{",
            b"<",
            b"%",
            b"your",
            b"[redacted",
            b"...",
            b"process.env",
            b"os.environ",
            b"env.",
        ]
        .iter()
        .any(|prefix| begins(prefix))
}

/// A path, a type or an expression rather than a value.
pub(super) fn is_code(value: &[u8]) -> bool {
    let has = |part: &[u8]| value.windows(part.len()).any(|it| it == part);
    has(b"::")
        || has(b"()")
        || has(b"->")
        || value.starts_with(b"/")
        || value.starts_with(b"./")
        || has(b"://")
}

/// Bits of information a byte, by Shannon.
fn bits(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0);
    shares
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}
