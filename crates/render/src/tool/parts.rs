//! The parts of a tool call's story, in the order of reading: the arguments, the change, the result.

use lapidary_json::TokenKind;
use lapidary_vocab::content::{ContentBlock, DiffBlock, TerminalBlock};
use lapidary_vocab::event::ToolKind;
use lapidary_vocab::{Json, Text};

use super::CallState;
use crate::plain::reveal;
use crate::transcript::ToolCallItem;
use crate::{diff, json_text, words};

/// One part. All texts are the agent's or a tool's: hostile.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolPart {
    /// Arguments that nothing else shows: name and value.
    Arguments(Vec<(String, String)>),
    /// A change of a file.
    Diff { diff: String, origin: DiffOrigin },
    /// The content of a file.
    File { path: String, text: String },
    /// A command and its output.
    Terminal {
        command: Option<String>,
        output: Option<String>,
        note: Option<String>,
    },
    /// The result, as text.
    Output(String),
    /// JSON, laid out.
    Data { what: String, json: String },
    /// A sentence in place of content that is not shown.
    Note(String),
}

impl ToolPart {
    /// The part for a person who is to approve it: nothing in it is hidden.
    pub(crate) fn revealed(self) -> Self {
        let clear = |text: String| reveal(&text).into_owned();
        match self {
            Self::Arguments(all) => {
                let all = all.into_iter();
                Self::Arguments(
                    all.map(|(name, value)| (clear(name), clear(value)))
                        .collect(),
                )
            }
            Self::Diff { diff, origin } => Self::Diff {
                diff: clear(diff),
                origin,
            },
            Self::File { path, text } => Self::File {
                path: clear(path),
                text: clear(text),
            },
            Self::Terminal {
                command,
                output,
                note,
            } => Self::Terminal {
                command: command.map(clear),
                output: output.map(clear),
                note: note.map(clear),
            },
            Self::Output(text) => Self::Output(clear(text)),
            Self::Data { what, json } => Self::Data {
                what: clear(what),
                json: clear(json),
            },
            Self::Note(note) => Self::Note(clear(note)),
        }
    }
}

/// Where a diff comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffOrigin {
    /// The agent or the tool wrote it.
    Agent,
    /// We computed it from the text before and after.
    Derived,
}

/// The parts of a call's story.
pub(crate) fn tool_parts(tool: &ToolCallItem) -> Vec<ToolPart> {
    let blocks = content_parts(tool);
    let command = tool
        .text_argument("command")
        .filter(|_| !tool.is(&ToolKind::Edit));
    let mut shown = if command.is_some() {
        vec!["command"]
    } else {
        Vec::new()
    };
    let has_diff = blocks
        .iter()
        .any(|part| matches!(part, ToolPart::Diff { .. }));
    let change = edit_part(tool, has_diff, &mut shown);
    let arguments = arguments_part(tool, &shown);
    let result = result_part(tool, command, &blocks);
    // Some agents send the same text as output and as content, or the title of the call as its content.
    let title = tool.agent_title().map(ToolPart::Output);
    let is_new = |block: &ToolPart| ![result.as_ref(), title.as_ref()].contains(&Some(block));
    let blocks = blocks.into_iter().filter(is_new);
    let returned: Vec<_> = result.iter().cloned().chain(blocks).collect();
    let asked: Vec<_> = [arguments, change].into_iter().flatten().collect();
    match tool.current_state() {
        // What went wrong comes first.
        CallState::Failed => [returned, asked].concat(),
        CallState::Done | CallState::Cancelled | CallState::Denied | CallState::Unanswered => {
            [asked, returned].concat()
        }
    }
}

/// The result; for a command, under the command.
fn result_part(
    tool: &ToolCallItem,
    command: Option<String>,
    blocks: &[ToolPart],
) -> Option<ToolPart> {
    let output = tool.done.as_ref().and_then(|done| done.output.as_ref());
    let output = output
        .filter(|output| !is_said_by(blocks, output))
        .map(json_text::output_text);
    let output = output.filter(|output| !output.is_empty());
    if command.is_none() && !tool.is(&ToolKind::Execute) {
        return output.map(|output| output_part(tool, output));
    }
    (command.is_some() || output.is_some()).then_some(ToolPart::Terminal {
        command,
        output,
        note: None,
    })
}

/// True if the content blocks already show the output. An agent makes content for display; its raw output mostly repeats it in a
/// worse form.
fn is_said_by(blocks: &[ToolPart], output: &Json) -> bool {
    let is_text = output.token().kind() == TokenKind::String;
    blocks.iter().any(|part| match part {
        ToolPart::Note(_) => false,
        // A change is often accompanied by a sentence.
        ToolPart::Diff { .. } => !is_text,
        _ => true,
    })
}

/// The change that an editing tool was asked for, unless the result tells it better.
fn edit_part(
    tool: &ToolCallItem,
    has_diff: bool,
    shown: &mut Vec<&'static str>,
) -> Option<ToolPart> {
    let path = tool.file_path().unwrap_or_default();
    if let (Some(old), Some(new)) = (
        tool.text_argument("old_string"),
        tool.text_argument("new_string"),
    ) {
        shown.extend(["file_path", "old_string", "new_string"]);
        let old = Some(old.as_str()).filter(|old| !old.is_empty());
        let diff = diff::unified(&path, old, &new);
        return (!has_diff).then_some(ToolPart::Diff {
            diff,
            origin: DiffOrigin::Derived,
        });
    }
    let text = tool
        .text_argument("content")
        .filter(|_| tool.is(&ToolKind::Edit))?;
    shown.extend(["file_path", "content"]);
    (!has_diff).then_some(ToolPart::File { path, text })
}

/// The arguments that are left. One that stands whole in the headline is not repeated.
fn arguments_part(tool: &ToolCallItem, shown: &[&str]) -> Option<ToolPart> {
    let call = tool.call.as_ref()?;
    let headline = tool.call_subject();
    let token = call.input.token();
    let left: Vec<_> = token
        .members()
        .map(|(key, value)| {
            (
                json_text::readable_text(key),
                json_text::readable_text(value),
            )
        })
        .filter(|(key, value)| !shown.contains(&key.as_str()) && headline.as_deref() != Some(value))
        .collect();
    (!left.is_empty()).then_some(ToolPart::Arguments(left))
}

fn output_part(tool: &ToolCallItem, output: String) -> ToolPart {
    let path = tool.file_path().filter(|_| tool.returned_a_file());
    match path {
        _ if diff::is_unified(&output) => ToolPart::Diff {
            diff: output,
            origin: DiffOrigin::Agent,
        },
        Some(path) => ToolPart::File { path, text: output },
        None => ToolPart::Output(output),
    }
}

fn content_parts(tool: &ToolCallItem) -> Vec<ToolPart> {
    // A call that was not done has the content of its permission request.
    let asked = tool.answer.iter().filter(|_| tool.done.is_none());
    let asked = asked.flat_map(|answer| &answer.content);
    let blocks = tool.done.iter().flat_map(|done| &done.content);
    let blocks = blocks.chain(asked);
    blocks.map(|block| part_of(block, tool)).collect()
}

fn part_of(block: &ContentBlock, tool: &ToolCallItem) -> ToolPart {
    match block {
        ContentBlock::Text(text) => output_part(tool, text.text.to_string()),
        ContentBlock::Thinking(thinking) => ToolPart::Output(thinking.thinking.to_string()),
        ContentBlock::Diff(change) => diff_part(change, tool),
        ContentBlock::Terminal(terminal) => terminal_part(terminal),
        ContentBlock::Image(image) => media_part(
            "image",
            image.mime_type.as_ref(),
            image.data.as_ref(),
            image.uri.as_ref(),
        ),
        ContentBlock::Audio(audio) => media_part(
            "audio",
            audio.mime_type.as_ref(),
            audio.data.as_ref(),
            audio.uri.as_ref(),
        ),
        ContentBlock::ResourceLink(link) => ToolPart::Note(format!("resource: {}", link.uri)),
        ContentBlock::Unknown(json) => data_part("content", json),
        other => data_part("content", &lapidary_vocab::Json::from_value(other)),
    }
}

fn data_part(what: &str, json: &lapidary_vocab::Json) -> ToolPart {
    ToolPart::Data {
        what: what.to_owned(),
        json: json_text::pretty_json(json.token()),
    }
}

fn diff_part(change: &DiffBlock, tool: &ToolCallItem) -> ToolPart {
    if let Some(unified) = change
        .unified
        .as_ref()
        .filter(|unified| !unified.is_empty())
    {
        return ToolPart::Diff {
            diff: unified.to_string(),
            origin: DiffOrigin::Agent,
        };
    }
    let path = change
        .path
        .as_ref()
        .map(Text::to_string)
        .or_else(|| tool.file_path())
        .unwrap_or_default();
    let old = change.old_text.as_ref().map(Text::to_str);
    let new = change
        .new_text
        .as_ref()
        .map(Text::to_str)
        .unwrap_or_default();
    ToolPart::Diff {
        diff: diff::unified(&path, old.as_deref(), &new),
        origin: DiffOrigin::Derived,
    }
}

fn terminal_part(terminal: &TerminalBlock) -> ToolPart {
    let cut = terminal
        .truncated
        .unwrap_or(false)
        .then(|| "the beginning was cut off by the agent".to_owned());
    let code = terminal
        .exit_code
        .as_ref()
        .map(|code| format!("exit code {code}"));
    let signal = terminal
        .signal
        .as_ref()
        .map(|signal| format!("signal {signal}"));
    let notes: Vec<_> = [cut, code, signal].into_iter().flatten().collect();
    ToolPart::Terminal {
        command: None,
        output: terminal.output.as_ref().map(Text::to_string),
        note: (!notes.is_empty()).then(|| notes.join(", ")),
    }
}

fn media_part(
    what: &str,
    kind: Option<&Text>,
    data: Option<&Text>,
    uri: Option<&Text>,
) -> ToolPart {
    let kind = kind.map(|kind| format!(", {kind}")).unwrap_or_default();
    let size = data.map(|data| {
        format!(
            ", {} of Base64",
            words::counted_noun(data.to_str().len() as u64, "character")
        )
    });
    let uri = uri.map(|uri| format!(", {uri}")).unwrap_or_default();
    ToolPart::Note(format!(
        "{what} not shown{kind}{}{uri}",
        size.unwrap_or_default()
    ))
}
