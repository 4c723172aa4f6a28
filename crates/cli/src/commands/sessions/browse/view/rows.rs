//! The list: one row a session.

use std::fmt::Write as _;

use super::super::canvas::{CellStyle, Rect};
use super::super::entry::BrowseEntry;
use super::super::list::ListSnippet;
use super::super::state::{BrowserState, ListingProgress};
use super::super::text::{shorten_text, text_width};
use super::ScreenBrush;
use super::styles::BrowserInk;

/// The columns before the title, by the room there is.
struct RowColumns {
    number: usize,
    age: usize,
    messages: usize,
    project: usize,
}

impl RowColumns {
    fn new(state: &BrowserState, width: u16) -> Self {
        let most = state.list.entries.len().max(1);
        let number = most.ilog10() as usize + 1;
        let is_everywhere = state.setup.is_everywhere;
        let narrow = width < 50;
        Self {
            number: number.max(3),
            age: if width < 30 { 0 } else { 6 },
            messages: if narrow { 0 } else { 5 },
            project: if is_everywhere && !narrow {
                let name = state.list.project_width.max(7);
                name.min(usize::from(width) / 4)
            } else {
                0
            },
        }
    }

    /// Where each begins: age, messages, project, title. The number begins behind the mark.
    fn column_places(&self) -> [usize; 4] {
        let gap = |column: usize, space: usize| if column == 0 { 0 } else { column + space };
        let age = 2 + self.number;
        let messages = age + gap(self.age, 1);
        let project = messages + gap(self.messages, 1) + 2;
        [age, messages, project, project + gap(self.project, 2)]
    }

    /// Number, age and messages, right-aligned.
    fn row_start(&self, number: &str, age: &str, messages: &str) -> String {
        let mut start = format!("{number:>0$}", self.number);
        if self.age > 0 {
            let _ = write!(start, " {age:>0$}", self.age); // a string takes everything
        }
        if self.messages > 0 {
            let _ = write!(start, " {messages:>0$}", self.messages);
        }
        start
    }
}

pub(super) fn draw_column_names(state: &BrowserState, area: Rect, brush: &mut ScreenBrush<'_>) {
    let columns = RowColumns::new(state, area.width);
    let [_, _, project, title] = columns.column_places();
    let dim = BrowserInk::DIM;
    brush.put_at(area, 2, &columns.row_start("#", "age", "msgs"), dim);
    if columns.project > 0 {
        brush.put_at(area, project, "project", dim);
    }
    brush.put_at(area, title, "title", dim);
}

pub(super) fn draw_list(state: &BrowserState, area: Rect, brush: &mut ScreenBrush<'_>) {
    if state.list.len() == 0 {
        draw_empty_list(state, area, brush);
        return;
    }
    let columns = RowColumns::new(state, area.width);
    let shown = state
        .list
        .visible_rows()
        .enumerate()
        .skip(state.list.top_row());
    for ((row, (place, entry)), y) in shown.zip(area.y..area.bottom_edge()) {
        let area = Rect {
            y,
            height: 1,
            ..area
        };
        let is_selected = row == state.list.cursor_row();
        draw_row(state, &columns, (place, entry), area, brush);
        if is_selected {
            brush.put_text(area, ">", CellStyle::default());
            brush.screen.restyle_area(area, BrowserInk::select_row);
        }
    }
}

fn draw_row(
    state: &BrowserState,
    columns: &RowColumns,
    (place, entry): (usize, &BrowseEntry),
    area: Rect,
    brush: &mut ScreenBrush<'_>,
) {
    let [_, _, project, title] = columns.column_places();
    let number = entry
        .number
        .map_or_else(|| "-".to_owned(), |number| number.to_string());
    // Those of a recorded session are not counted for a list.
    let messages = entry.messages.map(|count| count.to_string());
    let messages = messages.unwrap_or_default();
    let start = columns.row_start(&number, &entry.age_text(state.setup.now), &messages);
    brush.put_at(area, 2, &start, BrowserInk::DIM);
    if entry.endangered_by.is_some() {
        brush.put_at(area, 1, "!", BrowserInk::STRONG);
    } else if entry.is_recorded {
        brush.put_at(area, 1, "r", BrowserInk::DIM);
    }
    if columns.project > 0 {
        let name = shorten_text(&entry.project, columns.project, brush.marks);
        brush.put_at(area, project, &name, CellStyle::default());
    }
    let room = usize::from(area.width).saturating_sub(title);
    let snippet_of = state
        .list
        .entry_snippet(place)
        .filter(|_| !entry.has_terms(&state.list.title_terms()));
    let needed = text_width(&entry.title) + 3;
    // Where the title does not have the terms of the search, a snippet stands beside it.
    let for_title = match snippet_of {
        Some(_) => needed.min(room / 2),
        None => room,
    };
    let name = shorten_text(
        &entry.title,
        for_title.saturating_sub(usize::from(snippet_of.is_some()) * 2),
        brush.marks,
    );
    let style = if entry.is_session() {
        CellStyle::default()
    } else {
        BrowserInk::DIM
    };
    brush.put_at(area, title, &name, style);
    if let Some(found) = snippet_of {
        let at = u16::try_from(title + for_title)
            .unwrap_or(u16::MAX)
            .min(area.width);
        draw_snippet(
            found,
            Rect {
                x: area.x + at,
                width: area.width - at,
                ..area
            },
            brush,
        );
    }
}

/// A match, and as much of its surroundings as fits.
pub(super) fn draw_snippet(found: &ListSnippet, area: Rect, brush: &mut ScreenBrush<'_>) {
    let dots = brush.sign_text("…");
    let room =
        usize::from(area.width).saturating_sub(text_width(&found.matched) + text_width(&dots) + 2);
    let mut before = found.before.trim_start();
    let mut cut = "";
    while text_width(before) > room / 3 {
        cut = &dots;
        before = before
            .char_indices()
            .nth(1)
            .map_or("", |(at, _)| &before[at..]);
    }
    let mut at = 0;
    for (text, style) in [
        (" ", BrowserInk::DIM),
        (cut, BrowserInk::DIM),
        (before, BrowserInk::DIM),
        (&found.matched, brush.ink.match_style()),
        (&format!("{} ", found.after.trim_end()), BrowserInk::DIM),
    ] {
        brush.put_at(area, at, text, style);
        at += text_width(text);
    }
}

fn draw_empty_list(state: &BrowserState, area: Rect, brush: &mut ScreenBrush<'_>) {
    let said = match state.listing {
        ListingProgress::At(..) => return,
        ListingProgress::Done
            if !state.list.search_query().is_empty() && state.searched.is_some() =>
        {
            return;
        }
        ListingProgress::Done if !state.list.search_query().is_empty() => "nothing found",
        ListingProgress::Done if state.setup.is_everywhere => "no sessions recorded yet",
        ListingProgress::Done => {
            "no sessions recorded here yet; --all shows those of other projects"
        }
    };
    brush.put_at(area, 2, said, BrowserInk::DIM);
}
