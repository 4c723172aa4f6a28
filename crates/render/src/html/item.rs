//! Prompts, answers, thoughts and notices.

use super::code::Highlighter;
use super::escape::escape;
use super::{prose, tool};
use crate::notice::{Level, Notice};
use crate::plain;
use crate::transcript::{Item, Prose, TurnEnd, User};
use crate::words;

/// Writes items one after the other, counting prompts.
#[derive(Debug, Default)]
pub(super) struct Items {
    highlighter: Highlighter,
    prompts: usize,
}

impl Items {
    pub(super) fn html(&mut self, item: &Item) -> String {
        match item {
            Item::User(user) if user.is_synthetic => context(user),
            Item::User(user) => self.prompt(user),
            Item::Prose(prose) => self.prose(prose),
            Item::Tool(call) => tool::html(call, &mut self.highlighter),
            Item::Notice(notice) => notice_html(notice),
            Item::TurnEnd(turn) => turn_end(turn),
        }
    }

    fn prompt(&mut self, user: &User) -> String {
        self.prompts += 1;
        let images = match user.images {
            0 => String::new(),
            images => format!(
                "<p class=\"note\">with {}, not shown</p>\n",
                words::count(images as u64, "image")
            ),
        };
        let time = user
            .at
            .as_deref()
            .and_then(words::time_of_day)
            .map(|time| format!(" <time>{time}</time>"));
        // A prompt is shown as it was typed: people do not write Markdown to be rendered.
        format!(
            "<section class=\"prompt\" id=\"prompt-{}\">\n<h2>Prompt{}</h2>\n<div class=\"typed\" dir=\"auto\">{}</div>\n\
             {images}</section>\n",
            self.prompts,
            time.unwrap_or_default(),
            escape(user.text.to_str().trim())
        )
    }

    fn prose(&mut self, prose: &Prose) -> String {
        let html = prose::html(&prose.text(), &mut self.highlighter);
        match prose.kind.as_str() {
            "text" if prose.parent.is_none() => {
                format!("<div class=\"answer prose\" dir=\"auto\">\n{html}</div>\n")
            }
            "text" => folded("thought", "Sub-agent", &prose.gist(90), &html),
            "thinking" => folded("thought", "Thinking", &prose.gist(90), &html),
            kind => folded(
                "thought",
                &plain::first_line(kind, 40),
                &prose.gist(90),
                &html,
            ),
        }
    }
}

fn folded(class: &str, label: &str, gist: &str, html: &str) -> String {
    format!(
        "<details class=\"{class}\">\n<summary><span class=\"label\">{}</span> <span class=\"gist\">{}</span></summary>\n\
         <div class=\"body prose\" dir=\"auto\">\n{html}</div>\n</details>\n",
        escape(label),
        escape(gist)
    )
}

fn context(user: &User) -> String {
    let text = user.text.to_str();
    let lines = words::count(text.lines().count() as u64, "line");
    let html = format!(
        "<pre class=\"output\" tabindex=\"0\">{}</pre>\n",
        escape(text.trim())
    );
    folded(
        "context",
        "Context",
        &format!("{lines} that no person typed"),
        &html,
    )
}

fn notice_html(notice: &Notice) -> String {
    let class = match notice.level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let detail = notice.detail.as_ref().map(|detail| {
        let detail = escape(detail);
        format!("<details><summary>What it was</summary><pre class=\"output\" tabindex=\"0\">{detail}</pre></details>")
    });
    format!(
        "<div class=\"notice {class}\"><span class=\"label\">{}</span> <span class=\"words\">{}</span>{}</div>\n",
        escape(&notice.label),
        escape(&notice.text),
        detail.unwrap_or_default()
    )
}

fn turn_end(turn: &TurnEnd) -> String {
    let failed = (turn.is_error && turn.errors.is_empty()).then_some("The turn failed.");
    let errors = turn
        .errors
        .iter()
        .map(|error| error.to_str())
        .chain(failed.map(Into::into));
    let errors = errors.map(|error| {
        format!(
            "<div class=\"notice error\"><span class=\"label\">error</span> {}</div>\n",
            escape(&error)
        )
    });
    let errors = words::joined(errors);
    let facts = if turn.facts.is_empty() {
        "turn complete".to_owned()
    } else {
        turn.facts.join(" · ")
    };
    format!(
        "{errors}<p class=\"turn\"><span>{}</span></p>\n",
        escape(&facts)
    )
}
