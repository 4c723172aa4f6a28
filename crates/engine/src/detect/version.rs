//! Versions of agents, as npm has them.

use std::cmp::Ordering;
use std::fmt;

/// A version such as `0.61.0`, `0.56.0-nightly.20260821.5411f11` or `0.26.0-preview.1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentVersion {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// The part behind the hyphen; empty for a release.
    pub pre: String,
}

impl AgentVersion {
    /// A release.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
            pre: String::new(),
        }
    }

    /// Reads a version, with or without a `v` in front. The part behind a `+` is build metadata and is dropped.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, _build) = text.split_once('+').unwrap_or((text, ""));
        let (numbers, pre) = match text.split_once('-') {
            Some((_, "")) => return None,
            Some((numbers, pre)) => (numbers, pre),
            None => (text, ""),
        };
        let mut numbers = numbers.split('.').map(parse_number);
        let version = Self {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next()??,
            pre: pre.to_owned(),
        };
        let complete = numbers.next().is_none();
        let released = pre.is_empty();
        (complete && (released || pre.split('.').all(is_identifier))).then_some(version)
    }

    /// Whether it has the features of `major.minor`. A preview of a version has its features.
    pub fn has(&self, (major, minor): (u64, u64)) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

/// Digits only: the standard library would also take a sign.
fn parse_number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

fn is_identifier(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}

impl Ord for AgentVersion {
    /// By the rules of semantic versioning: a preview comes before its release.
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| self.pre.is_empty().cmp(&other.pre.is_empty()))
            .then_with(|| compare_pre(&self.pre, &other.pre))
    }
}

impl PartialOrd for AgentVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Part by part: numbers by value and before words, words by letters, fewer parts before more.
fn compare_pre(ours: &str, theirs: &str) -> Ordering {
    let parts =
        |pre: &str| -> Vec<VersionPart> { pre.split('.').map(VersionPart::parse).collect() };
    parts(ours).cmp(&parts(theirs))
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum VersionPart {
    Number(u64),
    Word(String),
}

impl VersionPart {
    fn parse(text: &str) -> Self {
        match parse_number(text) {
            Some(value) => Self::Number(value),
            None => Self::Word(text.to_owned()),
        }
    }
}

impl fmt::Display for AgentVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        match self.pre.as_str() {
            "" => Ok(()),
            pre => write!(f, "-{pre}"),
        }
    }
}
