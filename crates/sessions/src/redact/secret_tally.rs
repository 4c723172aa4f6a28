//! Every secret that was found, each under a placeholder of its own.

use std::collections::{BTreeSet, HashMap};

use regex::bytes::{Regex, RegexBuilder};

use super::report::masked_secret;
use super::{RedactedSecret, RedactionReport, SecretHit, SecretKind, paths};

/// How many secrets have numbers. Further ones are removed as well, under a placeholder without a number.
const MOST_SECRETS: usize = 100_000;
/// How many secrets are looked for where nothing but they themselves gives them away.
const MOST_AGAIN: usize = 2_000;
/// How many messages are named for each.
const MOST_MESSAGES: usize = 8;
/// How many names of people are looked for in names of directories.
const MOST_NAMES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct SecretTally {
    findings: Vec<RedactedSecret>,
    places: HashMap<(SecretKind, Vec<u8>), usize>,
    numbers: HashMap<SecretKind, u64>,
    names: BTreeSet<Vec<u8>>,
}

impl SecretTally {
    /// Counts a secret and returns its placeholder.
    pub(super) fn count_secret(
        &mut self,
        kind: SecretKind,
        secret: &[u8],
        message: Option<u64>,
    ) -> String {
        let place = self.find_or_add(kind, secret);
        let finding = &mut self.findings[place];
        finding.count += 1;
        if let Some(message) = message
            && finding.messages.len() < MOST_MESSAGES
            && !finding.messages.contains(&message)
        {
            finding.messages.push(message);
        }
        finding.placeholder.clone()
    }

    /// Where the finding of a secret is, which is made if there is none.
    pub(super) fn find_or_add(&mut self, kind: SecretKind, secret: &[u8]) -> usize {
        if let Some(place) = self.places.get(&(kind, secret.to_vec())) {
            return *place;
        }
        let is_full = self.places.len() >= MOST_SECRETS;
        let key = if is_full { Vec::new() } else { secret.to_vec() };
        let next = self.findings.len();
        let place = *self.places.entry((kind, key)).or_insert(next);
        if place == next {
            self.add_finding(kind, secret, is_full);
        }
        place
    }

    fn add_finding(&mut self, kind: SecretKind, secret: &[u8], is_full: bool) {
        if kind == SecretKind::HomePath && self.names.len() < MOST_NAMES {
            self.names
                .extend(paths::home_owner(secret).map(<[u8]>::to_vec));
        }
        let number = self.numbers.entry(kind).or_default();
        *number += 1;
        let placeholder = match kind {
            SecretKind::HomePath => "~".to_owned(),
            _ if is_full => format!("[redacted:{}]", kind.as_str()),
            _ => format!("[redacted:{}-{number}]", kind.as_str()),
        };
        self.findings.push(RedactedSecret {
            kind,
            placeholder,
            count: 0,
            messages: Vec::new(),
            sample: masked_secret(kind, secret),
        });
    }

    /// The users whose home directories were found.
    pub(super) fn owner_names(&self) -> &BTreeSet<Vec<u8>> {
        &self.names
    }

    /// The secrets to look for wherever they stand.
    pub(super) fn repeated_secrets(&self) -> RepeatedSecrets {
        let mut kinds: HashMap<Vec<u8>, SecretKind> = HashMap::new();
        for (kind, secret) in self.places.keys() {
            if is_telling(*kind, secret) && kinds.len() < MOST_AGAIN {
                kinds.insert(secret.clone(), *kind);
            }
        }
        let mut secrets: Vec<_> = kinds
            .keys()
            .filter_map(|it| std::str::from_utf8(it).ok())
            .collect();
        // The longest first, since the first that fits is taken.
        secrets.sort_by_key(|secret| (std::cmp::Reverse(secret.len()), *secret));
        let patterns: Vec<_> = secrets.iter().map(|it| regex::escape(it)).collect();
        let pattern = (!patterns.is_empty()).then(|| {
            RegexBuilder::new(&patterns.join("|"))
                .unicode(false)
                .size_limit(64 << 20)
                .build()
                .ok()
        });
        RepeatedSecrets {
            pattern: pattern.flatten(),
            kinds,
        }
    }

    pub(super) fn into_report(self) -> RedactionReport {
        let findings = self.findings.into_iter();
        let findings = findings.filter(|finding| finding.count > 0).collect();
        RedactionReport { findings }
    }
}

/// True if a secret is one wherever it stands: a password that is a word is not.
fn is_telling(kind: SecretKind, secret: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| secret.iter().any(is);
    let looks_random = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    kind != SecretKind::HomePath && secret.len() >= 8 && secret.len() <= 512 && looks_random
}

/// Finds secrets that were found before.
#[derive(Debug)]
pub(super) struct RepeatedSecrets {
    pattern: Option<Regex>,
    kinds: HashMap<Vec<u8>, SecretKind>,
}

impl RepeatedSecrets {
    pub(super) fn repeated_hits(&self, text: &[u8]) -> Vec<SecretHit> {
        let found = self
            .pattern
            .iter()
            .flat_map(|pattern| pattern.find_iter(text));
        let hits = found.filter_map(|found| {
            let kind = *self.kinds.get(found.as_bytes())?;
            let range = found.range();
            Some(SecretHit { range, kind })
        });
        hits.collect()
    }
}
