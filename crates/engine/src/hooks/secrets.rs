//! Values that look like secrets, as Gemini CLI (0.61) knows them. They are compared in capitals: there, as here.

use super::shell::is_space;

/// Whether a value, in capitals, looks like a key, a token or an address with a password in it.
pub(super) fn is_secret(value: &str) -> bool {
    is_pem(value)
        || has_password(value)
        || is_web_token(value)
        || TOKENS.iter().any(|token| token.is_in(value))
}

/// A token with a prefix of its own: the prefix, the further characters that it may have besides letters and digits, and how many
/// characters have to follow.
struct SecretPattern(&'static str, &'static str, usize);

const TOKENS: [SecretPattern; 16] = [
    SecretPattern("GHP_", "_", 36),
    SecretPattern("GHO_", "_", 36),
    SecretPattern("GHU_", "_", 36),
    SecretPattern("GHS_", "_", 36),
    SecretPattern("GHR_", "_", 36),
    SecretPattern("GITHUB_PAT_", "_", 36),
    SecretPattern("AIZASY", "_\\-", 33),
    SecretPattern("AKIA", "", 16),
    SecretPattern("SK_LIVE_", "", 24),
    SecretPattern("SK_TEST_", "", 24),
    SecretPattern("RK_LIVE_", "", 24),
    SecretPattern("RK_TEST_", "", 24),
    SecretPattern("XOXA-", "-", 1),
    SecretPattern("XOXB-", "-", 1),
    SecretPattern("XOXP-", "-", 1),
    SecretPattern("XOXR-", "-", 1),
];

impl SecretPattern {
    fn is_in(&self, value: &str) -> bool {
        let Self(word, also, least) = self;
        rests_behind(value, word).any(|rest| run(rest, also).chars().nth(least - 1).is_some())
    }
}

/// Private keys and certificates in their armour.
fn is_pem(value: &str) -> bool {
    let keys = ["RSA", "OPENSSH", "EC", "PGP"];
    let is_key = |kind| value.contains(&format!("-----BEGIN {kind} PRIVATE KEY-----"));
    keys.into_iter().any(is_key) || value.contains("-----BEGIN CERTIFICATE-----")
}

/// `HTTPS://USER:PASSWORD@`, each of the two with at most so many characters.
fn has_password(value: &str) -> bool {
    const MOST: usize = 1024;
    let is_name = |name: &str| {
        let length = name.encode_utf16().count();
        (1..=MOST).contains(&length) && !name.contains(is_space)
    };
    let schemes = ["HTTP://", "HTTPS://", "FTP://", "SMTP://"];
    let mut hosts = schemes
        .into_iter()
        .flat_map(|scheme| rests_behind(value, scheme));
    hosts.any(|rest| {
        let Some((user, rest)) = rest.split_once(':') else {
            return false;
        };
        let password = rest.split_once('@').map(|(password, _)| password);
        is_name(user) && password.is_some_and(is_name)
    })
}

/// Three parts with dots between them, the first of which begins as JSON in Base64 does.
fn is_web_token(value: &str) -> bool {
    const MOST: usize = 10_240;
    let part = |rest| Some(run(rest, "_-").len()).filter(|length| *length <= MOST);
    rests_behind(value, "EYJ").any(|rest| {
        let end = part(rest).and_then(|end| rest[end..].strip_prefix('.'));
        let end = end.and_then(|rest| Some(&rest[part(rest)?..]));
        end.is_some_and(|rest| rest.starts_with('.'))
    })
}

/// The rest of the value behind each occurrence of `word`.
fn rests_behind<'a>(value: &'a str, word: &'static str) -> impl Iterator<Item = &'a str> {
    let places = value.match_indices(word);
    places.map(|(at, word)| &value[at + word.len()..])
}

/// The letters, digits and `also` that it begins with.
fn run<'a>(rest: &'a str, also: &str) -> &'a str {
    let belongs = |char: char| char.is_ascii_alphanumeric() || also.contains(char);
    &rest[..rest.find(|char| !belongs(char)).unwrap_or(rest.len())]
}
