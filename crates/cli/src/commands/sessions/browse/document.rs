//! A transcript on the screen: its lines, broken to the width at hand, and how far it is scrolled.

use super::text::wrap_line;

/// A text that is scrolled.
#[derive(Debug, Default)]
pub(super) struct ScrolledDocument {
    lines: Vec<String>,
    rows: Vec<String>,
    /// The width that `rows` are for.
    width: usize,
    top: usize,
    /// The row that was found last, until it is scrolled.
    found: Option<usize>,
}

impl ScrolledDocument {
    /// Harmless lines.
    pub(super) fn new(lines: Vec<String>, width: usize) -> Self {
        let mut document = Self {
            lines,
            ..Self::default()
        };
        document.fit_width(width);
        document
    }

    /// Breaks the lines anew if the width is another one. About the same text stays on top.
    pub(super) fn fit_width(&mut self, width: usize) {
        if self.width == width {
            return;
        }
        self.found = None;
        let before = self.rows.len().max(1);
        self.width = width;
        self.rows.clear();
        for line in &self.lines {
            wrap_line(line, width, |row| self.rows.push(row.to_owned()));
        }
        self.top = self.top * self.rows.len() / before;
    }

    /// So many rows, from the first that is on the screen.
    pub(super) fn page_rows(&self, height: usize) -> impl Iterator<Item = &str> {
        let rows = self.rows.iter().skip(self.top).take(height);
        rows.map(String::as_str)
    }

    /// Moves by so many rows; the last one stays at the bottom of so many.
    pub(super) fn scroll_by(&mut self, by: isize, height: usize) {
        self.found = None;
        let most = self.rows.len().saturating_sub(height);
        self.top = self.top.saturating_add_signed(by).min(most);
    }

    /// How far it is scrolled, in percent; nothing if all of it fits.
    pub(super) fn scrolled_percent(&self, height: usize) -> Option<usize> {
        let most = self
            .rows
            .len()
            .checked_sub(height)
            .filter(|most| *most > 0)?;
        Some((self.top * 100 / most).min(100))
    }

    /// Goes to the next row, in either direction, that has one of these words in it. False if there is none.
    pub(super) fn find_row(
        &mut self,
        words: &[String],
        direction: SearchDirection,
        height: usize,
    ) -> bool {
        let count = self.rows.len();
        let from = self.found.unwrap_or(self.top).min(count);
        let has = |row: &usize| {
            let row = self.rows[*row].to_lowercase();
            words.iter().any(|word| row.contains(word.as_str()))
        };
        let found = match direction {
            SearchDirection::Here => (self.top..count).find(has),
            SearchDirection::Down => (from + 1..count).chain(0..from).find(has),
            SearchDirection::Up => (0..from).rev().chain((from..count).rev()).find(has),
        };
        let Some(row) = found else { return false };
        self.found = found;
        self.top = row.min(count.saturating_sub(height));
        true
    }
}

/// The direction of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchDirection {
    /// From the row on top.
    Here,
    /// Behind it, and from the beginning again.
    Down,
    /// Before it, and from the end again.
    Up,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> ScrolledDocument {
        let lines = ["one two", "three", "four TWO", "five", "six"];
        ScrolledDocument::new(lines.map(str::to_owned).to_vec(), 10)
    }

    #[test]
    fn a_document_scrolls_no_further_than_its_text() {
        let mut document = document();
        document.scroll_by(99, 2);
        assert_eq!(document.page_rows(2).collect::<Vec<_>>(), ["five", "six"]);
        assert_eq!(document.scrolled_percent(2), Some(100));
        document.scroll_by(-99, 2);
        assert_eq!(document.scrolled_percent(2), Some(0));
        assert_eq!(document.scrolled_percent(5), None);
        document.scroll_by(1, 5);
        assert_eq!(document.page_rows(1).collect::<Vec<_>>(), ["one two"]);
    }

    #[test]
    fn a_document_search_goes_both_directions_and_wraps_around() {
        let mut document = document();
        let two = ["two".to_owned()];
        assert!(document.find_row(&two, SearchDirection::Here, 1));
        assert_eq!(document.top, 0);
        assert!(document.find_row(&two, SearchDirection::Down, 1));
        assert_eq!(document.top, 2);
        assert!(document.find_row(&two, SearchDirection::Down, 1));
        assert_eq!(document.top, 0);
        assert!(document.find_row(&two, SearchDirection::Up, 1));
        assert_eq!(document.top, 2);
        assert!(!document.find_row(&["seven".to_owned()], SearchDirection::Down, 1));
        assert!(!ScrolledDocument::default().find_row(&two, SearchDirection::Up, 1));
    }

    #[test]
    fn a_match_at_the_end_of_a_document_fills_the_page() {
        let mut document = document();
        assert!(document.find_row(&["i".to_owned()], SearchDirection::Down, 3));
        assert_eq!(
            document.page_rows(3).collect::<Vec<_>>(),
            ["four TWO", "five", "six"]
        );
        assert!(document.find_row(&["i".to_owned()], SearchDirection::Down, 3));
        assert_eq!(
            document.found,
            Some(4),
            "behind the one before, not behind the row on top"
        );
    }

    #[test]
    fn another_width_keeps_the_place() {
        let mut document =
            ScrolledDocument::new(vec!["word ".repeat(100).trim_end().to_owned()], 50);
        document.scroll_by(5, 5);
        document.fit_width(25);
        assert_eq!(document.scrolled_percent(10), Some(100));
        document.fit_width(0);
        assert!(document.page_rows(1).next().is_some());
    }
}
