//! Whether a value is a secret, by its name, by how it stands behind it, and by its looks.

/// How much of a value is looked at, so that cost grows with the text only.
pub(super) const LONGEST_JUDGED: usize = 512;

/// The meaning of a name for its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameClass {
    /// `password`: the value is always secret.
    Password,
    /// `pass`, `pw`: as a password where it is assigned; in a sentence the word has another meaning.
    ShortPassword,
    /// `secret`: as a password where it is assigned, as a token in a sentence.
    Secret,
    /// `token`, `api_key`: secret if it looks random, because the same names are often given to harmless values.
    Token,
    /// `auth`: secret if it looks very random.
    Weak,
}

/// How a value stands behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValuePosition {
    /// `password = …`, `"password": "…"`, `--password …`.
    Assigned { is_quoted: bool },
    /// `the password is …`, `password("…")`, `| password | … |`, `<password>…<`: as often as not, no secret follows.
    Mentioned { is_quoted: bool },
}

/// Placeholders for secrets in examples, schemas and code.
const STAND_INS: [&str; 25] = [
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
    "value",
];

/// Words with digits that texts about passwords use: `sha256`, `base64-encoded`.
const TERMS: [&[u8]; 14] = [
    b"sha", b"md5", b"utf", b"base64", b"base32", b"argon2", b"bcrypt", b"scrypt", b"pbkdf2",
    b"oauth2", b"http", b"aes", b"rsa", b"ed25519",
];

/// True if the value of a name is a secret.
pub(super) fn is_secret(value: &[u8], class: NameClass, manner: ValuePosition) -> bool {
    let value = &value[..value.len().min(LONGEST_JUDGED)];
    if is_stand_in(value) {
        return false;
    }
    let is_mixed = has_byte(value, u8::is_ascii_digit) && has_byte(value, u8::is_ascii_alphabetic);
    match (class, manner) {
        (NameClass::Password, ValuePosition::Mentioned { is_quoted }) => {
            is_mixed && !is_code(value) && !is_term(value) && (is_quoted || !is_identifier(value))
        }
        (NameClass::ShortPassword, ValuePosition::Mentioned { .. }) => false,
        (NameClass::Token, ValuePosition::Assigned { .. }) => {
            value.len() >= 12 && is_mixed && !is_code(value) && bits_per_byte(value) >= 3.0
        }
        (NameClass::Token | NameClass::Secret, ValuePosition::Mentioned { .. })
        | (NameClass::Weak, _) => is_random(value),
        (_, ValuePosition::Assigned { is_quoted: true }) => {
            !has_byte(value, u8::is_ascii_whitespace) || is_phrase(value)
        }
        // Without quotes it may as well be code: `password = read_password`, `pwd: /home`.
        (_, ValuePosition::Assigned { is_quoted: false }) => is_mixed && !is_code(value),
    }
}

/// True for a placeholder: a variable, a template, a word of a schema, or the mark of a redactor.
pub(super) fn is_stand_in(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let begins = |prefix: &[u8]| lower.starts_with(prefix);
    let is_marked = value.contains(&b'*') && value.iter().all(|byte| b"*x. ".contains(byte));
    let mut bytes = lower.iter();
    let first = bytes.next();
    let is_one_char = bytes.all(|byte| Some(byte) == first);
    let is_template = value.windows(2).any(|pair| pair == b"${");
    STAND_INS.iter().any(|word| word.as_bytes() == lower)
        || is_template
        || is_marked
        || is_one_char
        || [
            &b"$"[..],
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
        || value.starts_with(b"/") && !value.ends_with(b"=")
        || value.starts_with(b"./")
        || has(b"://")
}

/// Characters without meaning: long, of letters and several digits, and hardly any words in it.
pub(super) fn is_random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    value.len() >= 16
        && digits >= 2
        && has_byte(value, u8::is_ascii_alphabetic)
        && !has_byte(value, u8::is_ascii_whitespace)
        && !is_code(value)
        && !is_wordy(value)
        && bits_per_byte(value) >= 3.0
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

/// `sha256`, `8-character`, `3600s`.
fn is_term(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    let behind = &value[digits.count()..];
    let unit = behind.strip_prefix(b"-").unwrap_or(behind);
    let is_amount = behind.len() < value.len() && unit.iter().all(u8::is_ascii_lowercase);
    is_amount || TERMS.iter().any(|term| lower.starts_with(term))
}

/// `login_form2`: words joined as code joins them.
fn is_identifier(value: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.".contains(byte);
    value.contains(&b'_') && value.iter().all(is_part) && is_wordy(value)
}

/// At least half of it is lower-case words of four letters or more.
fn is_wordy(value: &[u8]) -> bool {
    let words = value.split(|byte| !byte.is_ascii_lowercase());
    let in_words: usize = words.map(<[u8]>::len).filter(|length| *length >= 4).sum();
    in_words * 2 >= value.len()
}

fn has_byte(value: &[u8], is: fn(&u8) -> bool) -> bool {
    value.iter().any(is)
}

/// Bits of information a byte, by Shannon.
fn bits_per_byte(value: &[u8]) -> f64 {
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
