//! Text that arrives in chunks and is emitted whole. Only the text is kept, and no chunk's line: a million short chunks must not
//! take many times the memory of the text.

use lapidary_vocab::{ArrayBuilder, Text, TextBuilder};

use crate::raw::RawContent;

/// Chunks that were joined so far.
#[derive(Debug, Default)]
pub(crate) struct JoinedText {
    text: TextBuilder,
    /// The lines of the chunks, if they are carried.
    lines: Option<ArrayBuilder>,
    /// When the first one came.
    since: Option<Text>,
}

impl JoinedText {
    /// Nothing yet, from then on.
    pub(crate) fn begun_at(time: Option<&Text>) -> Self {
        Self {
            since: time.map(Text::detached),
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, text: &Text, line: Option<RawContent>) {
        self.text.push(text);
        if let Some(line) = line {
            let lines = self.lines.get_or_insert_default();
            lines.push(&line.into_json());
        }
    }

    /// True if there is neither a word nor a line.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_none() && self.text.is_empty()
    }

    /// The text, its lines and when it began.
    pub(crate) fn finish(self) -> (Text, Option<RawContent>, Option<Text>) {
        let lines = self
            .lines
            .map(|lines| RawContent::from_joined_lines(lines.finish()));
        (self.text.to_text(), lines, self.since)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lapidary_json::{SharedToken, Token};

    use super::*;

    #[test]
    fn no_line_of_a_joined_chunk_is_kept_alive() {
        let line: Arc<str> = format!(r#"{{"a":"b","c":"{}"}}"#, "0".repeat(300)).into();
        let whole = Token::parse(&line).unwrap();
        let text = Text::from_token(SharedToken::new(&line, whole.get("a").unwrap()));
        let mut joined = JoinedText::begun_at(Some(&text));
        for _ in 0..2 {
            joined.push(&text, Some(RawContent::from_json_line(&line, whole)));
        }
        drop(text);
        assert_eq!(Arc::strong_count(&line), 1);
        let (text, raw, since) = joined.finish();
        assert_eq!(
            (text.to_str(), since.unwrap().to_str()),
            ("bb".into(), "b".into())
        );
        let raw = raw.unwrap().into_json();
        assert_eq!(raw.as_str(), format!("[{line},{line}]"));
    }
}
