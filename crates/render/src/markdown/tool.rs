//! Tool calls and their parts.

use super::block::{code, details, escape, fence};
use crate::permission::PermissionAnswer;
use crate::tool::{CallState, DiffOrigin, ToolPart, parts};
use crate::transcript::ToolCallItem;
use crate::words;

/// A tool call, folded away unless it failed.
pub(super) fn tool_block(tool: &ToolCallItem) -> String {
    let state = tool.state();
    let mut facts = vec![
        [Some(tool.name()), tool.subject()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    ];
    if state != CallState::Done {
        facts.push(state.word().to_owned());
    }
    let answer = tool.answer.as_ref();
    facts.extend(
        answer
            .filter(|_| state != CallState::Denied)
            .map(PermissionAnswer::in_words),
    );
    facts.extend(tool.millis().map(words::duration));
    let nested = if tool.is_nested() { "↳ " } else { "" };
    let summary = format!("{nested}{} {}", state.mark(), facts.join(" · "));
    let reason = answer.and_then(PermissionAnswer::refusal);
    let reason = reason.map(|reason| escape(&reason));
    let parts: Vec<_> = reason
        .into_iter()
        .chain(parts(tool).iter().map(part_block))
        .collect();
    let body = if parts.is_empty() {
        "*nothing more was recorded*".to_owned()
    } else {
        parts.join("\n\n")
    };
    let is_open = matches!(state, CallState::Failed | CallState::Denied);
    details(&summary, &body, is_open)
}

fn part_block(part: &ToolPart) -> String {
    match part {
        ToolPart::Arguments(arguments) => arguments
            .iter()
            .map(argument)
            .collect::<Vec<_>>()
            .join("\n\n"),
        ToolPart::Diff {
            diff,
            origin: DiffOrigin::Agent,
        } => fence("diff", diff),
        ToolPart::Diff {
            diff,
            origin: DiffOrigin::Derived,
        } => {
            format!(
                "{}\n\n*diff derived from the text before and after*",
                fence("diff", diff)
            )
        }
        ToolPart::File { path, text } => {
            format!("{}\n\n{}", code(path), fence(&language(path), text))
        }
        ToolPart::Terminal {
            command,
            output,
            note,
        } => terminal(command.as_deref(), output.as_deref(), note.as_deref()),
        ToolPart::Output(text) => fence("", text),
        ToolPart::Data { what, json } => format!("{}\n\n{}", escape(what), fence("json", json)),
        ToolPart::Note(note) => format!("*{}*", escape(note)),
    }
}

fn argument((key, value): &(String, String)) -> String {
    if value.contains('\n') || value.len() > 100 {
        format!("**{}**\n\n{}", escape(key), fence("", value))
    } else {
        format!("**{}** {}", escape(key), code(value))
    }
}

fn terminal(command: Option<&str>, output: Option<&str>, note: Option<&str>) -> String {
    let command = command.map(|command| fence("sh", command));
    let output = output.map(|output| fence("", output));
    let note = note.map(|note| format!("*{}*", escape(note)));
    [command, output, note]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// A file's extension, as far as it is a plain word: it goes behind a fence.
fn language(path: &str) -> String {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_word = extension.len() <= 12 && extension.chars().all(|c| c.is_ascii_alphanumeric());
    if is_word {
        extension.to_owned()
    } else {
        String::new()
    }
}
