//! Secrets with a form of their own: each issuer gives its secrets a beginning that no other text has.

use super::lazy_pattern::LazyPattern;
use super::{SecretHit, SecretKind};

/// Where a beginning is also part of ordinary words: a word has to begin there, also behind an escape that was escaped once more.
const LEFT: &str = r"(?:\b|\\[nrtbf])";

/// A run of characters longer than this around it is an encoded file: a match in it is chance.
const LONGEST_RUN: usize = 300;

/// Texts of which a match has at least one. Without any, every text is searched.
type NeededTexts = &'static [&'static str];

/// The pattern of each kind of secret: the text before it, texts that it needs, and itself. The first group is the secret.
const PATTERNS: [(SecretKind, &str, NeededTexts, &str); 25] = [
    (
        SecretKind::PrivateKey,
        "",
        &["PRIVATE KEY"],
        r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\,:.-]{40,}?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$))",
    ),
    (
        // A key without its end line goes to the end of the text.
        SecretKind::PrivateKey,
        "",
        &["PRIVATE KEY"],
        r#"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:\s|\\+[rn]|["'+,])*(?:[A-Za-z-]+: [^"\r\n\\]*(?:\s|\\+[rn])+)*[A-Za-z0-9+/=]{24,}(?:(?:[^"\\]|\\+[nrt])*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:[^"\\]|\\+[nrt])*))"#,
    ),
    (
        SecretKind::GoogleApiKey,
        LEFT,
        &["AIza"],
        r"(AIza[0-9A-Za-z_-]{35})",
    ),
    (
        SecretKind::GoogleToken,
        LEFT,
        &["ya29.", "GOCSPX-", "1//0"],
        r"(ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,})",
    ),
    (
        SecretKind::GithubToken,
        "",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    ),
    (
        SecretKind::GitlabToken,
        "",
        &["glpat-"],
        r"(glpat-[A-Za-z0-9_-]{20,})",
    ),
    (
        SecretKind::AnthropicKey,
        "",
        &["sk-ant-"],
        r"(sk-ant-[A-Za-z0-9_-]{16,})",
    ),
    (
        SecretKind::OpenaiKey,
        LEFT,
        &["sk-"],
        r"(sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,})",
    ),
    (
        // OpenRouter, Perplexity, xAI, Replicate, Databricks, DigitalOcean, Shopify, Linear, Notion, Vault, Atlassian, Doppler,
        // New Relic, Postman, Supabase, Grafana.
        SecretKind::ServiceToken,
        LEFT,
        &[
            "sk-or-v1-",
            "pplx-",
            "xai-",
            "r8_",
            "dapi",
            "_v1_",
            "shp",
            "lin_api_",
            "ntn_",
            "hvs.",
            "hvb.",
            "ATATT3",
            "dp.",
            "NRAK-",
            "PMAK-",
            "sbp_",
            "glsa_",
            "glc_",
        ],
        r"(sk-or-v1-[0-9a-f]{64}|pplx-[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{70,}|r8_[A-Za-z0-9]{37}|dapi[0-9a-f]{32}|do[opr]_v1_[0-9a-f]{64}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|lin_api_[A-Za-z0-9]{40}|ntn_[A-Za-z0-9]{40,}|hv[sb]\.[A-Za-z0-9_-]{24,}|ATATT3[A-Za-z0-9_=-]{60,}|dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40,}|NRAK-[A-Z0-9]{27}|PMAK-[0-9a-f-]{59}|sbp_[0-9a-f]{40}|glsa_[A-Za-z0-9_]{32,}|glc_[A-Za-z0-9+/=]{32,})",
    ),
    (
        SecretKind::AwsAccessKey,
        LEFT,
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b",
    ),
    (
        SecretKind::SlackToken,
        "",
        &["xox", "xapp-"],
        r"(xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})",
    ),
    (
        SecretKind::SlackToken,
        "",
        &["hooks.slack.com/services/"],
        r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,})",
    ),
    (
        SecretKind::Jwt,
        "",
        &["eyJ"],
        r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)",
    ),
    (
        SecretKind::NpmToken,
        "",
        &["npm_"],
        r"(npm_[A-Za-z0-9]{36})",
    ),
    (
        SecretKind::PypiToken,
        "",
        &["pypi-AgE"],
        r"(pypi-AgE[A-Za-z0-9_-]{20,})",
    ),
    (
        SecretKind::HuggingFaceToken,
        LEFT,
        &["hf_"],
        r"(hf_[A-Za-z0-9]{30,})",
    ),
    (
        SecretKind::StripeKey,
        LEFT,
        &["_live_", "_test_"],
        r"((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,})",
    ),
    (
        SecretKind::SendgridKey,
        LEFT,
        &["SG."],
        r"(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
    ),
    (
        SecretKind::GroqKey,
        LEFT,
        &["gsk_"],
        r"(gsk_[A-Za-z0-9]{40,})",
    ),
    (
        SecretKind::AgeKey,
        "",
        &["AGE-SECRET-KEY-1"],
        r"(AGE-SECRET-KEY-1[A-Z0-9]{50,})",
    ),
    (
        SecretKind::DiscordToken,
        LEFT,
        &["."],
        r"([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})",
    ),
    (
        SecretKind::DiscordToken,
        "",
        &["/webhooks/"],
        r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{16,20}/([A-Za-z0-9_-]{20,})",
    ),
    (
        SecretKind::TelegramToken,
        r"(?:\b|\\[nrtbf]|bot)",
        &[":AA"],
        r"([0-9]{8,10}:AA[A-Za-z0-9_-]{33})",
    ),
    (
        SecretKind::BearerToken,
        "",
        &[],
        r#"(?i:\b(?:bearer|authorization\\*["']?\s*[:=]\s*\\*["']?(?:basic|token))\s+)([A-Za-z0-9._~+/-]{8,}=*)"#,
    ),
    (
        SecretKind::UrlPassword,
        "",
        &["://"],
        r#"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\[\]]*:([^\s/@"'<>\[\]$]{3,})@[A-Za-z0-9\[]"#,
    ),
];

/// Finds secrets by their looks.
#[derive(Debug)]
pub(super) struct PatternDetector {
    patterns: Vec<(SecretKind, LazyPattern)>,
}

impl PatternDetector {
    pub(super) fn new() -> Self {
        let patterns = PATTERNS.iter().map(|(kind, left, needed, pattern)| {
            let pattern = LazyPattern::new(format!("{left}{pattern}"), needed);
            (*kind, pattern)
        });
        Self {
            patterns: patterns.collect(),
        }
    }

    pub(super) fn pattern_hits(&self, text: &[u8]) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        for (kind, pattern) in &self.patterns {
            for found in pattern.all_captures(text) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_a_regular_expression() {
        let detector = PatternDetector::new();
        for (kind, pattern) in &detector.patterns {
            assert!(pattern.compiles(), "{kind:?}");
        }
    }
}
