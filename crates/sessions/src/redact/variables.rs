//! Secrets that are handed over: in variables of the environment, on command lines that take passwords, in `.netrc`.

use super::lazy_pattern::LazyPattern;
use super::value_verdict::{is_code, is_random, is_stand_in};
use super::{SecretHit, SecretKind};

/// `DB_PASSWORD=…`, in capitals: any value of four bytes or more. Code has blanks around the sign.
const VARIABLE: &str = r#"\b(?P<before>(?:[A-Z0-9]+_)*(?:PG|DB|MY)?)(?P<name>PASSWORD|PASSWD|PASSPHRASE|PASS|PW|SECRET|TOKEN|KEY|CREDENTIALS?)(?:_BASE)?(?:_(?:PROD|PRODUCTION|STAGING|STAGE|DEV|TEST|LIVE|[0-9]{1,2}))?(?:=|: )(?:\\*["'](?P<quoted>[^"'\r\n\\]{4,})\\*["']|(?P<bare>[^\s"'`,;&|<>(){}\[\]$\\]{4,}))"#;

/// Words of which a variable has one.
const VARIABLE_WORDS: &[&str] = &["PASS", "PW", "SECRET", "TOKEN", "KEY", "CREDENTIAL"];

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
const SIGNATURES: [(&[&str], &str); 2] = [
    (
        &["="],
        r"(?i)[?&#;](?:amp;)?(?:key|sig|signature|auth|x-amz-signature|x-goog-signature|x-amz-security-token)=([A-Za-z0-9._~%+/=-]{16,})",
    ),
    (
        &["://"],
        r#"\b[a-z][a-z0-9+.-]{0,20}://([^\s/:@"'<>\[\]$]{16,400})@[A-Za-z0-9\[]"#,
    ),
];

/// Where commands and files have a password. The first group is it.
const PLACES: [(&[&str], &str); 6] = [
    (
        &["curl"],
        r#"\bcurl\b[^\r\n|;&]{0,1000}?\s(?:-u|--user|--proxy-user)(?:\s*|=)\\*["']?[^\s:"'\\\[$]+:([^\s"'\\\[$]{2,})"#,
    ),
    (
        &["mysql", "mariadb"],
        r#"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b[^\r\n|;&]{0,1000}?\s-p\\*["']?([^\s"'`|;&\\\[$]{2,})"#,
    ),
    (
        &["docker"],
        r#"\bdocker\s+login\b[^\r\n|;&]{0,1000}?\s-p\s+\\*["']?([^\s"'`|;&\\\[$]{2,})"#,
    ),
    (
        &["redis-cli"],
        r#"\bredis-cli\b[^\r\n|;&]{0,1000}?\s-a\s+\\*["']?([^\s"'`|;&\\\[$]{2,})"#,
    ),
    (
        &["sshpass"],
        r#"\bsshpass\s+-p\s*\\*["']?([^\s"'`|;&\\\[$]{2,})"#,
    ),
    (
        &["password"],
        r#"\b(?:machine(?:\s|\\+n)+[^\s\\]+|default)(?:\s|\\+n)+(?:(?:login|account)(?:\s|\\+n)+[^\s\\]+(?:\s|\\+n)+){1,2}password(?:\s|\\+n)+([^\s"'\\\[$]{2,})"#,
    ),
];

/// Finds secrets by how they are handed over.
#[derive(Debug)]
pub(super) struct VariableDetector {
    variable: LazyPattern,
    places: Vec<LazyPattern>,
    signatures: Vec<LazyPattern>,
}

impl VariableDetector {
    pub(super) fn new() -> Self {
        Self {
            variable: LazyPattern::new(VARIABLE, VARIABLE_WORDS),
            places: lazy_patterns(&PLACES),
            signatures: lazy_patterns(&SIGNATURES),
        }
    }

    pub(super) fn all_hits(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = self.variable_hits(text);
        for place in &self.places {
            for found in place.all_captures(text) {
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
                .all_captures(text)
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
        for found in self.variable.all_captures(text) {
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

fn lazy_patterns(patterns: &[(&'static [&'static str], &str)]) -> Vec<LazyPattern> {
    let patterns = patterns.iter();
    patterns
        .map(|(needed, pattern)| LazyPattern::new(*pattern, needed))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_a_regular_expression() {
        let detector = VariableDetector::new();
        let all = detector.places.iter().chain(&detector.signatures);
        for pattern in all.chain([&detector.variable]) {
            assert!(pattern.compiles(), "{pattern:?}");
        }
    }
}
