//! Code with its colours. Each piece is an `i` with a class of one letter: spans would make a page a tenth larger.

use super::escape::escape_clean;
use crate::code::{Class, Scanner};
use crate::plain::sanitize;

/// Larger blocks stay plain: the marks around the pieces would double a page that few read to its end.
const LARGEST_BLOCK: usize = 64 * 1024;

/// The code as HTML. `language` is a word such as `rust`, or a path whose extension tells.
pub(super) fn html(code: &str, language: &str) -> String {
    let clean = sanitize(code);
    let mut html = String::with_capacity(clean.len() * 2);
    match Scanner::new(language).filter(|_| clean.len() <= LARGEST_BLOCK) {
        Some(scanner) => colour(&clean, scanner, &mut html),
        None => escape_clean(&clean, &mut html),
    }
    html
}

fn colour(code: &str, mut scanner: Scanner, html: &mut String) {
    let mut spans = Spans {
        html,
        open: Class::Plain,
    };
    for line in code.split_inclusive('\n') {
        scanner.line(line, &mut |class, text| spans.push(class, text));
    }
    spans.switch(Class::Plain);
}

fn letter(class: Class) -> &'static str {
    match class {
        Class::Plain => "",
        Class::Comment => "c",
        Class::Text => "s",
        Class::Constant => "n",
        Class::Keyword => "k",
        Class::Function => "f",
        Class::Type => "t",
        Class::Attribute => "a",
        Class::Added => "plus",
        Class::Removed => "minus",
    }
}

/// Joins neighbours of one class, and the spaces between them.
struct Spans<'a> {
    html: &'a mut String,
    open: Class,
}

impl Spans<'_> {
    fn push(&mut self, class: Class, text: &str) {
        if !text.trim().is_empty() {
            self.switch(class);
        }
        escape_clean(text, self.html);
    }

    fn switch(&mut self, class: Class) {
        if self.open == class {
            return;
        }
        if self.open != Class::Plain {
            self.html.push_str("</i>");
        }
        if class != Class::Plain {
            self.html.push_str("<i class=\"");
            self.html.push_str(letter(class));
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
            html("fn a() { \"<b>\" } // c\n", "src/main.rs"),
            "<i class=\"k\">fn </i><i class=\"f\">a</i>() { <i class=\"s\">&quot;&lt;b&gt;&quot;</i> } <i class=\"c\">// c\n</i>"
        );
    }

    #[test]
    fn unknown_and_large_code_stays_plain() {
        assert_eq!(html("fn <", "no such language"), "fn &lt;");
        assert_eq!(html("fn <", ""), "fn &lt;");
        let large = "fn a() {}\n".repeat(10_000);
        assert_eq!(html(&large, "rs"), large);
    }
}
