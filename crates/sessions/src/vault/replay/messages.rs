//! Messages in order, each once. A hostile file may take out and put in at any place with every line: each costs the same.

use std::collections::HashMap;

use super::{ReplayedMessage, enriched_record};

/// The messages, each of which knows its neighbours.
#[derive(Debug, Clone, Default)]
pub(in crate::vault) struct MessageChain<'a> {
    nodes: Vec<ChainNode<'a>>,
    places: HashMap<&'a str, usize>,
    first: Option<usize>,
    last: Option<usize>,
}

#[derive(Debug, Clone)]
struct ChainNode<'a> {
    message: ReplayedMessage<'a>,
    before: Option<usize>,
    behind: Option<usize>,
}

impl<'a> MessageChain<'a> {
    pub(in crate::vault) fn get(&self, key: &str) -> Option<&ReplayedMessage<'a>> {
        let place = self.places.get(key)?;
        Some(&self.nodes[*place].message)
    }

    pub(in crate::vault) fn len(&self) -> usize {
        self.places.len()
    }

    pub(in crate::vault) fn iter(&self) -> impl Iterator<Item = &ReplayedMessage<'a>> {
        let behind = |place: &usize| self.nodes[*place].behind;
        let places = std::iter::successors(self.first, behind);
        places.map(|place| &self.nodes[place].message)
    }

    pub(in crate::vault) fn has_content(&self) -> bool {
        self.iter().any(ReplayedMessage::is_resumable)
    }

    pub(super) fn upsert(&mut self, message: ReplayedMessage<'a>) {
        if let Some(&place) = self.places.get(message.key) {
            self.nodes[place].message = message;
        } else {
            self.insert(message, self.last);
        }
    }

    /// Removes a message and all behind it.
    pub(super) fn cut_from(&mut self, key: &str) {
        let mut next = self.places.get(key).copied();
        while let Some(place) = next {
            next = self.nodes[place].behind;
            self.take_out(place);
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        if let Some(&place) = self.places.get(key) {
            self.take_out(place);
        }
    }

    /// Adds a checkpoint's messages: known ones keep their places, new ones go behind the message that precedes them in the
    /// checkpoint.
    pub(super) fn weave_messages(&mut self, messages: &[ReplayedMessage<'a>]) {
        let mut last = None;
        for message in messages {
            if let Some(&place) = self.places.get(message.key) {
                let known = &mut self.nodes[place].message;
                known.record = enriched_record(&known.record, message);
                last = Some(place);
            } else {
                last = Some(self.insert(message.clone(), last));
            }
        }
    }

    /// Puts a message behind another one, or before all.
    fn insert(&mut self, message: ReplayedMessage<'a>, before: Option<usize>) -> usize {
        let place = self.nodes.len();
        let behind = match before {
            Some(before) => self.nodes[before].behind,
            None => self.first,
        };
        self.places.insert(message.key, place);
        self.nodes.push(ChainNode {
            message,
            before,
            behind,
        });
        self.link_neighbours(before, Some(place));
        self.link_neighbours(Some(place), behind);
        place
    }

    fn take_out(&mut self, place: usize) {
        let ChainNode {
            before,
            behind,
            ref message,
        } = self.nodes[place];
        self.places.remove(message.key);
        self.link_neighbours(before, behind);
    }

    /// Makes two messages neighbours; none stands for either end.
    fn link_neighbours(&mut self, before: Option<usize>, behind: Option<usize>) {
        match before {
            Some(before) => self.nodes[before].behind = behind,
            None => self.first = behind,
        }
        match behind {
            Some(behind) => self.nodes[behind].before = before,
            None => self.last = before,
        }
    }
}
