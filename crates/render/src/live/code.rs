//! Code in the colours of a terminal.

use anstyle::{AnsiColor, Style};

use super::Marks;
use super::row::Glyphs;
use crate::code::{Class, Scanner};

/// A line of code, or the beginning of one.
pub(super) fn glyphs(scanner: &mut Scanner, line: &str, base: Style, marks: Marks) -> Glyphs {
    let mut glyphs = Glyphs::new(marks);
    let mut at = 0;
    scanner.line(line, &mut |class, text| {
        glyphs.push_source(style(class, base), text, at);
        at += text.len();
    });
    glyphs
}

fn style(class: Class, base: Style) -> Style {
    let colour = |colour: AnsiColor| base.fg_color(Some(colour.into()));
    match class {
        Class::Plain => base,
        Class::Comment => base.dimmed(),
        Class::Text | Class::Added => colour(AnsiColor::Green),
        Class::Constant | Class::Attribute => colour(AnsiColor::Yellow),
        Class::Keyword => colour(AnsiColor::Magenta),
        Class::Function => colour(AnsiColor::Blue),
        Class::Type => colour(AnsiColor::Cyan),
        Class::Removed => colour(AnsiColor::Red),
    }
}
