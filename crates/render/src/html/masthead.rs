//! The top of the page: the first prompt, the outcome, the usage.

use lapidary_vocab::event::RunEnd;
use lapidary_vocab::{Outcome, Text};

use super::escape::escape_html;
use crate::plain;
use crate::transcript::{PromptEntry, Transcript};
use crate::words;

/// With fewer prompts a list of them would only repeat the page.
const PROMPTS_WORTH_LISTING: usize = 3;
/// A longer list would keep readers from the page.
const PROMPTS_WORTH_FOLDING: usize = 12;

/// The header. `title` is HTML already.
pub(super) fn page_header(transcript: &Transcript, title: &str) -> String {
    let agent = escape_html(&plain::first_line(&transcript.session.provider, 40));
    let outcome = transcript
        .end
        .as_ref()
        .map(outcome_badge)
        .unwrap_or_default();
    format!(
        "<header class=\"masthead\">\n<p class=\"kicker\"><span>{agent} session</span>{outcome}</p>\n\
         <h1>{title}</h1>\n<dl class=\"facts\">\n{}{}</dl>\n</header>\n",
        facts_html(transcript),
        places_html(transcript)
    )
}

/// How a run ended, as a word with a colour.
pub(super) fn outcome_badge(end: &RunEnd) -> String {
    let class = match end.outcome {
        Outcome::Completed => "good",
        Outcome::Cancelled | Outcome::Refused => "warn",
        _ => "bad",
    };
    format!(
        "<span class=\"badge {class}\">{}</span>",
        escape_html(&plain::first_line(end.outcome.as_str(), 40))
    )
}

fn facts_html(transcript: &Transcript) -> String {
    let totals = &transcript.totals;
    let tokens = totals.token_sums();
    let model = transcript.session.init.model.as_ref();
    let calls = Some(totals.tool_calls).filter(|calls| *calls > 0);
    let rows = [
        ("Model", model.map(one_line_html)),
        ("Started", totals.start_time().map(moment_html)),
        (
            "Duration",
            totals.duration_millis().map(words::spoken_duration),
        ),
        (
            "Tokens",
            tokens
                .total_tokens()
                .map(|sum| with_aside(&words::grouped_number(sum), &tokens.parts_in_words())),
        ),
        (
            "Tool calls",
            calls
                .map(|calls| with_aside(&words::grouped_number(calls), &failures_html(transcript))),
        ),
        (
            "Cost",
            totals
                .cost_text()
                .map(|cost| with_aside(&cost, totals.cost_basis().unwrap_or_default())),
        ),
        ("Errors", errors_html(transcript)),
    ];
    let rows = rows
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    words::joined_pieces(
        rows.map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n")),
    )
}

/// Facts that are too long to stand beside other facts.
fn places_html(transcript: &Transcript) -> String {
    let rows = [
        ("Session", &transcript.session.id),
        ("Folder", &transcript.session.init.cwd),
    ];
    let rows = rows
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?)));
    words::joined_pieces(rows.map(|(name, value)| {
        format!(
            "<div class=\"wide\"><dt>{name}</dt><dd><code>{}</code></dd></div>\n",
            one_line_html(value)
        )
    }))
}

fn one_line_html(text: &Text) -> String {
    escape_html(&plain::first_line(&text.to_str(), 200))
}

fn with_aside(value: &str, aside: &str) -> String {
    if aside.is_empty() {
        value.to_owned()
    } else {
        format!("{value} <small>{aside}</small>")
    }
}

fn failures_html(transcript: &Transcript) -> String {
    match transcript.totals.failed_calls {
        0 => String::new(),
        failed => format!(
            "<a href=\"#failure-1\">{} failed</a>",
            words::grouped_number(failed)
        ),
    }
}

/// What failed if no call did.
fn errors_html(transcript: &Transcript) -> Option<String> {
    let errors = transcript.failures as u64;
    let is_told = transcript.totals.failed_calls > 0 || errors == 0;
    (!is_told).then(|| {
        format!(
            "<a href=\"#failure-1\">{}</a>",
            words::grouped_number(errors)
        )
    })
}

/// The day, and the time below it.
fn moment_html(timestamp: &str) -> String {
    let moment = words::spoken_moment(timestamp);
    let (day, time) = moment.split_once(", ").unwrap_or((&moment, ""));
    format!(
        "<time datetime=\"{}\">{}</time>",
        escape_html(timestamp),
        with_aside(&escape_html(day), &escape_html(time))
    )
}

/// The prompts of a long session, to jump to.
pub(super) fn table_of_contents(transcript: &Transcript) -> String {
    let prompts = &transcript.prompts;
    if prompts.len() < PROMPTS_WORTH_LISTING {
        return String::new();
    }
    let has_days = transcript.has_days();
    let entries = prompts.iter().enumerate();
    let entries = entries.map(|(at, prompt)| contents_entry(at + 1, prompt, has_days));
    let open = if prompts.len() > PROMPTS_WORTH_FOLDING {
        ""
    } else {
        " open"
    };
    format!(
        "<nav aria-label=\"Prompts\">\n<details{open}>\n<summary>{}</summary>\n<ol>\n{}</ol>\n</details>\n</nav>\n",
        words::counted_noun(prompts.len() as u64, "prompt"),
        entries.collect::<String>()
    )
}

fn contents_entry(number: usize, prompt: &PromptEntry, has_days: bool) -> String {
    let at = prompt.at.as_deref();
    let time = at.and_then(if has_days {
        words::day_and_time
    } else {
        words::time_of_day
    });
    let time = time.map(|time| format!(" <span class=\"when\">{time}</span>"));
    let failures = match prompt.failures {
        0 => String::new(),
        failures => format!(" <span class=\"bad\">{failures} failed</span>"),
    };
    format!(
        "<li><a href=\"#prompt-{number}\">{}</a>{}{failures}</li>\n",
        escape_html(&prompt.title),
        time.unwrap_or_default()
    )
}
