//! Tokens, turns and calls of rollouts, without the texts around them.
//!
//! A record names its type within its first bytes, so most lines are neither searched nor parsed.

use std::io;
use std::sync::LazyLock;

use lapidary_json::{Token, TokenKind, scan_prefix};
use lapidary_vocab::event::Provider;
use lapidary_vocab::stats::TokenCounts;
use lapidary_wire::codex::rollout::RolloutRecord;
use lapidary_wire::lines::RawLine;
use memchr::memmem::Finder;

use super::CodexSessions;
use super::files::find_in_home;
use super::line_head::RolloutHead;
use crate::by_hash::{HashedIds, hash};
use crate::provider::{UsageFile, UsageFiles, UsageReader};
use crate::provider_scope::{ProviderScope, WantedDirectories};
use crate::times::epoch_ms;
use crate::usage_lines::each_line;
use crate::usage_notes::{NoteKind, NotedCall, NotedMessage, ResponseKey, UsageNotes};

static EXIT_CODE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("exit_code"));
static EXITED: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("Process exited with code "));
static ASSISTANT: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new("\"role\":\"assistant\""));
static REFUSALS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["rejected", "unsupported ", "approval policy is "].map(Finder::new));

/// The longest time between two counts of a history that is copied, in milliseconds.
const INHERITED_GAP_MS: i64 = 1000;

impl UsageReader for CodexSessions {
    fn usage_files(&self, _scope: &ProviderScope<'_>) -> UsageFiles {
        let found = find_in_home(&self.home);
        UsageFiles {
            files: found.files.into_iter().map(|it| it.path.into()).collect(),
            warnings: found.warnings,
        }
    }

    fn read_usage(
        &self,
        file: &UsageFile,
        wanted: &WantedDirectories,
        take: &mut dyn FnMut(UsageNotes),
    ) -> io::Result<()> {
        let mut reading = RolloutUsage::new(wanted);
        each_line(&file.path, |line| {
            reading.add_line(line);
            !reading.is_elsewhere
        })?;
        reading.finish().map(take);
        Ok(())
    }
}

/// One rollout that is being read.
struct RolloutUsage<'w> {
    notes: UsageNotes,
    wanted: &'w WantedDirectories,
    is_elsewhere: bool,
    model: Option<String>,
    /// The tokens of the whole session, as the last count had them.
    total: Option<RolloutTokens>,
    /// Calls of the response that is going on.
    recent: Vec<NotedCall>,
    /// The calls that failed.
    errors: HashedIds,
    /// Whether the session began with the history of another: a fork, or a sub-agent's.
    has_history: bool,
    line: u64,
}

/// `last_token_usage` or `total_token_usage`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct RolloutTokens {
    input: u64,
    cached: u64,
    cache_written: u64,
    output: u64,
    reasoning: u64,
    total: u64,
}

impl<'w> RolloutUsage<'w> {
    fn new(wanted: &'w WantedDirectories) -> Self {
        Self {
            notes: UsageNotes::new("", Provider::Codex),
            wanted,
            is_elsewhere: false,
            model: None,
            total: None,
            recent: Vec::new(),
            errors: HashedIds::default(),
            has_history: false,
            line: 0,
        }
    }

    fn add_line(&mut self, line: &[u8]) {
        self.line += 1;
        if let Some(count) = TokenCountLine::read(line) {
            return self.add_tokens(Some(count.timestamp), count.last, count.total);
        }
        if !may_count(line) {
            return;
        }
        let Some(record) = RolloutRecord::from_line(RawLine::Whole(line)) else {
            return;
        };
        match record.kind.and_then(Token::string).as_deref() {
            Some("session_meta") => self.add_beginning(&record),
            Some("turn_context") => {
                let model = record.string("model").and_then(Token::string);
                self.model = model.map(String::from).or(self.model.take());
            }
            Some("event_msg") => self.add_event(&record),
            Some("response_item") => self.add_item(&record),
            _ => {}
        }
    }

    fn add_beginning(&mut self, record: &RolloutRecord<'_>) {
        if !self.notes.session.is_empty() {
            return; // that of the session that this one continues
        }
        let text = |key| record.string(key).and_then(Token::string);
        self.notes.session = text("id").map(String::from).unwrap_or_default();
        self.notes.project = text("cwd").map(String::from);
        let directory = self.notes.project.as_deref().unwrap_or_default();
        self.is_elsewhere = !self.wanted.contains(directory);
        let source = record.get("source").map(Token::as_str);
        self.notes.is_subagent = source.is_some_and(|source| source.contains("thread_spawn"));
        self.has_history = self.notes.is_subagent || record.get("forked_from_id").is_some();
    }

    fn add_event(&mut self, record: &RolloutRecord<'_>) {
        let [kind, info, item] = payload_members(record, ["type", "info", "item"]);
        match kind.and_then(Token::string).as_deref() {
            Some("token_count") => {
                let names = ["last_token_usage", "total_token_usage"];
                let counts = info.map_or([None; 2], |info| info.get_each(names));
                let [last, total] = counts.map(|it| RolloutTokens::from_token(it?));
                self.add_tokens(record.timestamp, last, total);
            }
            Some("item_completed") => {
                let [id, code] = item.map_or([None; 2], |it| it.get_each(["id", "exit_code"]));
                self.add_exit(id, code);
            }
            _ => {}
        }
    }

    fn add_exit(&mut self, id: Option<Token<'_>>, code: Option<Token<'_>>) {
        let is_failure = code.is_some_and(|code| {
            code.kind() == TokenKind::Number && !matches!(code.as_str(), "0" | "-0")
        });
        if is_failure {
            self.errors.insert(call_id(id));
        }
    }

    /// Codex repeats counts with each new rate limit: one with the same total is the same.
    fn add_tokens(
        &mut self,
        timestamp: Option<Token<'_>>,
        last: Option<RolloutTokens>,
        total: Option<RolloutTokens>,
    ) {
        if total.is_some() && total == self.total {
            return;
        }
        let before = self.total.unwrap_or_default();
        self.total = total.or(self.total);
        let Some(used) = last.or_else(|| Some(total?.since(&before))) else {
            return;
        };
        if used == RolloutTokens::default() {
            return;
        }
        let time = timestamp.map(Token::as_str);
        let exact = hash((time, self.model.as_deref(), used));
        for call in self.recent.drain(..) {
            let call = NotedCall {
                message: exact,
                ..call
            };
            self.notes.put_call(call);
        }
        let model = self.model.clone();
        let model = model.map(|model| self.notes.name_number(&model));
        self.put_note(exact, NoteKind::Answer, timestamp, |note| NotedMessage {
            model,
            tokens: Some(used.token_counts()),
            ..note
        });
    }

    fn put_note(
        &mut self,
        exact: u64,
        kind: NoteKind,
        timestamp: Option<Token<'_>>,
        complete: impl FnOnce(NotedMessage) -> NotedMessage,
    ) {
        let time = timestamp.and_then(Token::string);
        let note = NotedMessage {
            id: exact,
            kind,
            time: time.and_then(|time| epoch_ms(&time)),
            model: None,
            tokens: None,
            response: Some(ResponseKey {
                exact,
                message: None,
                is_sidechain: false,
            }),
        };
        self.notes.put_message(complete(note));
    }

    fn add_item(&mut self, record: &RolloutRecord<'_>) {
        let [kind, name, id] = payload_members(record, ["type", "name", "call_id"]);
        let id = id.and_then(|id| id.if_kind(TokenKind::String));
        match kind.and_then(Token::string).as_deref() {
            Some("message") if !record.is_context() => {
                let time = record.timestamp.map(Token::as_str);
                let exact = hash(("turn", &self.notes.session, time, self.line));
                self.put_note(exact, NoteKind::Turn, record.timestamp, |note| note);
            }
            Some("function_call" | "custom_tool_call") => {
                let name = name.and_then(Token::string);
                let tool = self.notes.name_number(name.as_deref().unwrap_or_default());
                self.recent.push(NotedCall {
                    id: call_id(id),
                    message: 0,
                    tool,
                    is_error: false,
                    is_cancelled: false,
                });
            }
            Some("function_call_output" | "custom_tool_call_output") if record.has_failed() => {
                self.errors.insert(call_id(id));
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Option<UsageNotes> {
        if self.notes.session.is_empty() || self.is_elsewhere {
            return None;
        }
        if self.has_history {
            self.drop_inherited_counts();
        }
        // The calls of a response that was interrupted before its tokens were counted.
        let last = self.notes.messages.last().map(|note| note.id);
        for call in std::mem::take(&mut self.recent) {
            let message = last.unwrap_or_default();
            self.notes.put_call(NotedCall { message, ..call });
        }
        self.notes.mark_failed(&self.errors);
        (!self.notes.messages.is_empty()).then_some(self.notes)
    }

    /// Such a session begins with the counts of the other, written one right after the other with times of their own. ccusage
    /// 20.0.24 leaves them out by the same rule.
    fn drop_inherited_counts(&mut self) {
        let messages = self.notes.messages.iter_mut();
        let mut answers: Vec<_> = messages
            .filter(|note| note.kind == NoteKind::Answer)
            .collect();
        let gaps = answers.windows(2).map(|pair| {
            let (before, after) = (pair[0].time?, pair[1].time?);
            Some(after - before)
        });
        let is_close = |gap: &Option<i64>| gap.is_some_and(|gap| gap <= INHERITED_GAP_MS);
        let close = gaps.take_while(is_close).count();
        let inherited = if close == 0 { 0 } else { close + 1 };
        for note in answers.iter_mut().take(inherited) {
            note.kind = NoteKind::Repeated;
        }
    }
}

/// A count of tokens as Codex CLI writes it, read without parsing the whole line: every response has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TokenCountLine<'l> {
    timestamp: Token<'l>,
    total: Option<RolloutTokens>,
    last: Option<RolloutTokens>,
}

impl<'l> TokenCountLine<'l> {
    /// None for another line, and for a count that is written in another way or cut off.
    fn read(line: &'l [u8]) -> Option<Self> {
        let head = RolloutHead::read(line).filter(|_| line.ends_with(b"}}"))?;
        if (head.kind, head.payload) != (b"event_msg", Some(b"token_count")) {
            return None;
        }
        let text = simdutf8::basic::from_utf8(line).ok()?;
        let (timestamp, _) = scan_prefix(&text["{\"timestamp\":".len()..]).ok()?;
        let info = "\"info\":{\"total_token_usage\":";
        let start = text.find(info)? + info.len();
        let (total, rest) = scan_prefix(&text[start..]).ok()?;
        let (last, rest) = scan_prefix(rest.strip_prefix(",\"last_token_usage\":")?).ok()?;
        let behind_info = end_of_object(rest)?;
        let behind_payload = end_of_object(behind_info)?;
        let is_whole = end_of_object(behind_payload)?.is_empty();
        is_whole.then_some(Self {
            timestamp,
            total: RolloutTokens::from_token(total),
            last: RolloutTokens::from_token(last),
        })
    }
}

/// The text behind an object whose last members may follow here.
fn end_of_object(mut rest: &str) -> Option<&str> {
    while let Some(member) = rest.strip_prefix(',') {
        let (key, value) = scan_prefix(member).ok()?;
        key.if_kind(TokenKind::String)?;
        rest = scan_prefix(value.strip_prefix(':')?).ok()?.1;
    }
    rest.strip_prefix('}')
}

impl RolloutTokens {
    fn from_token(usage: Token<'_>) -> Option<Self> {
        let mut read = Self::default();
        for (key, value) in usage.if_kind(TokenKind::Object)?.members() {
            let field = match key.as_str() {
                "\"input_tokens\"" => &mut read.input,
                "\"cached_input_tokens\"" => &mut read.cached,
                "\"cache_write_input_tokens\"" => &mut read.cache_written,
                "\"output_tokens\"" => &mut read.output,
                "\"reasoning_output_tokens\"" => &mut read.reasoning,
                "\"total_tokens\"" => &mut read.total,
                _ => continue,
            };
            *field = value.u64().unwrap_or_default();
        }
        Some(read)
    }

    /// The tokens since an earlier total.
    fn since(&self, before: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            cache_written: self.cache_written.saturating_sub(before.cache_written),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
            total: self.total.saturating_sub(before.total),
        }
    }

    /// The input is the whole prompt, and reasoning is part of the output.
    fn token_counts(&self) -> TokenCounts {
        let parts = self.input.saturating_add(self.output);
        TokenCounts {
            input: self.input,
            output: self.output,
            cached: self.cached.min(self.input),
            cache_written: self.cache_written,
            total: self.total.max(parts),
            ..TokenCounts::default()
        }
    }
}

/// Members of the payload, in one pass. None for those that are `null`.
fn payload_members<'a, const N: usize>(
    record: &RolloutRecord<'a>,
    keys: [&str; N],
) -> [Option<Token<'a>>; N] {
    let members = record.payload.map(|payload| payload.get_each(keys));
    members.map_or([None; N], |found| found.map(|it| it?.non_null()))
}

fn call_id(id: Option<Token<'_>>) -> u64 {
    hash(("call", id.map(Token::as_str)))
}

/// Whether a line can be of use. One that does not begin as Codex CLI writes it is read whole.
fn may_count(line: &[u8]) -> bool {
    let Some(head) = RolloutHead::read(line) else {
        return true;
    };
    match (head.kind, head.payload) {
        (b"session_meta" | b"turn_context", _)
        | (b"event_msg" | b"response_item", None)
        | (b"response_item", Some(b"function_call" | b"custom_tool_call")) => true,
        (b"event_msg", Some(kind)) => {
            kind == b"token_count" || (kind == b"item_completed" && has_exit_code(line))
        }
        (b"response_item", Some(b"message")) => {
            let head = &line[..line.len().min(512)];
            ASSISTANT.find(head).is_none()
        }
        (b"response_item", Some(b"function_call_output" | b"custom_tool_call_output")) => {
            has_exit_code(line) || may_have_failed(line)
        }
        _ => false,
    }
}

/// Whether the beginning of a result may say that its call failed.
fn may_have_failed(line: &[u8]) -> bool {
    let head = &line[..line.len().min(LONGEST_HEAD)];
    if let Some(place) = EXITED.find(head) {
        return head.get(place + EXITED.needle().len()) != Some(&b'0');
    }
    REFUSALS.iter().any(|words| words.find(head).is_some())
}

/// How many bytes of a result are searched for the sentence of a failure, which comes first.
const LONGEST_HEAD: usize = 1024;

fn has_exit_code(line: &[u8]) -> bool {
    EXIT_CODE.find(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The notes of a line, read at its places and parsed.
    fn check(line: &str, is_short_way: bool) {
        assert_eq!(
            TokenCountLine::read(line.as_bytes()).is_some(),
            is_short_way,
            "{line}"
        );
        let wanted = WantedDirectories::Every;
        let tokens = |line: &str| {
            let mut reading = RolloutUsage::new(&wanted);
            reading.add_line(line.as_bytes());
            let notes = reading.notes.messages.into_iter();
            let notes = notes.map(|note| (note.id, note.time, note.tokens));
            (notes.collect::<Vec<_>>(), reading.total)
        };
        // A space keeps it from being read at its places.
        let parsed = tokens(&line.replacen(':', ": ", 1));
        assert_eq!(tokens(line), parsed, "{line}");
    }

    #[test]
    fn a_count_that_is_read_at_its_places_is_that_of_the_parsed_line() {
        let usage = r#"{"input_tokens":9,"cached_input_tokens":5,"output_tokens":3,"reasoning_output_tokens":1,"total_tokens":12}"#;
        let line = format!(
            r#"{{"timestamp":"2026-01-02T10:03:51.001Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{usage},"last_token_usage":{usage},"model_context_window":258400}},"rate_limits":null}}}}"#
        );
        check(&line, true);
        for (part, other) in [
            ("null", r#"{"primary":{"used_percent":1.5}}"#),
            (r#""type":"event_msg""#, r#""ordinal":7,"type":"event_msg""#),
            (r#","model_context_window":258400"#, ""),
            (
                r#","model"#,
                r#","last_usage_includes_reasoning":false,"model"#,
            ),
        ] {
            check(&line.replace(part, other), true);
        }
        for (part, other) in [
            ("info\":{", "info\":null,\"x\":{"),
            ("258400}", "258400"),
            ("null}}", "nul}}"),
            ("null}}", "null}"),
        ] {
            check(&line.replace(part, other), false);
        }
    }
}
