//! Tool calls and their parts.

use super::block::{details_block, escape_markdown, fenced_code, inline_code};
use crate::permission::PermissionAnswer;
use crate::tool::{CallState, DiffOrigin, ToolPart, tool_parts};
use crate::transcript::ToolCallItem;
use crate::words;

/// A tool call, folded away unless it failed.
pub(super) fn tool_block(tool: &ToolCallItem) -> String {
    let state = tool.current_state();
    let mut facts = vec![
        [Some(tool.tool_name()), tool.call_subject()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    ];
    if state != CallState::Done {
        facts.push(state.state_word().to_owned());
    }
    let answer = tool.answer.as_ref();
    facts.extend(
        answer
            .filter(|_| state != CallState::Denied)
            .map(PermissionAnswer::in_words),
    );
    facts.extend(tool.duration_millis().map(words::spoken_duration));
    let nested = if tool.is_nested() { "↳ " } else { "" };
    let summary = format!("{nested}{} {}", state.state_mark(), facts.join(" · "));
    let reason = answer.and_then(PermissionAnswer::denial_text);
    let reason = reason.map(|reason| escape_markdown(&reason));
    let parts: Vec<_> = reason
        .into_iter()
        .chain(tool_parts(tool).iter().map(part_block))
        .collect();
    let body = if parts.is_empty() {
        "*nothing more was recorded*".to_owned()
    } else {
        parts.join("\n\n")
    };
    let is_open = matches!(state, CallState::Failed | CallState::Denied);
    details_block(&summary, &body, is_open)
}

fn part_block(part: &ToolPart) -> String {
    match part {
        ToolPart::Arguments(arguments) => arguments
            .iter()
            .map(argument_line)
            .collect::<Vec<_>>()
            .join("\n\n"),
        ToolPart::Diff {
            diff,
            origin: DiffOrigin::Agent,
        } => fenced_code("diff", diff),
        ToolPart::Diff {
            diff,
            origin: DiffOrigin::Derived,
        } => {
            format!(
                "{}\n\n*diff derived from the text before and after*",
                fenced_code("diff", diff)
            )
        }
        ToolPart::File { path, text } => {
            format!(
                "{}\n\n{}",
                inline_code(path),
                fenced_code(&fence_language(path), text)
            )
        }
        ToolPart::Terminal {
            command,
            output,
            note,
        } => terminal_block(command.as_deref(), output.as_deref(), note.as_deref()),
        ToolPart::Output(text) => fenced_code("", text),
        ToolPart::Data { what, json } => {
            format!("{}\n\n{}", escape_markdown(what), fenced_code("json", json))
        }
        ToolPart::Note(note) => format!("*{}*", escape_markdown(note)),
    }
}

fn argument_line((key, value): &(String, String)) -> String {
    if value.contains('\n') || value.len() > 100 {
        format!("**{}**\n\n{}", escape_markdown(key), fenced_code("", value))
    } else {
        format!("**{}** {}", escape_markdown(key), inline_code(value))
    }
}

fn terminal_block(command: Option<&str>, output: Option<&str>, note: Option<&str>) -> String {
    let command = command.map(|command| fenced_code("sh", command));
    let output = output.map(|output| fenced_code("", output));
    let note = note.map(|note| format!("*{}*", escape_markdown(note)));
    [command, output, note]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// A file's extension, as far as it is a plain word: it goes behind a fence.
fn fence_language(path: &str) -> String {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_word = extension.len() <= 12 && extension.chars().all(|c| c.is_ascii_alphanumeric());
    if is_word {
        extension.to_owned()
    } else {
        String::new()
    }
}
