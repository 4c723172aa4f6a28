//! The state, drawn. A function of the state and nothing else.

mod page;
mod rows;
mod styles;

use lapidary::render::live::MarkSet;

use super::super::size;
use super::canvas::{Canvas, CellPosition, CellStyle, Rect};
use super::confirm::FooterQuestion;
use super::open::OpenTranscript;
use super::state::{BrowserState, InputMode, ListingProgress, PreviewState};
use super::text::{ascii_text, shorten_text, text_width, wrap_line};
use styles::BrowserInk;

/// Draws everything; returns the position of the cursor, if the user types.
pub(super) fn draw_state(state: &BrowserState, screen: &mut Canvas) -> Option<CellPosition> {
    // After a resize the state may have another size for a moment: only the common part is drawn.
    let state_screen = state.setup.screen.intersection(screen.area);
    if state_screen.is_empty() {
        return None;
    }
    let mut brush = ScreenBrush {
        screen,
        ink: BrowserInk {
            colour: state.setup.colour,
        },
        marks: state.setup.marks,
    };
    match &state.mode {
        InputMode::Open(open) => page::draw_transcript(state, open, &mut brush),
        InputMode::Help => page::draw_help(state, &mut brush),
        InputMode::Browsing | InputMode::Asking(_) => draw_browser(state, &mut brush),
    }
}

fn draw_browser(state: &BrowserState, brush: &mut ScreenBrush<'_>) -> Option<CellPosition> {
    let areas = state.screen_areas();
    draw_head(state, areas.head, brush);
    rows::draw_column_names(state, areas.columns, brush);
    rows::draw_list(state, areas.list, brush);
    draw_rule(state, areas.rule, brush);
    draw_preview(state, areas.preview, brush);
    draw_foot(state, areas.foot, brush)
}

fn draw_head(state: &BrowserState, area: Rect, brush: &mut ScreenBrush<'_>) {
    let (shown, all) = (state.list.len(), state.list.session_count());
    let count = match state.listing {
        ListingProgress::At(_, 0) => brush.sign_text("reading …"),
        ListingProgress::At(done, total) => {
            brush.sign_text(&format!("reading {done} of {total} …"))
        }
        ListingProgress::Done if shown == all => match all {
            1 => "1 session".to_owned(),
            _ => format!("{all} sessions"),
        },
        ListingProgress::Done => format!("{shown} of {all}"),
    };
    let order = state.list.sort.sort_label(state.list.is_reversed);
    let right = brush.sign_text(&format!("{count} · {order}"));
    let place = state.list.project.as_ref().unwrap_or(&state.setup.place);
    brush.both_ends(area, ("Sessions  ", place), &right);
}

/// The line about the row under the cursor: its match, or its id and size. Between columns it is a plain rule.
fn draw_rule(state: &BrowserState, area: Rect, brush: &mut ScreenBrush<'_>) {
    if area.width == 1 {
        for y in area.y..area.bottom_edge() {
            brush.put_text(
                Rect {
                    y,
                    height: 1,
                    ..area
                },
                "│",
                BrowserInk::DIM,
            );
        }
        return;
    }
    brush.put_text(area, &"─".repeat(usize::from(area.width)), BrowserInk::DIM);
    let Some(entry) = state.list.selected_entry() else {
        return;
    };
    let inner = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(4),
        ..area
    };
    if let Some(snippet) = state.list.selected_snippet() {
        rows::draw_snippet(snippet, inner, brush);
        return;
    }
    let id = super::text::one_line(&entry.id, state.setup.marks);
    let agent = entry.agent.iter().map(|agent| format!("{agent}  "));
    let size = super::transcript::size_text(entry.size);
    let about = format!(" {id}  {}{size} ", agent.collect::<String>());
    brush.put_text(inner, &about, BrowserInk::DIM);
}

fn draw_preview(state: &BrowserState, mut area: Rect, brush: &mut ScreenBrush<'_>) {
    if let InputMode::Asking(FooterQuestion::Delete { plan, .. }) = &state.mode {
        let title = "This goes, once a copy is in the vault:";
        let lines = std::iter::once(title).chain(plan.lines.iter().map(String::as_str));
        draw_paragraph(lines, &mut area, CellStyle::default(), brush);
        return;
    }
    let selected = state.list.selected_entry();
    if selected.is_some_and(|entry| entry.endangered_by.is_some()) {
        let why = "! Gemini CLI will delete this session when it next starts (bug in 0.61). Run `lapidary sessions recover --apply` to prevent that.";
        draw_paragraph([why], &mut area, BrowserInk::STRONG, brush);
    }
    match &state.preview {
        PreviewState::Ready(_, document) => {
            page::draw_lines(document, &state.list.search_words(), area, brush);
        }
        PreviewState::Failed(_, error) => brush.put_text(area, error, BrowserInk::DIM),
        PreviewState::Coming(_) => brush.put_text(area, &brush.sign_text("…"), BrowserInk::DIM),
        PreviewState::Empty => {}
    }
}

/// Lines, broken where they end, as far as there is room; takes the rows away from the area.
fn draw_paragraph<'t>(
    lines: impl IntoIterator<Item = &'t str>,
    area: &mut Rect,
    style: CellStyle,
    brush: &mut ScreenBrush<'_>,
) {
    for line in lines {
        wrap_line(line, usize::from(area.width), |row| {
            if area.height > 0 {
                brush.put_text(Rect { height: 1, ..*area }, row, style);
                area.y += 1;
                area.height -= 1;
            }
        });
    }
}

/// A question, a search, a remark, or else the keys.
fn draw_foot(
    state: &BrowserState,
    area: Rect,
    brush: &mut ScreenBrush<'_>,
) -> Option<CellPosition> {
    let progress = match state.searched {
        Some((done, total)) => brush.sign_text(&format!("searching {done} of {total} …")),
        None => String::new(),
    };
    match &state.mode {
        InputMode::Asking(FooterQuestion::Export { name, .. }) => {
            return Some(brush.put_typed_line(
                area,
                "export to: ",
                name,
                "Enter writes, Esc does not",
            ));
        }
        InputMode::Asking(FooterQuestion::Resume { prompt, .. }) => {
            let hint = "Enter without a prompt opens the agent";
            return Some(brush.put_typed_line(area, "resume with prompt: ", prompt, hint));
        }
        InputMode::Asking(FooterQuestion::Delete {
            title, plan, typed, ..
        }) => {
            let things = if plan.count == 1 { "file" } else { "files" };
            let sum = format!("{} {things}, {}", plan.count, size::short_size(plan.bytes));
            let rest = format!(" ({sum})? Type `yes`: ");
            let room = usize::from(area.width).saturating_sub(text_width(&rest) + 13);
            let title = shorten_text(title, room, brush.marks).into_owned();
            let question = format!("delete \"{title}\"{rest}");
            return Some(brush.put_typed_line(area, &question, typed, "Esc keeps it"));
        }
        _ if state.note.is_some() => {
            let note = state.note.as_deref().unwrap_or_default();
            let note = super::text::one_line(note, brush.marks);
            brush.put_text(area, &note, BrowserInk::STRONG);
        }
        _ if !state.list.search_query().is_empty() => {
            let right = if progress.is_empty() {
                "Enter reads, Esc ends the search"
            } else {
                &progress
            };
            return Some(brush.put_typed_line(area, "search: ", state.list.search_query(), right));
        }
        _ => draw_list_keys(area, brush),
    }
    None
}

/// The keys that there is room for, the most important first.
fn draw_list_keys(area: Rect, brush: &mut ScreenBrush<'_>) {
    const KEYS: &[&str] = &[
        "Letters search",
        "Enter read",
        "Ctrl-R resume",
        "F1 help",
        "Esc leave",
        "Ctrl-E export",
        "Del delete",
    ];
    brush.put_keys(area, KEYS);
}

/// Draws: never outside of an area, never a sign that the terminal does not have.
struct ScreenBrush<'b> {
    screen: &'b mut Canvas,
    ink: BrowserInk,
    marks: MarkSet,
}

impl ScreenBrush<'_> {
    /// A sign of ours, or one in ASCII that looks like it.
    fn sign_text(&self, text: &str) -> String {
        match self.marks {
            MarkSet::Unicode => text.to_owned(),
            MarkSet::Ascii => ascii_text(text),
        }
    }

    /// A text in the first row of an area, cut to fit.
    fn put_text(&mut self, area: Rect, text: &str, style: CellStyle) {
        let area = area.intersection(self.screen.area);
        if area.is_empty() {
            return;
        }
        let text = self.sign_text(text);
        let text = shorten_text(&text, usize::from(area.width), self.marks);
        self.screen.put_text(area, &text, style);
    }

    /// A text, and from there on another.
    fn put_at(&mut self, area: Rect, offset: usize, text: &str, style: CellStyle) {
        let offset = u16::try_from(offset).unwrap_or(u16::MAX).min(area.width);
        let rest = Rect {
            x: area.x + offset,
            width: area.width - offset,
            ..area
        };
        self.put_text(rest, text, style);
    }

    /// A bold and a plain text on the left, a dim one on the right if there is room.
    fn both_ends(&mut self, area: Rect, left: (&str, &str), right: &str) {
        let room = usize::from(area.width);
        let needed = text_width(left.0) + text_width(left.1).min(room / 3) + text_width(right) + 2;
        let at = if needed <= room {
            room - text_width(right)
        } else {
            room
        };
        let start = Rect {
            width: u16::try_from(at)
                .unwrap_or(0)
                .saturating_sub(u16::from(at < room)),
            ..area
        };
        self.put_text(start, left.0, BrowserInk::STRONG);
        self.put_at(start, text_width(left.0), left.1, CellStyle::default());
        self.put_at(area, at, right, BrowserInk::DIM);
    }

    /// A line that is being typed; returns where the cursor is to stand. The end of a long one is seen.
    fn put_typed_line(
        &mut self,
        area: Rect,
        prompt: &str,
        line: &str,
        right: &str,
    ) -> CellPosition {
        let line = super::text::one_line(line, self.marks);
        let room = usize::from(area.width).saturating_sub(text_width(prompt) + 1);
        let mut shown = line.as_str();
        while text_width(shown) > room {
            shown = shown
                .char_indices()
                .nth(1)
                .map_or("", |(at, _)| &shown[at..]);
        }
        self.put_text(area, prompt, BrowserInk::STRONG);
        self.put_at(area, text_width(prompt), shown, CellStyle::default());
        let end = text_width(prompt) + text_width(shown);
        if end + 2 + text_width(right) <= usize::from(area.width) {
            self.put_at(
                area,
                usize::from(area.width) - text_width(right),
                right,
                BrowserInk::DIM,
            );
        }
        let end = u16::try_from(end)
            .unwrap_or(u16::MAX)
            .min(area.width.saturating_sub(1));
        CellPosition {
            x: area.x + end,
            y: area.y,
        }
    }

    /// Keys and their functions, as many as fit.
    fn put_keys(&mut self, area: Rect, keys: &[&str]) {
        let mut at = 0;
        for key in keys {
            if at + text_width(key) > usize::from(area.width) {
                break;
            }
            let (name, does) = key.split_once(' ').unwrap_or((key, ""));
            self.put_at(area, at, name, BrowserInk::STRONG);
            self.put_at(area, at + text_width(name) + 1, does, BrowserInk::DIM);
            at += text_width(key) + 2;
        }
    }
}

/// The words of the transcript's own search, which begins as the list's.
fn words_of(open: &OpenTranscript) -> Vec<String> {
    super::title_terms::query_terms(&open.query)
}

#[cfg(test)]
mod tests;
