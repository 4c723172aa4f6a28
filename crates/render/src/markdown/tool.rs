//! Tool calls and their parts.

use super::block::{code, details, escape, fence};
use crate::permission::PermissionAnswer;
use crate::tool::{Origin, Part, State, parts};
use crate::transcript::Tool;
use crate::words;

/// A tool call, folded away unless it failed.
pub(super) fn tool_block(tool: &Tool) -> String {
    let state = tool.state();
    let mut facts = vec![
        [Some(tool.name()), tool.subject()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    ];
    if state != State::Done {
        facts.push(state.word().to_owned());
    }
    let answer = tool.answer.as_ref();
    facts.extend(
        answer
            .filter(|_| state != State::Denied)
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
    let is_open = matches!(state, State::Failed | State::Denied);
    details(&summary, &body, is_open)
}

fn part_block(part: &Part) -> String {
    match part {
        Part::Arguments(arguments) => arguments
            .iter()
            .map(argument)
            .collect::<Vec<_>>()
            .join("\n\n"),
        Part::Diff {
            diff,
            origin: Origin::Agent,
        } => fence("diff", diff),
        Part::Diff {
            diff,
            origin: Origin::Derived,
        } => {
            format!(
                "{}\n\n*diff derived from the text before and after*",
                fence("diff", diff)
            )
        }
        Part::File { path, text } => format!("{}\n\n{}", code(path), fence(&language(path), text)),
        Part::Terminal {
            command,
            output,
            note,
        } => terminal(command.as_deref(), output.as_deref(), note.as_deref()),
        Part::Output(text) => fence("", text),
        Part::Data { what, json } => format!("{}\n\n{}", escape(what), fence("json", json)),
        Part::Note(note) => format!("*{}*", escape(note)),
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
