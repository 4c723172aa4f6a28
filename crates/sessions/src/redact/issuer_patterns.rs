//! Secrets with a form of their own: each issuer gives its secrets a beginning that no other text has.

use regex::bytes::{Regex, RegexBuilder};

use super::{SecretHit, SecretKind};

/// Where a beginning is also part of ordinary words: a word has to begin there, also behind an escape that was escaped once more.
const LEFT: &str = r"(?:\b|\\[nrtbf])";

/// A run of characters longer than this around it is an encoded file: a match in it is chance.
const LONGEST_RUN: usize = 300;

/// The pattern of each kind of secret. The first group is the secret.
const PATTERNS: [(SecretKind, &str, &str); 25] = [
    (
        SecretKind::PrivateKey,
        "",
        r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\,:.-]{40,}?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$))",
    ),
    (
        // A key without its end line goes to the end of the text.
        SecretKind::PrivateKey,
        "",
        r#"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\+[rn]|["'+,])*(?:[A-Za-z-]+: [^"\r\n\\]*(?:\s|\\+[rn])+)*[A-Za-z0-9+/=]{24,}(?:(?:[^"\\]|\\+[nrt])*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:[^"\\]|\\+[nrt])*))"#,
    ),
    (SecretKind::GoogleApiKey, LEFT, r"(AIza[0-9A-Za-z_-]{35})"),
    (
        SecretKind::GoogleToken,
        LEFT,
        r"(ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,})",
    ),
    (
        SecretKind::GithubToken,
        "",
        r"(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    ),
    (SecretKind::GitlabToken, "", r"(glpat-[A-Za-z0-9_-]{20,})"),
    (SecretKind::AnthropicKey, "", r"(sk-ant-[A-Za-z0-9_-]{16,})"),
    (
        SecretKind::OpenaiKey,
        LEFT,
        r"(sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,})",
    ),
    (
        // OpenRouter, Perplexity, xAI, Replicate, Databricks, DigitalOcean, Shopify, Linear, Notion, Vault, Atlassian, Doppler,
        // New Relic, Postman, Supabase, Grafana.
        SecretKind::ServiceToken,
        LEFT,
        r"(sk-or-v1-[0-9a-f]{64}|pplx-[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{70,}|r8_[A-Za-z0-9]{37}|dapi[0-9a-f]{32}|do[opr]_v1_[0-9a-f]{64}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40,}|hv[sb]\.[A-Za-z0-9_-]{24,}|ATATT3[A-Za-z0-9_=-]{60,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40,}|NRAK-[A-Z0-9]{27}|PMAK-[0-9a-f-]{59}|sbp_[0-9a-f]{40}|glsa_[A-Za-z0-9_]{32,}|glc_[A-Za-z0-9+/=]{32,})",
    ),
    (
        SecretKind::AwsAccessKey,
        LEFT,
        r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
    ),
    (
        SecretKind::SlackToken,
        "",
        r"(xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})",
    ),
    (
        SecretKind::SlackToken,
        "",
        r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,})",
    ),
    (
        SecretKind::Jwt,
        "",
        r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)",
    ),
    (SecretKind::NpmToken, "", r"(npm_[A-Za-z0-9]{36})"),
    (SecretKind::PypiToken, "", r"(pypi-AgE[A-Za-z0-9_-]{20,})"),
    (SecretKind::HuggingFaceToken, LEFT, r"(hf_[A-Za-z0-9]{30,})"),
    (
        SecretKind::StripeKey,
        LEFT,
        r"((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,})",
    ),
    (
        SecretKind::SendgridKey,
        LEFT,
        r"(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
    ),
    (SecretKind::GroqKey, LEFT, r"(gsk_[A-Za-z0-9]{40,})"),
    (SecretKind::AgeKey, "", r"(AGE-SECRET-KEY-1[A-Z0-9]{50,})"),
    (
        SecretKind::DiscordToken,
        LEFT,
        r"([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})",
    ),
    (
        SecretKind::DiscordToken,
        "",
        r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{16,20}/([A-Za-z0-9_-]{20,})",
    ),
    (
        SecretKind::TelegramToken,
        r"(?:\b|\\[nrtbf]|bot)",
        r"([0-9]{8,10}:AA[A-Za-z0-9_-]{33})",
    ),
    (
        SecretKind::BearerToken,
        "",
        r#"(?i:\b(?:bearer|authorization\\*["']?\s*[:=]\s*\\*["']?(?:basic|token))\s+)([A-Za-z0-9._~+/-]{8,}=*)"#,
    ),
    (
        SecretKind::UrlPassword,
        "",
        r#"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\[\]]*:([^\s/@"'<>\[\]$]{3,})@[A-Za-z0-9\[]"#,
    ),
];

/// Finds secrets by their looks.
#[derive(Debug)]
pub(super) struct PatternDetector {
    patterns: Vec<(SecretKind, Regex)>,
}

impl PatternDetector {
    pub(super) fn new() -> Self {
        let patterns = PATTERNS.iter().map(|(kind, left, pattern)| {
            let regex = RegexBuilder::new(&format!("{left}{pattern}"))
                .unicode(false)
                .build()
                .expect("the pattern is a regular expression");
            (*kind, regex)
        });
        Self {
            patterns: patterns.collect(),
        }
    }

    pub(super) fn pattern_hits(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        for (kind, pattern) in &self.patterns {
            for found in pattern.captures_iter(text) {
                let Some(secret) = found.get(1) else { continue };
                let hit = SecretHit {
                    range: secret.range(),
                    kind: *kind,
                };
                if is_real(&hit, text) {
                    hits.push(hit);
                }
            }
        }
        hits
    }
}

/// Not everything that begins like a secret is one.
fn is_real(hit: &SecretHit, text: &[u8]) -> bool {
    let secret = &text[hit.range.clone()];
    let has_digit = secret.iter().any(u8::is_ascii_digit);
    match hit.kind {
        SecretKind::PrivateKey | SecretKind::Jwt | SecretKind::UrlPassword => true,
        SecretKind::BearerToken => is_bearer(secret),
        // `sk-` also begins names of CSS classes and files.
        SecretKind::OpenaiKey => has_digit && secret.iter().any(u8::is_ascii_uppercase),
        _ => !is_in_long_run(hit, text),
    }
}

/// A word that follows `Bearer` is a token if it has digits in it, or is longer than words are.
fn is_bearer(secret: &[u8]) -> bool {
    /// Words of letters alone are shorter.
    const LONGER_THAN_WORDS: usize = 20;
    let has = |is: fn(&u8) -> bool| secret.iter().any(is);
    let is_long_word =
        secret.len() >= LONGER_THAN_WORDS && secret.iter().all(u8::is_ascii_alphabetic);
    is_long_word || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// However long a secret is itself: it is chance if it stands amid an encoded file.
fn is_in_long_run(hit: &SecretHit, text: &[u8]) -> bool {
    let is_encoded = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/_-=".contains(byte);
    let before = text[..hit.range.start].iter().rev();
    let before = before.take(LONGEST_RUN).take_while(is_encoded).count();
    let after = text[hit.range.end..].iter();
    let after = after.take(LONGEST_RUN).take_while(is_encoded).count();
    before + after > LONGEST_RUN
}
