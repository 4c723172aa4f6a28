//! Entries that wait for an answer.

use std::collections::VecDeque;

use lapidary_vocab::Text;

/// How many may wait at once. Real runs have a handful.
const MOST: usize = 1024;

/// How many bytes all of them may hold together.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// Entries that wait for an answer that names their id, oldest first.
///
/// An agent that sends requests without end and never answers takes no more of our memory: the oldest entries are forgotten. An
/// entry copies the fields that its answer will need, never the line.
#[derive(Debug)]
pub(crate) struct PendingById<T, Id = String> {
    items: VecDeque<PendingItem<T, Id>>,
    bytes: usize,
}

#[derive(Debug)]
struct PendingItem<T, Id> {
    id: Id,
    value: T,
    bytes: usize,
}

impl<T, Id> Default for PendingById<T, Id> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<T> PendingById<T> {
    /// Remembers `value`, which holds about `size` bytes.
    pub(crate) fn open(&mut self, id: &str, value: T, size: usize) {
        self.remember_item(id.to_owned(), value, id.len() + size);
    }

    /// Takes out what waited under this id; the newest, if there are several.
    pub(crate) fn close_id(&mut self, id: &str) -> Option<T> {
        self.take_newest(|known| known == id)
    }

    /// The value that waits under this id; the newest, if there are several.
    pub(crate) fn newest(&self, id: &str) -> Option<&T> {
        let item = self.items.iter().rev().find(|item| item.id == id);
        item.map(|item| &item.value)
    }
}

/// Under the agent's own tokens: no id is decoded or copied.
impl<T> PendingById<T, Text> {
    /// Remembers `value`, which holds about `size` bytes.
    pub(crate) fn open_text(&mut self, id: &Text, value: T, size: usize) {
        self.remember_item(id.detached(), value, id.size() + size);
    }

    /// Takes out what waited under this id; the newest, if there are several.
    pub(crate) fn close_text(&mut self, id: &Text) -> Option<T> {
        self.take_newest(|known| known == id)
    }
}

impl<T, Id> PendingById<T, Id> {
    fn remember_item(&mut self, id: Id, value: T, bytes: usize) {
        self.bytes += bytes;
        self.items.push_back(PendingItem { id, value, bytes });
        while self.items.len() > 1 && (self.items.len() > MOST || self.bytes > MOST_BYTES) {
            self.remove_item(0);
        }
    }

    fn take_newest(&mut self, is_wanted: impl Fn(&Id) -> bool) -> Option<T> {
        let place = self.items.iter().rposition(|item| is_wanted(&item.id))?;
        self.remove_item(place)
    }

    /// Takes out all that are wanted, oldest first.
    pub(crate) fn close_all(&mut self, wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let (closed, kept): (VecDeque<_>, _) = std::mem::take(&mut self.items)
            .into_iter()
            .partition(|item| wanted(&item.value));
        self.items = kept;
        self.bytes -= closed.iter().map(|item| item.bytes).sum::<usize>();
        closed.into_iter().map(|item| item.value).collect()
    }

    fn remove_item(&mut self, place: usize) -> Option<T> {
        let item = self.items.remove(place)?;
        self.bytes -= item.bytes;
        Some(item.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_an_id_is_answered_first() {
        let mut pending = PendingById::default();
        for (id, value) in [("a", 1), ("b", 2), ("a", 3)] {
            pending.open(id, value, 0);
        }
        let answers = ["a", "a", "a", "b"].map(|id| pending.close_id(id));
        assert_eq!(answers, [Some(3), Some(1), None, Some(2)]);
        assert_eq!(pending.bytes, 0);
    }

    #[test]
    fn an_id_is_found_however_it_is_escaped() {
        let token = |text: &str| {
            let token = lapidary_json::SharedToken::parse(text).unwrap();
            Text::from_token(token)
        };
        let mut pending = PendingById::default();
        pending.open_text(&token(r#""a-1""#), 1, 0);
        pending.open_text(&Text::from("b"), 2, 0);
        let escaped = [r#""\u0061-1""#, r#""\u0062""#, r#""c""#];
        let answers = escaped.map(|id| pending.close_text(&token(id)));
        assert_eq!(answers, [Some(1), Some(2), None]);
        assert_eq!(pending.bytes, 0);
    }

    #[test]
    fn number_and_bytes_are_bounded() {
        let mut many = PendingById::default();
        for n in 0..=MOST {
            many.open(&n.to_string(), n, 0);
        }
        assert_eq!((many.close_id("0"), many.close_id("1")), (None, Some(1)));
        let mut large = PendingById::default();
        for n in 0..3 {
            large.open(&n.to_string(), n, MOST_BYTES / 2);
        }
        assert_eq!((large.close_id("0"), large.close_id("2")), (None, Some(2)));
        large.open("huge", 9, MOST_BYTES * 2);
        assert_eq!(
            large.close_id("huge"),
            Some(9),
            "the newest stays, however large"
        );
    }
}
