//! The rows of a list on a terminal or in a file.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::time::SystemTime;

use anstyle::Style;
use lapidary::render::plain::sanitize;
use lapidary::sessions::{ListedSession, UnlistedPlace, age};

use super::shorten::{add_shortened, shorten_to_width};
use crate::live::terminal;
use crate::printer::Printer;

/// A title has no more columns than these.
const WIDEST_TITLE: usize = 100;

/// How many bytes of a title are used. A title that is cut here and still fits has hundreds of characters without width.
const LONGEST_TITLE: usize = 1024;

/// The columns before the title, by the width of the terminal. The title matters most, and numbers select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListLayout {
    /// Number, age, messages and whole ids: also where there is no terminal.
    Wide,
    /// The same with the beginnings of ids.
    Usual,
    /// Number and the beginning of an id.
    Narrow,
    /// Numbers only.
    Narrowest,
}

impl ListLayout {
    fn new(width: Option<u16>) -> Self {
        match width {
            None | Some(120..) => Self::Wide,
            Some(60..) => Self::Usual,
            Some(36..) => Self::Narrow,
            Some(_) => Self::Narrowest,
        }
    }

    /// Adds the columns before the title.
    fn add_start(self, [number, age, messages, id]: [&str; 4], line: &mut String) {
        add_right(line, number, 5);
        line.push(' ');
        if matches!(self, Self::Wide | Self::Usual) {
            add_left(line, age, 15);
            line.push(' ');
            add_right(line, messages, 4);
            line.push_str("  ");
        }
        match self {
            Self::Wide => line.push_str(id),
            Self::Usual | Self::Narrow => line.extend(id.chars().take(8)),
            Self::Narrowest => return,
        }
        line.push_str("  ");
    }
}

/// Writes rows. Of tens of thousands each is put together in the same memory, without the machinery of `format!`.
#[derive(Debug)]
pub(super) struct RowWriter {
    layout: ListLayout,
    /// How many columns there are; none where there is no terminal. The system is asked once.
    width: Option<usize>,
    /// How wide the column of agents is: 0 if every session is of the same one.
    providers: usize,
    now: SystemTime,
    line: String,
    number: String,
    messages: String,
}

impl RowWriter {
    pub(super) fn new(sessions: &[ListedSession], now: SystemTime, out: &Printer) -> Self {
        let width = out
            .is_terminal
            .then(|| terminal::terminal_size(&out.invocation).width);
        Self {
            layout: ListLayout::new(width),
            width: width.map(usize::from),
            providers: provider_width(sessions),
            now,
            line: String::new(),
            number: String::new(),
            messages: String::new(),
        }
    }

    pub(super) fn write_header(&self, out: &mut Printer) -> io::Result<()> {
        let id = format!("{:<36}", "Id"); // as wide as a UUID
        let mut line = String::new();
        let names = ["No ", "Updated", "Msgs", &id];
        self.layout.add_start(names, &mut line);
        add_provider(&mut line, "Agent", self.providers);
        line.push_str("Title");
        let style = if out.colour {
            Style::new().dimmed()
        } else {
            Style::new()
        };
        let line = shorten_to_width(&line, self.width.unwrap_or(usize::MAX));
        writeln!(out, "{style}{line}{style:#}")
    }

    pub(super) fn write_row(
        &mut self,
        session: &ListedSession,
        out: &mut Printer,
    ) -> io::Result<()> {
        self.line.clear();
        self.set_number(session);
        self.messages.clear();
        match session.message_count() {
            None => self.messages.push('-'), // not counted
            Some(count) => add_number(&mut self.messages, count),
        }
        let age = age(session.updated_ms, self.now);
        let id = sanitize(session.id());
        let cells: [&str; 4] = [&self.number, &age, &self.messages, &id];
        self.layout.add_start(cells, &mut self.line);
        let provider = session.provider().as_str();
        add_provider(&mut self.line, provider, self.providers);
        let room = self.title_room();
        let title = session.display_name();
        add_shortened(&mut self.line, &title_line(title), room);
        self.line.push('\n');
        out.write_all(self.line.as_bytes())
    }

    fn set_number(&mut self, session: &ListedSession) {
        self.number.clear();
        match session.index() {
            0 => self.number.push('-'),
            number => add_number(&mut self.number, number),
        }
        self.number.push(session_mark(session));
    }

    /// How many columns are left for a title.
    fn title_room(&self) -> usize {
        let left = |width: usize| width.saturating_sub(self.line.chars().count());
        self.width.map_or(WIDEST_TITLE, left).min(WIDEST_TITLE)
    }
}

fn session_mark(session: &ListedSession) -> char {
    match session.unlisted() {
        _ if session.is_endangered() => '!',
        Some(UnlistedPlace::Vault) => 'v',
        Some(UnlistedPlace::Recording) => 'r',
        Some(_) => 'o',
        None if session.is_current() => '*',
        None => ' ',
    }
}

/// Adds a number. By hand: `write!` takes as long for one as the rest of a row.
fn add_number(line: &mut String, mut number: u64) {
    let mut digits = [b'0'; 20];
    let mut from = digits.len() - 1;
    loop {
        digits[from] += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        if number == 0 {
            break;
        }
        from -= 1;
    }
    line.push_str(str::from_utf8(&digits[from..]).unwrap_or_default());
}

fn add_right(line: &mut String, text: &str, width: usize) {
    add_blanks(line, width.saturating_sub(text.chars().count()));
    line.push_str(text);
}

fn add_left(line: &mut String, text: &str, width: usize) {
    line.push_str(text);
    add_blanks(line, width.saturating_sub(text.chars().count()));
}

fn add_blanks(line: &mut String, count: usize) {
    const BLANKS: &str = "                "; // as many as a column has
    let all = std::iter::repeat_n(BLANKS, count / BLANKS.len());
    line.extend(all);
    line.push_str(&BLANKS[..count % BLANKS.len()]);
}

fn provider_width(sessions: &[ListedSession]) -> usize {
    let mut providers = sessions.iter().map(ListedSession::provider);
    let first = providers.next();
    if providers.all(|provider| Some(provider) == first) {
        return 0;
    }
    let names = sessions.iter().map(|session| session.provider().as_str());
    names
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0)
        .clamp(5, 12)
}

/// The column of agents, if there is one.
fn add_provider(line: &mut String, name: &str, width: usize) {
    if width > 0 {
        add_left(line, &shorten_to_width(&sanitize(name), width), width);
        line.push_str("  ");
    }
}

/// A title on one line, or as much of it as can be shown: it may be a prompt of a megabyte.
fn title_line(title: &str) -> Cow<'_, str> {
    let start = &title[..title.floor_char_boundary(LONGEST_TITLE)];
    match sanitize(start) {
        line if line.contains('\n') => Cow::Owned(line.replace('\n', " ")),
        line => line,
    }
}
