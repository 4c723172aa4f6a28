//! The frame of the conversation: the facts above, the accounts below.

use lapidary_vocab::event::RunEnd;
use lapidary_vocab::{Outcome, Text};

use super::block::{escape_markdown, inline_code};
use crate::transcript::Transcript;
use crate::words;

/// The title and the facts.
pub(super) fn document_header(transcript: &Transcript) -> String {
    let title = transcript
        .first_prompt_title()
        .map_or_else(|| "Session".to_owned(), escape_markdown);
    let init = &transcript.session.init;
    let shown = |text: &Option<Text>| text.as_ref().map(|text| inline_code(&text.to_str()));
    let provider =
        Some(escape_markdown(&transcript.session.provider)).filter(|provider| !provider.is_empty());
    let rows = [
        ("Agent", provider),
        ("Model", shown(&init.model)),
        ("Session", shown(&transcript.session.id)),
        ("Folder", shown(&init.cwd)),
        (
            "Started",
            transcript
                .totals
                .start_time()
                .map(|time| escape_markdown(&words::spoken_moment(time))),
        ),
        ("Cost", transcript.totals.cost_and_basis()),
        (
            "Outcome",
            transcript
                .end
                .as_ref()
                .map(|end| escape_markdown(end.outcome.as_str())),
        ),
    ];
    let rows = rows
        .into_iter()
        .filter_map(|(name, value)| Some(format!("| {name} | {} |\n", value?)));
    format!(
        "# {title}\n\n| | |\n|---|---|\n{}",
        words::joined_pieces(rows)
    )
}

/// The verdict and the accounts.
pub(super) fn document_footer(transcript: &Transcript) -> String {
    let totals = &transcript.totals;
    let mut blocks = vec![
        "---".to_owned(),
        verdict_line(transcript.end.as_ref(), &totals.usage_facts()),
    ];
    let warnings = transcript.end.iter().flat_map(|end| &end.warnings);
    blocks.extend(warnings.map(|warning| format!("Warning: {}", escape_markdown(warning))));
    let models = totals.models.iter();
    blocks.extend(models.map(|(model, tokens)| match tokens.in_words() {
        Some(tokens) => format!("{} {tokens}", inline_code(model)),
        None => inline_code(model),
    }));
    blocks.extend(
        totals
            .not_shown()
            .map(|hidden| format!("*{}*", escape_markdown(&hidden))),
    );
    format!("\n{}\n", blocks.join("\n\n"))
}

fn verdict_line(end: Option<&RunEnd>, facts: &[String]) -> String {
    let outcome = end.map(|end| format!("**{}**", escape_markdown(end.outcome.as_str())));
    let line = outcome
        .into_iter()
        .chain(facts.iter().map(|fact| escape_markdown(fact)))
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
        .map(|message| escape_markdown(&message.to_str()));
    let mut lines = vec![
        line,
        format!("Cause: {}", escape_markdown(end.cause.described())),
    ];
    lines.extend(message.map(|message| format!("Message: {message}")));
    let evidence = end
        .evidence
        .iter()
        .map(|evidence| format!("- {}", escape_markdown(evidence)));
    let evidence = evidence.collect::<Vec<_>>().join("\n");
    lines.extend(Some(evidence).filter(|evidence| !evidence.is_empty()));
    lines.extend(
        end.hint
            .as_ref()
            .map(|hint| format!("Hint: {}", escape_markdown(hint))),
    );
    lines.join("\n\n")
}
