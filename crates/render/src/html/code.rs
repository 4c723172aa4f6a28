//! Code with its colours. Each piece is an `i` with a class of one letter: spans would make a page a tenth larger.

use super::escape::escape_clean;
use crate::code::{CodeClass, CodeScanner};
use crate::diff::{DiffLine, diff_lines};
use crate::plain::sanitize;

/// Larger blocks stay plain: the marks around the pieces would double a page that few read to its end.
const LARGEST_BLOCK: usize = 64 * 1024;

/// The code as HTML. `language` is a word such as `rust`, or a path whose extension tells.
pub(super) fn code_html(code: &str, language: &str) -> String {
    let clean = sanitize(code);
    let mut html = String::with_capacity(clean.len() * 2);
    match CodeScanner::new(language).filter(|_| clean.len() <= LARGEST_BLOCK) {
        Some(scanner) => colour_code(&clean, scanner, &mut html),
        None => escape_clean(&clean, &mut html),
    }
    html
}

fn colour_code(code: &str, mut scanner: CodeScanner, html: &mut String) {
    let mut spans = CodeSpans {
        html,
        open: CodeClass::Plain,
    };
    for line in code.split_inclusive('\n') {
        scanner.scan_line(line, &mut |class, text| spans.push(class, text));
    }
    spans.switch_class(CodeClass::Plain);
}

/// The lines of a diff, each with its kind and its code coloured. `clean` was cleaned already; `path` tells the language.
pub(super) fn diff_html(clean: &str, path: &str) -> String {
    let scanner = CodeScanner::new(path).filter(|_| clean.len() <= LARGEST_BLOCK);
    // The text before and the text after are two texts: a comment that opens in one does not open in the other.
    let (mut before, mut after) = (scanner.clone(), scanner);
    let mut html = String::with_capacity(clean.len() * 2);
    for (kind, line) in diff_lines(clean) {
        let (class, scanners) = match kind {
            DiffLine::Head => ("head", [None, None]),
            DiffLine::Hunk => ("hunk", [None, None]),
            DiffLine::Added => ("add", [after.as_mut(), None]),
            DiffLine::Removed => ("del", [before.as_mut(), None]),
            DiffLine::Context => ("ctx", [after.as_mut(), before.as_mut()]),
        };
        html.extend(["<span class=\"", class, "\">"]);
        let [scanner, other] = scanners;
        match (scanner, line.split_at_checked(1)) {
            (Some(scanner), Some((sign, code))) => {
                escape_clean(sign, &mut html);
                colour_line(code, scanner, &mut html);
                if let Some(other) = other {
                    other.scan_line(code, &mut |_, _| {});
                }
            }
            _ => escape_clean(line, &mut html),
        }
        // The newline stays in the line: without the style sheet it is still a diff.
        html.push_str("\n</span>");
    }
    html
}

fn colour_line(line: &str, scanner: &mut CodeScanner, html: &mut String) {
    let mut spans = CodeSpans {
        html,
        open: CodeClass::Plain,
    };
    scanner.scan_line(line, &mut |class, text| spans.push(class, text));
    spans.switch_class(CodeClass::Plain);
}

fn class_letter(class: CodeClass) -> &'static str {
    match class {
        CodeClass::Plain => "",
        CodeClass::Comment => "c",
        CodeClass::Text => "s",
        CodeClass::Constant => "n",
        CodeClass::Keyword => "k",
        CodeClass::Function => "f",
        CodeClass::Type => "t",
        CodeClass::Attribute => "a",
        CodeClass::Added => "plus",
        CodeClass::Removed => "minus",
    }
}

/// Joins neighbours of one class, and the spaces between them.
struct CodeSpans<'a> {
    html: &'a mut String,
    open: CodeClass,
}

impl CodeSpans<'_> {
    fn push(&mut self, class: CodeClass, text: &str) {
        if !text.trim().is_empty() {
            self.switch_class(class);
        }
        escape_clean(text, self.html);
    }

    fn switch_class(&mut self, class: CodeClass) {
        if self.open == class {
            return;
        }
        if self.open != CodeClass::Plain {
            self.html.push_str("</i>");
        }
        if class != CodeClass::Plain {
            self.html.push_str("<i class=\"");
            self.html.push_str(class_letter(class));
            self.html.push_str("\">");
        }
        self.open = class;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_coloured_and_escaped() {
        assert_eq!(
            code_html("fn a() { \"<b>\" } // c\n", "src/main.rs"),
            "<i class=\"k\">fn </i><i class=\"f\">a</i>() { <i class=\"s\">&quot;&lt;b&gt;&quot;</i> } <i class=\"c\">// c\n</i>"
        );
    }

    #[test]
    fn the_two_sides_of_a_diff_are_coloured_apart() {
        let diff = "--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n-/* <a>\n+fn b\n c */\n";
        assert_eq!(
            diff_html(diff, "x.rs"),
            "<span class=\"head\">--- a/x.rs\n</span><span class=\"head\">+++ b/x.rs\n</span>\
             <span class=\"hunk\">@@ -1,2 +1,2 @@\n</span>\
             <span class=\"del\">-<i class=\"c\">/* &lt;a&gt;</i>\n</span>\
             <span class=\"add\">+<i class=\"k\">fn</i> b\n</span>\
             <span class=\"ctx\"> c */\n</span>"
        );
        assert!(!diff_html(diff, "notes").contains("<i"));
    }

    #[test]
    fn unknown_and_large_code_stays_plain() {
        assert_eq!(code_html("fn <", "no such language"), "fn &lt;");
        assert_eq!(code_html("fn <", ""), "fn &lt;");
        let large = "fn a() {}\n".repeat(10_000);
        assert_eq!(code_html(&large, "rs"), large);
    }
}
