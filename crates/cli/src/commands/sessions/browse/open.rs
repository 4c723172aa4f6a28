//! A transcript that takes the whole screen: pages, and a search in it.

use super::document::{ScrolledDocument, SearchDirection};
use super::keys::BrowseKey;
use super::state::LONGEST_QUERY;
use super::title_terms::query_terms;

/// A transcript that takes the whole screen.
#[derive(Debug, Default)]
pub(super) struct OpenTranscript {
    pub(super) title: String,
    /// Until it is there, nothing.
    pub(super) document: Option<ScrolledDocument>,
    pub(super) query: String,
    /// The search is being typed.
    pub(super) is_typing: bool,
}

impl OpenTranscript {
    /// Takes the text, and scrolls to the first match of the search.
    pub(super) fn fill_lines(&mut self, lines: Vec<String>, width: usize, height: usize) {
        let mut document = ScrolledDocument::new(lines, width);
        document.find_row(&query_terms(&self.query), SearchDirection::Here, height);
        self.document = Some(document);
    }

    pub(super) fn type_search(&mut self, key: BrowseKey, height: usize) {
        match key {
            BrowseKey::Esc => {
                self.is_typing = false;
                self.query.clear();
            }
            BrowseKey::Enter => {
                self.is_typing = false;
                self.find_match(SearchDirection::Here, height);
            }
            key => {
                key.edit_line(&mut self.query, LONGEST_QUERY);
            }
        }
    }

    /// Takes a key; returns a remark about it, if there is one.
    pub(super) fn take_key(&mut self, key: BrowseKey, height: usize) -> Option<String> {
        let document = self.document.as_mut()?;
        if let Some(by) = key.row_motion(height) {
            document.scroll_by(by, height);
            return None;
        }
        let is_found = match key {
            BrowseKey::Char('n') => self.find_match(SearchDirection::Down, height),
            BrowseKey::Char('N') => self.find_match(SearchDirection::Up, height),
            BrowseKey::Char('/') => {
                self.is_typing = true;
                self.query.clear();
                true
            }
            _ => true,
        };
        (!is_found).then(|| "it is not in here".to_owned())
    }

    fn find_match(&mut self, direction: SearchDirection, height: usize) -> bool {
        let terms = query_terms(&self.query);
        let document = self.document.as_mut();
        document.is_some_and(|document| document.find_row(&terms, direction, height))
    }
}
