//! The bottom of the page: how it ended and why, and the accounts.

use lapidary_vocab::Outcome;
use lapidary_vocab::event::RunEnd;

use super::escape::escape;
use super::masthead::badge;
use crate::transcript::Transcript;
use crate::words;

/// The footer.
pub(super) fn footer(transcript: &Transcript) -> String {
    let totals = &transcript.totals;
    let facts = Some(totals.facts().join(" · ")).filter(|facts| !facts.is_empty());
    let hidden = totals
        .not_shown()
        .map(|hidden| format!("; {}", escape(&hidden)))
        .unwrap_or_default();
    let events = words::count(totals.events, "event");
    let parts = [
        transcript.end.as_ref().map(verdict),
        facts.map(|facts| format!("<p>{}</p>\n", escape(&facts))),
        accounts(transcript),
        Some(format!(
            "<p class=\"colophon\">Written by Lapidary from {events}{hidden}.</p>\n"
        )),
    ];
    format!(
        "<footer>\n{}</footer>\n",
        words::joined(parts.into_iter().flatten())
    )
}

fn verdict(end: &RunEnd) -> String {
    let hint = end.hint.as_ref();
    let hint = hint.map(|hint| {
        format!(
            "<p class=\"hint\"><strong>Hint:</strong> {}</p>\n",
            escape(hint)
        )
    });
    let warnings = end.warnings.iter().map(|warning| {
        format!(
            "<p class=\"hint\"><strong>Warning:</strong> {}</p>\n",
            escape(warning)
        )
    });
    let why = (end.outcome != Outcome::Completed).then(|| reasons(end));
    format!(
        "<section class=\"verdict\">\n<h2>How it ended {}</h2>\n{}{}{}</section>\n",
        badge(end),
        why.unwrap_or_default(),
        warnings.collect::<String>(),
        hint.unwrap_or_default()
    )
}

fn reasons(end: &RunEnd) -> String {
    let cause = words::capitalised(end.cause.described());
    let cause = format!("<p>{}.</p>\n", escape(&cause));
    let message = end
        .message
        .as_ref()
        .map(|message| escape(&message.to_str()));
    let message =
        message.map(|message| format!("<pre class=\"output\" tabindex=\"0\">{message}</pre>\n"));
    let evidence = end
        .evidence
        .iter()
        .map(|evidence| format!("<li>{}</li>\n", escape(evidence)));
    let evidence = words::joined(evidence);
    let evidence = Some(evidence).filter(|evidence| !evidence.is_empty());
    let evidence = evidence.map(|evidence| format!("<ul class=\"evidence\">\n{evidence}</ul>\n"));
    cause + &message.unwrap_or_default() + &evidence.unwrap_or_default()
}

fn accounts(transcript: &Transcript) -> Option<String> {
    if transcript.totals.models.is_empty() {
        return None;
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
    Some(format!(
        "<table class=\"accounts\">\n<caption>Tokens by model</caption>\n<thead><tr><th scope=\"col\">Model</th>\
         <th scope=\"col\">In</th><th scope=\"col\">of it cached</th><th scope=\"col\">Out</th><th scope=\"col\">Sum</th></tr></thead>\n\
         <tbody>\n{}</tbody>\n</table>\n",
        rows.collect::<String>()
    ))
}
