//! The transcript of a run that goes on, in pieces: each block of the conversation by its number, again whenever it has changed.
//!
//! A page inserts a block where it has none of that number, and replaces it otherwise. Blocks are written by the same code as the
//! whole page, so a text of an agent becomes markup in one place only.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lapidary_vocab::event::{PermissionRequest, ToolInvocation};
use lapidary_vocab::{Event, Text};

use super::closing::page_footer;
use super::item::{CallProgress, ItemWriter};
use super::page::write_item;
use super::tool::part_html;
use crate::permission::PermissionAnswer;
use crate::plain;
use crate::tool::tool_parts;
use crate::transcript::{ToolCallItem, Transcript, TranscriptItem};

/// The style sheet of the whole page, which blocks need, too.
pub const TRANSCRIPT_STYLE: &str = include_str!("style.css");

/// How many characters of a fact are kept.
const LONGEST_FACT: usize = 300;

/// A block of the conversation, as it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlFragment {
    /// Its number, from 0 on, in the order of reading.
    pub block: u64,
    /// Its markup; empty if there is nothing to be seen of it.
    pub html: String,
}

/// Facts of a conversation as it stands, for the head of a page. Texts of the agent are cleaned, and are no markup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TranscriptFacts {
    /// The first line of the first prompt.
    pub title: Option<String>,
    /// The agent's family.
    pub provider: String,
    /// The model that the agent named.
    pub model: Option<String>,
    /// The directory that the agent works in.
    pub cwd: Option<String>,
    /// The agent's session.
    pub session_id: Option<String>,
    /// The time of the first event.
    pub started_at: Option<String>,
    /// The time from the first event to the last, or the agent's own figure.
    pub duration_ms: Option<u64>,
    /// All tokens so far.
    pub total_tokens: Option<u64>,
    /// The same by kind, such as `200 in, 20 out`.
    pub token_parts: String,
    /// The cost so far, such as `$0.02`.
    pub cost: Option<String>,
    /// The origin of the cost.
    pub cost_basis: Option<&'static str>,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Whether a prompt waits for the end of its turn.
    pub is_working: bool,
}

/// Folds events into blocks.
#[derive(Debug, Default)]
pub struct FragmentWriter {
    transcript: Transcript,
    items: ItemWriter,
    progress: CallProgress,
    /// How many blocks are written for good.
    settled: u64,
    /// The digests of the blocks after those, as they were written last.
    drafts: VecDeque<u64>,
}

impl FragmentWriter {
    /// A writer for a run that may go on: a call without a result is running until the run ends.
    pub fn for_run() -> Self {
        Self {
            progress: CallProgress::GoesOn,
            ..Self::default()
        }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: &Event) {
        self.transcript.push(event);
    }

    /// The blocks that are new or have changed since the last call.
    pub fn take_changed(&mut self) -> Vec<HtmlFragment> {
        let mut changed = Vec::new();
        if self.transcript.end.is_some() {
            self.progress = CallProgress::Over;
        }
        self.items.follow(&self.transcript, self.progress);
        for item in self.transcript.take_finished() {
            let html = item_text(&mut self.items, &item);
            let draft = self.drafts.pop_front();
            if draft != Some(digest_of(&html)) {
                changed.push(HtmlFragment {
                    block: self.settled,
                    html,
                });
            }
            self.settled += 1;
        }
        for (at, item) in self.transcript.items.iter().enumerate() {
            // A writer of its own: numbers of prompts and failures are given for good.
            let mut items = ItemWriter::for_blocks(&self.transcript, self.progress);
            let html = item_text(&mut items, item);
            let digest = digest_of(&html);
            match self.drafts.get_mut(at) {
                Some(known) if *known == digest => continue,
                Some(known) => *known = digest,
                None => self.drafts.push_back(digest),
            }
            let block = self.settled + at as u64;
            changed.push(HtmlFragment { block, html });
        }
        changed
    }

    /// The facts as they stand.
    pub fn facts(&self) -> TranscriptFacts {
        let Transcript {
            session, totals, ..
        } = &self.transcript;
        let line = |text: &Text| plain::first_line(&text.to_str(), LONGEST_FACT);
        let tokens = totals.token_sums();
        TranscriptFacts {
            title: self.transcript.first_prompt_title().map(str::to_owned),
            provider: plain::first_line(&session.provider, LONGEST_FACT),
            model: session.init.model.as_ref().map(line),
            cwd: session.init.cwd.as_ref().map(line),
            session_id: session.id.as_ref().map(line),
            started_at: totals.start_time().map(str::to_owned),
            duration_ms: totals.duration_millis(),
            total_tokens: tokens.total_tokens(),
            token_parts: tokens.parts_in_words(),
            cost: totals.cost_text(),
            cost_basis: totals.cost_basis(),
            tool_calls: totals.tool_calls,
            failed_calls: totals.failed_calls,
            is_working: self.transcript.is_working(),
        }
    }

    /// The end of the run and its accounts, if it is over.
    pub fn footer(&self) -> Option<String> {
        self.transcript.end.as_ref()?;
        Some(page_footer(&self.transcript))
    }
}

/// The subject of a permission request: the diff or the command that is to be approved, with all that is hidden in it.
pub fn permission_html(request: &PermissionRequest) -> String {
    let call = ToolInvocation {
        call_id: request.request_id.clone(),
        tool_name: request.tool_name.clone(),
        kind: request.tool_kind.clone(),
        input: request.tool_input.clone(),
        parent_call_id: None,
        title: request.title.clone(),
        locations: Vec::new(),
        model: None,
    };
    let mut item = ToolCallItem::default();
    item.call = Some(call);
    item.answer = Some(PermissionAnswer::pending(request.content.clone()));
    let parts = tool_parts(&item).into_iter();
    parts.map(|part| part_html(&part.revealed())).collect()
}

fn item_text(items: &mut ItemWriter, item: &TranscriptItem) -> String {
    let mut html = Vec::new();
    let _ = write_item(items, item, &mut html); // a vector takes all
    String::from_utf8(html).unwrap_or_default()
}

fn digest_of(html: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    html.hash(&mut hasher);
    hasher.finish()
}
