//! Tool calls: one line that tells enough, the story behind it folded away. What failed stands open.

use super::code;
use super::escape::escape_html;
use super::failures::FailureLinks;
use super::item::CallProgress;
use crate::diff;
use crate::permission::PermissionAnswer;
use crate::plain::sanitize;
use crate::tool::{CallState, DiffOrigin, ToolPart, tool_parts};
use crate::transcript::ToolCallItem;
use crate::words;

/// A tool call.
pub(super) fn tool_html(
    tool: &ToolCallItem,
    progress: CallProgress,
    failures: &mut FailureLinks,
) -> String {
    let parts = tool_parts(tool);
    let state = tool.current_state();
    let goes_on = state == CallState::Unanswered && progress == CallProgress::GoesOn;
    let (class, open) = match state {
        _ if goes_on => ("going-on", ""),
        CallState::Done => ("done", ""),
        CallState::Failed => ("failed", " open"),
        CallState::Cancelled => ("cancelled", ""),
        CallState::Denied => ("unanswered", " open"),
        CallState::Unanswered => ("unanswered", ""),
    };
    let (id, links) = match state {
        CallState::Failed => failures.next(),
        _ => Default::default(),
    };
    let nested = if tool.is_nested() { " nested" } else { "" };
    let body: String = parts.iter().map(part_html).collect();
    let body = denial_html(tool) + &body;
    let body = if body.is_empty() {
        let nothing = if goes_on {
            "Nothing was reported yet."
        } else {
            "Nothing more was recorded."
        };
        format!("<p class=\"note\">{nothing}</p>")
    } else {
        body
    };
    format!(
        "<details class=\"tool {class}{nested}\"{id}{open}>\n<summary>{}</summary>\n<div class=\"body\">\n{links}{body}</div>\n</details>\n",
        summary_html(tool, &parts, goes_on)
    )
}

/// Why it was not permitted.
fn denial_html(tool: &ToolCallItem) -> String {
    let answer = tool.answer.as_ref();
    let reason = answer.and_then(PermissionAnswer::denial_text);
    let reason = reason.map(|reason| format!("<p class=\"note\">{}</p>\n", escape_html(&reason)));
    reason.unwrap_or_default()
}

fn summary_html(tool: &ToolCallItem, parts: &[ToolPart], goes_on: bool) -> String {
    let state = tool.current_state();
    let span = |class: &str, text: String| format!("<span class=\"{class}\">{text}</span> ");
    let pieces = [
        Some(format!(
            "<span class=\"mark\" aria-hidden=\"true\">{}</span> ",
            state.state_mark()
        )),
        Some(span("name", escape_html(&tool.tool_name()))),
        tool.call_subject()
            .map(|subject| span("subject", escape_html(&subject))),
        // Sighted readers have the mark, so success is a word for screen readers only; other states show their word to all.
        Some(span(
            if state == CallState::Done {
                "vh"
            } else {
                "state"
            },
            match (goes_on, tool.is_asked && tool.answer.is_none()) {
                (true, true) => "asks for permission".to_owned(),
                (true, false) => "running".to_owned(),
                (false, _) => state.state_word().to_owned(),
            },
        )),
        tool.answer
            .as_ref()
            .filter(|_| state != CallState::Denied)
            .map(|answer| span("answer", escape_html(&answer.in_words()))),
        parts
            .iter()
            .find_map(change_size)
            .map(|size| span("size", size)),
        tool.duration_millis()
            .map(|millis| span("time", words::spoken_duration(millis))),
    ];
    words::joined_pieces(pieces.into_iter().flatten())
}

fn change_size(part: &ToolPart) -> Option<String> {
    let ToolPart::Diff { diff, .. } = part else {
        return None;
    };
    let (added, removed) = diff::diff_size(diff);
    Some(format!(
        "<span class=\"plus\">+{added}</span> <span class=\"minus\">−{removed}</span>"
    ))
}

pub(super) fn part_html(part: &ToolPart) -> String {
    match part {
        ToolPart::Arguments(arguments) => arguments_html(arguments),
        ToolPart::Diff { diff, origin } => diff_html(diff, *origin),
        ToolPart::File { path, text } => {
            let note = if text.is_empty() { "empty" } else { "" };
            figure_html(
                path,
                note,
                &format!(
                    "<pre class=\"code\" tabindex=\"0\"><code>{}</code></pre>",
                    code::code_html(text, path)
                ),
            )
        }
        ToolPart::Terminal {
            command,
            output,
            note,
        } => terminal_html(command.as_deref(), output.as_deref(), note.as_deref()),
        ToolPart::Output(text) => format!(
            "<pre class=\"output\" tabindex=\"0\">{}</pre>\n",
            escape_html(text)
        ),
        ToolPart::Data { what, json } => figure_html(
            what,
            "",
            &format!(
                "<pre class=\"code\" tabindex=\"0\"><code>{}</code></pre>",
                code::code_html(json, "json")
            ),
        ),
        ToolPart::Note(note) => format!("<p class=\"note\">{}</p>\n", escape_html(note)),
    }
}

fn figure_html(caption: &str, note: &str, content: &str) -> String {
    let note = if note.is_empty() {
        String::new()
    } else {
        format!(" <span class=\"origin\">{note}</span>")
    };
    format!(
        "<figure><figcaption>{}{note}</figcaption>{content}</figure>\n",
        escape_html(caption)
    )
}

fn arguments_html(arguments: &[(String, String)]) -> String {
    let rows = arguments.iter().map(|(key, value)| {
        let value = escape_html(value);
        let value = if value.contains('\n') {
            format!("<pre>{value}</pre>")
        } else {
            format!("<code>{value}</code>")
        };
        format!("<dt>{}</dt><dd>{value}</dd>\n", escape_html(key))
    });
    format!(
        "<dl class=\"arguments\">\n{}</dl>\n",
        rows.collect::<String>()
    )
}

fn diff_html(diff: &str, origin: DiffOrigin) -> String {
    let clean = sanitize(diff);
    let note = match origin {
        DiffOrigin::Agent => "",
        DiffOrigin::Derived => "derived from the text before and after",
    };
    let path = clean
        .lines()
        .find_map(|line| line.strip_prefix("+++ "))
        .unwrap_or("Change");
    // Behind a tab stands when, or in Gemini's own diffs which version it is.
    let path = path.split('\t').next().unwrap_or(path);
    let path = path.strip_prefix("b/").unwrap_or(path);
    figure_html(
        path,
        note,
        &format!(
            "<pre class=\"diff\" tabindex=\"0\">{}</pre>",
            code::diff_html(&clean, path)
        ),
    )
}

fn terminal_html(command: Option<&str>, output: Option<&str>, note: Option<&str>) -> String {
    let command = command.map(escape_html).map(|command| {
        format!("<span class=\"command\"><span class=\"sign\">$</span> {command}\n</span>")
    });
    let note = note
        .map(escape_html)
        .map(|note| format!("<span class=\"sign\">({note})\n</span>"));
    let lines = words::joined_pieces(
        [command, output.map(escape_html), note]
            .into_iter()
            .flatten(),
    );
    format!("<pre class=\"terminal\" tabindex=\"0\">{lines}</pre>\n")
}
