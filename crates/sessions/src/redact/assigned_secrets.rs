//! Secrets that only their name gives away: `password=…`, `"api_key": "…"`, `--token …`, `the password is …`.
//!
//! A name is found first, then how a value stands behind it, then the value. A value that is no secret may hold the next name
//! (`secret: aws_secret_access_key = …`), so the search goes on behind the name and not behind the value.

use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::value::{AssignedValue, AssignedValues};
use super::value_verdict::{NameClass, ValuePosition, is_secret};
use super::{SecretHit, SecretKind};

const PASSWORDS: &str = "pass(?:word|wd|phrase|code)|pwd";
const SHORT_PASSWORDS: &str = r"(?:\b|[_-])(?:pass|pw)\b|(?-i:[a-z]Pass\b)";
const SECRETS: &str = "secret";
const TOKENS: &str = r"token|(?:api|app|auth)[ _-]?key|access[ _-]?key(?:[_-]?id)?|secret[_-]?(?:access[_-]?)?key|private[_-]?key|(?:signing|encryption|account|master|session)[_-]?key|client[ _-]?secret|credentials?|authorization|cookie";
const WEAK: &str = r"(?:\b|_)auth\b";
/// Where it is used: `PASSWORD_PROD`, `api_key_2`.
const SUFFIX: &str = r"(?:[_-]?(?:prod|production|staging|stage|dev|test|live|[0-9]{1,2}))?";

/// How much of a name is looked at.
const LONGEST_NAME: usize = 128;
/// How far a value may be from its name.
const LONGEST_GAP: usize = 256;

/// Finds secrets by the names before them.
#[derive(Debug)]
pub(super) struct AssignedDetector {
    in_text: Regex,
    name: Regex,
    assignment: Regex,
    mention: Regex,
    blank: Regex,
}

impl AssignedDetector {
    pub(super) fn new() -> Self {
        // The longer name first: `client_secret` is a token's.
        let names = format!(
            "(?P<name>(?P<token>{TOKENS})|(?P<password>{PASSWORDS})|(?P<short>{SHORT_PASSWORDS})|(?P<secret>{SECRETS})|(?P<weak>{WEAK}))"
        );
        let quote = r#"\\*["'`]"#;
        let sign = "(?:=>|:=|!?={1,3}|:)";
        let blanks = r"(?:[ \t]{4,24}|\s{0,3})";
        // `password`: … ['password'] = …  **Password:** …   {"name": "PASSWORD", "value": …
        let assignment = format!(
            r"^(?:\*{{0,2}}(?:{quote})?\]?\*{{0,2}}{blanks}{sign}\*{{0,2}}{blanks}|(?:{quote})?,?(?:\s|\\n){{1,40}}(?:{quote})?value(?:{quote})?\s{{0,3}}[:=]\s{{0,3}})"
        );
        // password for x is …   password(…   | password | …   <password>…
        let mention = format!(
            r"^(?:(?:{quote})?(?:\s{{1,3}}[A-Za-z0-9_.@'`/-]{{1,30}}){{0,4}}?\s{{1,3}}(?:is|was|to)\s{{0,2}}:?\s{{1,3}}|\(\s{{0,3}}|\s{{0,3}}\|\s{{0,3}}|>|\s{{1,3}}\()"
        );
        Self {
            in_text: caseless_regex(&format!("{names}{SUFFIX}")),
            name: caseless_regex(&format!("{names}{SUFFIX}$")),
            assignment: caseless_regex(&assignment),
            mention: caseless_regex(&mention),
            blank: caseless_regex(&format!(r"^(?:{quote})?\s+")),
        }
    }

    /// Assignments in a text, and sentences that tell a secret.
    pub(super) fn assigned_hits(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits: Vec<SecretHit> = Vec::new();
        let mut values = AssignedValues::new(text);
        for found in self.in_text.captures_iter(text) {
            let Some(name) = SecretName::parse(&found) else {
                continue;
            };
            let is_in_last = hits
                .last()
                .is_some_and(|it| it.range.contains(&name.range.start));
            if !is_in_last && let Some(range) = self.secret_range(text, &name, &mut values) {
                hits.push(SecretHit {
                    range,
                    kind: name.secret_kind(text),
                });
            }
        }
        hits
    }

    /// The value of a member of an object, all of it.
    pub(super) fn member_hit(&self, key: &[u8], value: &[u8]) -> Option<SecretHit> {
        let key = &key[key.len().saturating_sub(LONGEST_NAME)..];
        let name = SecretName::parse(&self.name.captures(key)?)?;
        let manner = ValuePosition::Assigned { is_quoted: true };
        let is_short = value.len() <= 4096 && !value.contains(&b'\n');
        (is_short && value.len() >= 4 && is_secret(value, name.class, manner)).then(|| SecretHit {
            range: 0..value.len(),
            kind: name.secret_kind(key),
        })
    }

    /// Where the secret is that a name announces.
    fn secret_range(
        &self,
        text: &[u8],
        name: &SecretName,
        values: &mut AssignedValues<'_>,
    ) -> Option<Range<usize>> {
        let behind = name.end;
        let next = text.get(behind)?;
        if !(next.is_ascii_whitespace() || b"\\\"'`*]=:!,(|>".contains(next)) {
            return None;
        }
        let gap = &text[behind..text.len().min(behind + LONGEST_GAP)];
        let is_secret = |value: &AssignedValue, manner| {
            is_secret(&text[value.range.clone()], name.class, manner)
        };
        let assigned = |value: &AssignedValue| {
            let is_quoted = value.is_quoted;
            is_secret(value, ValuePosition::Assigned { is_quoted })
        };
        let mentioned = |value: &AssignedValue| {
            let is_quoted = value.is_quoted;
            is_secret(value, ValuePosition::Mentioned { is_quoted })
        };
        if let Some(found) = self.assignment.find(gap) {
            return values.assigned_at(behind + found.end(), assigned);
        }
        if let Some(found) = self.blank.find(gap) {
            let value = values.value_at(behind + found.end());
            let is_told = |value: &AssignedValue| {
                let is_option = is_option(&text[..name.range.start]);
                is_option && assigned(value) || mentioned(value)
            };
            if let Some(value) = value.filter(is_told) {
                return Some(value.range);
            }
        }
        let found = self.mention.find(gap)?;
        let value = values.value_at(behind + found.end())?;
        // `hash_password(user1.name)` is code.
        let is_argument = found.as_bytes().ends_with(b"(") && name.class == NameClass::Password;
        let may_be = value.is_quoted || !is_argument;
        (may_be && mentioned(&value)).then_some(value.range)
    }
}

/// A name that announces a secret.
struct SecretName {
    class: NameClass,
    range: Range<usize>,
    /// Where its suffix ends.
    end: usize,
}

impl SecretName {
    fn parse(found: &Captures<'_>) -> Option<Self> {
        let classes = [
            ("token", NameClass::Token),
            ("password", NameClass::Password),
            ("short", NameClass::ShortPassword),
            ("secret", NameClass::Secret),
            ("weak", NameClass::Weak),
        ];
        let class = classes
            .iter()
            .find(|(group, _)| found.name(group).is_some())?
            .1;
        Some(Self {
            class,
            range: found.name("name")?.range(),
            end: found.get(0)?.end(),
        })
    }

    fn secret_kind(&self, text: &[u8]) -> SecretKind {
        let name = text[self.range.clone()].to_ascii_lowercase();
        let has = |word: &str| name.windows(word.len()).any(|it| it == word.as_bytes());
        if has("secret_access") || has("secretaccess") || has("secret-access") {
            SecretKind::AwsSecretKey
        } else if matches!(self.class, NameClass::Password | NameClass::ShortPassword) {
            SecretKind::Password
        } else {
            SecretKind::Secret
        }
    }
}

/// True if the word that a name ends begins like an option: `--db-`.
fn is_option(before: &[u8]) -> bool {
    let word = before.iter().rev().take(LONGEST_NAME);
    let word = word.take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
    before[before.len() - word.count()..].starts_with(b"--")
}

fn caseless_regex(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .case_insensitive(true)
        .build()
        .expect("the pattern is a regular expression")
}
