//! An append log, line by line.

use std::borrow::Cow;

use lapidary_json::{Token, TokenKind, scan_object};

use super::super::message_text;
use super::glance::{RecordGlance, time_of_touch};
use super::{FileSummary, UnreadableFile, lossy_text};
use crate::by_hash::{ByHash, hash};

/// An append log, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct LogReading {
    pub(super) summary: FileSummary,
    /// How many lines there were that are not blank.
    pub(super) count: u64,
    /// The messages since the last checkpoint: every record of one, by the hash of its id.
    records: Vec<u64>,
    /// The first place of each id among them: computed at the first rewind.
    places: Option<ByHash<usize>>,
    glance: RecordGlance,
    messages: ByHash<MessageCounts>,
}

/// How a message counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageCounts {
    pub(super) is_user: bool,
    pub(super) is_resumable: bool,
}

/// The fields of a record that matter, as they stand.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecordFields<'a> {
    rewind: Option<Token<'a>>,
    patch: Option<Token<'a>>,
    id: Option<Token<'a>>,
    kind: Option<Token<'a>>,
    pub(super) content: Option<Token<'a>>,
    calls: Option<Token<'a>>,
    thoughts: Option<Token<'a>>,
    session: Option<Token<'a>>,
    project: Option<Token<'a>>,
    messages: Option<Token<'a>>,
}

impl<'a> RecordFields<'a> {
    pub(super) fn from_record(record: Token<'a>) -> Self {
        let mut fields = Self::default();
        for (key, value) in record.members() {
            fields.take_field(key, value);
        }
        fields
    }

    #[inline]
    fn take_field(&mut self, key: Token<'a>, value: Token<'a>) {
        let field = match key.as_str() {
            "\"id\"" => &mut self.id,
            "\"type\"" => &mut self.kind,
            "\"content\"" => &mut self.content,
            "\"toolCalls\"" => &mut self.calls,
            "\"thoughts\"" => &mut self.thoughts,
            "\"$set\"" => &mut self.patch,
            "\"$rewindTo\"" => &mut self.rewind,
            "\"sessionId\"" => &mut self.session,
            "\"projectHash\"" => &mut self.project,
            "\"messages\"" => &mut self.messages,
            _ => return,
        };
        *field = Some(value);
    }

    pub(super) fn message_counts(&self) -> MessageCounts {
        let kind = self.kind.and_then(Token::string);
        MessageCounts {
            is_user: kind.as_deref() == Some("user"),
            is_resumable: message_text::is_resumable(
                kind.as_deref(),
                self.content,
                self.calls,
                self.thoughts,
            ),
        }
    }
}

impl LogReading {
    pub(super) fn read_lines(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            if !self.read_update_time(line) && !self.read_at_glance(line) {
                self.read_line(&lossy_text(line));
            }
            rest = &rest[end + 1..];
        }
        // The last line may be torn.
        self.read_line(&lossy_text(rest));
    }

    /// True if it says when the log was last added to, and nothing else.
    fn read_update_time(&mut self, line: &[u8]) -> bool {
        let Some(time) = time_of_touch(line) else {
            return false;
        };
        self.count += 1;
        let updated = self.summary.last_updated.get_or_insert_default();
        updated.clear();
        updated.extend(time.iter().map(|byte| char::from(*byte)));
        true
    }

    /// True if a look at its beginning was enough.
    fn read_at_glance(&mut self, line: &[u8]) -> bool {
        let Some(seen) = self.glance.line_class(line) else {
            return false;
        };
        let titles = seen.counts.is_user && seen.counts.is_resumable;
        if titles && self.summary.first_user_message.is_none() {
            return false;
        }
        self.note_message(hash(seen.id), seen.counts);
        true
    }

    fn read_line(&mut self, line: &str) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.count += 1;
        let mut fields = RecordFields::default();
        match scan_object(line, |key, value| fields.take_field(key, value)) {
            Ok(record) => self.read_record(&fields, record),
            Err(_) => self.summary.unreadable_lines += 1,
        }
    }

    /// In the CLI's own order of precedence.
    fn read_record(&mut self, fields: &RecordFields<'_>, record: Token<'_>) {
        let string =
            |token: Option<Token<'_>>| token.is_some_and(|token| token.kind() == TokenKind::String);
        if let Some(id) = fields.rewind.and_then(|id| id.if_kind(TokenKind::String)) {
            self.rewind_to(id);
        } else if string(fields.id) {
            self.read_message(fields);
        } else if let Some(patch) = fields
            .patch
            .filter(|patch| matches!(patch.kind(), TokenKind::Object | TokenKind::Array))
        {
            if let Some(messages) = patch
                .get("messages")
                .and_then(|list| list.if_kind(TokenKind::Array))
            {
                self.records.clear();
                self.places = None;
                self.messages.clear();
                self.read_messages(messages);
            }
            self.read_metadata(patch);
        } else if string(fields.session) && string(fields.project) {
            self.read_metadata(record);
            if let Some(messages) = fields
                .messages
                .and_then(|list| list.if_kind(TokenKind::Array))
            {
                self.read_messages(messages);
            }
        }
    }

    fn read_messages(&mut self, messages: Token<'_>) {
        for message in messages.elements() {
            self.read_message(&RecordFields::from_record(message));
        }
    }

    fn read_message(&mut self, fields: &RecordFields<'_>) {
        let Some(id) = fields.id.and_then(|id| id.if_kind(TokenKind::String)) else {
            return;
        };
        let counts = fields.message_counts();
        self.note_message(hash(id.as_str()), counts);
        let titled = self.summary.first_user_message.is_some();
        if counts.is_user && counts.is_resumable && !titled {
            let said = fields.content.map(message_text::says).unwrap_or_default();
            self.summary.first_user_message = (!said.is_empty()).then(|| said.into_owned());
        }
    }

    fn note_message(&mut self, id: u64, counts: MessageCounts) {
        if let Some(places) = &mut self.places {
            places.entry(id).or_insert(self.records.len());
        }
        self.records.push(id);
        self.messages.insert(id, counts);
    }

    fn rewind_to(&mut self, id: Token<'_>) {
        let records = &self.records;
        let places = self.places.get_or_insert_with(|| {
            // From behind, so that the first of each stays.
            let records = records.iter().enumerate().rev();
            records.map(|(place, id)| (*id, place)).collect()
        });
        let from = places.get(&hash(id.as_str())).copied();
        let first = from.unwrap_or(0);
        for removed in self.records.drain(first..) {
            self.messages.remove(&removed);
            if places.get(&removed).is_some_and(|place| *place >= first) {
                places.remove(&removed);
            }
        }
        if from.is_none() {
            self.messages.clear();
        }
    }

    fn read_metadata(&mut self, record: Token<'_>) {
        for (key, value) in record.members() {
            self.read_metadata_field(key, value);
        }
    }

    pub(super) fn read_metadata_field(&mut self, key: Token<'_>, value: Token<'_>) {
        let summary = &mut self.summary;
        let text = || value.string().filter(|text| !text.is_empty());
        let owned = || text().map(Cow::into_owned);
        match key.as_str() {
            "\"sessionId\"" => summary.id = owned().unwrap_or_default(),
            "\"projectHash\"" => summary.has_project_hash = text().is_some(),
            "\"startTime\"" => summary.start_time = owned(),
            "\"lastUpdated\"" => summary.last_updated = owned(),
            "\"summary\"" => summary.summary = owned(),
            "\"kind\"" => summary.is_subagent = text().as_deref() == Some("subagent"),
            _ => {}
        }
    }

    pub(super) fn finish(mut self) -> Result<FileSummary, UnreadableFile> {
        if self.summary.id.is_empty() || !self.summary.has_project_hash {
            return Err(UnreadableFile::NotASession);
        }
        self.summary.message_count = self.records.len() as u64;
        let count = |is: fn(&MessageCounts) -> bool| {
            self.messages.values().filter(|counts| is(counts)).count()
        };
        self.summary.user_message_count = count(|counts| counts.is_user) as u64;
        self.summary.is_resumable = count(|counts| counts.is_resumable) > 0;
        Ok(self.summary)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use lapidary_testkit::work::{assert_linear, cost};
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Option<FileSummary> {
        let mut reading = LogReading::default();
        reading.read_lines(bytes);
        reading.finish().ok()
    }

    /// Every line read to the letter.
    fn to_the_letter(bytes: &[u8]) -> Option<FileSummary> {
        let mut reading = LogReading::default();
        for line in bytes.split(|&byte| byte == b'\n') {
            reading.read_line(&lossy_text(line));
        }
        reading.finish().ok()
    }

    #[test]
    fn many_rewinds_take_as_long_as_many_records() {
        // Looking each of them up from the beginning is quadratic.
        assert_linear(2_000, |count| {
            let log = rewound(count);
            cost(|| assert_eq!(read(log.as_bytes()).unwrap().message_count, count as u64))
        });
    }

    /// So many messages, the last of which is taken back and said again as often.
    fn rewound(count: usize) -> String {
        let mut log = String::from("{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n");
        for place in 0..count {
            let _ = writeln!(
                log,
                "{{\"id\":\"m{place}\",\"type\":\"user\",\"content\":\"x\"}}"
            );
        }
        for _ in 0..count {
            let last = count - 1;
            let _ = writeln!(log, "{{\"$rewindTo\":\"m{last}\"}}");
            let _ = writeln!(
                log,
                "{{\"id\":\"m{last}\",\"type\":\"user\",\"content\":\"x\"}}"
            );
        }
        log
    }

    fn record(id: u8, kind: &str, content: &str, rest: &str) -> String {
        format!(
            r#"{{"id":"m{id}","timestamp":"2026-11-16T00:00:00.000Z","type":"{kind}","content":{content}{rest}}}"#
        )
    }

    fn records() -> impl Strategy<Value = String> {
        let long = r"code \n and \\ and \u001b[0m and ".repeat(60);
        let output = format!(r#""{long}""#);
        let part =
            format!(r#"[{{"functionResponse":{{"name":"x","response":{{"output":{output}}}}}}}]"#);
        let call = format!(
            r#","toolCalls":[{{"id":"c","name":"x","args":{{"id":"a","timestamp":"b"}},"result":{part}}}]"#
        );
        let tail = format!(r#","model":{output}"#);
        let contents = vec![
            output.clone(),
            part,
            format!(r#"[{{"text":{output}}}]"#),
            format!(r#"" \n {}""#, " ".repeat(700)),
            r#""/help""#.to_owned(),
            r#"[{"text":"<session_context>"}]"#.to_owned(),
            r#""""#.to_owned(),
            "[]".to_owned(),
        ];
        let kinds = vec!["user", "gemini", "info", "other"];
        let message = (
            0..5_u8,
            prop::sample::select(kinds),
            prop::sample::select(contents),
            prop::sample::select(vec![String::new(), call, tail]),
        )
            .prop_map(|(id, kind, content, rest)| record(id, kind, &content, &rest));
        let other = prop::sample::select(vec![
            r#"{"$rewindTo":"m2"}"#,
            r#"{"$set":{"messages":[{"id":"m1","type":"user","content":"again"}]}}"#,
            r#"{"$set":{"summary":"what it is about"}}"#,
            r#"{"sessionId":"s","projectHash":"h","startTime":"t"}"#,
            "garbage",
        ]);
        prop_oneof![5 => message, 1 => other.prop_map(str::to_owned)]
    }

    proptest! {
        /// A crash leaves a torn record, followed by the next on the same line.
        #[test]
        fn the_fast_path_reads_what_the_full_parser_reads(
            records in prop::collection::vec((records(), prop::option::weighted(0.2, any::<prop::sample::Index>())), 1..12),
        ) {
            let mut log = String::from("{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n");
            for (record, torn) in records {
                if let Some(at) = torn {
                    log.push_str(&record[..at.index(record.len())]);
                } else {
                    log.push_str(&record);
                    log.push('\n');
                }
            }
            prop_assert_eq!(read(log.as_bytes()), to_the_letter(log.as_bytes()));
        }
    }
}
