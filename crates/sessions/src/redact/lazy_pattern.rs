//! A regular expression that is compiled when a text may match it: most texts have no secret, and compiling all patterns takes longer
//! than searching a short text.

use std::sync::OnceLock;

use memchr::memmem;
use regex::bytes::{CaptureMatches, Regex, RegexBuilder};

/// A pattern, with texts of which every match has at least one.
#[derive(Debug)]
pub(super) struct LazyPattern {
    source: String,
    needed: &'static [&'static str],
    regex: OnceLock<Regex>,
}

impl LazyPattern {
    /// A pattern. Without needed texts, any text may match.
    pub(super) fn new(source: impl Into<String>, needed: &'static [&'static str]) -> Self {
        Self {
            source: source.into(),
            needed,
            regex: OnceLock::new(),
        }
    }

    /// All matches in a text.
    pub(super) fn all_captures<'h>(
        &self,
        text: &'h [u8],
    ) -> impl Iterator<Item = regex::bytes::Captures<'h>> {
        let matches: Option<CaptureMatches<'_, 'h>> = self
            .may_match(text)
            .then(|| self.compiled().captures_iter(text));
        matches.into_iter().flatten()
    }

    fn may_match(&self, text: &[u8]) -> bool {
        let has = |needed: &&str| memmem::find(text, needed.as_bytes()).is_some();
        self.needed.is_empty() || self.needed.iter().any(has)
    }

    fn compiled(&self) -> &Regex {
        self.regex.get_or_init(|| {
            RegexBuilder::new(&self.source)
                .unicode(false)
                .build()
                .expect("the pattern is a regular expression")
        })
    }
}

#[cfg(test)]
impl LazyPattern {
    /// True if the pattern is a regular expression.
    pub(super) fn compiles(&self) -> bool {
        self.compiled().captures_len() > 0
    }
}
