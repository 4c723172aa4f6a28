//! Ids of requests for permission, unique within a connection. Agents may use an id again; but who answers the first request of that id
//! must not be taken to have answered the second.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lapidary_vocab::Text;

/// How many ids are remembered. Every one after these is numbered, whether it was used before or not.
const MOST: usize = 65_536;

/// Ids of requests that have an event.
#[derive(Debug, Default)]
pub(super) struct RequestIds {
    /// The last number of each id, under its hash: ids can be long. Two that hash alike only cost a number that was not needed.
    used: HashMap<u64, u64>,
    /// How many were not remembered.
    forgotten: u64,
}

impl RequestIds {
    /// The id in events: itself the first time, then with `~2`, `~3` and so on.
    pub(super) fn unique_id(&mut self, id: &Text) -> Text {
        let word = id.to_str();
        if self.used.len() >= MOST {
            return self.numbered_id(&word);
        }
        let Some(last) = self.used.get(&hash(&word)).copied() else {
            self.used.insert(hash(&word), 1);
            return id.clone();
        };
        // An agent may have used the next one as an id of its own.
        let mut number = last + 1;
        while self.used.contains_key(&hash(&format!("{word}~{number}"))) {
            number += 1;
        }
        let unique = format!("{word}~{number}");
        self.used.insert(hash(&word), number);
        self.used.insert(hash(&unique), 1);
        Text::from(unique)
    }

    /// An id that was not used before: earlier ids either do not end with this number, or are remembered.
    fn numbered_id(&mut self, word: &str) -> Text {
        loop {
            self.forgotten += 1;
            let unique = format!("{word}~{}", MOST as u64 + self.forgotten);
            if !self.used.contains_key(&hash(&unique)) {
                return Text::from(unique);
            }
        }
    }
}

fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_id_is_emitted_twice_however_often_it_is_used() {
        let mut ids = RequestIds::default();
        let mut unique = |id: &str| ids.unique_id(&Text::from(id.to_owned())).to_string();
        let first = ["0", "0~2", "0", "1", "0", "0~2"].map(&mut unique);
        assert_eq!(first, ["0", "0~2", "0~3", "1", "0~4", "0~2~2"]);
        let mut all = HashSet::from(first);
        let tricky = ["0", "0~65540", "x", "x~70000"];
        for id in tricky.iter().cycle().take(3 * MOST) {
            let unique = unique(id);
            assert!(all.insert(unique.clone()), "{unique} was used before");
        }
        assert!(ids.used.len() <= MOST + 1);
    }
}
