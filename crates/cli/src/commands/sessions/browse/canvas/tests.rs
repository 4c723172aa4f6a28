//! Drawn on a terminal that is emulated, and read from its screen.

use std::num::NonZero;

use crossterm::style::Attributes;

use super::*;

const SCREEN: Rect = Rect::new(0, 0, 8, 2);

fn emulator() -> vt100::Parser {
    let size = |cells| NonZero::new(cells).unwrap();
    vt100::Parser::new(size(SCREEN.height), size(SCREEN.width), 0)
}

fn bold() -> CellStyle {
    CellStyle {
        attributes: Attributes::none().with(Attribute::Bold),
        ..CellStyle::default()
    }
}

/// The screen of a terminal after each drawing, and the number of bytes that the last one took.
fn shown(drawings: &[&dyn Fn(&mut Canvas)]) -> (String, usize) {
    let mut emulated = emulator();
    let mut terminal = CellTerminal::new(Vec::new(), SCREEN);
    let mut written = 0;
    for draw in drawings {
        terminal.out.clear();
        let drawn = terminal.draw_canvas(SCREEN, |canvas| {
            draw(canvas);
            None
        });
        drawn.unwrap();
        written = terminal.out.len();
        emulated.process(&terminal.out);
    }
    let text = emulated.screen().contents().trim_end().to_owned();
    (text, written)
}

fn put(canvas: &mut Canvas, x: u16, text: &str) {
    let area = Rect::new(x, 0, SCREEN.width - x, 1);
    canvas.put_text(area, text, CellStyle::default());
}

#[test]
fn a_text_is_cut_where_its_area_ends_and_a_wide_character_is_not_halved() {
    let (text, _) = shown(&[&|canvas| put(canvas, 0, "日本語日本語")]);
    assert_eq!(text, "日本語日");
    let (text, _) = shown(&[&|canvas| put(canvas, 1, "日本語日本語")]);
    assert_eq!(text, " 日本語");
}

#[test]
fn a_character_over_half_of_a_wide_one_leaves_a_blank() {
    let over = |x: u16| {
        shown(&[&|canvas| put(canvas, 0, "日本"), &move |canvas| {
            put(canvas, 0, "日本");
            put(canvas, x, "x");
        }])
        .0
    };
    assert_eq!([over(0), over(1), over(2)], ["x 本", " x本", "日x"]);
}

#[test]
fn a_canvas_erases_old_cells_and_rewrites_only_changed_ones() {
    let long: &dyn Fn(&mut Canvas) = &|canvas| put(canvas, 0, "日本 ab");
    let short: &dyn Fn(&mut Canvas) = &|canvas| put(canvas, 0, "x");
    assert_eq!(shown(&[long, short]).0, "x");
    assert_eq!(shown(&[short, long]).0, "日本 ab");
    let (_, nothing) = shown(&[long, long]);
    let (_, all) = shown(&[long]);
    assert!(nothing < all, "{nothing} {all}");
}

#[test]
fn a_style_ends_with_its_text() {
    let mut terminal = CellTerminal::new(Vec::new(), SCREEN);
    let drawn = terminal.draw_canvas(SCREEN, |canvas| {
        canvas.put_text(SCREEN, "ab", bold());
        canvas.put_text(Rect::new(2, 0, 2, 1), "cd", CellStyle::default());
        Some(CellPosition { x: 3, y: 1 })
    });
    drawn.unwrap();
    let mut emulated = emulator();
    emulated.process(&terminal.out);
    let screen = emulated.screen();
    let is_bold = |column| screen.cell(0, column).unwrap().bold();
    assert_eq!([0, 1, 2, 3].map(is_bold), [true, true, false, false]);
    assert_eq!(screen.cursor_position(), (1, 3));
    assert!(!screen.hide_cursor());
}

#[test]
fn a_screen_of_another_size_is_drawn_from_nothing() {
    let mut terminal = CellTerminal::new(Vec::new(), SCREEN);
    for area in [SCREEN, Rect::new(0, 0, 3, 1)] {
        terminal.out.clear();
        let drawn = terminal.draw_canvas(area, |canvas| {
            canvas.put_text(area, "abcdef", bold());
            None
        });
        drawn.unwrap();
    }
    let written = String::from_utf8(terminal.out).unwrap();
    assert!(written.starts_with("\u{1b}[2J"), "{written:?}");
    assert!(
        written.contains("abc") && !written.contains("abcd"),
        "{written:?}"
    );
}
