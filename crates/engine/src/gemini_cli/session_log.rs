//! The log that Gemini CLI writes of a session while it runs: it has details that its streams lack.
//!
//! Measured with 0.61: the record of a call is written within a few milliseconds behind the line that ends the call, and the
//! model's answer before the line that ends the turn. Over ACP one record has all calls of a turn, and is written again with each
//! of them.
//!
//! The log is a file of the agent's, so it is read as hostile input: only a regular file whose header has the whole id of the
//! session, never through a link, and with a limit for each quantity that grows.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lapidary_json::{Token, TokenKind};
use lapidary_normalize::gemini::session_log::{TurnInLog, entry, turn_entry};
use lapidary_sessions::SessionStore;
use lapidary_wire::gemini::session::{MessagePart, MessageRecord};
use lapidary_wire::lines::{LineBuffer, RawLine};
use tokio::time::{Instant, sleep};

use crate::follow::CHUNK;
use crate::system::{open_regular, read_at};

/// How long the log may lag behind the stream.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long it may lag once an entry was missing in this turn.
const IMPATIENCE: Duration = Duration::from_millis(100);

/// How often the log is read while an entry is missing.
const POLL: Duration = Duration::from_millis(5);

/// How many bytes of the log are used in one run. Calls beyond that are not completed.
const MOST_BYTES: usize = 48 << 20;

/// Of a log that is longer when it is opened, such as that of a resumed session, only the end is read.
const MOST_HISTORY: u64 = 32 << 20;

/// How many files a session may have: a resumed one has two.
const MOST_FILES: usize = 8;

/// How many sessions of one connection are followed.
const MOST_SESSIONS: usize = 64;

/// So many calls of a session without a log look for it, one after the other. A look costs as much as ten calls.
const EAGER_LOOKS: u32 = 8;

/// Where Gemini CLI keeps its sessions.
#[derive(Debug, Clone)]
pub struct LogPlace {
    /// The sessions of the home that the agent sees.
    pub store: SessionStore,
    /// Where the agent works, unless a session says otherwise.
    pub directory: PathBuf,
}

/// The logs of all sessions of one connection.
#[derive(Debug)]
pub(crate) struct SessionLogs {
    place: LogPlace,
    logs: HashMap<String, SessionLog>,
    /// The last session that had no log yet, and how many of its calls wanted it.
    absent: Option<(String, u32)>,
    /// How long the log is waited for. Less once an entry was missing in this turn.
    patience: Duration,
    /// How often it was looked at again.
    waits: usize,
    used: usize,
}

/// The record of a call in the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallRecord {
    /// Its entry, for the recording and the normaliser.
    Entry(String),
    /// The log does not have it, or not in time.
    Missing,
    /// There is no log.
    NoLog,
    /// It is none of the model's calls, and not logged.
    NotLogged,
}

impl SessionLogs {
    pub(crate) fn new(place: LogPlace) -> Self {
        Self {
            place,
            logs: HashMap::new(),
            absent: None,
            patience: PATIENCE,
            waits: 0,
            used: 0,
        }
    }

    /// A session works in another directory, and its log lies with that.
    pub(crate) fn works_in(&mut self, directory: &Path) {
        directory.clone_into(&mut self.place.directory);
    }

    /// Whether a call that has ended is worth a look. Gemini CLI begins the log before the first call: an agent that has none after
    /// a few calls writes none, and its later calls look ever more seldom.
    pub(crate) fn count_look(&mut self, session: &str) -> bool {
        if self.logs.contains_key(session) {
            return true;
        }
        match &mut self.absent {
            Some((absent, calls)) if absent == session => {
                *calls += 1;
                *calls <= EAGER_LOOKS || calls.is_power_of_two()
            }
            absent => {
                *absent = Some((session.to_owned(), 1));
                true
            }
        }
    }

    /// The entry of a call that has just ended. Waits for the log if it is late.
    pub(crate) async fn call_record(&mut self, session: &str, id: &str) -> CallRecord {
        if self.used > MOST_BYTES {
            return CallRecord::Missing;
        }
        let began = Instant::now();
        loop {
            let Some(log) = self.log_of_session(session) else {
                return CallRecord::NoLog;
            };
            log.read_new_lines();
            if let Some((call, response)) = log.calls.remove(id) {
                log.bytes = log.bytes.saturating_sub(call.len());
                self.used += call.len();
                let call = Token::parse(&call).map(|call| entry(session, call, response));
                return call.map_or(CallRecord::Missing, CallRecord::Entry);
            }
            // Before the prompt is recorded no model was asked: the CLI itself reads files that the prompt names, and logs none of it.
            if log.prompts == 0 {
                return CallRecord::NotLogged;
            }
            if began.elapsed() >= self.patience {
                self.patience = self.patience.min(IMPATIENCE);
                return CallRecord::Missing;
            }
            self.wait_for_log().await;
        }
    }

    /// The turn is over: its request of this id was answered. Returns the entry for the turn from the log.
    pub(crate) async fn turn_ended(&mut self, session: &str, request: &str) -> Option<String> {
        let began = Instant::now();
        let is_unanswered = loop {
            let log = self.log_of_session(session)?;
            log.read_new_lines();
            if log.is_answered || log.prompts == 0 {
                break false;
            }
            if began.elapsed() >= self.patience {
                break true;
            }
            self.wait_for_log().await;
        };
        let log = self.log_of_session(session)?;
        let turn = TurnInLog {
            is_unanswered,
            ..log.turn
        };
        log.start_turn();
        self.patience = PATIENCE;
        Some(turn_entry(session, request, turn))
    }

    /// A turn ended without an answer. Its missing entries do not matter to the next.
    pub(crate) fn turn_given_up(&mut self, session: &str) {
        if let Some(log) = self.log_of_session(session) {
            log.read_new_lines();
            log.start_turn();
        }
        self.patience = PATIENCE;
    }

    async fn wait_for_log(&mut self) {
        self.waits += 1;
        sleep(POLL).await;
    }

    /// The log of a session. None if there is no file of it.
    fn log_of_session(&mut self, session: &str) -> Option<&mut SessionLog> {
        if !self.logs.contains_key(session) {
            if self.logs.len() >= MOST_SESSIONS {
                return None;
            }
            let log = SessionLog::find_log(&self.place, session)?;
            self.logs.insert(session.to_owned(), log);
        }
        self.logs.get_mut(session)
    }
}

/// The log of one session.
#[derive(Debug)]
struct SessionLog {
    files: Vec<LogFile>,
    /// Calls that no line has ended yet, as they stand in the log, and the numbers of their responses.
    calls: HashMap<String, (String, u64)>,
    /// How many responses of the model there were.
    responses: u64,
    bytes: usize,
    /// Calls that were seen: a record is written again with each of its calls.
    seen: HashSet<String>,
    /// Prompts since the last turn ended.
    prompts: usize,
    /// The last record is the model's.
    is_answered: bool,
    /// The counts since the last turn ended.
    turn: TurnInLog,
    /// The record that was counted last: it may be written again.
    counted: Option<String>,
}

#[derive(Debug)]
struct LogFile {
    file: File,
    offset: u64,
    lines: LineBuffer,
    /// As in [`SessionLog`], of this file alone: a session that was resumed has another without any turn.
    prompts: usize,
    is_answered: bool,
}

impl SessionLog {
    fn find_log(place: &LogPlace, session: &str) -> Option<Self> {
        let short: String = session.chars().take(8).collect();
        if short.is_empty() || !short.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return None;
        }
        let ending = format!("-{short}.jsonl");
        let is_named = |name: &str| name.starts_with("session-") && name.ends_with(&ending);
        let directory = place.directory.canonicalize();
        let directory = directory.unwrap_or_else(|_| place.directory.clone());
        let project = place.store.project(&directory);
        let entries = project.chats().filter_map(|chats| fs::read_dir(chats).ok());
        let named = entries.flatten().filter_map(Result::ok).filter(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(is_named)
        });
        let files: Vec<_> = named
            .filter_map(|entry| LogFile::open(&entry.path(), session))
            .take(MOST_FILES)
            .collect();
        (!files.is_empty()).then(|| Self {
            files,
            calls: HashMap::new(),
            responses: 0,
            bytes: 0,
            seen: HashSet::new(),
            prompts: 0,
            is_answered: true,
            turn: TurnInLog::default(),
            counted: None,
        })
    }

    /// Reads the lines written since the last look.
    fn read_new_lines(&mut self) {
        let mut files = std::mem::take(&mut self.files);
        for file in &mut files {
            (self.prompts, self.is_answered) = (file.prompts, file.is_answered);
            // A file that grows faster than it is read is left alone after a while, and looked at again.
            let most = file.offset + MOST_HISTORY;
            while file.offset < most && file.read_on() {
                while let Some(line) = file.lines.next_line() {
                    if let RawLine::Whole(line) = line
                        && let Ok(line) = std::str::from_utf8(line)
                        && let Ok(record) = Token::parse(line)
                    {
                        self.note_line(record);
                    }
                }
            }
            (file.prompts, file.is_answered) = (self.prompts, self.is_answered);
        }
        self.prompts = files.iter().map(|file| file.prompts).sum();
        let is_answered = |file: &LogFile| file.prompts == 0 || file.is_answered;
        self.is_answered = files.iter().all(is_answered);
        self.files = files;
    }

    fn note_line(&mut self, line: Token<'_>) {
        if let Some(patch) = line.get("$set") {
            let messages = patch
                .get("messages")
                .and_then(|it| it.if_kind(TokenKind::Array));
            let messages: Vec<_> = messages.into_iter().flat_map(Token::elements).collect();
            // A history that is written anew has no prompt that is new.
            let (prompts, turn) = (self.prompts, self.turn);
            for record in messages {
                self.note_record(record);
            }
            (self.prompts, self.turn) = (prompts, turn);
        } else {
            self.note_record(line);
        }
    }

    fn start_turn(&mut self) {
        self.prompts = 0;
        for file in &mut self.files {
            file.prompts = 0;
        }
        self.turn = TurnInLog::default();
    }

    /// Counts the tokens of a response, once.
    fn count_tokens(&mut self, record: &MessageRecord<'_>) {
        let id = record.id.map(|id| id.as_str().to_owned());
        let Some(tokens) = record.tokens.filter(|_| id != self.counted) else {
            return;
        };
        let add = |sum: &mut Option<u64>, name| {
            if let Some(count) = tokens.get(name).and_then(Token::u64) {
                *sum = Some(sum.unwrap_or(0).saturating_add(count));
            }
        };
        add(&mut self.turn.cached, "cached");
        add(&mut self.turn.total, "total");
        self.counted = id;
        self.responses += 1;
    }

    fn note_record(&mut self, record: Token<'_>) {
        let read = MessageRecord::from_token(record);
        let is = |kind| read.kind.is_some_and(|it| it.is(kind));
        if is("user") {
            let parts = read.parts();
            let is_result = |part: &MessagePart<'_>| matches!(part, MessagePart::FunctionResponse);
            self.is_answered = false;
            if !parts.iter().any(is_result) {
                self.prompts += 1;
                // Before it is history, which a resumed session may write again.
                self.turn = TurnInLog::default();
            }
        } else if is("gemini") {
            self.is_answered = true;
            self.count_tokens(&read);
            let calls = read.tool_calls.into_iter().flat_map(Token::elements);
            calls.for_each(|call| self.keep_call(call));
        }
    }

    /// Keeps a call that has ended. Of more than may be kept, none is.
    fn keep_call(&mut self, call: Token<'_>) {
        let id = call.get("id").and_then(Token::string);
        let (Some(id), Some(_)) = (id, call.get("result")) else {
            return;
        };
        if self.seen.contains(&*id) || self.bytes + call.as_str().len() > MOST_BYTES {
            return;
        }
        self.bytes += call.as_str().len();
        self.seen.insert(id.to_string());
        let call = (call.as_str().to_owned(), self.responses);
        self.calls.insert(id.into_owned(), call);
    }
}

impl LogFile {
    /// Opens a file if it is the session's.
    fn open(path: &Path, session: &str) -> Option<Self> {
        let file = open_regular(path).ok()?;
        let mut head = vec![0; CHUNK];
        let count = read_at(&file, &mut head, 0).ok()?;
        let first = head[..count].split(|byte| *byte == b'\n').next()?;
        let header = Token::parse(std::str::from_utf8(first).ok()?).ok()?;
        header.get("sessionId").filter(|id| id.is(session))?;
        let length = file.metadata().ok()?.len();
        let (offset, lines) = match length.checked_sub(MOST_HISTORY) {
            Some(offset @ 1..) => (offset, LineBuffer::midway(MOST_BYTES)),
            _ => (0, LineBuffer::with_limit(MOST_BYTES)),
        };
        Some(Self {
            file,
            offset,
            lines,
            prompts: 0,
            is_answered: true,
        })
    }

    /// Reads a piece. False if there is none.
    fn read_on(&mut self) -> bool {
        let Ok(count @ 1..) = read_at(&self.file, self.lines.room(), self.offset) else {
            return false;
        };
        self.lines.filled(count);
        self.offset += count as u64;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use lapidary_gemini::GeminiHome;

    use super::*;

    const ID: &str = "12345678-aaaa-bbbb-cccc-000000000000";

    /// A home with an empty log of a session.
    struct World {
        root: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let world = Self { root };
            fs::create_dir_all(world.chats()).unwrap();
            fs::create_dir_all(world.project()).unwrap();
            let project = world.project().canonicalize().unwrap();
            let names = serde_json::json!({"projects": {project.to_str().unwrap(): "project"}});
            let gemini = world.root.path().join("home/.gemini");
            fs::write(gemini.join("projects.json"), names.to_string()).unwrap();
            world
        }

        fn project(&self) -> PathBuf {
            self.root.path().join("project")
        }

        fn chats(&self) -> PathBuf {
            self.root.path().join("home/.gemini/tmp/project/chats")
        }

        fn log(&self) -> PathBuf {
            self.chats().join("session-2026-01-01T00-00-12345678.jsonl")
        }

        fn write(&self, text: &str) {
            let mut file = File::options();
            let mut file = file.append(true).create(true).open(self.log()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        fn logs(&self) -> SessionLogs {
            let vars = [("HOME".into(), self.root.path().join("home").into())];
            let vars: std::collections::BTreeMap<_, _> = vars.into();
            let home = self.root.path().join("home");
            let home = GeminiHome::from_vars(lapidary_gemini::Vars::new(&vars), Some(&home));
            SessionLogs::new(LogPlace {
                store: SessionStore::new(home.unwrap()),
                directory: self.project(),
            })
        }
    }

    fn header(id: &str) -> String {
        format!("{{\"sessionId\":\"{id}\",\"kind\":\"main\"}}\n")
    }

    const PROMPT: &str = "{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"text\":\"go\"}]}\n";

    fn call(id: &str) -> String {
        format!(
            "{{\"id\":\"g\",\"type\":\"gemini\",\"content\":\"\",\"toolCalls\":[{{\"id\":\"{id}\",\"name\":\"glob\",\"args\":{{}},\"result\":[]}}]}}\n"
        )
    }

    #[tokio::test]
    async fn a_call_is_waited_for_and_given_once() {
        let world = World::new();
        world.write(&header(ID));
        world.write(PROMPT);
        let mut logs = world.logs();
        let line = call("c-1");
        let (half, rest) = line.split_at(20);
        world.write(half);
        let writing = async {
            sleep(POLL * 3).await;
            world.write(rest);
        };
        let (found, ()) = tokio::join!(logs.call_record(ID, "c-1"), writing);
        let CallRecord::Entry(entry) = found else {
            panic!("{found:?}");
        };
        assert!(entry.contains("\"toolCall\":{\"id\":\"c-1\""), "{entry}");
        // The record is written again with the next call.
        world.write(&call("c-1"));
        assert_eq!(logs.call_record(ID, "c-1").await, CallRecord::Missing);
        // The next one is waited for less.
        assert_eq!(logs.patience, IMPATIENCE);
        assert_eq!(logs.call_record(ID, "c-2").await, CallRecord::Missing);
    }

    #[tokio::test]
    async fn only_a_regular_file_of_this_session_is_read() {
        let world = World::new();
        let mut logs = world.logs();
        assert_eq!(logs.call_record(ID, "c").await, CallRecord::NoLog);
        assert_eq!(logs.call_record("../../x", "c").await, CallRecord::NoLog);
        // Of another session with the same beginning.
        world.write(&header("12345678-other"));
        world.write(&call("c"));
        assert_eq!(logs.call_record(ID, "c").await, CallRecord::NoLog);
        // Behind a link.
        let elsewhere = world.root.path().join("elsewhere.jsonl");
        fs::rename(world.log(), &elsewhere).unwrap();
        fs::write(&elsewhere, header(ID) + PROMPT + &call("c")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&elsewhere, world.log()).unwrap();
        assert_eq!(logs.call_record(ID, "c").await, CallRecord::NoLog);
        fs::remove_file(world.log()).unwrap();
        fs::rename(&elsewhere, world.log()).unwrap();
        assert!(matches!(
            logs.call_record(ID, "c").await,
            CallRecord::Entry(_)
        ));
    }

    #[tokio::test]
    async fn an_absent_log_is_looked_for_ever_more_seldom_and_found_when_it_is_there() {
        let world = World::new();
        let mut logs = world.logs();
        let looks: Vec<_> = (1..=2_000).filter(|_| logs.count_look(ID)).collect();
        let seldom = [16, 32, 64, 128, 256, 512, 1_024];
        let expected: Vec<_> = (1..=8).chain(seldom).collect();
        assert_eq!(looks, expected);
        assert!(logs.count_look("another"));
        world.write(&(header(ID) + PROMPT + &call("c-1")));
        assert!(matches!(
            logs.call_record(ID, "c-1").await,
            CallRecord::Entry(_)
        ));
        assert!((0..20).all(|_| logs.count_look(ID)));
    }

    #[tokio::test]
    async fn a_call_before_the_prompt_is_recorded_is_not_the_models_and_not_waited_for() {
        let world = World::new();
        world.write(&header(ID));
        let mut logs = world.logs();
        assert_eq!(logs.call_record(ID, "read-1").await, CallRecord::NotLogged);
        assert_eq!(logs.waits, 0);
    }

    #[tokio::test]
    async fn a_turn_without_an_answer_of_the_model_is_told() {
        let answer = "{\"id\":\"g\",\"type\":\"gemini\",\"content\":\"hi\",\"tokens\":{\"cached\":1,\"total\":9}}\n";
        let results = "{\"id\":\"r\",\"type\":\"user\",\"content\":[{\"functionResponse\":{}}]}\n";
        let rolled_back =
            "{\"$set\":{\"messages\":[{\"id\":\"x\",\"type\":\"user\",\"content\":\"c\"}]}}\n";
        let unanswered = Some(true);
        for (records, expected) in [
            (vec![PROMPT, answer], None),
            (vec![PROMPT], unanswered),
            (vec![PROMPT, answer, results], unanswered),
            (vec![PROMPT, answer, results, answer], None),
            (vec![PROMPT, rolled_back], unanswered),
            // A command of the CLI's own, such as `/memory show`, is no prompt.
            (vec![], None),
        ] {
            let world = World::new();
            world.write(&header(ID));
            world.write(&records.concat());
            let mut logs = world.logs();
            logs.patience = POLL;
            let entry = logs.turn_ended(ID, "7").await.unwrap();
            let is_unanswered = entry.contains("\"isUnanswered\":true").then_some(true);
            assert_eq!(is_unanswered, expected, "{records:?} {entry}");
            assert!(entry.contains("\"request\":\"7\""), "{entry}");
        }
    }

    #[tokio::test]
    async fn tokens_of_earlier_turns_are_not_counted() {
        let answer = |id: &str, total: u32| {
            format!(
                "{{\"id\":\"{id}\",\"type\":\"gemini\",\"content\":\"hi\",\"tokens\":{{\"total\":{total}}}}}\n"
            )
        };
        let world = World::new();
        world.write(&header(ID));
        world.write(&[PROMPT, &answer("g", 110), PROMPT, &answer("h", 7)].concat());
        let mut logs = world.logs();
        logs.patience = POLL;
        let entry = logs.turn_ended(ID, "7").await.unwrap();
        assert!(entry.contains("\"total\":7"), "{entry}");
    }

    /// 0.61 begins another file with the same id, and writes no turn into it.
    #[tokio::test]
    async fn a_resumed_session_has_a_second_file_that_answers_nothing() {
        let world = World::new();
        let answer = "{\"id\":\"g\",\"type\":\"gemini\",\"content\":\"hi\"}\n";
        world.write(&(header(ID) + PROMPT + answer));
        let context =
            "{\"$set\":{\"messages\":[{\"id\":\"x\",\"type\":\"user\",\"content\":\"c\"}]}}\n";
        let stub = world
            .chats()
            .join("session-2026-02-02T00-00-12345678.jsonl");
        fs::write(stub, header(ID) + context).unwrap();
        let mut logs = world.logs();
        logs.patience = POLL;
        let entry = logs.turn_ended(ID, "7").await.unwrap();
        assert!(!entry.contains("isUnanswered"), "{entry}");
    }
}
