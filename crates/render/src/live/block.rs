//! The kind of a Markdown line: a heading, an item, code or plain words. Told from its beginning, as it comes.

use anstyle::{AnsiColor, Style};

use super::wrap::BreakPoint;

/// How a line is shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockLine {
    pub(super) sort: BlockStyle,
    /// The text before the first row.
    pub(super) mark: String,
    pub(super) mark_style: Style,
    /// The text before the other rows: as wide as the mark.
    pub(super) hang: String,
    /// Where the words begin in the source.
    pub(super) body: usize,
    pub(super) style: Style,
    pub(super) breaks: BreakPoint,
}

/// The kind of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockStyle {
    /// Words with marks in them.
    Words,
    /// Words that stay as they are.
    Verbatim,
    /// The beginning of code, or its end.
    Fence(CodeFence),
    /// A line across.
    Rule,
    /// A line that may belong to a table.
    Table,
}

/// What code is fenced with: only the same, at least as long, ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeFence {
    ch: char,
    length: usize,
    /// How far the fence is indented: the code has no more than that to lose.
    indent: usize,
    /// The language, or what else is said there.
    label: String,
}

/// Whether Markdown marks are shown verbatim or as styles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkDisplay {
    /// Marks become colours and signs.
    Styled,
    /// Without colours nothing is more readable than the source itself.
    Source,
}

/// How far a mark or an indentation may push the words to the right.
const WIDEST_MARK: usize = 12;

const CODE_MARGIN: &str = "  ";

/// What `line` is, if `within` code or not.
pub(super) fn classify_line(
    line: &str,
    within: Option<&CodeFence>,
    looks: MarkDisplay,
) -> BlockLine {
    if let Some(fence) = within {
        return code_line(line, fence, looks);
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent..];
    if let Some(fence) = opening_fence(rest, indent) {
        return fence_line(line, fence, looks);
    }
    if looks == MarkDisplay::Styled && is_rule(rest) {
        return BlockLine {
            sort: BlockStyle::Rule,
            ..plain_line(line, indent)
        };
    }
    heading_line(line, indent, looks)
        .or_else(|| quote_line(line, indent, looks))
        .or_else(|| list_item_line(line, indent, looks))
        .or_else(|| table_line(line, indent))
        .unwrap_or_else(|| plain_line(line, indent))
        .with_display(looks)
}

impl BlockLine {
    /// Without colours, words stay as they are.
    fn with_display(mut self, looks: MarkDisplay) -> Self {
        if looks == MarkDisplay::Source && self.sort != BlockStyle::Table {
            self.sort = BlockStyle::Verbatim;
        }
        self
    }
}

impl CodeFence {
    /// The language: the first word of the fence's label.
    pub(super) fn language_name(&self) -> &str {
        let word = self.label.split([' ', ',', '{']).next();
        word.unwrap_or_default()
    }
}

fn plain_line(line: &str, indent: usize) -> BlockLine {
    let indent = indent.min(WIDEST_MARK).min(line.len());
    BlockLine {
        sort: BlockStyle::Words,
        mark: " ".repeat(indent),
        mark_style: Style::new(),
        hang: " ".repeat(indent),
        body: indent,
        style: Style::new(),
        breaks: BreakPoint::Words,
    }
}

/// A block whose words begin at `body`, with its mark as it stands or as `sign`.
fn marked_line(line: &str, indent: usize, body: usize, sign: Option<&str>) -> BlockLine {
    let indent = " ".repeat(indent.min(WIDEST_MARK));
    let own = line[..body].trim_start_matches(' ');
    let mark = indent + sign.unwrap_or(own);
    BlockLine {
        hang: " ".repeat(mark.chars().count()),
        mark,
        body,
        mark_style: Style::new().dimmed(),
        ..plain_line(line, 0)
    }
}

fn heading_line(line: &str, indent: usize, looks: MarkDisplay) -> Option<BlockLine> {
    let rest = &line[indent..];
    let level = rest.len() - rest.trim_start_matches('#').len();
    let is_heading = (1..=6).contains(&level) && rest[level..].starts_with(' ');
    let style = match level {
        1 | 2 => AnsiColor::Cyan.on_default().bold(),
        _ => Style::new().bold(),
    };
    is_heading.then(|| match looks {
        MarkDisplay::Source => plain_line(line, 0),
        MarkDisplay::Styled => BlockLine {
            style,
            ..marked_line(line, 0, indent + level + 1, Some(""))
        },
    })
}

fn quote_line(line: &str, indent: usize, looks: MarkDisplay) -> Option<BlockLine> {
    let rest = line[indent..].strip_prefix('>')?;
    let body = indent + 1 + usize::from(rest.starts_with(' '));
    let sign = match looks {
        MarkDisplay::Styled => "▎ ",
        MarkDisplay::Source => "> ",
    };
    let block = marked_line(line, indent, body, Some(sign));
    Some(BlockLine {
        hang: block.mark.clone(),
        style: Style::new().italic(),
        ..block
    })
}

fn list_item_line(line: &str, indent: usize, looks: MarkDisplay) -> Option<BlockLine> {
    let rest = &line[indent..];
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (length, sign) = match rest.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => (1, "• "),
        Some(b'.' | b')') if (1..=4).contains(&digits) => (digits + 1, ""),
        _ => return None,
    };
    let body = indent + length + 1;
    let sign = Some(sign).filter(|sign| looks == MarkDisplay::Styled && !sign.is_empty());
    (line.as_bytes().get(body - 1) == Some(&b' ')).then(|| marked_line(line, indent, body, sign))
}

/// A line of a table, or one that only looks like it and keeps its marks.
fn table_line(line: &str, indent: usize) -> Option<BlockLine> {
    line[indent..].starts_with('|').then(|| BlockLine {
        sort: BlockStyle::Table,
        breaks: BreakPoint::Anywhere,
        ..plain_line(line, indent)
    })
}

fn is_rule(rest: &str) -> bool {
    let marks = || rest.chars().filter(|c| *c != ' ');
    let first = marks().next();
    matches!(first, Some('-' | '*' | '_'))
        && marks().count() > 2
        && marks().all(|c| Some(c) == first)
}

fn opening_fence(rest: &str, indent: usize) -> Option<CodeFence> {
    let ch = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let label = rest.trim_start_matches(ch);
    let length = rest.len() - label.len();
    // ```this``` is code within a line.
    (length > 2 && !label.contains('`')).then(|| CodeFence {
        ch,
        length,
        indent,
        label: label.trim().to_owned(),
    })
}

fn fence_line(line: &str, fence: CodeFence, looks: MarkDisplay) -> BlockLine {
    let sort = BlockStyle::Fence(fence);
    match looks {
        MarkDisplay::Source => BlockLine {
            sort,
            ..plain_line(line, 0)
        },
        // Code stands apart without its fence.
        MarkDisplay::Styled => BlockLine {
            sort,
            ..marked_line(line, 0, line.len(), Some(""))
        },
    }
}

fn code_line(line: &str, within: &CodeFence, looks: MarkDisplay) -> BlockLine {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let ends = opening_fence(&line[indent..], indent).filter(|fence| {
        fence.ch == within.ch && fence.length >= within.length && fence.label.is_empty()
    });
    if let Some(fence) = ends {
        return fence_line(line, fence, looks);
    }
    let (margin, style) = match looks {
        MarkDisplay::Styled => (CODE_MARGIN, AnsiColor::Cyan.on_default()),
        MarkDisplay::Source => ("", Style::new()),
    };
    let body = match looks {
        MarkDisplay::Styled => indent.min(within.indent),
        MarkDisplay::Source => 0,
    };
    BlockLine {
        sort: BlockStyle::Verbatim,
        style,
        breaks: BreakPoint::Anywhere,
        ..marked_line(line, 0, body, Some(margin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(line: &str) -> (String, String) {
        let block = classify_line(line, None, MarkDisplay::Styled);
        (block.mark, line[block.body..].to_owned())
    }

    #[test]
    fn a_line_is_known_by_its_beginning() {
        for (line, mark, body) in [
            ("words", "", "words"),
            ("  words", "  ", "words"),
            ("## Title", "", "Title"),
            ("#hash", "", "#hash"),
            ("- item", "• ", "item"),
            ("  * item", "  • ", "item"),
            ("12. item", "12. ", "item"),
            ("1.5 times", "", "1.5 times"),
            ("-dash", "", "-dash"),
            ("> said", "▎ ", "said"),
            ("| a | b |", "", "| a | b |"),
            ("```rust", "", ""),
            ("```", "", ""),
        ] {
            assert_eq!(outline(line), (mark.to_owned(), body.to_owned()), "{line}");
        }
    }

    #[test]
    fn code_ends_with_its_own_fence_only() {
        let BlockStyle::Fence(fence) = classify_line("~~~~ text", None, MarkDisplay::Styled).sort
        else {
            panic!("a fence")
        };
        let ends = |line| {
            matches!(
                classify_line(line, Some(&fence), MarkDisplay::Styled).sort,
                BlockStyle::Fence(_)
            )
        };
        assert!(ends("~~~~~"));
        assert!(!ends("~~~"));
        assert!(!ends("````"));
        assert!(!ends("~~~~ more"));
        assert!(!ends("# no heading"));
    }
}
