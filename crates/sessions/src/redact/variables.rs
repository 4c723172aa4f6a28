//! Secrets that are handed over: in variables of the environment, on command lines that take passwords, in `.netrc`.

use regex::bytes::{Regex, RegexBuilder};

use super::value_verdict::{is_code, is_random, is_stand_in};
use super::{SecretHit, SecretKind};

/// `DB_PASSWORD=…`, in capitals: any value of four bytes or more. Code has blanks around the sign.
const VARIABLE: &str = r#"\b(?P<before>(?:[A-Z0-9]+_)*(?:PG|DB|MY)?)(?P<name>PASSWORD|PASSWD|PASSPHRASE|PASS|PW|SECRET|TOKEN|KEY|CREDENTIALS?)(?:_BASE)?(?:_(?:PROD|PRODUCTION|STAGING|STAGE|DEV|TEST|LIVE|[0-9]{1,2}))?(?:=|: )(?:\\*["'](?P<quoted>[^"'\r\n\\]{4,})\\*["']|(?P<bare>[^\s"'`,;&|<>(){}\[\]$\\]{4,}))"#;

/// Prefixes of keys that are no secrets.
const HARMLESS_KEYS: [&[u8]; 7] = [
    b"CACHE_",
    b"PRIMARY_",
    b"FOREIGN_",
    b"SORT_",
    b"PARTITION_",
    b"PUBLIC_",
    b"STORAGE_",
];

/// Parts of a URL's query that sign or open it, if their value looks random; and a user's name that does.
const SIGNATURES: [&str; 2] = [
    r"(?i)[?&#;](?:amp;)?(?:key|sig|signature|auth|x-amz-signature|x-goog-signature|x-amz-security-token)=([A-Za-z0-9._~%+/=-]{16,})",
    r#"\b[a-z][a-z0-9+.-]{0,20}://([^\s/:@"'<>\[\]$]{16,400})@[A-Za-z0-9\[]"#,
];

/// Where commands and files have a password. The first group is it.
const PLACES: [&str; 6] = [
    r#"\bcurl\b[^\r\n|;&]{0,1000}?\s(?:-u|--user|--proxy-user)(?:\s*|=)\\*["']?[^\s:"'\\\[$]+:([^\s"'\\\[$]{2,})"#,
    r#"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\r\n|;&]{0,1000}?\s-p\\*["']?([^\s"'`|;&\\\[$]{2,})"#,
    r#"\bdocker\s+login\b[^\r\n|;&]{0,1000}?\s-p\s+\\*["']?([^\s"'`|;&\\\[$]{2,})"#,
    r#"\bredis-cli\b[^\r\n|;&]{0,1000}?\s-a\s+\\*["']?([^\s"'`|;&\\\[$]{2,})"#,
    r#"\bsshpass\s+-p\s*\\*["']?([^\s"'`|;&\\\[$]{2,})"#,
    r#"\b(?:machine(?:\s|\\+n)+[^\s\\]+|default)(?:\s|\\+n)+(?:(?:login|account)(?:\s|\\+n)+[^\s\\]+(?:\s|\\+n)+){1,2}password(?:\s|\\+n)+([^\s"'\\\[$]{2,})"#,
];

/// Finds secrets by how they are handed over.
#[derive(Debug)]
pub(super) struct VariableDetector {
    variable: Regex,
    places: Vec<Regex>,
    signatures: Vec<Regex>,
}

impl VariableDetector {
    pub(super) fn new() -> Self {
        Self {
            variable: bytes_regex(VARIABLE),
            places: PLACES.iter().map(|place| bytes_regex(place)).collect(),
            signatures: SIGNATURES.iter().map(|place| bytes_regex(place)).collect(),
        }
    }

    pub(super) fn all_hits(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = self.variable_hits(text);
        for place in &self.places {
            for found in place.captures_iter(text) {
                let Some(value) = found.get(1) else { continue };
                if !is_stand_in(value.as_bytes()) {
                    hits.push(SecretHit {
                        range: value.range(),
                        kind: SecretKind::Password,
                    });
                }
            }
        }
        for signature in &self.signatures {
            let found = signature
                .captures_iter(text)
                .filter_map(|found| found.get(1));
            let random = found.filter(|value| is_random(value.as_bytes()));
            hits.extend(random.map(|value| SecretHit {
                range: value.range(),
                kind: SecretKind::Secret,
            }));
        }
        hits
    }

    fn variable_hits(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        for found in self.variable.captures_iter(text) {
            let value = found.name("quoted").or_else(|| found.name("bare"));
            let (Some(name), Some(value)) = (found.name("name"), value) else {
                continue;
            };
            let before = found.name("before").map_or(&b""[..], |it| it.as_bytes());
            let is_key = name.as_bytes() == b"KEY";
            if is_key && HARMLESS_KEYS.iter().any(|it| before.ends_with(it)) {
                continue;
            }
            let is_password = name.as_bytes().starts_with(b"P");
            // A call, or a name that is itself assigned a value.
            let rest = text[value.end()..].trim_ascii_start();
            let is_called = rest.starts_with(b"=")
                || text
                    .get(value.end())
                    .is_some_and(|byte| b"([".contains(byte));
            let bytes = value.as_bytes();
            if is_called || is_stand_in(bytes) || is_code(bytes) || !is_password && is_number(bytes)
            {
                continue;
            }
            let kind = if is_password {
                SecretKind::Password
            } else {
                SecretKind::Secret
            };
            hits.push(SecretHit {
                range: value.range(),
                kind,
            });
        }
        hits
    }
}

/// A limit rather than a token.
fn is_number(value: &[u8]) -> bool {
    value.len() < 10 && value.iter().all(u8::is_ascii_digit)
}

fn bytes_regex(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .expect("the pattern is a regular expression")
}
