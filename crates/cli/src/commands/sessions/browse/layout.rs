//! The areas of a screen of any size.

use super::canvas::Rect;

/// From here on the preview stands beside the list.
const WIDE: u16 = 120;

/// Below this there is no preview: the list needs the rows.
const HIGH: u16 = 14;

/// The parts of the screen; a part without room is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScreenAreas {
    /// The title, and the number of sessions.
    pub(super) head: Rect,
    /// The headings of the columns.
    pub(super) columns: Rect,
    pub(super) list: Rect,
    /// Between list and preview.
    pub(super) rule: Rect,
    pub(super) preview: Rect,
    /// Keys, questions, remarks.
    pub(super) foot: Rect,
}

impl ScreenAreas {
    pub(super) fn new(screen: Rect, with_preview: bool) -> Self {
        let mut rest = screen;
        let foot = take_bottom(&mut rest, u16::from(screen.height >= 3));
        let head = take_top(&mut rest, u16::from(screen.height >= 4));
        let mut areas = Self {
            head,
            columns: Rect::ZERO,
            list: rest,
            rule: Rect::ZERO,
            preview: Rect::ZERO,
            foot,
        };
        if !with_preview || screen.height < HIGH {
            areas.columns = take_top(&mut areas.list, u16::from(screen.height >= 10));
        } else if screen.width >= WIDE {
            let list = rest.width / 2;
            areas.list.width = list - 1;
            areas.rule = Rect {
                x: rest.x + list,
                width: 1,
                ..rest
            };
            areas.preview = Rect {
                x: rest.x + list + 2,
                width: rest.width - list - 2,
                ..rest
            };
            areas.columns = take_top(&mut areas.list, 1);
        } else {
            areas.columns = take_top(&mut rest, 1);
            let share = (rest.height - 1) * 9 / 20;
            areas.list = take_top(&mut rest, share);
            areas.rule = take_top(&mut rest, 1);
            areas.preview = rest;
        }
        areas
    }

    /// The head, the foot and all between them, for a page that takes the whole screen.
    pub(super) fn page_areas(screen: Rect) -> (Rect, Rect, Rect) {
        let areas = Self::new(screen, false);
        let top = areas.head.bottom_edge().max(screen.y);
        let bottom = if areas.foot.is_empty() {
            screen.bottom_edge()
        } else {
            areas.foot.y
        };
        let body = Rect {
            y: top,
            height: bottom - top,
            ..screen
        };
        (areas.head, body, areas.foot)
    }
}

fn take_top(area: &mut Rect, height: u16) -> Rect {
    let height = height.min(area.height);
    let top = Rect { height, ..*area };
    area.y += height;
    area.height -= height;
    top
}

fn take_bottom(area: &mut Rect, height: u16) -> Rect {
    let height = height.min(area.height);
    area.height -= height;
    Rect {
        y: area.y + area.height,
        height,
        ..*area
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn screen_areas_are_on_the_screen_and_do_not_overlap(width in 1u16..300, height in 1u16..100, with_preview: bool) {
            let screen = Rect::new(0, 0, width, height);
            let areas = ScreenAreas::new(screen, with_preview);
            let parts = [areas.head, areas.columns, areas.list, areas.rule, areas.preview, areas.foot];
            for (at, part) in parts.iter().enumerate() {
                proptest::prop_assert!(part.is_empty() || part.intersection(screen) == *part, "{part:?}");
                for other in &parts[at + 1..] {
                    proptest::prop_assert!(part.intersection(*other).is_empty(), "{part:?} {other:?}");
                }
            }
            proptest::prop_assert!(!areas.list.is_empty());
            let (head, body, foot) = ScreenAreas::page_areas(screen);
            proptest::prop_assert_eq!(head.height + body.height + foot.height, height);
        }
    }
}
