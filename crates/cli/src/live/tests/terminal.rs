//! A terminal to look at.

use std::cell::RefCell;
use std::io::{self, Write};
use std::num::NonZero;
use std::rc::Rc;
use std::time::Duration;

use lapidary::render::live::{LiveOptions, MarkSet, TerminalSize};
use lapidary::vocab::Event;

use crate::live::LiveView;

/// More than any test prints.
const SCROLLBACK: usize = 20_000;

/// A terminal that can be written to and looked at by two.
#[derive(Clone)]
pub(super) struct Terminal {
    pub(super) parser: Rc<RefCell<vt100::Parser>>,
    /// All written bytes.
    pub(super) bytes: Rc<RefCell<Vec<u8>>>,
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.parser.borrow_mut().process(bytes);
        self.bytes.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Terminal {
    pub(super) fn new(size: TerminalSize) -> Self {
        let parser = vt100::Parser::new(rows(size.height), rows(size.width), SCROLLBACK);
        Self {
            parser: Rc::new(RefCell::new(parser)),
            bytes: Rc::default(),
        }
    }

    /// The text on the screen, without empty rows at its end.
    pub(super) fn screen(&self) -> String {
        self.parser
            .borrow()
            .screen()
            .contents()
            .trim_end()
            .to_owned()
    }

    /// The screen and all that has scrolled out of it.
    pub(super) fn everything(&self) -> String {
        self.rows(|screen, row| {
            let width = screen.size().1;
            screen.rows(0, width.get()).nth(row).unwrap_or_default()
        })
    }

    /// The same with every change of style named.
    pub(super) fn styled(&self) -> String {
        self.rows(styled_row)
    }

    fn rows(&self, row: impl Fn(&vt100::Screen, usize) -> String) -> String {
        let mut parser = self.parser.borrow_mut();
        parser.screen_mut().set_scrollback(usize::MAX);
        let gone = parser.screen().scrollback();
        let mut text = String::new();
        for offset in (1..=gone).rev() {
            parser.screen_mut().set_scrollback(offset);
            text += row(parser.screen(), 0).trim_end();
            text += "\n";
        }
        parser.screen_mut().set_scrollback(0);
        for at in 0..usize::from(parser.screen().size().0.get()) {
            text += row(parser.screen(), at).trim_end();
            text += "\n";
        }
        text.trim_end().to_owned() + "\n"
    }

    /// Takes another size as today's terminals do: rows that have become too wide are broken, the cursor stays with its text.
    pub(super) fn resize(&self, size: TerminalSize) {
        let text = self.everything();
        let mut parser = vt100::Parser::new(rows(size.height), rows(size.width), SCROLLBACK);
        parser.process(text.trim_end().replace('\n', "\r\n").as_bytes());
        *self.parser.borrow_mut() = parser;
    }
}

fn rows(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn styled_row(screen: &vt100::Screen, row: usize) -> String {
    let row = u16::try_from(row).unwrap();
    let mut text = String::new();
    let mut current = String::new();
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen
            .cell(row, column)
            .filter(|cell| !cell.is_wide_continuation())
        else {
            continue;
        };
        let new = style(cell);
        if new != current {
            text.extend(["‹", &new, "›"]);
            current = new;
        }
        text += if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
    }
    text.trim_end().trim_end_matches("‹›").to_owned()
}

fn style(cell: &vt100::Cell) -> String {
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(1) => "red",
        vt100::Color::Idx(2) => "green",
        vt100::Color::Idx(3) => "yellow",
        vt100::Color::Idx(4) => "blue",
        vt100::Color::Idx(5) => "magenta",
        vt100::Color::Idx(6) => "cyan",
        vt100::Color::Default => "",
        other => panic!("{other:?} is no colour of ours"),
    };
    let named = [
        (cell.bold(), "bold"),
        (cell.dim(), "dim"),
        (cell.italic(), "italic"),
        (cell.underline(), "underlined"),
    ];
    let effects = named.iter().filter(|(has, _)| *has).map(|(_, name)| *name);
    let words: Vec<_> = effects
        .chain([colour])
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

pub(super) const WIDE: TerminalSize = TerminalSize {
    width: 80,
    height: 24,
};
pub(super) const NARROW: TerminalSize = TerminalSize {
    width: 40,
    height: 10,
};

/// A view and the terminal that it writes to.
pub(super) fn view(size: TerminalSize, colour: bool) -> (LiveView<Terminal>, Terminal) {
    let terminal = Terminal::new(size);
    let options = LiveOptions {
        size,
        colour,
        marks: MarkSet::Unicode,
    };
    (LiveView::new(terminal.clone(), options), terminal)
}

/// The terminal after a whole run, with ticks between the events.
pub(super) fn played(events: &[Event], size: TerminalSize, colour: bool) -> Terminal {
    let (mut view, terminal) = view(size, colour);
    for (index, event) in events.iter().enumerate() {
        view.show_event(event).unwrap();
        view.show_elapsed(Duration::from_millis(300 * index as u64))
            .unwrap();
    }
    view.finish().unwrap();
    terminal
}

/// Events of one run, 300 ms apart.
pub(super) fn events<S: AsRef<str>>(bodies: &[S]) -> Vec<Event> {
    let numbered = bodies.iter().enumerate();
    numbered
        .map(|(seq, body)| event(seq, body.as_ref()))
        .collect()
}

fn event(seq: usize, body: &str) -> Event {
    let (seconds, millis) = (seq * 300 / 1000 % 60, seq * 300 % 1000);
    let base = format!(
        r#"{{"id":"r-{seq}","seq":{seq},"provider":"gemini","timestamp":"2026-11-15T18:15:{seconds:02}.{millis:03}Z","#
    );
    Event::from_json(&body.replacen('{', &base, 1)).unwrap()
}

/// A chunk of an answer.
pub(super) fn delta(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(r#"{{"event":"stream_delta","kind":"text","textDelta":{text}}}"#)
}
