//! Compression: a conversation that fills the model's window becomes shorter, and always can.
//!
//! It begins at half of the window, as in Gemini CLI 0.61, which then finds no place to cut the conversation of a sub-agent: it has one
//! message of a user. The steps here are our own. First, old results of tools are removed. If that is not enough, the model
//! summarises all but the newest part. If that fails, the old part is dropped, and the model is told so. The user's words and the newest
//! calls stay as they are, a call never loses its response, and nothing is done that does not make the conversation shorter.

mod old_results;

use lapidary_wire::gemini::hooks::{EventDetails, HookEvent};
use serde_json::{Map, Value, json};

use super::AgentRun;
use super::activity::ActivityKind;
use super::turn_end::TurnEnd;
use crate::model::{Content, ContentRole, ModelError, ModelEvent, ModelRequest, concrete_model};

/// The window of a model in tokens.
const WINDOW_TOKENS: u64 = 1_048_576;
/// The window of Gemma 4.
const GEMMA_WINDOW_TOKENS: u64 = 256_000;
/// The share of the window, in percent, from which a conversation is compressed.
const FULL_PERCENT: u64 = 50;
/// The share of a conversation, in percent, that a summary leaves as it is.
const KEPT_PERCENT: usize = 30;
/// The growth, in percent, after which a compressed conversation is compressed again.
const GROWTH_PERCENT: u64 = 10;
/// Bytes of a request for each of its tokens, as Gemini CLI estimates them.
pub(super) const BYTES_PER_TOKEN: usize = 4;

const SUMMARISE: &str = "The conversation so far is to be replaced by a summary, because it fills your window. Write that summary: the task, what was found out with the paths and facts that matter, what was changed, what is left to do. Write nothing else, and call no tool.";
const SUMMARISER: &str =
    "You summarise the work of an agent, so that it can go on from your summary alone.";
const SUMMARY: &str = "The conversation before this point was summarised:\n\n";
const DROPPED: &str = "The conversation before this point was dropped, because it filled your window. Calls that you made there have happened; look again at what you need.";

/// The state of an agent's compressions.
#[derive(Debug, Default)]
pub(super) struct CompressionState {
    /// The tokens of the last request, as the API counts them.
    pub(super) prompt_tokens: u64,
    /// The tokens after the last compression: the next one waits until there are more.
    compressed_to: u64,
}

/// Why a conversation is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompressionCause {
    /// It may have grown too long.
    Growth,
    /// The API refused it as too long.
    Refused,
}

impl AgentRun<'_> {
    /// Compresses the history, if it has to be. The parts that the model is told next are not in it.
    pub(super) async fn compress_history(
        &mut self,
        cause: CompressionCause,
    ) -> Result<bool, TurnEnd> {
        if cause == CompressionCause::Growth && !self.is_full() {
            return Ok(false);
        }
        if self.has_hooks(HookEvent::PreCompress) {
            let trigger = "auto".to_owned();
            self.fire_hooks(EventDetails::PreCompress { trigger })
                .await?;
        }
        let before = contents_size(&self.history);
        let mut summary = None;
        let mut shorter = old_results::without_old_results(&self.history);
        if cause == CompressionCause::Refused || !self.is_enough(contents_size(&shorter), before) {
            (shorter, summary) = self.without_old_part(&shorter).await;
        }
        let after = contents_size(&shorter);
        if after >= before {
            return Ok(false);
        }
        self.history = shorter;
        self.note_compression(before, after, summary);
        Ok(true)
    }

    fn is_full(&self) -> bool {
        let state = &self.compression;
        let grown = state.compressed_to + state.compressed_to * GROWTH_PERCENT / 100;
        state.prompt_tokens >= self.full_tokens() && state.prompt_tokens > grown
    }

    fn full_tokens(&self) -> u64 {
        let is_gemma = self.request.model.starts_with("gemma-4");
        let window = if is_gemma {
            GEMMA_WINDOW_TOKENS
        } else {
            WINDOW_TOKENS
        };
        window * FULL_PERCENT / 100
    }

    /// Whether a conversation that was shortened to `after` bytes fits again.
    fn is_enough(&self, after: usize, before: usize) -> bool {
        let tokens = self.compression.prompt_tokens;
        scaled_tokens(tokens, after, before) < self.full_tokens()
    }

    fn note_compression(&mut self, before: usize, after: usize, summary: Option<String>) {
        let tokens_before = self.compression.prompt_tokens;
        let tokens_after = scaled_tokens(tokens_before, after, before);
        self.compression.prompt_tokens = tokens_after;
        self.compression.compressed_to = tokens_after;
        self.emit_activity(ActivityKind::Compressed {
            tokens_before,
            tokens_after,
            summary,
        });
    }

    /// The history without its old part, and the summary that stands for it, if the model gave one.
    async fn without_old_part(&self, history: &[Content]) -> (Vec<Content>, Option<String>) {
        let kept = kept_from(history);
        let (old, new) = history.split_at(kept);
        if old.is_empty() {
            return (history.to_vec(), None);
        }
        let words = user_words(old);
        let summarised = self.summarise_history(old).await.ok();
        let summarised = summarised.filter(|text| !text.trim().is_empty());
        let stands_for = |summary: Option<&str>| {
            let text =
                summary.map_or_else(|| DROPPED.to_owned(), |text| format!("{SUMMARY}{text}"));
            let parts = words.iter().cloned().chain([json!({ "text": text })]);
            let first = Content::user(parts);
            [&[first], new].concat()
        };
        if let Some(summary) = summarised {
            let shorter = stands_for(Some(&summary));
            if contents_size(&shorter) < contents_size(history) {
                return (shorter, Some(summary));
            }
        }
        (stands_for(None), None)
    }

    async fn summarise_history(&self, old: &[Content]) -> Result<String, ModelError> {
        let mut contents = old.to_vec();
        let instruction = Content::user([json!({ "text": SUMMARISE })]);
        match contents.last_mut() {
            Some(last) if last.role == ContentRole::User => last.parts.extend(instruction.parts),
            _ => contents.push(instruction),
        }
        let request = ModelRequest {
            model: concrete_model(&self.request.model),
            system_instruction: Some(SUMMARISER),
            contents: &contents,
            tools: &[],
            tool_config: None,
            generation: &Map::new(),
        };
        let mut listener = |event| {
            // The summary is not the agent's answer: only retries are reported.
            if let ModelEvent::Retry(notice) = event {
                self.emit_activity(ActivityKind::Retry(notice));
            }
        };
        let answer = self
            .executor
            .model
            .generate(&request, &mut listener)
            .await?;
        if let Some(usage) = answer.usage {
            self.emit_activity(ActivityKind::Usage(usage));
        }
        Ok(answer.text())
    }
}

/// Where the newest part begins: with a content of the model, so that the user's words can stand before it. The last content of the model
/// always belongs to it: its responses are yet to come.
fn kept_from(history: &[Content]) -> usize {
    let is_models = |content: &Content| content.role == ContentRole::Model;
    let Some(mut from) = history.iter().rposition(is_models) else {
        return 0;
    };
    let most = contents_size(history) * KEPT_PERCENT / 100;
    let mut kept = contents_size(&history[from..]);
    for at in (0..from).rev() {
        kept += contents_size(&history[at..=at]);
        if kept > most {
            break;
        }
        if is_models(&history[at]) {
            from = at;
        }
    }
    from
}

/// The texts of the user, without our own messages about an earlier compression.
fn user_words(contents: &[Content]) -> Vec<Value> {
    let users = contents.iter().filter(|it| it.role == ContentRole::User);
    let parts = users.flat_map(|content| content.parts.iter());
    let texts = parts.filter_map(|part| {
        let part: Value = serde_json::from_str(part.get()).ok()?;
        let text = part.get("text")?.as_str()?;
        let is_ours = text.starts_with(SUMMARY) || text == DROPPED;
        (!is_ours).then_some(part)
    });
    texts.collect()
}

/// The bytes of contents.
fn contents_size(contents: &[Content]) -> usize {
    let parts = contents.iter().flat_map(|content| &content.parts);
    parts.map(|part| part.get().len()).sum()
}

/// The tokens that are left of a request, if `after` bytes are left of `before`.
fn scaled_tokens(tokens: u64, after: usize, before: usize) -> u64 {
    let (after, before) = (after as u128, before.max(1) as u128);
    u64::try_from(u128::from(tokens) * after / before).unwrap_or(u64::MAX)
}
