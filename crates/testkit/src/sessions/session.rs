//! One session, record by record.

use std::fmt::Write as _;

use super::pen::JsonPen;
use super::words::{Vocabulary, WordVoice};
use super::{CorpusSession, NEEDLE, SessionCounts, SessionFormat};
use crate::mutate::SeededRng;

/// Which session is to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionPlan<'a> {
    pub(super) session: &'a CorpusSession,
    pub(super) project_hash: &'a str,
    pub(super) format: SessionFormat,
    pub(super) bytes: usize,
    pub(super) clock: SessionClock,
}

impl SessionPlan<'_> {
    pub(super) fn write(
        self,
        vocabulary: &Vocabulary,
        mut rng: SeededRng,
        out: &mut String,
    ) -> SessionCounts {
        let id = random_uuid(&mut rng);
        debug_assert_eq!(id, self.session.id, "the id comes first");
        let mut writer = SessionWriter {
            plan: self,
            pen: JsonPen::new(out, self.format == SessionFormat::Json),
            voice: WordVoice { vocabulary, rng },
            clock: self.clock,
            needle_in: self.session.has_needle.then_some(NeedlePlace::from_id(&id)),
            counts: SessionCounts {
                messages: 0,
                superseded: 0,
                calls: 0,
            },
        };
        match self.format {
            SessionFormat::Jsonl => writer.log(),
            SessionFormat::Json => writer.document(),
        }
        writer.counts
    }
}

/// Where the needle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NeedlePlace {
    Prompt,
    Answer,
    Output,
}

impl NeedlePlace {
    fn from_id(id: &str) -> Self {
        match id.as_bytes()[0] % 3 {
            0 => Self::Prompt,
            1 => Self::Answer,
            _ => Self::Output,
        }
    }
}

#[derive(Debug)]
struct SessionWriter<'a> {
    plan: SessionPlan<'a>,
    pen: JsonPen<'a>,
    voice: WordVoice<'a>,
    clock: SessionClock,
    needle_in: Option<NeedlePlace>,
    counts: SessionCounts,
}

/// A call of a tool and its result.
#[derive(Debug)]
struct WrittenCall {
    id: String,
    tool: usize,
    path: String,
    output: String,
    at: String,
}

/// The name, the name on the screen, and the argument it takes.
const TOOLS: [(&str, &str, &str); 5] = [
    ("read_file", "ReadFile", "file_path"),
    ("run_shell_command", "Shell", "command"),
    ("grep_search", "SearchText", "pattern"),
    ("list_directory", "ReadFolder", "dir_path"),
    ("replace", "Edit", "file_path"),
];

impl SessionWriter<'_> {
    fn log(&mut self) {
        self.pen.open('{');
        self.head();
        self.pen.text("kind", "main");
        self.pen.close('}');
        self.context();
        while !self.is_full() {
            self.turn_of_log();
        }
        if self.plan.session.has_summary {
            self.patch(Self::summary);
        }
    }

    fn document(&mut self) {
        self.pen.open('{');
        self.head();
        let updated = self.pen.out.len() - 1;
        self.pen.key("messages");
        self.pen.open('[');
        while !self.is_full() {
            self.turn_of_document();
        }
        self.pen.close(']');
        if self.plan.session.has_summary {
            self.summary();
        }
        self.pen.close('}');
        // The time of the last change stands before all the changes.
        let now = self.clock.stamp();
        self.pen
            .out
            .replace_range(updated - now.len()..updated, &now);
    }

    /// True when there is no room for another turn, which is hardly ever smaller than that. There is always one.
    fn is_full(&self) -> bool {
        self.counts.calls > 0 && self.room() < 3_000
    }

    fn room(&self) -> usize {
        self.plan.bytes.saturating_sub(self.pen.out.len())
    }

    fn head(&mut self) {
        let start = self.clock.stamp();
        self.pen.text("sessionId", &self.plan.session.id);
        self.pen.text("projectHash", self.plan.project_hash);
        self.pen.text("startTime", &start);
        self.pen.text("lastUpdated", &start);
    }

    fn summary(&mut self) {
        let mut text = String::new();
        self.voice.prose(&mut text, 50);
        let text = text.replace("\\n", " ");
        self.pen.text("summary", text.trim());
    }

    /// `{"$set":{…}}`.
    fn patch(&mut self, inner: impl FnOnce(&mut Self)) {
        self.pen.open('{');
        self.pen.key("$set");
        self.pen.open('{');
        inner(self);
        self.pen.close('}');
        self.pen.close('}');
    }

    fn touch(&mut self) {
        let now = self.clock.stamp();
        self.patch(|writer| writer.pen.text("lastUpdated", &now));
    }

    /// The CLI's first message to the model, in the checkpoint that opens every log.
    fn context(&mut self) {
        let mut text = CONTEXT.to_owned();
        for _ in 0..12 {
            text.push_str("├───");
            self.voice.prose(&mut text, 8);
            text.push_str("\\n");
        }
        text.push_str("\\n</session_context>");
        self.patch(|writer| {
            writer.pen.key("messages");
            writer.pen.open('[');
            writer.pen.item();
            writer.user(&text);
            writer.pen.close(']');
            let now = writer.clock.stamp();
            writer.pen.text("lastUpdated", &now);
        });
    }

    /// A question, a call or two, and an answer: four messages, of which one is written twice.
    fn turn_of_log(&mut self) {
        let prompt = self.prompt();
        self.user(&prompt);
        self.touch();
        let answer = self.begin_answer(60);
        self.answer(&answer, &[]);
        self.touch();
        let calls = self.calls();
        self.answer(&answer, &calls);
        self.counts.messages -= 1;
        self.counts.superseded += 1;
        self.responses(&calls);
        self.touch();
        let last = self.begin_answer(250);
        self.answer(&last, &[]);
        self.touch();
    }

    fn turn_of_document(&mut self) {
        let prompt = self.prompt();
        self.pen.item();
        self.user(&prompt);
        let answer = self.begin_answer(60);
        let calls = self.calls();
        self.pen.item();
        self.answer(&answer, &calls);
        let last = self.begin_answer(250);
        self.pen.item();
        self.answer(&last, &[]);
    }

    fn prompt(&mut self) -> String {
        let mut text = "Please ".to_owned();
        let length = 20 + self.voice.rng.below(150);
        self.voice.prose(&mut text, length);
        self.hide_needle(NeedlePlace::Prompt, &mut text);
        text
    }

    /// The needle is put where it belongs, once.
    fn hide_needle(&mut self, place: NeedlePlace, text: &mut String) {
        if self.needle_in == Some(place) {
            self.needle_in = None;
            text.push(' ');
            text.push_str(NEEDLE);
            text.push_str(".\\n");
        }
    }

    /// A message of the user, which 0.24.0 wrote as a string and 0.61.0 as a list of parts.
    fn user(&mut self, text: &str) {
        let id = random_uuid(&mut self.voice.rng);
        self.message("user", &id);
        match self.plan.format {
            SessionFormat::Json => self.pen.text("content", text),
            SessionFormat::Jsonl => {
                self.pen.key("content");
                self.pen.open('[');
                self.pen.item();
                self.pen.open('{');
                self.pen.text("text", text);
                self.pen.close('}');
                self.pen.close(']');
            }
        }
        self.pen.close('}');
    }

    fn message(&mut self, kind: &str, id: &str) {
        self.counts.messages += 1;
        self.clock.advance(&mut self.voice.rng);
        let now = self.clock.stamp();
        self.pen.open('{');
        self.pen.text("id", id);
        self.pen.text("timestamp", &now);
        self.pen.text("type", kind);
    }

    fn begin_answer(&mut self, length: usize) -> WrittenAnswer {
        let mut text = String::new();
        let length = length / 2 + self.voice.rng.below(length);
        self.voice.prose(&mut text, length);
        self.hide_needle(NeedlePlace::Answer, &mut text);
        let mut thought = String::new();
        self.voice.prose(&mut thought, 90);
        WrittenAnswer {
            id: random_uuid(&mut self.voice.rng),
            text,
            thought,
            input: 1_000 + self.voice.rng.below(90_000),
        }
    }

    fn answer(&mut self, answer: &WrittenAnswer, calls: &[WrittenCall]) {
        self.message("gemini", &answer.id);
        self.pen.text("content", &answer.text);
        self.thoughts(answer);
        self.tokens(answer.input);
        self.pen.text("model", "gemini-2.5-flash");
        if !calls.is_empty() {
            self.pen.key("toolCalls");
            self.pen.open('[');
            for call in calls {
                self.pen.item();
                self.call(call);
            }
            self.pen.close(']');
        }
        self.pen.close('}');
    }

    fn thoughts(&mut self, answer: &WrittenAnswer) {
        let now = self.clock.stamp();
        self.pen.key("thoughts");
        self.pen.open('[');
        self.pen.item();
        self.pen.open('{');
        self.pen.text("subject", "Looking around");
        self.pen.text("description", &answer.thought);
        self.pen.text("timestamp", &now);
        self.pen.close('}');
        self.pen.close(']');
    }

    fn tokens(&mut self, input: usize) {
        self.pen.key("tokens");
        self.pen.open('{');
        for (name, value) in [
            ("input", input),
            ("output", 120),
            ("cached", input / 2),
            ("thoughts", 40),
            ("tool", 0),
            ("total", input + 160),
        ] {
            self.pen.value(name, &value.to_string());
        }
        self.pen.close('}');
    }

    fn calls(&mut self) -> Vec<WrittenCall> {
        let together = 1 + usize::from(self.voice.rng.below(3) == 0);
        let calls: Vec<_> = (0..together).map(|_| self.made_call(together)).collect();
        self.counts.calls += calls.len() as u64;
        calls
    }

    /// Outputs are from a few hundred bytes to 40 KB long, as far as there is room.
    fn made_call(&mut self, together: usize) -> WrittenCall {
        let start = 300 << self.voice.rng.below(7);
        let length = start + self.voice.rng.below(start);
        // A log has each output twice, and the screen's copy of some makes it thrice.
        let room = self.room() / (3 * together);
        let mut output = String::new();
        self.voice.output(&mut output, length.min(room).max(60));
        self.hide_needle(NeedlePlace::Output, &mut output);
        let tool = self.voice.rng.below(TOOLS.len());
        let mut path = "src/".to_owned();
        self.voice.prose(&mut path, 12);
        let at = self.clock.stamp();
        let number = self.voice.rng.below(1 << 30);
        let name = TOOLS[tool].0;
        WrittenCall {
            id: format!("{name}__{name}_17947{number:08}_0"),
            tool,
            path: path.replace("\\n", "").trim().to_owned(),
            output,
            at,
        }
    }

    fn call(&mut self, call: &WrittenCall) {
        let (name, display, argument) = TOOLS[call.tool];
        self.pen.open('{');
        self.pen.text("id", &call.id);
        self.pen.text("name", name);
        self.pen.key("args");
        self.pen.open('{');
        self.pen.text(argument, &call.path);
        self.pen.close('}');
        self.pen.key("result");
        self.pen.open('[');
        self.pen.item();
        self.response(call);
        self.pen.close(']');
        self.pen.text("status", "success");
        self.pen.text("timestamp", &call.at);
        // The shell's output is kept for the screen as well; of others only a word.
        let shown = if name == "run_shell_command" {
            &call.output
        } else {
            "Done."
        };
        self.pen.text("resultDisplay", shown);
        self.pen.text("description", DESCRIPTION);
        self.pen.text("displayName", display);
        self.pen.value("renderOutputAsMarkdown", "true");
        self.pen.close('}');
    }

    fn response(&mut self, call: &WrittenCall) {
        self.pen.open('{');
        self.pen.key("functionResponse");
        self.pen.open('{');
        self.pen.text("id", &call.id);
        self.pen.text("name", TOOLS[call.tool].0);
        self.pen.key("response");
        self.pen.open('{');
        self.pen.text("output", &call.output);
        self.pen.close('}');
        self.pen.close('}');
        self.pen.close('}');
    }

    /// The results of the model's calls: in a log, a message of the user's.
    fn responses(&mut self, calls: &[WrittenCall]) {
        let id = random_uuid(&mut self.voice.rng);
        self.message("user", &id);
        self.pen.key("content");
        self.pen.open('[');
        for call in calls {
            self.pen.item();
            self.response(call);
        }
        self.pen.close(']');
        self.pen.close('}');
    }
}

/// An answer of the model, before it is known which tools it calls.
#[derive(Debug)]
struct WrittenAnswer {
    id: String,
    text: String,
    thought: String,
    input: usize,
}

/// A time in October 2026.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionClock {
    ms: u64,
}

impl SessionClock {
    /// Sessions start seven minutes after one another.
    pub(super) fn from_number(number: u32) -> Self {
        let ms = u64::from(number) * 7 * 60_000 % (28 * 86_400_000);
        Self { ms: ms + 12_345 }
    }

    fn advance(&mut self, rng: &mut SeededRng) {
        self.ms += 200 + rng.below(4_000) as u64;
    }

    fn fields(self) -> [u64; 5] {
        let seconds = self.ms / 1_000;
        let day = (1 + seconds / 86_400).min(31);
        let hour = seconds / 3_600 % 24;
        [day, hour, seconds / 60 % 60, seconds % 60, self.ms % 1_000]
    }

    /// As file names have it.
    pub(super) fn minute(self) -> String {
        let [day, hour, minute, ..] = self.fields();
        format!("2026-10-{day:02}T{hour:02}-{minute:02}")
    }

    fn stamp(self) -> String {
        let [day, hour, minute, second, ms] = self.fields();
        format!("2026-10-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

/// A UUID of version 4.
pub(super) fn random_uuid(rng: &mut SeededRng) -> String {
    let (high, low) = (rng.next_u64(), rng.next_u64());
    let mut id = String::with_capacity(36);
    let _ = write!(
        id,
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    );
    id
}

const CONTEXT: &str = "<session_context>\\nThis is the Gemini CLI. We are setting up the context for our chat.\\nToday's date is Thursday, October 1, 2026 (formatted according to the user's locale).\\nMy operating system is: linux\\nThe project's temporary directory is: /home/user/.gemini/tmp/project\\n- **Workspace Directories:**\\n  - /home/user/project\\n- **Directory Structure:**\\n\\nShowing up to 200 items (files + folders).\\n\\n";
const DESCRIPTION: &str = "Reads and returns the content of a specified file. If the file is large, the content will be truncated.";
