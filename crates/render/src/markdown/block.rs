//! The building blocks of our Markdown, each safe for any text.

use std::io::{self, Write};

use crate::plain::sanitize;

/// Text within a line: nothing in it is Markdown or HTML any more, and it stays on its line.
pub(super) fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in sanitize(text).chars() {
        match c {
            '\n' | '\t' => escaped.push(' '),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '|' | '#' | '!' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text as code within a line, also within a table.
pub(super) fn inline_code(text: &str) -> String {
    let text = sanitize(text).replace(['\n', '\t'], " ");
    // A bar would end a table's cell within a code span, and a code span cannot be blank.
    if text.trim().is_empty() || text.contains('|') {
        return escape_markdown(&text);
    }
    let ticks = "`".repeat(longest_run(&text, '`') + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Text in a fence that is longer than any run of backticks in it.
pub(super) fn fenced_code(language: &str, text: &str) -> String {
    let text = sanitize(text);
    let text = text.trim_end_matches('\n');
    let ticks = fence_ticks(text);
    format!("{ticks}{language}\n{text}\n{ticks}")
}

/// A fence that nothing in the text can close.
fn fence_ticks(text: &str) -> String {
    "`".repeat(longest_run(text, '`').max(2) + 1)
}

/// The same, written out: for texts that are too long to be held once more.
pub(super) fn write_fence(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = sanitize(text);
    let text = text.trim_end_matches('\n');
    let ticks = fence_ticks(text);
    for part in [&ticks, "\n", text, "\n", &ticks, "\n"] {
        out.write_all(part.as_bytes())?;
    }
    Ok(())
}

/// Markdown as a quotation.
pub(super) fn block_quote(markdown: &str) -> String {
    let mut quoted = String::with_capacity(markdown.len() + markdown.len() / 16);
    for line in markdown.trim_end().split('\n').map(str::trim_end) {
        if !quoted.is_empty() {
            quoted.push('\n');
        }
        quoted.push_str(if line.is_empty() { ">" } else { "> " });
        quoted.push_str(line);
    }
    quoted
}

/// Markdown that folds away behind one line of text. The summary stands in HTML, where only HTML's characters count; blank
/// lines around the body bring Markdown back.
pub(super) fn details_block(summary: &str, body: &str, open: bool) -> String {
    let open = if open { " open" } else { "" };
    let summary = sanitize(summary).replace(['\n', '\t'], " ");
    let summary = summary
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    format!(
        "<details{open}>\n<summary>{summary}</summary>\n\n{}\n\n</details>",
        body.trim_end()
    )
}

fn longest_run(text: &str, of: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == of { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_outlasts_what_it_holds() {
        assert_eq!(fenced_code("rs", "x\n"), "```rs\nx\n```");
        assert_eq!(fenced_code("", "a\n````\nb"), "`````\na\n````\nb\n`````");
    }

    #[test]
    fn code_holds_backticks_and_bars() {
        assert_eq!(inline_code("a"), "`a`");
        assert_eq!(inline_code("`a``b"), "``` `a``b ```");
        assert_eq!(inline_code("a|b"), "a\\|b");
    }
}
