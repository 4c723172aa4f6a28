//! Code in the colours of a terminal.

use anstyle::{AnsiColor, Style};

use super::MarkSet;
use super::row::StyledText;
use crate::code::{CodeClass, CodeScanner};

/// A line of code, or the beginning of one.
pub(super) fn code_glyphs(
    scanner: &mut CodeScanner,
    line: &str,
    base: Style,
    marks: MarkSet,
) -> StyledText {
    let mut glyphs = StyledText::new(marks);
    let mut at = 0;
    scanner.scan_line(line, &mut |class, text| {
        glyphs.push_source(class_style(class, base), text, at);
        at += text.len();
    });
    glyphs
}

fn class_style(class: CodeClass, base: Style) -> Style {
    let colour = |colour: AnsiColor| base.fg_color(Some(colour.into()));
    match class {
        CodeClass::Plain => base,
        CodeClass::Comment => base.dimmed(),
        CodeClass::Text | CodeClass::Added => colour(AnsiColor::Green),
        CodeClass::Constant | CodeClass::Attribute => colour(AnsiColor::Yellow),
        CodeClass::Keyword => colour(AnsiColor::Magenta),
        CodeClass::Function => colour(AnsiColor::Blue),
        CodeClass::Type => colour(AnsiColor::Cyan),
        CodeClass::Removed => colour(AnsiColor::Red),
    }
}
