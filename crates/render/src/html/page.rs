//! The frame of the page: head, header with the facts, footer with the accounts.

use std::io::{self, Write};

use lapidary_vocab::event::RunEnd;
use lapidary_vocab::{Outcome, Text};

use super::escape::escape;
use super::item::Items;
use crate::plain;
use crate::transcript::{Item, Transcript};
use crate::words;

const STYLE: &str = include_str!("style.css");

/// Nothing may be loaded and nothing run, even if an escape were forgotten somewhere.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// With fewer prompts a list of them would only repeat the page.
const PROMPTS_WORTH_LISTING: usize = 3;

pub(super) fn write(transcript: &Transcript, out: &mut dyn Write) -> io::Result<()> {
    let title = transcript
        .title(80)
        .map_or_else(|| "Session transcript".to_owned(), |title| escape(&title));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#transcript\">Skip to the transcript</a>\n"
    )?;
    out.write_all(header(transcript, &title).as_bytes())?;
    out.write_all(contents(transcript).as_bytes())?;
    out.write_all(b"<main id=\"transcript\">\n")?;
    let mut items = Items::default();
    for item in &transcript.items {
        out.write_all(items.html(item).as_bytes())?;
    }
    if transcript.items.is_empty() {
        out.write_all(b"<p class=\"note\">Nothing was said.</p>\n")?;
    }
    out.write_all(b"</main>\n")?;
    out.write_all(footer(transcript).as_bytes())?;
    out.write_all(b"</body>\n</html>\n")
}

fn header(transcript: &Transcript, title: &str) -> String {
    let session = &transcript.session;
    let totals = &transcript.totals;
    let shown = |text: &Option<Text>| {
        text.as_ref()
            .map(|text| escape(&plain::first_line(&text.to_str(), 200)))
    };
    let tokens = totals.tokens();
    let facts = [
        ("Model", shown(&session.init.model)),
        ("Started", totals.started().map(moment)),
        ("Duration", totals.millis().map(words::duration)),
        (
            "Tokens",
            tokens
                .sum()
                .map(|sum| with_aside(&words::number(sum), &tokens.parts_in_words())),
        ),
        (
            "Tool calls",
            (totals.tool_calls > 0)
                .then(|| with_aside(&words::number(totals.tool_calls), &failures(transcript))),
        ),
        (
            "Session",
            shown(&session.id).map(|id| format!("<code>{id}</code>")),
        ),
        (
            "Folder",
            shown(&session.init.cwd).map(|cwd| format!("<code>{cwd}</code>")),
        ),
    ];
    let facts = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let facts: String = facts
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"))
        .collect();
    let agent = escape(&plain::first_line(&session.provider, 40));
    format!(
        "<header class=\"masthead\">\n<p class=\"kicker\"><span>{agent} session</span>{}</p>\n<h1>{title}</h1>\n\
         <dl class=\"facts\">\n{facts}</dl>\n</header>\n",
        transcript.end.as_ref().map(badge).unwrap_or_default()
    )
}

fn with_aside(value: &str, aside: &str) -> String {
    if aside.is_empty() {
        value.to_owned()
    } else {
        format!("{value} <small>{aside}</small>")
    }
}

fn failures(transcript: &Transcript) -> String {
    match transcript.totals.failed_calls {
        0 => String::new(),
        failed => format!("{} failed", words::number(failed)),
    }
}

fn moment(timestamp: &str) -> String {
    format!(
        "<time datetime=\"{}\">{}</time>",
        escape(timestamp),
        escape(&words::moment(timestamp))
    )
}

fn badge(end: &RunEnd) -> String {
    let class = match end.outcome {
        Outcome::Completed => "good",
        Outcome::Cancelled | Outcome::Refused => "warn",
        _ => "bad",
    };
    format!(
        "<span class=\"badge {class}\">{}</span>",
        escape(&plain::first_line(end.outcome.as_str(), 40))
    )
}

/// The prompts of a long session, to jump to.
fn contents(transcript: &Transcript) -> String {
    let prompts: Vec<_> = transcript
        .items
        .iter()
        .filter_map(|item| match item {
            Item::User(user) if !user.is_synthetic => {
                Some(plain::first_line(&user.text.to_str(), 80))
            }
            _ => None,
        })
        .collect();
    if prompts.len() < PROMPTS_WORTH_LISTING {
        return String::new();
    }
    let entries = prompts.iter().enumerate();
    let entries = entries.map(|(i, prompt)| {
        format!(
            "<li><a href=\"#prompt-{}\">{}</a></li>\n",
            i + 1,
            escape(prompt)
        )
    });
    format!(
        "<nav aria-label=\"Prompts\">\n<ol>\n{}</ol>\n</nav>\n",
        entries.collect::<String>()
    )
}

fn footer(transcript: &Transcript) -> String {
    let facts = transcript.totals.facts();
    let mut html = "<footer>\n".to_owned();
    html.push_str(&transcript.end.as_ref().map(verdict).unwrap_or_default());
    if !facts.is_empty() {
        html.push_str(&format!("<p>{}</p>\n", escape(&facts.join(" · "))));
    }
    html.push_str(&accounts(transcript));
    let hidden = transcript
        .totals
        .not_shown()
        .map(|hidden| format!("; {}", escape(&hidden)));
    let events = words::count(transcript.totals.events, "event");
    html.push_str(&format!(
        "<p class=\"colophon\">Written by Lapidary from {events}{}.</p>\n",
        hidden.unwrap_or_default()
    ));
    html.push_str("</footer>\n");
    html
}

fn verdict(end: &RunEnd) -> String {
    let mut html = format!(
        "<section class=\"verdict\">\n<h2>How it ended {}</h2>\n",
        badge(end)
    );
    if end.outcome != Outcome::Completed {
        html.push_str(&format!(
            "<p>{}</p>\n",
            escape(&capitalised(end.cause.described()))
        ));
        if let Some(message) = &end.message {
            html.push_str(&format!(
                "<pre class=\"output\" tabindex=\"0\">{}</pre>\n",
                escape(&message.to_str())
            ));
        }
        let evidence = end
            .evidence
            .iter()
            .map(|evidence| format!("<li>{}</li>\n", escape(evidence)));
        if !end.evidence.is_empty() {
            html.push_str(&format!(
                "<ul class=\"evidence\">\n{}</ul>\n",
                evidence.collect::<String>()
            ));
        }
    }
    if let Some(hint) = &end.hint {
        html.push_str(&format!(
            "<p class=\"hint\"><strong>Hint:</strong> {}</p>\n",
            escape(hint)
        ));
    }
    html.push_str("</section>\n");
    html
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect::<String>() + ".")
        .unwrap_or_default()
}

fn accounts(transcript: &Transcript) -> String {
    if transcript.totals.models.is_empty() {
        return String::new();
    }
    let cell = |value: Option<u64>| {
        format!(
            "<td>{}</td>",
            value.map_or_else(|| "–".to_owned(), words::number)
        )
    };
    let rows = transcript.totals.models.iter().map(|(model, tokens)| {
        let counts = [tokens.input, tokens.cached, tokens.output, tokens.sum()]
            .map(cell)
            .concat();
        format!(
            "<tr><th scope=\"row\">{}</th>{counts}</tr>\n",
            escape(model)
        )
    });
    format!(
        "<table class=\"accounts\">\n<caption>Tokens by model</caption>\n<thead><tr><th scope=\"col\">Model</th>\
         <th scope=\"col\">In</th><th scope=\"col\">of it cached</th><th scope=\"col\">Out</th><th scope=\"col\">Sum</th></tr></thead>\n\
         <tbody>\n{}</tbody>\n</table>\n",
        rows.collect::<String>()
    )
}
