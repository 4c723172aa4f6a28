//! The transcript as GitHub-flavoured Markdown, for pull requests, issues and wikis.
//!
//! Thoughts and tool calls fold away in `<details>`, the only HTML in the document and all of it ours. What the agent said
//! keeps its Markdown, made harmless by [`prose`]; what tools returned stands in fences that it cannot close.

mod block;
mod prose;

use std::io::{self, Write};

use lapidary_vocab::event::RunEnd;
use lapidary_vocab::{Event, Outcome, Text};

use crate::Renderer;
use crate::notice::{Level, Notice};
use crate::plain;
use crate::tool::{Origin, Part, State, parts};
use crate::transcript::{Item, Prose, Tool, Transcript, TurnEnd, User};
use crate::words;
use block::{code, details, escape, fence, quote};

/// Writes a transcript as Markdown when it is finished.
#[derive(Debug, Default)]
pub struct MarkdownRenderer {
    transcript: Transcript,
}

impl Renderer for MarkdownRenderer {
    fn event(&mut self, event: &Event, _out: &mut dyn Write) -> io::Result<()> {
        self.transcript.push(event);
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(header(&self.transcript).as_bytes())?;
        for item in &self.transcript.items {
            // A blank line before each block: whatever stood above ends there.
            write!(out, "\n{}\n", item_block(item).trim_end())?;
        }
        out.write_all(footer(&self.transcript).as_bytes())
    }
}

fn header(transcript: &Transcript) -> String {
    let title = transcript
        .title(80)
        .map_or_else(|| "Session".to_owned(), |title| escape(&title));
    let init = &transcript.session.init;
    let shown = |text: &Option<Text>| text.as_ref().map(|text| code(&text.to_str()));
    let facts = [
        (
            "Agent",
            Some(escape(&transcript.session.provider)).filter(|provider| !provider.is_empty()),
        ),
        ("Model", shown(&init.model)),
        ("Session", shown(&transcript.session.id)),
        ("Folder", shown(&init.cwd)),
        (
            "Started",
            transcript
                .totals
                .started()
                .map(|time| escape(&words::moment(time))),
        ),
        (
            "Outcome",
            transcript
                .end
                .as_ref()
                .map(|end| escape(end.outcome.as_str())),
        ),
    ];
    let mut text = format!("# {title}\n\n| | |\n|---|---|\n");
    for (name, value) in facts {
        if let Some(value) = value {
            text.push_str(&format!("| {name} | {value} |\n"));
        }
    }
    text
}

fn item_block(item: &Item) -> String {
    match item {
        Item::User(user) => user_block(user),
        Item::Prose(prose) => prose_block(prose),
        Item::Tool(tool) => tool_block(tool),
        Item::Notice(notice) => notice_block(notice),
        Item::TurnEnd(turn) => turn_block(turn),
    }
}

fn user_block(user: &User) -> String {
    let text = user.text.to_str();
    if user.is_synthetic {
        let lines = words::count(text.lines().count() as u64, "line");
        return details(&format!("Context, {lines}"), &fence("", &text), false);
    }
    let images = match user.images {
        0 => String::new(),
        images => format!(
            "\n\n*with {}, not shown*",
            words::count(images as u64, "image")
        ),
    };
    format!("## Prompt\n\n{}{images}", quote(&prose::harmless(&text)))
}

fn prose_block(prose: &Prose) -> String {
    let text = prose::harmless(&prose.text());
    match prose.kind.as_str() {
        "text" if prose.parent.is_none() => text,
        "text" => details("Sub-agent", &text, false),
        "thinking" => details(
            &format!("Thinking: {}", plain::first_line(&prose.text(), 80)),
            &quote(&text),
            false,
        ),
        kind => details(&plain::first_line(kind, 40), &quote(&text), true),
    }
}

fn notice_block(notice: &Notice) -> String {
    let alert = match notice.level {
        Level::Info => "NOTE",
        Level::Warning => "WARNING",
        Level::Error => "CAUTION",
    };
    let text = notice
        .text
        .lines()
        .map(escape)
        .collect::<Vec<_>>()
        .join("\n> ");
    let mut block = format!("> [!{alert}]\n> **{}**", escape(&notice.label));
    if !text.is_empty() {
        block.push_str(&format!("\n> {text}"));
    }
    if let Some(detail) = &notice.detail {
        block.push_str("\n\n");
        block.push_str(&details("What it was", &fence("", detail), false));
    }
    block
}

fn tool_block(tool: &Tool) -> String {
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
    facts.extend(tool.millis().map(words::duration));
    let summary = format!("{} {}", state.mark(), facts.join(" · "));
    let parts: Vec<_> = parts(tool).iter().map(part_block).collect();
    let body = if parts.is_empty() {
        "*nothing more was recorded*".to_owned()
    } else {
        parts.join("\n\n")
    };
    details(&summary, &body, state == State::Failed)
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

fn turn_block(turn: &TurnEnd) -> String {
    let errors = turn
        .errors
        .iter()
        .map(|error| format!("> [!CAUTION]\n> {}\n\n", escape(&error.to_str())));
    let failed = (turn.is_error && turn.errors.is_empty()).then(|| "the turn failed".to_owned());
    let facts: Vec<_> = failed
        .into_iter()
        .chain(turn.facts.iter().map(|fact| escape(fact)))
        .collect();
    let facts = if facts.is_empty() {
        "turn complete".to_owned()
    } else {
        facts.join(" · ")
    };
    format!("{}*{facts}*", errors.collect::<String>())
}

fn footer(transcript: &Transcript) -> String {
    let mut text = "\n---\n\n".to_owned();
    text.push_str(&verdict(
        transcript.end.as_ref(),
        &transcript.totals.facts(),
    ));
    for (model, tokens) in &transcript.totals.models {
        text.push_str(&format!(
            "\n\n{} {}",
            code(model),
            tokens.in_words().unwrap_or_default()
        ));
    }
    if let Some(hidden) = transcript.totals.not_shown() {
        text.push_str(&format!("\n\n*{}*", escape(&hidden)));
    }
    text.push('\n');
    text
}

fn verdict(end: Option<&RunEnd>, facts: &[String]) -> String {
    let outcome = end.map(|end| format!("**{}**", escape(end.outcome.as_str())));
    let line = outcome
        .into_iter()
        .chain(facts.iter().map(|fact| escape(fact)))
        .collect::<Vec<_>>()
        .join(" · ");
    let Some(end) = end.filter(|end| end.outcome != Outcome::Completed) else {
        return if line.is_empty() {
            "Nothing was counted.".to_owned()
        } else {
            line
        };
    };
    let message = end
        .message
        .as_ref()
        .map(|message| escape(&message.to_str()));
    let mut lines = vec![line, format!("Cause: {}", escape(end.cause.described()))];
    lines.extend(message.map(|message| format!("Message: {message}")));
    lines.extend(
        end.evidence
            .iter()
            .map(|evidence| format!("- {}", escape(evidence))),
    );
    lines.extend(
        end.hint
            .as_ref()
            .map(|hint| format!("Hint: {}", escape(hint))),
    );
    lines.join("\n\n")
}
