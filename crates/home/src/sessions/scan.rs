//! One session file, read for a list: its id, its times, its title, whether it can be resumed. Nothing is built of what passes by.
//!
//! An append log is read in pieces of bounded size, however long it is; only its longest record has to fit. A document has to be
//! read whole. A title, a count, an id: what the CLI would say, to the letter, rewinds and checkpoints and torn lines included.

mod glance;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash as _, Hasher};
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapidary_json::{Kind, Token, scan_object, scan_object_and_list};

use super::speech;
pub(super) use glance::Glance;

/// How much of a file is read at once.
const PIECE: usize = 256 * 1024;

/// No record and no document may be longer.
const LONGEST: usize = 1 << 30;

/// What takes more memory than this is read by one thread at a time.
const MUCH: usize = 64 << 20;

/// Whoever reads something long.
static TURN: Mutex<()> = Mutex::new(());

/// What a list says about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The session's id.
    pub id: String,
    /// The hash of the project's path.
    pub project_hash: Option<String>,
    /// When it began.
    pub start_time: Option<String>,
    /// When something was last added.
    pub last_updated: Option<String>,
    /// What a model said it was about.
    pub summary: Option<String>,
    /// `main` or `subagent`.
    pub kind: Option<String>,
    /// How many records of messages there are since the last checkpoint.
    pub message_count: u64,
    /// How many messages of the user's, each counted once.
    pub user_message_count: u64,
    /// The first message of the user's that says something, as it stands.
    pub first_user_message: Option<String>,
    /// Whether there is anything to resume.
    pub is_resumable: bool,
    /// Lines that are no JSON objects: a torn one among them.
    pub unreadable_lines: u64,
}

impl Summary {
    /// True if nothing can be resumed although something was said: a checkpoint or a rewind hides it, or a line is torn. Such a
    /// conversation can be recovered.
    pub fn hides_content(&self) -> bool {
        !self.is_resumable && (self.first_user_message.is_some() || self.unreadable_lines > 0)
    }
}

/// Why a file has no [`Summary`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The system does not let us read it.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// No record of it names a session.
    #[error("it names no session")]
    NotASession,
    /// Nobody has that much memory to spare for a list.
    #[error("a record of it is longer than 1 GiB")]
    TooLarge,
}

/// Reads files one after the other, with the same memory.
#[derive(Debug, Default)]
pub struct Scanner {
    buffer: Vec<u8>,
    filled: usize,
    turn: Option<MutexGuard<'static, ()>>,
}

impl Scanner {
    /// Reads a file.
    pub fn file(&mut self, path: &Path) -> Result<Summary, Unreadable> {
        let summary = self.read(&mut open(path)?);
        if self.turn.take().is_some() {
            self.buffer = Vec::new();
        }
        summary
    }

    fn read(&mut self, file: &mut File) -> Result<Summary, Unreadable> {
        self.filled = 0;
        if !self.more(file)? {
            return Err(Unreadable::Empty);
        }
        if !self.begins_with_an_object(file)? {
            // Records may follow on a line that was torn. A disk that was full leaves other things, and much of them.
            return if memchr::memmem::find(&self.buffer[..self.filled], b"\n{").is_some() {
                self.log(file)
            } else {
                Err(Unreadable::NotASession)
            };
        }
        if self.begins_with_a_record() {
            return self.log(file);
        }
        while self.more(file)? {}
        whole(&self.buffer[..self.filled])
    }

    /// Skips what is blank, however much that is, and reads on until there is a line or a piece.
    fn begins_with_an_object(&mut self, file: &mut File) -> Result<bool, Unreadable> {
        loop {
            let bytes = &self.buffer[..self.filled];
            let begun = without_mark(bytes).trim_ascii_start();
            let is_enough = begun.len() >= PIECE || begun.contains(&b'\n');
            match begun.first() {
                Some(b'{') => return Ok(true),
                Some(_) if is_enough => return Ok(false),
                Some(_) => {}
                None => self.filled = 0,
            }
            if !self.more(file)? {
                return Ok(false);
            }
        }
    }

    /// Reads what is in memory already.
    pub fn bytes(bytes: &[u8]) -> Result<Summary, Unreadable> {
        if bytes.is_empty() {
            return Err(Unreadable::Empty);
        }
        whole(bytes)
    }

    /// Reads on. False at the end.
    fn more(&mut self, file: &mut File) -> Result<bool, Unreadable> {
        if self.filled >= LONGEST {
            return Err(Unreadable::TooLarge);
        }
        if self.buffer.len() - self.filled < PIECE {
            let len = self.buffer.len();
            let room = if len < MUCH { 2 * len } else { len + len / 4 };
            self.buffer.resize(room.max(self.filled + PIECE), 0);
            if self.buffer.len() > MUCH && self.turn.is_none() {
                self.turn = Some(TURN.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
        loop {
            match file.read(&mut self.buffer[self.filled..]) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// True if the first line is a whole record, or will be once all of it is here: then this is a log, or one line of anything.
    fn begins_with_a_record(&self) -> bool {
        let bytes = without_mark(&self.buffer[..self.filled]).trim_ascii_start();
        match memchr::memchr(b'\n', bytes) {
            Some(end) => Token::parse(&text(&bytes[..end])).is_ok(),
            None => true,
        }
    }

    fn log(&mut self, file: &mut File) -> Result<Summary, Unreadable> {
        let mut reading = Reading::default();
        let mut is_first = true;
        let mut searched = 0;
        loop {
            let bytes = &self.buffer[..self.filled];
            let end = memchr::memrchr(b'\n', &bytes[searched..]).map(|at| searched + at + 1);
            if let Some(end) = end {
                let lines = &bytes[..end];
                reading.lines(if is_first { without_mark(lines) } else { lines });
                is_first = false;
                self.buffer.copy_within(end..self.filled, 0);
                self.filled -= end;
            }
            searched = self.filled;
            if !self.more(file)? {
                break;
            }
        }
        let last = &self.buffer[..self.filled];
        let last = if is_first { without_mark(last) } else { last };
        reading.lines(last);
        let is_alone = reading.count == 1;
        match reading.finish() {
            // One line may be a document that names no project: then it is no record.
            Err(Unreadable::NotASession) if is_alone => self.again(file),
            read => read,
        }
    }

    fn again(&mut self, file: &mut File) -> Result<Summary, Unreadable> {
        file.rewind()?;
        self.filled = 0;
        while self.more(file)? {}
        let bytes = without_mark(&self.buffer[..self.filled]);
        document(&text(bytes)).ok_or(Unreadable::NotASession)
    }
}

/// A file that is here whole: a document if it is one, else a log.
fn whole(bytes: &[u8]) -> Result<Summary, Unreadable> {
    let bytes = without_mark(bytes);
    let mut reading = Reading::default();
    let is_line = memchr::memchr(b'\n', bytes.trim_ascii()).is_none();
    // One line with a hash in it is a record for the CLI, too.
    if is_line {
        reading.lines(bytes);
        if let Ok(summary) = reading.finish() {
            return Ok(summary);
        }
        reading = Reading::default();
    }
    if let Some(summary) = document(&text(bytes)) {
        return Ok(summary);
    }
    reading.lines(bytes);
    reading.finish()
}

/// Opens a file that may have become something else since somebody looked: a pipe must not be waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default());
    }
    options.open(path)
}

/// Bytes as text. What is no UTF-8 reads as U+FFFD, as in Node.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// An append log, as far as it was read.
#[derive(Debug, Default)]
struct Reading {
    summary: Summary,
    /// How many lines there were that are not blank.
    count: u64,
    /// The messages since the last checkpoint: every record of one, by what its id hashes to.
    records: Vec<u64>,
    /// Where each id stands first among them: known once somebody rewound.
    places: Option<ByHash<usize>>,
    glance: Glance,
    messages: ByHash<Counts>,
}

/// What a message counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    is_user: bool,
    is_resumable: bool,
}

/// The fields of a record that matter, as they stand.
#[derive(Debug, Clone, Copy, Default)]
struct Fields<'a> {
    rewind: Option<Token<'a>>,
    patch: Option<Token<'a>>,
    id: Option<Token<'a>>,
    kind: Option<Token<'a>>,
    content: Option<Token<'a>>,
    calls: Option<Token<'a>>,
    thoughts: Option<Token<'a>>,
    session: Option<Token<'a>>,
    project: Option<Token<'a>>,
    messages: Option<Token<'a>>,
}

impl<'a> Fields<'a> {
    fn of(record: Token<'a>) -> Self {
        let mut fields = Self::default();
        for (key, value) in record.members() {
            fields.take(key, value);
        }
        fields
    }

    #[inline]
    fn take(&mut self, key: Token<'a>, value: Token<'a>) {
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

    fn counts(&self) -> Counts {
        let kind = self.kind.and_then(Token::string);
        Counts {
            is_user: kind.as_deref() == Some("user"),
            is_resumable: speech::is_resumable(
                kind.as_deref(),
                self.content,
                self.calls,
                self.thoughts,
            ),
        }
    }
}

impl Reading {
    fn lines(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            if !self.touched(line) && !self.glanced(line) {
                self.line(&text(line));
            }
            rest = &rest[end + 1..];
        }
        // The last line may be torn.
        self.line(&text(rest));
    }

    /// True for the record behind every other one, which says when the log was last added to and nothing else.
    fn touched(&mut self, line: &[u8]) -> bool {
        let time = line
            .strip_prefix(b"{\"$set\":{\"lastUpdated\":\"")
            .and_then(|rest| rest.strip_suffix(b"\"}}"));
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:.+".contains(byte);
        let Some(time) = time.filter(|time| !time.is_empty() && time.iter().all(is_plain)) else {
            return false;
        };
        self.count += 1;
        let updated = self.summary.last_updated.get_or_insert_default();
        updated.clear();
        updated.extend(time.iter().map(|byte| char::from(*byte)));
        true
    }

    /// True if a look at its beginning was enough.
    fn glanced(&mut self, line: &[u8]) -> bool {
        let Some(seen) = self.glance.at(line) else {
            return false;
        };
        let titles = seen.counts.is_user && seen.counts.is_resumable;
        if titles && self.summary.first_user_message.is_none() {
            return false;
        }
        self.note(hash(seen.id), seen.counts);
        true
    }

    fn line(&mut self, line: &str) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.count += 1;
        let mut fields = Fields::default();
        match scan_object(line, |key, value| fields.take(key, value)) {
            Ok(record) => self.record(&fields, record),
            Err(_) => self.summary.unreadable_lines += 1,
        }
    }

    /// In the CLI's own order of precedence.
    fn record(&mut self, fields: &Fields<'_>, record: Token<'_>) {
        let string =
            |token: Option<Token<'_>>| token.is_some_and(|token| token.kind() == Kind::String);
        if let Some(id) = fields.rewind.and_then(|id| id.of(Kind::String)) {
            self.rewind(id);
        } else if string(fields.id) {
            self.message(fields);
        } else if let Some(patch) = fields
            .patch
            .filter(|patch| matches!(patch.kind(), Kind::Object | Kind::Array))
        {
            if let Some(messages) = patch.get("messages").and_then(|list| list.of(Kind::Array)) {
                self.records.clear();
                self.places = None;
                self.messages.clear();
                self.all(messages);
            }
            self.metadata(patch);
        } else if string(fields.session) && string(fields.project) {
            self.metadata(record);
            if let Some(messages) = fields.messages.and_then(|list| list.of(Kind::Array)) {
                self.all(messages);
            }
        }
    }

    fn all(&mut self, messages: Token<'_>) {
        for message in messages.elements() {
            self.message(&Fields::of(message));
        }
    }

    fn message(&mut self, fields: &Fields<'_>) {
        let Some(id) = fields.id.and_then(|id| id.of(Kind::String)) else {
            return;
        };
        let counts = fields.counts();
        self.note(hash(id.as_str()), counts);
        let titled = self.summary.first_user_message.is_some();
        if counts.is_user && counts.is_resumable && !titled {
            let said = fields.content.map(speech::says).unwrap_or_default();
            self.summary.first_user_message = (!said.is_empty()).then(|| said.into_owned());
        }
    }

    fn note(&mut self, id: u64, counts: Counts) {
        if let Some(places) = &mut self.places {
            places.entry(id).or_insert(self.records.len());
        }
        self.records.push(id);
        self.messages.insert(id, counts);
    }

    fn rewind(&mut self, id: Token<'_>) {
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

    fn metadata(&mut self, record: Token<'_>) {
        for (key, value) in record.members() {
            self.metadatum(key, value);
        }
    }

    fn metadatum(&mut self, key: Token<'_>, value: Token<'_>) {
        let field = match key.as_str() {
            "\"sessionId\"" => {
                self.summary.id = value.string().unwrap_or_default().into_owned();
                return;
            }
            "\"projectHash\"" => &mut self.summary.project_hash,
            "\"startTime\"" => &mut self.summary.start_time,
            "\"lastUpdated\"" => &mut self.summary.last_updated,
            "\"summary\"" => &mut self.summary.summary,
            "\"kind\"" => &mut self.summary.kind,
            _ => return,
        };
        let text = value.string().filter(|text| !text.is_empty());
        *field = text.map(Cow::into_owned);
    }

    fn finish(mut self) -> Result<Summary, Unreadable> {
        if self.summary.id.is_empty() || self.summary.project_hash.is_none() {
            return Err(Unreadable::NotASession);
        }
        self.summary.message_count = self.records.len() as u64;
        let count =
            |is: fn(&Counts) -> bool| self.messages.values().filter(|counts| is(counts)).count();
        self.summary.user_message_count = count(|counts| counts.is_user) as u64;
        self.summary.is_resumable = count(|counts| counts.is_resumable) > 0;
        Ok(self.summary)
    }
}

/// Not the id itself: files have many, and each is only ever compared.
fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// What belongs to an id, by what the id hashes to.
type ByHash<V> = HashMap<u64, V, BuildHasherDefault<AsIs>>;

/// What was hashed need not be hashed again.
#[derive(Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A session as one document, as up to 0.38. None if the text is something else.
fn document(text: &str) -> Option<Summary> {
    let mut is_session = false;
    let mut counted = Summary::default();
    let mut reading = Reading::default();
    let mut is_titled = false;
    let whole = scan_object_and_list(
        text,
        "messages",
        |message| count(message, &mut counted, &mut is_titled),
        |key, value| {
            is_session |= key.as_str() == "\"sessionId\"" && value.kind() == Kind::String;
            reading.metadatum(key, value);
        },
    );
    whole.ok()?;
    let summary = Summary {
        message_count: counted.message_count,
        user_message_count: counted.user_message_count,
        first_user_message: counted.first_user_message,
        is_resumable: counted.is_resumable,
        ..reading.summary
    };
    is_session.then_some(summary)
}

/// Counts a message. Only the first that says anything can be the title, be it without words.
fn count(message: Token<'_>, summary: &mut Summary, is_titled: &mut bool) {
    summary.message_count += 1;
    let mut members = message.members();
    let kind = members.find(|(key, _)| key.as_str() == "\"type\"");
    let is_user = kind.is_some_and(|(_, kind)| kind.is("user"));
    summary.user_message_count += u64::from(is_user);
    let is_untitled = is_user && !*is_titled;
    if summary.is_resumable && !is_untitled {
        return;
    }
    let fields = Fields::of(message);
    let counts = fields.counts();
    summary.is_resumable |= counts.is_resumable;
    if is_untitled && counts.is_resumable {
        *is_titled = true;
        let said = fields.content.map(speech::says).unwrap_or_default();
        summary.first_user_message = (!said.is_empty()).then(|| said.into_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    /// Every line read to the letter.
    fn to_the_letter(bytes: &[u8]) -> Option<Summary> {
        let mut reading = Reading::default();
        for line in bytes.split(|&byte| byte == b'\n') {
            reading.line(&text(line));
        }
        reading.finish().ok()
    }

    #[test]
    fn many_rewinds_take_as_long_as_many_records() {
        let count = 60_000;
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
        let began = std::time::Instant::now();
        let summary = Scanner::bytes(log.as_bytes()).unwrap();
        // Looking each of them up from the beginning took most of a minute.
        assert!(began.elapsed() < std::time::Duration::from_secs(8));
        assert_eq!(summary.message_count, count);
    }

    #[test]
    fn what_begins_with_no_object_is_not_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session-x.jsonl");
        let file = File::create(&path).unwrap();
        // Sparse: read whole it would be too large for any list.
        file.set_len(3 << 30).unwrap();
        let mut scanner = Scanner::default();
        assert!(matches!(scanner.file(&path), Err(Unreadable::NotASession)));
        assert!(scanner.buffer.len() < 8 * PIECE);
        // A torn line, a mark and blanks in front hide nothing.
        let record = "{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n";
        for before in [
            "torn\n",
            "\u{feff}",
            "\u{feff} \n\n",
            &" \n".repeat(PIECE),
            "\0\0\n",
        ] {
            std::fs::write(&path, format!("{before}{record}")).unwrap();
            assert_eq!(scanner.file(&path).unwrap().id, "s", "{}", before.len());
        }
    }

    #[test]
    fn a_record_of_more_than_a_gibibyte_is_too_long_and_its_memory_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session-x.jsonl");
        std::fs::write(&path, "{\"id\":\"").unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len((1 << 30) + 9)
            .unwrap();
        let mut scanner = Scanner::default();
        assert!(matches!(scanner.file(&path), Err(Unreadable::TooLarge)));
        assert_eq!(
            (scanner.buffer.capacity(), scanner.turn.is_none()),
            (0, true)
        );
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
        /// Torn records, followed by the next on the same line, are what crashes leave.
        #[test]
        fn a_glance_tells_what_reading_to_the_letter_tells(
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
            let mut read = Reading::default();
            read.lines(log.as_bytes());
            prop_assert_eq!(read.finish().ok(), to_the_letter(log.as_bytes()));
        }
    }
}
