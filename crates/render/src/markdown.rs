//! The transcript as GitHub-flavoured Markdown, for pull requests, issues and wikis.
//!
//! Thoughts and tool calls fold away in `<details>`, the only HTML in the document and all of it ours. What the agent said
//! keeps its Markdown, made harmless by `prose`; what tools returned stands in fences that it cannot close.

mod block;
mod frame;
mod prose;
mod tool;

use std::io::{self, Write};

use lapidary_vocab::Event;

use crate::Renderer;
use crate::notice::{Level, Notice};
use crate::outline::{Ahead, Outline};
use crate::plain;
use crate::transcript::{Item, Prose, Transcript, TurnEnd, User};
use crate::words;
use block::{details, escape, fence, quote, write_fence};
use frame::{footer, header};
use tool::tool_block;

/// Writes a transcript as Markdown when it is finished. Given an [`Outline`], it writes as it goes.
#[derive(Debug, Default)]
pub struct MarkdownRenderer {
    transcript: Transcript,
    ahead: Option<Ahead>,
}

impl MarkdownRenderer {
    /// One that knows how it will end.
    pub fn knowing(outline: Outline) -> Self {
        let ahead = Ahead::of(outline);
        Self {
            transcript: ahead.transcript.again(),
            ahead: Some(ahead),
        }
    }

    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let transcript = match &self.ahead {
            Some(ahead) if ahead.has_begun() => return Ok(()),
            Some(ahead) => &ahead.transcript,
            None => &self.transcript,
        };
        out.write_all(header(transcript).as_bytes())
    }
}

impl Renderer for MarkdownRenderer {
    fn event(&mut self, event: &Event, out: &mut dyn Write) -> io::Result<()> {
        self.transcript.push(event);
        if self.ahead.is_none() {
            return Ok(());
        }
        self.begin(out)?;
        write_items(&self.transcript.finished(), out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.begin(out)?;
        write_items(&self.transcript.items, out)?;
        out.write_all(footer(&self.transcript).as_bytes())
    }
}

fn write_items(items: &[Item], out: &mut dyn Write) -> io::Result<()> {
    for item in items {
        // A blank line before each block: whatever stood above ends there.
        match item {
            Item::Prose(prose) if let Some(text) = prose.long_answer() => {
                out.write_all(b"\n")?;
                write_fence(&text, out)?;
            }
            _ => write!(out, "\n{}\n", item_block(item).trim_end())?,
        }
    }
    Ok(())
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
            &format!("Thinking: {}", prose.gist(80)),
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
    let mut block = format!("> [!{alert}]\n> **{}:** {text}", escape(&notice.label));
    if let Some(detail) = &notice.detail {
        block.push_str("\n\n");
        block.push_str(&details("What it was", &fence("", detail), false));
    }
    block
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
