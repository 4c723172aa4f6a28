//! Prompts, answers, thoughts and notices.

use super::escape::escape_html;
use super::failures::FailureLinks;
use super::{prose, tool};
use crate::notice::{Notice, NoticeLevel};
use crate::plain;
use crate::transcript::{AgentProse, Transcript, TranscriptItem, TurnEnd, UserMessage};
use crate::words;

/// Writes items one after the other, counting prompts, days and failures.
#[derive(Debug, Default)]
pub(super) struct ItemWriter {
    prompts: usize,
    /// The accounts of each turn are worth telling.
    has_turns: bool,
    /// The day of the last prompt, if they are distinguished.
    day: Option<String>,
    failures: FailureLinks,
    progress: CallProgress,
}

/// The state of a call without a result.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallProgress {
    /// The result was not recorded.
    #[default]
    Over,
    /// The run goes on, and the result may come.
    GoesOn,
}

impl ItemWriter {
    pub(super) fn new(transcript: &Transcript) -> Self {
        Self {
            prompts: 0,
            has_turns: transcript.has_turns(),
            day: transcript.has_days().then(String::new),
            failures: FailureLinks::new(transcript.failures),
            progress: CallProgress::Over,
        }
    }

    /// One for blocks that are written before the end is known. Days and turns are distinguished from the second on.
    pub(super) fn for_blocks(transcript: &Transcript, progress: CallProgress) -> Self {
        let mut writer = Self::default();
        writer.follow(transcript, progress);
        writer
    }

    /// Takes note of what is known by now.
    pub(super) fn follow(&mut self, transcript: &Transcript, progress: CallProgress) {
        self.has_turns = transcript.has_turns();
        self.progress = progress;
        if self.day.is_none() {
            let first = transcript.prompts.first();
            self.day = first.and_then(|prompt| words::spoken_day(prompt.at.as_deref()?));
        }
    }

    pub(super) fn item_html(&mut self, item: &TranscriptItem) -> String {
        match item {
            TranscriptItem::User(user) if user.is_synthetic => context_html(user),
            TranscriptItem::User(user) => self.prompt_html(user),
            TranscriptItem::Prose(prose) => prose_html(prose),
            TranscriptItem::Tool(call) => tool::tool_html(call, self.progress, &mut self.failures),
            TranscriptItem::Notice(notice) => self.notice_html(notice),
            TranscriptItem::TurnEnd(turn) => self.turn_end(turn),
        }
    }

    fn prompt_html(&mut self, user: &UserMessage) -> String {
        self.prompts += 1;
        let images = match user.images {
            0 => String::new(),
            images => format!(
                "<p class=\"note\">with {}, not shown</p>\n",
                words::counted_noun(images as u64, "image")
            ),
        };
        let time = user.at.as_deref().and_then(time_html);
        let number = self.has_turns.then(|| format!(" {}", self.prompts));
        // A prompt is shown as it was typed: people do not write Markdown to be rendered.
        format!(
            "{}<section class=\"prompt\" id=\"prompt-{}\">\n<h2>Prompt{}{}</h2>\n<div class=\"typed\" dir=\"auto\">{}</div>\n\
             {images}</section>\n",
            self.new_day(user).unwrap_or_default(),
            self.prompts,
            number.unwrap_or_default(),
            time.unwrap_or_default(),
            escape_html(user.text.to_str().trim())
        )
    }

    /// The day, where another one begins.
    fn new_day(&mut self, user: &UserMessage) -> Option<String> {
        let day = words::spoken_day(user.at.as_deref()?)?;
        let known = self.day.as_mut().filter(|known| **known != day)?;
        known.clone_from(&day);
        Some(format!("<p class=\"day\"><span>{day}</span></p>\n"))
    }
}

fn prose_html(prose: &AgentProse) -> String {
    let html = prose::prose_html(&prose.display_text());
    match prose.kind.as_str() {
        "text" if prose.parent.is_none() => {
            format!("<div class=\"answer prose\" dir=\"auto\">\n{html}</div>\n")
        }
        "text" => folded_html("thought", "Sub-agent", &prose.first_line_text(90), &html),
        "thinking" => folded_html("thought", "Thinking", &prose.first_line_text(90), &html),
        kind => folded_html(
            "thought",
            &plain::first_line(kind, 40),
            &prose.first_line_text(90),
            &html,
        ),
    }
}

fn time_html(timestamp: &str) -> Option<String> {
    let time = words::time_of_day(timestamp)?;
    let exact = escape_html(timestamp);
    Some(format!(" <time datetime=\"{exact}\">{time}</time>"))
}

fn folded_html(class: &str, label: &str, gist: &str, html: &str) -> String {
    format!(
        "<details class=\"{class}\">\n<summary><span class=\"label\">{}</span> <span class=\"gist\">{}</span></summary>\n\
         <div class=\"body prose\" dir=\"auto\">\n{html}</div>\n</details>\n",
        escape_html(label),
        escape_html(gist)
    )
}

fn context_html(user: &UserMessage) -> String {
    let text = user.text.to_str();
    let lines = words::counted_noun(text.lines().count() as u64, "line");
    let html = format!(
        "<pre class=\"output\" tabindex=\"0\">{}</pre>\n",
        escape_html(text.trim())
    );
    if user.is_replayed {
        let about = format!("{lines} from before this run");
        return folded_html("context", "Earlier input", &about, &html);
    }
    let about = format!("{lines} that no person typed");
    folded_html("context", "Context", &about, &html)
}

impl ItemWriter {
    fn notice_html(&mut self, notice: &Notice) -> String {
        let (class, (id, links)) = match notice.level {
            NoticeLevel::Info => ("info", Default::default()),
            NoticeLevel::Warning => ("warning", Default::default()),
            NoticeLevel::Error => ("error", self.failures.next()),
        };
        let detail = notice.detail.as_ref().map(|detail| {
            let detail = escape_html(detail);
            format!("<details><summary>What it was</summary><pre class=\"output\" tabindex=\"0\">{detail}</pre></details>")
        });
        format!(
            "<div class=\"notice {class}\"{id}>{links}<span class=\"label\">{}</span> <span class=\"words\">{}</span>{}</div>\n",
            escape_html(&notice.label),
            escape_html(&notice.text),
            detail.unwrap_or_default()
        )
    }

    fn turn_end(&mut self, turn: &TurnEnd) -> String {
        let failed = (turn.is_error && turn.errors.is_empty()).then_some("The turn failed.");
        let errors = turn.errors.iter().map(|error| error.to_str());
        let errors = errors.chain(failed.map(Into::into)).enumerate();
        let errors = errors.map(|(at, error)| self.turn_error(at == 0, &error));
        let errors = words::joined_pieces(errors);
        if !self.has_turns {
            return errors;
        }
        let facts = if turn.facts.is_empty() {
            "turn complete".to_owned()
        } else {
            turn.facts.join(" · ")
        };
        let facts = escape_html(&facts);
        format!("{errors}<p class=\"turn\"><span>{facts}</span></p>\n")
    }

    /// Only the first error of a turn is counted: later ones repeat it.
    fn turn_error(&mut self, is_first: bool, error: &str) -> String {
        let (id, links) = if is_first {
            self.failures.next()
        } else {
            Default::default()
        };
        let error = escape_html(error);
        format!(
            "<div class=\"notice error\"{id}>{links}<span class=\"label\">error</span> {error}</div>\n"
        )
    }
}
