//! The pages that take the whole screen: a transcript, the help.

use super::super::canvas::{CellPosition, CellStyle, Rect};
use super::super::document::ScrolledDocument;
use super::super::keys::{HELP, ONE_PROJECT};
use super::super::layout::ScreenAreas;
use super::super::open::OpenTranscript;
use super::super::state::BrowserState;
use super::super::text::text_width;
use super::styles::BrowserInk;
use super::{ScreenBrush, words_of};

pub(super) fn draw_transcript(
    state: &BrowserState,
    open: &OpenTranscript,
    brush: &mut ScreenBrush<'_>,
) -> Option<CellPosition> {
    let (head, body, foot) = ScreenAreas::page_areas(state.setup.screen);
    let height = usize::from(body.height);
    let percent = open
        .document
        .as_ref()
        .and_then(|document| document.scrolled_percent(height));
    let percent = percent.map_or_else(String::new, |percent| format!("{percent} %"));
    brush.both_ends(head, (&open.title, ""), &percent);
    match &open.document {
        Some(document) => draw_lines(document, &words_of(open), body, brush),
        None => brush.put_text(body, &brush.sign_text("reading …"), BrowserInk::DIM),
    }
    if open.is_typing {
        return Some(brush.put_typed_line(foot, "/", &open.query, "Enter searches"));
    }
    match &state.note {
        Some(note) => brush.put_text(foot, note, BrowserInk::STRONG),
        None => brush.put_keys(
            foot,
            &[
                "q back",
                "/ search",
                "n next",
                "N previous",
                "Space page",
                "G end",
            ],
        ),
    }
    None
}

/// The rows of a transcript, with the matches marked.
pub(super) fn draw_lines(
    document: &ScrolledDocument,
    words: &[String],
    area: Rect,
    brush: &mut ScreenBrush<'_>,
) {
    let rows = document.page_rows(usize::from(area.height));
    for (row, y) in rows.zip(area.y..area.bottom_edge()) {
        let area = Rect {
            y,
            height: 1,
            ..area
        };
        let style = style_of(row, brush);
        brush.put_text(area, row, style);
        mark_matches(row, words, area, brush);
    }
}

fn style_of(row: &str, brush: &ScreenBrush<'_>) -> CellStyle {
    let is_minor = ["  ", "session ", "● ", "* ", "(", "— ", "-- "];
    if row.starts_with("> ") {
        brush.ink.user_style()
    } else if is_minor.iter().any(|start| row.starts_with(start)) {
        BrowserInk::DIM
    } else {
        CellStyle::default()
    }
}

fn mark_matches(row: &str, words: &[String], area: Rect, brush: &mut ScreenBrush<'_>) {
    let lower = row.to_lowercase();
    // Otherwise places in one are no places in the other.
    if lower.len() != row.len() {
        return;
    }
    for word in words {
        for (at, found) in lower.match_indices(word.as_str()) {
            let (Some(before), Some(found)) = (row.get(..at), row.get(at..at + found.len())) else {
                continue;
            };
            let style = brush.ink.match_style();
            brush.put_at(area, text_width(before), found, style);
        }
    }
}

pub(super) fn draw_help(state: &BrowserState, brush: &mut ScreenBrush<'_>) -> Option<CellPosition> {
    let (head, body, foot) = ScreenAreas::page_areas(state.setup.screen);
    brush.both_ends(head, ("Keys", ""), "");
    let keys = HELP
        .iter()
        .filter(|(key, _)| state.setup.is_everywhere || *key != ONE_PROJECT);
    for ((key, does), y) in keys.zip(body.y..body.bottom_edge()) {
        let area = Rect {
            y,
            height: 1,
            ..body
        };
        brush.put_at(area, 2, key, BrowserInk::STRONG);
        let at = if area.width < 50 {
            text_width(key) + 4
        } else {
            18
        };
        brush.put_at(area, at, does, CellStyle::default());
    }
    brush.put_text(foot, "any key goes back", BrowserInk::DIM);
    None
}
