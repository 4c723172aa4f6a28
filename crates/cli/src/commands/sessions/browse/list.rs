//! The list: its visible rows, their order and the cursor.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::entry::BrowseEntry;
use super::text::text_width;
use super::title_terms::{TitleTerm, title_terms};

/// The order of the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ListSort {
    /// The most recently updated first.
    #[default]
    Date,
    /// The longest first.
    Messages,
    /// A to Z.
    Name,
}

impl ListSort {
    fn next(self) -> Self {
        match self {
            Self::Date => Self::Messages,
            Self::Messages => Self::Name,
            Self::Name => Self::Date,
        }
    }

    /// In words.
    pub(super) fn sort_label(self, reversed: bool) -> &'static str {
        match (self, reversed) {
            (Self::Date, false) => "newest first",
            (Self::Date, true) => "oldest first",
            (Self::Messages, false) => "longest first",
            (Self::Messages, true) => "shortest first",
            (Self::Name, false) => "by name",
            (Self::Name, true) => "by name, Z to A",
        }
    }
}

/// A match in a text, with its surroundings. Filtered, one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListSnippet {
    pub(super) before: String,
    pub(super) matched: String,
    pub(super) after: String,
}

/// Files and their places among the entries, the newest first.
pub(super) type EntryFiles = Arc<[(usize, PathBuf)]>;

/// All entries, and the rows that are shown.
#[derive(Debug, Default)]
pub(super) struct BrowseList {
    pub(super) entries: Vec<BrowseEntry>,
    /// The rows, as places in `entries`.
    rows: Vec<usize>,
    /// The row under the cursor.
    cursor: usize,
    /// The user moved the cursor; otherwise it stays on the first match of a search.
    is_placed: bool,
    /// The first row on the screen.
    top: usize,
    query: String,
    /// Matches in the texts of the files, by place in `entries`.
    found: HashMap<usize, Option<ListSnippet>>,
    pub(super) sort: ListSort,
    pub(super) is_reversed: bool,
    pub(super) shows_hidden: bool,
    /// How many columns the longest name of a project takes.
    pub(super) project_width: usize,
    /// Only this project.
    pub(super) project: Option<String>,
}

impl BrowseList {
    /// Takes a listing; the cursor stays on its session if that is still there.
    pub(super) fn fill_entries(&mut self, entries: Vec<BrowseEntry>) {
        let path = self.selected_entry().map(|entry| entry.path.clone());
        self.entries = entries;
        let names = self.entries.iter().map(|entry| text_width(&entry.project));
        self.project_width = names.max().unwrap_or(0);
        self.found.clear();
        self.arrange_rows(None);
        let place = path.and_then(|path| {
            let mut rows = self.rows.iter();
            rows.position(|&place| self.entries[place].path == path)
        });
        self.cursor = place.unwrap_or(0);
    }

    /// The rows, top to bottom.
    pub(super) fn visible_rows(&self) -> impl ExactSizeIterator<Item = (usize, &BrowseEntry)> {
        self.rows.iter().map(|&place| (place, &self.entries[place]))
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The files to search: the newest first, so that further matches are added below.
    pub(super) fn searched_files(&self) -> EntryFiles {
        let mut files: Vec<_> = self.entries.iter().enumerate().collect();
        files.sort_by_key(|(_, entry)| Reverse(entry.updated_ms));
        let files = files.into_iter();
        files
            .map(|(place, entry)| (place, entry.path.clone()))
            .collect()
    }

    /// How many there could be, were nothing searched.
    pub(super) fn session_count(&self) -> usize {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.is_session()).count()
    }

    pub(super) fn cursor_row(&self) -> usize {
        self.cursor
    }

    pub(super) fn top_row(&self) -> usize {
        self.top
    }

    pub(super) fn selected_entry(&self) -> Option<&BrowseEntry> {
        self.entries.get(*self.rows.get(self.cursor)?)
    }

    pub(super) fn search_query(&self) -> &str {
        &self.query
    }

    /// The terms of the search, in lower case.
    pub(super) fn search_words(&self) -> Vec<String> {
        super::title_terms::query_terms(&self.query)
    }

    /// The terms of the search, as titles are compared with them.
    pub(super) fn title_terms(&self) -> Vec<TitleTerm> {
        title_terms(&self.query)
    }

    pub(super) fn entry_snippet(&self, place: usize) -> Option<&ListSnippet> {
        self.found.get(&place)?.as_ref()
    }

    /// The snippet of the row under the cursor.
    pub(super) fn selected_snippet(&self) -> Option<&ListSnippet> {
        self.entry_snippet(*self.rows.get(self.cursor)?)
    }

    /// Starts another search. The matches in files were for other words.
    pub(super) fn start_search(&mut self, query: String) {
        self.query = query;
        self.is_placed = false;
        self.found.clear();
        let place = self.rows.get(self.cursor).copied();
        self.arrange_rows(place.filter(|_| self.query.is_empty()));
    }

    /// Adds matches in files.
    pub(super) fn add_found(&mut self, found: super::full_text::FoundPlaces) {
        self.found.extend(found);
        let place = self.rows.get(self.cursor).copied();
        self.arrange_rows(place.filter(|_| self.is_placed));
    }

    pub(super) fn next_sort(&mut self) {
        self.sort = self.sort.next();
        self.is_reversed = false;
        self.rearrange_rows();
    }

    pub(super) fn reverse_order(&mut self) {
        self.is_reversed = !self.is_reversed;
        self.rearrange_rows();
    }

    pub(super) fn toggle_hidden(&mut self) {
        self.shows_hidden = !self.shows_hidden;
        self.rearrange_rows();
    }

    /// Shows only the project of the row under the cursor, or all again.
    pub(super) fn toggle_project(&mut self) {
        self.project = match self.project {
            Some(_) => None,
            None => self.selected_entry().map(|entry| entry.project.clone()),
        };
        self.rearrange_rows();
    }

    /// Takes a row away whose file is gone.
    pub(super) fn remove_file(&mut self, path: &std::path::Path) {
        let row = self.cursor;
        self.entries.retain(|entry| entry.path != path);
        self.found.clear();
        self.arrange_rows(None);
        self.cursor = row.min(self.rows.len().saturating_sub(1));
    }

    /// Moves the cursor by so many rows, as far as there are any.
    pub(super) fn step_cursor(&mut self, by: isize) {
        self.is_placed = true;
        let last = self.rows.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(by).min(last);
    }

    /// Scrolls so that the cursor is among so many rows.
    pub(super) fn scroll_to_cursor(&mut self, height: usize) {
        let height = height.max(1);
        let most = self.rows.len().saturating_sub(height);
        let lowest = (self.cursor + 1).saturating_sub(height);
        self.top = self.top.clamp(lowest, self.cursor.max(lowest)).min(most);
    }

    fn rearrange_rows(&mut self) {
        let place = self.rows.get(self.cursor).copied();
        self.arrange_rows(place);
    }

    /// Chooses and orders the rows; the cursor stays on its entry, or else goes to the first.
    fn arrange_rows(&mut self, selected: Option<usize>) {
        let terms = self.title_terms();
        let mut rows: Vec<usize> = (0..self.entries.len())
            .filter(|&place| self.is_shown(place, &terms))
            .collect();
        let entries = &self.entries;
        match self.sort {
            ListSort::Date => rows.sort_by_key(|&place| Reverse(entries[place].updated_ms)),
            ListSort::Messages => rows.sort_by_key(|&place| Reverse(entries[place].messages)),
            ListSort::Name => rows.sort_by_cached_key(|&place| entries[place].title.to_lowercase()),
        }
        if self.is_reversed {
            rows.reverse();
        }
        // Hidden files stand behind the sessions in any order.
        rows.sort_by_key(|&place| !entries[place].is_session());
        let row = selected.and_then(|selected| rows.iter().position(|&place| place == selected));
        self.cursor = row.unwrap_or(0);
        self.rows = rows;
    }

    fn is_shown(&self, place: usize, terms: &[TitleTerm]) -> bool {
        let entry = &self.entries[place];
        let is_of_project = self
            .project
            .as_ref()
            .is_none_or(|name| *name == entry.project);
        is_of_project
            && (entry.is_session() || self.shows_hidden)
            && (entry.has_terms(terms) || self.found.contains_key(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> BrowseList {
        let mut list = BrowseList::default();
        list.fill_entries(vec![
            BrowseEntry::sample_entry(1, "beta plan", 5, 100),
            BrowseEntry::sample_entry(2, "Alpha work", 9, 300),
            BrowseEntry::sample_entry(3, "gamma Plan", 1, 200),
            BrowseEntry::sample_hidden("torn.jsonl: it is empty"),
        ]);
        list
    }

    fn numbers(list: &BrowseList) -> Vec<Option<u64>> {
        list.visible_rows().map(|(_, entry)| entry.number).collect()
    }

    #[test]
    fn every_order_can_be_reversed_and_files_without_a_session_stay_last() {
        let mut list = list();
        assert_eq!(numbers(&list), [Some(2), Some(3), Some(1)]);
        list.toggle_hidden();
        list.reverse_order();
        assert_eq!(numbers(&list), [Some(1), Some(3), Some(2), None]);
        list.next_sort();
        assert_eq!(numbers(&list), [Some(2), Some(1), Some(3), None]);
        list.next_sort();
        assert_eq!(numbers(&list), [Some(2), Some(1), Some(3), None]);
        list.reverse_order();
        assert_eq!(numbers(&list), [Some(3), Some(1), Some(2), None]);
    }

    #[test]
    fn all_words_have_to_be_there_in_any_case_and_order() {
        let mut list = list();
        list.start_search("PLAN gam".to_owned());
        assert_eq!(numbers(&list), [Some(3)]);
        list.start_search("plan".to_owned());
        assert_eq!(numbers(&list), [Some(3), Some(1)]);
        list.start_search("00000002-".to_owned());
        assert_eq!(numbers(&list), [Some(2)], "ids are searched");
        list.start_search("nowhere".to_owned());
        assert_eq!(numbers(&list), []);
        assert!(list.selected_entry().is_none());
    }

    #[test]
    fn full_text_matches_stay_in_the_list_until_the_query_changes() {
        let mut list = list();
        list.start_search("plan".to_owned());
        let snippet = ListSnippet {
            before: "the ".to_owned(),
            matched: "plan".to_owned(),
            after: String::new(),
        };
        list.add_found(vec![(1, Some(snippet))]);
        assert_eq!(numbers(&list), [Some(2), Some(3), Some(1)]);
        assert_eq!(list.cursor_row(), 0, "nobody has moved it");
        list.start_search("plans".to_owned());
        assert_eq!(numbers(&list), []);
    }

    #[test]
    fn the_cursor_stays_with_its_session_and_on_the_screen() {
        let mut list = list();
        list.step_cursor(1);
        assert_eq!(list.selected_entry().unwrap().number, Some(3));
        list.next_sort();
        assert_eq!(list.selected_entry().unwrap().number, Some(3));
        assert_eq!(list.cursor_row(), 2);
        list.scroll_to_cursor(2);
        assert_eq!(list.top_row(), 1);
        list.step_cursor(-99);
        list.scroll_to_cursor(2);
        assert_eq!((list.cursor_row(), list.top_row()), (0, 0));
        list.step_cursor(99);
        assert_eq!(list.cursor_row(), 2);
        list.scroll_to_cursor(0);
        assert_eq!(list.top_row(), 2);
        list.remove_file(&list.selected_entry().unwrap().path.clone());
        assert_eq!(list.cursor_row(), 1);
    }
}
