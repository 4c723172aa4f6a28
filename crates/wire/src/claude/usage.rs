//! The tokens of one response, as Anthropic's API counts them.

use lapidary_json::{Token, TokenKind};

/// `usage` of a message. The parts of the prompt are counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaudeUsage {
    /// Tokens of the prompt that were neither read from a cache nor written to one.
    pub input: u64,
    /// Tokens of the prompt that were written to a cache.
    pub cache_written: u64,
    /// Those of them that the cache keeps for an hour; the others are kept for five minutes.
    pub cache_written_1h: u64,
    /// Tokens of the prompt that were read from a cache.
    pub cache_read: u64,
    /// Tokens of the answer, thoughts included.
    pub output: u64,
}

impl ClaudeUsage {
    /// Reads the object. None without both `input_tokens` and `output_tokens`.
    pub fn from_token(usage: Token<'_>) -> Option<Self> {
        let mut read = Self::default();
        let (mut has_input, mut has_output) = (false, false);
        let mut by_lifetime = None;
        for (key, value) in usage.members() {
            let count = value.u64();
            match key.as_str() {
                "\"input_tokens\"" => (read.input, has_input) = (count?, true),
                "\"output_tokens\"" => (read.output, has_output) = (count?, true),
                "\"cache_read_input_tokens\"" => read.cache_read = count.unwrap_or_default(),
                "\"cache_creation_input_tokens\"" => {
                    read.cache_written = count.unwrap_or_default();
                }
                "\"cache_creation\"" => by_lifetime = value.if_kind(TokenKind::Object),
                _ => {}
            }
        }
        if let Some(parts) = by_lifetime {
            read.take_lifetimes(parts);
        }
        (has_input && has_output).then_some(read)
    }

    /// The parts count before the sum: prices differ by lifetime, and ccusage 20.0.24 counts so, too.
    fn take_lifetimes(&mut self, parts: Token<'_>) {
        let count = |name| parts.get(name).and_then(Token::u64);
        let (minutes, hour) = (
            count("ephemeral_5m_input_tokens"),
            count("ephemeral_1h_input_tokens"),
        );
        if minutes.or(hour).is_some() {
            self.cache_written_1h = hour.unwrap_or_default();
            let minutes = minutes.unwrap_or_default();
            self.cache_written = minutes.saturating_add(self.cache_written_1h);
        }
    }

    /// The whole prompt.
    pub fn prompt(&self) -> u64 {
        let cached = self.cache_written.saturating_add(self.cache_read);
        self.input.saturating_add(cached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(usage: &str, expected: Option<[u64; 5]>) {
        let read = ClaudeUsage::from_token(Token::parse(usage).unwrap());
        let numbers = |it: ClaudeUsage| {
            [
                it.input,
                it.cache_written,
                it.cache_written_1h,
                it.cache_read,
                it.output,
            ]
        };
        assert_eq!(read.map(numbers), expected, "{usage}");
    }

    #[test]
    fn cache_writes_count_by_their_lifetime_where_the_usage_says_it() {
        check(r#"{"input_tokens":1}"#, None);
        check(
            r#"{"input_tokens":1,"output_tokens":2}"#,
            Some([1, 0, 0, 0, 2]),
        );
        check(
            r#"{"input_tokens":1,"cache_creation_input_tokens":10,"cache_read_input_tokens":20,"output_tokens":2}"#,
            Some([1, 10, 0, 20, 2]),
        );
        check(
            r#"{"input_tokens":1,"cache_creation_input_tokens":10,"cache_creation":{"ephemeral_1h_input_tokens":3,"ephemeral_5m_input_tokens":4},"output_tokens":2}"#,
            Some([1, 7, 3, 0, 2]),
        );
        check(
            r#"{"input_tokens":1,"cache_creation_input_tokens":10,"cache_creation":{},"output_tokens":2}"#,
            Some([1, 10, 0, 0, 2]),
        );
    }
}
