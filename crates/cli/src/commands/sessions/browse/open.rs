//! A transcript that takes the whole screen: pages, and a search in it.

use super::document::{Direction, Document};
use super::keys::Key;
use super::state::LONGEST_QUERY;
use super::words::terms;

/// A transcript that takes the whole screen.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) title: String,
    /// Until it is there, nothing.
    pub(super) document: Option<Document>,
    pub(super) query: String,
    /// The search is being typed.
    pub(super) is_typing: bool,
}

impl Open {
    /// Takes the text, and goes to where it says what is searched.
    pub(super) fn fill(&mut self, lines: Vec<String>, width: usize, height: usize) {
        let mut document = Document::new(lines, width);
        document.find(&terms(&self.query), Direction::Here, height);
        self.document = Some(document);
    }

    pub(super) fn type_search(&mut self, key: Key, height: usize) {
        match key {
            Key::Esc => {
                self.is_typing = false;
                self.query.clear();
            }
            Key::Enter => {
                self.is_typing = false;
                self.find(Direction::Here, height);
            }
            key => {
                key.edits(&mut self.query, LONGEST_QUERY);
            }
        }
    }

    /// Takes a key; returns what there is to be said about it.
    pub(super) fn turn(&mut self, key: Key, height: usize) -> Option<String> {
        let document = self.document.as_mut()?;
        if let Some(by) = key.motion(height) {
            document.scroll(by, height);
            return None;
        }
        let is_found = match key {
            Key::Char('n') => self.find(Direction::Down, height),
            Key::Char('N') => self.find(Direction::Up, height),
            Key::Char('/') => {
                self.is_typing = true;
                self.query.clear();
                true
            }
            _ => true,
        };
        (!is_found).then(|| "it is not in here".to_owned())
    }

    fn find(&mut self, direction: Direction, height: usize) -> bool {
        let terms = terms(&self.query);
        let document = self.document.as_mut();
        document.is_some_and(|document| document.find(&terms, direction, height))
    }
}
