//! Fields derived from a call that has ended: its text, the command that it ran, the file that it changed.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::ContentBlock;
use lapidary_vocab::event::{ToolCompletion, ToolKind};
use lapidary_vocab::{Json, Text};

use crate::{own, unified_diff};

/// The members in which agents put the text of a structured output.
const TEXTS: [&str; 5] = ["output", "text", "stdout", "content", "message"];

/// The facts of an open call that its completion needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallSummary {
    pub(crate) tool: Text,
    pub(crate) command: Option<Text>,
    pub(crate) locations: Vec<Text>,
    is_edit: bool,
}

impl CallSummary {
    pub(crate) fn new(
        tool: &Text,
        kind: &ToolKind,
        input: Option<Token<'_>>,
        locations: &[Text],
    ) -> Self {
        let command = input.filter(|_| *kind == ToolKind::Execute);
        let command = own::string_token(command.and_then(|input| input.get("command")));
        Self {
            tool: tool.detached(),
            command: command.map(own::owned_text),
            locations: locations.iter().map(Text::detached).collect(),
            is_edit: *kind == ToolKind::Edit,
        }
    }

    pub(crate) fn memory_size(&self) -> usize {
        let texts = self.locations.iter().chain(&self.command);
        self.tool.size() + texts.map(Text::size).sum::<usize>()
    }

    /// Adds the derived fields.
    pub(crate) fn add_derived_fields(self, completion: &mut ToolCompletion) {
        if self.is_edit {
            let path = self.locations.first().cloned().unwrap_or_default();
            let mutation = format!("{} {path}: {}", self.tool, completion.status);
            completion.mutation = Some(mutation.into());
        }
        let is_text = |output: &Json| output.token().kind() == TokenKind::String;
        if self.command.is_some() && !completion.output.as_ref().is_some_and(is_text) {
            completion.command_output = result_text(completion);
        }
        completion.command = self.command;
    }
}

/// The result of a call as text: its own text, else the text of its blocks, else the text in its structure, else its diffs.
pub(crate) fn result_text(completion: &ToolCompletion) -> Option<Text> {
    let output = completion.output.as_ref();
    match output.map(|output| output.token()) {
        Some(output) if output.kind() == TokenKind::String => Some(own::owned_text(output)),
        Some(output) if is_shown_otherwise(output) => {
            in_blocks(&completion.content).or_else(|| unified_diff::of_blocks(&completion.content))
        }
        Some(output) => in_blocks(&completion.content).or_else(|| Some(in_structure(output))),
        None => {
            in_blocks(&completion.content).or_else(|| unified_diff::of_blocks(&completion.content))
        }
    }
}

/// True for the protocol's own diffs and terminals, which are blocks as well.
fn is_shown_otherwise(output: Token<'_>) -> bool {
    let is = |item: Token<'_>| {
        let kind = item.get("type");
        kind.is_some_and(|kind| kind.is("diff") || kind.is("terminal"))
    };
    match output.kind() {
        TokenKind::Object => is(output),
        TokenKind::Array => output.elements().any(is),
        _ => false,
    }
}

fn in_blocks(blocks: &[ContentBlock]) -> Option<Text> {
    let mut parts = Vec::new();
    for block in blocks {
        let text = match block {
            ContentBlock::Text(block) => Some(&block.text),
            ContentBlock::Terminal(terminal) => terminal.output.as_ref(),
            _ => None,
        };
        if let Some(text) = text {
            if !parts.is_empty() {
                parts.push(Text::from("\n"));
            }
            parts.push(text.clone());
        }
    }
    (!parts.is_empty()).then(|| Text::concat(&parts))
}

fn in_structure(output: Token<'_>) -> Text {
    let texts = TEXTS.iter();
    let text = texts.filter_map(|name| own::string_token(output.get(name)));
    text.map(own::owned_text)
        .find(|text| !text.is_empty())
        .unwrap_or_else(|| Text::from(output.as_str().to_owned()))
}

/// What Claude's messages have of a result: text, or blocks of its own. Of a command, its output alone where that is known.
pub(crate) fn claude_content(completion: &ToolCompletion) -> Json {
    let is_list = |output: Token<'_>| output.kind() == TokenKind::Array;
    match (&completion.output, &completion.command_output) {
        (Some(output), None) if is_claude_content(output.token()) => output.clone(),
        (Some(output), Some(_)) if is_list(output.token()) && is_claude_content(output.token()) => {
            output.clone()
        }
        (_, Some(printed)) => Json::from(printed),
        _ => Json::from(&result_text(completion).unwrap_or_default()),
    }
}

fn is_claude_content(output: Token<'_>) -> bool {
    let is_block = |block: Token<'_>| {
        let is = |name: &str| block.get("type").is_some_and(|kind| kind.is(name));
        (is("text") && own::string_token(block.get("text")).is_some())
            || (is("image") && block.get("source").is_some())
    };
    match output.kind() {
        TokenKind::String => true,
        TokenKind::Array => output.elements().next().is_some() && output.elements().all(is_block),
        _ => false,
    }
}
