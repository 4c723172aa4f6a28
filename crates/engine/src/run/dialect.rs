//! The dialects of headless agents: a row for each.
//!
//! An attempt, a subscription, a reader of recordings and `translate` take all facts about a dialect from its row. A new dialect
//! is a row here and a [`Normalizer`] in `normalize`; the start of its agent is described with the agent.

use lapidary_normalize::claude::stream::ClaudeStreamNormalizer;
use lapidary_normalize::codex::exec::ExecNormalizer;
use lapidary_normalize::gemini::stream::StreamNormalizer;
use lapidary_normalize::{NormalizeOptions, Normalizer};
use lapidary_vocab::event::Provider;

/// A normaliser of any dialect.
pub type BoxedNormalizer = Box<dyn Normalizer + Send>;

/// The output format of a headless agent.
#[derive(Debug)]
pub struct StreamDialect {
    /// Its name in recordings (`transport`).
    pub name: &'static str,
    /// The family of agents that write it.
    pub provider: Provider,
    /// Lines, or one document.
    pub speech: OutputKind,
    normalizer: fn(&NormalizeOptions) -> BoxedNormalizer,
}

/// The shape of an agent's stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// A line for each event.
    Stream,
    /// One document at the end, else on stderr.
    Document,
}

/// `gemini -o stream-json`.
pub static GEMINI_STREAM: StreamDialect = StreamDialect {
    name: "stream-json",
    provider: Provider::Gemini,
    speech: OutputKind::Stream,
    normalizer: |options| Box::new(StreamNormalizer::new(options)),
};

/// `gemini -o json`.
pub static GEMINI_DOCUMENT: StreamDialect = StreamDialect {
    name: "json",
    provider: Provider::Gemini,
    speech: OutputKind::Document,
    normalizer: |options| Box::new(StreamNormalizer::of_document(options)),
};

/// `claude -p --output-format stream-json`.
pub static CLAUDE_STREAM: StreamDialect = StreamDialect {
    name: "claude-stream-json",
    provider: Provider::Claude,
    speech: OutputKind::Stream,
    normalizer: |options| Box::new(ClaudeStreamNormalizer::new(options)),
};

/// `codex exec --json`.
pub static CODEX_EXEC: StreamDialect = StreamDialect {
    name: "codex-exec-json",
    provider: Provider::Codex,
    speech: OutputKind::Stream,
    normalizer: |options| Box::new(ExecNormalizer::new(options)),
};

/// Every dialect.
pub static DIALECTS: [&StreamDialect; 4] = [
    &GEMINI_STREAM,
    &GEMINI_DOCUMENT,
    &CLAUDE_STREAM,
    &CODEX_EXEC,
];

impl StreamDialect {
    /// The dialect that recordings call by this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        DIALECTS.into_iter().find(|dialect| dialect.name == name)
    }

    /// A normaliser for one run. It takes each line, or the whole document as one line.
    pub fn normalizer(&self, options: &NormalizeOptions) -> BoxedNormalizer {
        (self.normalizer)(options)
    }
}

/// A dialect is its row.
impl PartialEq for StreamDialect {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for StreamDialect {}
