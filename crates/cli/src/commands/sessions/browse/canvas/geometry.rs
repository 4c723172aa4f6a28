//! Places and areas of a screen, in cells.

/// A cell's place, from the upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct CellPosition {
    pub(in super::super) x: u16,
    pub(in super::super) y: u16,
}

/// A part of the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Rect {
    pub(in super::super) x: u16,
    pub(in super::super) y: u16,
    pub(in super::super) width: u16,
    pub(in super::super) height: u16,
}

impl Rect {
    /// No cell at all.
    pub(in super::super) const ZERO: Self = Self::new(0, 0, 0, 0);

    pub(in super::super) const fn new(x: u16, y: u16, width: u16, height: u16) -> Self {
        Self {
            x,
            y,
            width,
            height,
        }
    }

    pub(in super::super) fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// The first column to the right of it.
    pub(in super::super) fn right_edge(self) -> u16 {
        self.x.saturating_add(self.width)
    }

    /// The first row below it.
    pub(in super::super) fn bottom_edge(self) -> u16 {
        self.y.saturating_add(self.height)
    }

    /// The cells that are in both.
    pub(in super::super) fn intersection(self, other: Self) -> Self {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let width = self.right_edge().min(other.right_edge()).saturating_sub(x);
        let height = self
            .bottom_edge()
            .min(other.bottom_edge())
            .saturating_sub(y);
        Self::new(x, y, width, height)
    }
}
