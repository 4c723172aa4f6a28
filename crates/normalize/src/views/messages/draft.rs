//! A message in the making.

use lapidary_vocab::content::{TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock};
use lapidary_vocab::message::{
    Content, ImageSource, Message, MessageBlock, MessageImage, MessageUsage, Role,
};
use lapidary_vocab::{ArrayBuilder, Event, Json, Text, TextBuilder};

use crate::own;

/// A message that may still grow.
#[derive(Debug)]
pub(super) struct MessageDraft {
    pub(super) number: u64,
    pub(super) id: Text,
    pub(super) role: Role,
    pub(super) timestamp: Option<i64>,
    pub(super) provider: String,
    pub(super) model: Option<Text>,
    pub(super) has_own_model: bool,
    pub(super) usage: Option<MessageUsage>,
    pub(super) thoughts: Vec<ThoughtDraft>,
    pub(super) calls: Vec<DraftCall>,
    pub(super) text: TextBuilder,
    /// Pictures of a prompt: `mediaType` and `data`.
    pub(super) images: Vec<Json>,
    /// The lines it was made of.
    pub(super) original: ArrayBuilder,
    /// How many of its calls wait for a result.
    pub(super) unanswered: usize,
    /// The next word of the assistant begins another message.
    pub(super) is_closed: bool,
    /// The number of the model's response, where it is known.
    pub(super) response: Option<u64>,
}

#[derive(Debug)]
pub(super) struct DraftCall {
    pub(super) block: ToolUseBlock,
    pub(super) result: Option<ToolResultBlock>,
}

/// A thought, which may come in chunks.
#[derive(Debug, Default)]
pub(super) struct ThoughtDraft {
    text: TextBuilder,
    signature: Option<Text>,
    is_whole: bool,
}

impl MessageDraft {
    pub(super) fn new(role: Role) -> Self {
        Self {
            number: 0,
            id: Text::default(),
            role,
            timestamp: None,
            provider: String::new(),
            model: None,
            has_own_model: false,
            usage: None,
            thoughts: Vec::new(),
            calls: Vec::new(),
            text: TextBuilder::default(),
            images: Vec::new(),
            original: ArrayBuilder::default(),
            unanswered: 0,
            is_closed: false,
            response: None,
        }
    }

    /// Keeps the event's line for `_original`.
    pub(super) fn keep_original(&mut self, event: &Event) {
        if let Some(raw) = &event.base.raw {
            self.original.push(raw);
        }
    }

    /// The response names its model, once. That of the session is a mere default.
    pub(super) fn name_model(&mut self, model: Option<&Text>) {
        if let Some(model) = model
            && !std::mem::replace(&mut self.has_own_model, true)
        {
            self.model = Some(model.clone());
        }
    }

    pub(super) fn add_text(&mut self, text: &Text) {
        self.end_thought(None);
        self.text.push(text);
    }

    /// Adds to the thought that is open, or begins one.
    pub(super) fn add_thought_chunk(&mut self, text: &Text) {
        if self.thoughts.last().is_none_or(|thought| thought.is_whole) {
            self.thoughts.push(ThoughtDraft::default());
        }
        if let Some(thought) = self.thoughts.last_mut() {
            thought.text.push(text);
        }
    }

    /// The next chunk begins another thought. The signature is that of the last one.
    pub(super) fn end_thought(&mut self, signature: Option<Text>) {
        if let Some(thought) = self.thoughts.last_mut() {
            thought.is_whole = true;
            thought.signature = thought.signature.take().or(signature);
        }
    }

    /// True for calls without a word.
    pub(super) fn has_only_calls(&self) -> bool {
        let is_silent = self.text.size() == 2; // the quotes
        !self.calls.is_empty() && self.thoughts.is_empty() && is_silent
    }

    pub(super) fn into_message(self) -> Message {
        let mut blocks: Vec<_> = self
            .thoughts
            .into_iter()
            .map(ThoughtDraft::into_block)
            .collect();
        for call in self.calls {
            blocks.push(MessageBlock::ToolUse(call.block));
            blocks.extend(call.result.map(MessageBlock::ToolResult));
        }
        let text = self.text.to_text();
        let original = self.original.finish();
        if !text.to_str().trim().is_empty() {
            blocks.push(MessageBlock::Text(TextBlock { text: text.clone() }));
        }
        blocks.extend(self.images.iter().filter_map(image_block));
        Message {
            id: self.id,
            role: self.role,
            content: if blocks.is_empty() {
                Content::Plain(text)
            } else {
                Content::Blocks(blocks)
            },
            timestamp: self.timestamp,
            tool: self.provider.into(),
            model: self.model,
            usage: self.usage,
            original,
        }
    }
}

impl ThoughtDraft {
    fn into_block(self) -> MessageBlock {
        MessageBlock::Thinking(ThinkingBlock {
            thinking: self.text.to_text(),
            signature: self.signature,
        })
    }
}

fn image_block(image: &Json) -> Option<MessageBlock> {
    let text = |name| own::string_token(image.token().get(name)).map(own::owned_text);
    Some(MessageBlock::Image(MessageImage {
        source: ImageSource {
            r#type: "base64".into(),
            media_type: text("mediaType")?,
            data: text("data")?,
        },
    }))
}
