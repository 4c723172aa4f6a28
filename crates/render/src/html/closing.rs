//! The bottom of the page: how it ended and why, and the accounts.

use lapidary_vocab::Outcome;
use lapidary_vocab::event::RunEnd;

use super::escape::escape_html;
use super::masthead::outcome_badge;
use crate::transcript::Transcript;
use crate::words;

/// The footer.
pub(super) fn page_footer(transcript: &Transcript) -> String {
    let totals = &transcript.totals;
    let facts = Some(totals.usage_facts().join(" · ")).filter(|facts| !facts.is_empty());
    let hidden = totals
        .not_shown()
        .map(|hidden| format!("; {}", escape_html(&hidden)))
        .unwrap_or_default();
    let events = words::counted_noun(totals.events, "event");
    let parts = [
        transcript.end.as_ref().map(verdict_html),
        facts.map(|facts| format!("<p>{}</p>\n", escape_html(&facts))),
        totals_html(transcript),
        Some(format!(
            "<p class=\"colophon\">Written by Lapidary from {events}{hidden}.</p>\n"
        )),
    ];
    format!(
        "<footer>\n{}</footer>\n",
        words::joined_pieces(parts.into_iter().flatten())
    )
}

fn verdict_html(end: &RunEnd) -> String {
    let hint = end.hint.as_ref();
    let hint = hint.map(|hint| {
        format!(
            "<p class=\"hint\"><strong>Hint:</strong> {}</p>\n",
            escape_html(hint)
        )
    });
    let warnings = end.warnings.iter().map(|warning| {
        format!(
            "<p class=\"hint\"><strong>Warning:</strong> {}</p>\n",
            escape_html(warning)
        )
    });
    let why = (end.outcome != Outcome::Completed).then(|| reasons_html(end));
    format!(
        "<section class=\"verdict\">\n<h2>How it ended {}</h2>\n{}{}{}</section>\n",
        outcome_badge(end),
        why.unwrap_or_default(),
        warnings.collect::<String>(),
        hint.unwrap_or_default()
    )
}

fn reasons_html(end: &RunEnd) -> String {
    let cause = words::capitalised_text(end.cause.described());
    let cause = format!("<p>{}.</p>\n", escape_html(&cause));
    let message = end
        .message
        .as_ref()
        .map(|message| escape_html(&message.to_str()));
    let message =
        message.map(|message| format!("<pre class=\"output\" tabindex=\"0\">{message}</pre>\n"));
    let evidence = end
        .evidence
        .iter()
        .map(|evidence| format!("<li>{}</li>\n", escape_html(evidence)));
    let evidence = words::joined_pieces(evidence);
    let evidence = Some(evidence).filter(|evidence| !evidence.is_empty());
    let evidence = evidence.map(|evidence| format!("<ul class=\"evidence\">\n{evidence}</ul>\n"));
    cause + &message.unwrap_or_default() + &evidence.unwrap_or_default()
}

fn totals_html(transcript: &Transcript) -> Option<String> {
    if transcript.totals.models.is_empty() {
        return None;
    }
    let cell = |value: Option<u64>| {
        format!(
            "<td>{}</td>",
            value.map_or_else(|| "–".to_owned(), words::grouped_number)
        )
    };
    let rows = transcript.totals.models.iter().map(|(model, tokens)| {
        let counts = [
            tokens.input,
            tokens.cached,
            tokens.output,
            tokens.total_tokens(),
        ]
        .map(cell)
        .concat();
        format!(
            "<tr><th scope=\"row\">{}</th>{counts}</tr>\n",
            escape_html(model)
        )
    });
    Some(format!(
        "<table class=\"accounts\">\n<caption>Tokens by model</caption>\n<thead><tr><th scope=\"col\">Model</th>\
         <th scope=\"col\">In</th><th scope=\"col\">of it cached</th><th scope=\"col\">Out</th><th scope=\"col\">Sum</th></tr></thead>\n\
         <tbody>\n{}</tbody>\n</table>\n",
        rows.collect::<String>()
    ))
}
