//! The transcript of a run that goes on, in pieces: each block of the conversation by its number, again whenever it has changed.
//!
//! A page inserts a block where it has none of that number, and replaces it otherwise. Blocks are written by the same code as the
//! whole page, so a text of an agent becomes markup in one place only.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lapidary_vocab::Event;
use lapidary_vocab::event::{PermissionRequest, ToolInvocation};

use super::closing::page_footer;
use super::item::ItemWriter;
use super::page::write_item;
use super::tool::part_html;
use crate::permission::PermissionAnswer;
use crate::tool::tool_parts;
use crate::transcript::{ToolCallItem, Transcript, TranscriptItem};

/// The style sheet of the whole page, which blocks need, too.
pub const TRANSCRIPT_STYLE: &str = include_str!("style.css");

/// A block of the conversation, as it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlFragment {
    /// Its number, from 0 on, in the order of reading.
    pub block: u64,
    /// Its markup; empty if there is nothing to be seen of it.
    pub html: String,
}

/// Folds events into blocks.
#[derive(Debug, Default)]
pub struct FragmentWriter {
    transcript: Transcript,
    items: ItemWriter,
    /// How many blocks are written for good.
    settled: u64,
    /// The digests of the blocks after those, as they were written last.
    drafts: VecDeque<u64>,
}

impl FragmentWriter {
    /// Takes the next event.
    pub fn push(&mut self, event: &Event) {
        self.transcript.push(event);
    }

    /// The blocks that are new or have changed since the last call.
    pub fn take_changed(&mut self) -> Vec<HtmlFragment> {
        let mut changed = Vec::new();
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
            let html = item_text(&mut ItemWriter::default(), item);
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

    /// The end of the run and its accounts, if it is over.
    pub fn footer(&self) -> Option<String> {
        self.transcript.end.as_ref()?;
        Some(page_footer(&self.transcript))
    }
}

/// The subject of a permission request: the diff or the command that is to be approved.
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
    tool_parts(&item).iter().map(part_html).collect()
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
