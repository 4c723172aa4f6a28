//! The transcript as GitHub-flavoured Markdown, for pull requests, issues and wikis.
//!
//! Thoughts and tool calls fold away in `<details>`, the only HTML in the document and all of it ours. The agent's text keeps its
//! Markdown, made harmless by `prose`; the output of tools stands in fences that it cannot close.

mod block;
mod frame;
mod prose;
mod tool;

use std::io::{self, Write};

use lapidary_vocab::Event;

use crate::Renderer;
use crate::notice::{Notice, NoticeLevel};
use crate::outline::{Outline, OutlineCursor};
use crate::plain;
use crate::transcript::{AgentProse, Transcript, TranscriptItem, TurnEnd, UserMessage};
use crate::words;
use block::{block_quote, details_block, escape_markdown, fenced_code, write_fence};
use frame::{document_footer, document_header};
use tool::tool_block;

/// Writes a transcript as Markdown when it is finished. Given an [`Outline`], it writes as it goes.
#[derive(Debug, Default)]
pub struct MarkdownRenderer {
    transcript: Transcript,
    ahead: Option<OutlineCursor>,
    items: MarkdownItems,
}

/// Writes items one after the other, counting prompts.
#[derive(Debug, Default)]
struct MarkdownItems {
    prompts: usize,
    /// The accounts of each turn are worth telling.
    has_turns: bool,
    /// The prompts were not all given on one day.
    has_days: bool,
}

impl MarkdownRenderer {
    /// One that knows how it will end.
    pub fn knowing(outline: Outline) -> Self {
        let ahead = OutlineCursor::new(outline);
        Self {
            transcript: ahead.transcript.for_second_pass(),
            ahead: Some(ahead),
            items: MarkdownItems::default(),
        }
    }

    fn begin_document(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let transcript = match &self.ahead {
            Some(ahead) if ahead.has_begun() => return Ok(()),
            Some(ahead) => &ahead.transcript,
            None => &self.transcript,
        };
        self.items = MarkdownItems {
            prompts: 0,
            has_turns: transcript.has_turns(),
            has_days: transcript.has_days(),
        };
        out.write_all(document_header(transcript).as_bytes())
    }
}

impl Renderer for MarkdownRenderer {
    fn event(&mut self, event: &Event, out: &mut dyn Write) -> io::Result<()> {
        self.transcript.push(event);
        if self.ahead.is_none() {
            return Ok(());
        }
        self.begin_document(out)?;
        self.items
            .write_items(&self.transcript.take_finished(), out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.transcript.close_transcript();
        self.begin_document(out)?;
        self.items.write_items(&self.transcript.items, out)?;
        out.write_all(document_footer(&self.transcript).as_bytes())
    }
}

impl MarkdownItems {
    fn write_items(&mut self, items: &[TranscriptItem], out: &mut dyn Write) -> io::Result<()> {
        for item in items {
            // A blank line ends the block above.
            match item {
                TranscriptItem::Prose(prose) if let Some(text) = prose.long_answer() => {
                    out.write_all(b"\n")?;
                    write_fence(&text, out)?;
                }
                _ => match self.item_block(item).trim_end() {
                    "" => {}
                    block => write!(out, "\n{block}\n")?,
                },
            }
        }
        Ok(())
    }

    fn item_block(&mut self, item: &TranscriptItem) -> String {
        match item {
            TranscriptItem::User(user) => self.prompt_block(user),
            TranscriptItem::Prose(prose) => prose_block(prose),
            TranscriptItem::Tool(tool) => tool_block(tool),
            TranscriptItem::Notice(notice) => notice_block(notice),
            TranscriptItem::TurnEnd(turn) => self.turn_block(turn),
        }
    }

    fn prompt_block(&mut self, user: &UserMessage) -> String {
        let text = user.text.to_str();
        if user.is_synthetic {
            let lines = words::counted_noun(text.lines().count() as u64, "line");
            let what = if user.is_replayed {
                "Earlier input"
            } else {
                "Context"
            };
            return details_block(&format!("{what}, {lines}"), &fenced_code("", &text), false);
        }
        let images = match user.images {
            0 => String::new(),
            images => format!(
                "\n\n*with {}, not shown*",
                words::counted_noun(images as u64, "image")
            ),
        };
        let quoted = block_quote(&prose::harmless_markdown(&text));
        format!("## {}\n\n{quoted}{images}", self.prompt_heading(user))
    }

    /// `Prompt 2 · 18:15 UTC`, with the day where there are several.
    fn prompt_heading(&mut self, user: &UserMessage) -> String {
        self.prompts += 1;
        let number = self.has_turns.then(|| format!(" {}", self.prompts));
        let at = user.at.as_deref();
        let time = || Some(format!("{} UTC", words::time_of_day(at?)?));
        let moment = || Some(escape_markdown(&words::spoken_moment(at?)));
        let time = if self.has_days { moment() } else { time() };
        let time = time.map(|time| format!(" · {time}"));
        format!(
            "Prompt{}{}",
            number.unwrap_or_default(),
            time.unwrap_or_default()
        )
    }

    fn turn_block(&self, turn: &TurnEnd) -> String {
        let errors = turn
            .errors
            .iter()
            .map(|error| format!("> [!CAUTION]\n> {}\n\n", escape_markdown(&error.to_str())));
        let failed =
            (turn.is_error && turn.errors.is_empty()).then(|| "the turn failed".to_owned());
        let facts = turn.facts.iter().filter(|_| self.has_turns);
        let facts: Vec<_> = failed
            .into_iter()
            .chain(facts.map(|fact| escape_markdown(fact)))
            .collect();
        let facts = match facts.as_slice() {
            [] if self.has_turns => "*turn complete*".to_owned(),
            [] => String::new(),
            facts => format!("*{}*", facts.join(" · ")),
        };
        errors.collect::<String>() + &facts
    }
}

fn prose_block(prose: &AgentProse) -> String {
    let text = prose::harmless_markdown(&prose.display_text());
    match prose.kind.as_str() {
        "text" if prose.parent.is_none() => text,
        "text" => details_block("Sub-agent", &text, false),
        "thinking" => details_block(
            &format!("Thinking: {}", prose.first_line_text(80)),
            &block_quote(&text),
            false,
        ),
        kind => details_block(&plain::first_line(kind, 40), &block_quote(&text), true),
    }
}

fn notice_block(notice: &Notice) -> String {
    let alert = match notice.level {
        NoticeLevel::Info => "NOTE",
        NoticeLevel::Warning => "WARNING",
        NoticeLevel::Error => "CAUTION",
    };
    let text = notice
        .text
        .lines()
        .map(escape_markdown)
        .collect::<Vec<_>>()
        .join("\n> ");
    let mut block = format!(
        "> [!{alert}]\n> **{}:** {text}",
        escape_markdown(&notice.label)
    );
    if let Some(detail) = &notice.detail {
        block.push_str("\n\n");
        block.push_str(&details_block(
            "What it was",
            &fenced_code("", detail),
            false,
        ));
    }
    block
}
