//! The texts of a file, as the index keeps them: who said each, and its words.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

use crate::sessions::scan::Summary;
use crate::sessions::search::{Role, entries, words};

/// Whose a text is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner(
    pub(super) u8,
    pub(super) Option<String>,
    pub(super) Option<String>,
);

impl Owner {
    pub(super) fn role(&self) -> Role {
        let role = Role::ALL.get(usize::from(self.0));
        role.copied().unwrap_or(Role::Notice)
    }
}

/// Hands over the words of each text of a session, each once, parted by blanks, in order; and returns whose texts they are.
pub(super) fn of<E>(
    summary: &Summary,
    bytes: &[u8],
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<Vec<Owner>, E> {
    let mut owners = Vec::new();
    let mut folded = String::new();
    let mut line = String::new();
    let mut failed = None;
    entries::each(summary, bytes, |entry| {
        let role = Role::ALL.iter().position(|role| *role == entry.role);
        owners.push(Owner(
            role.and_then(|role| u8::try_from(role).ok()).unwrap_or(0),
            entry.tool.as_deref().map(ToOwned::to_owned),
            entry.model.as_deref().map(ToOwned::to_owned),
        ));
        distinct(&entry.text, &mut folded, &mut line);
        failed = take(&line).err();
        failed.is_none()
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(owners),
    }
}

/// The words of a text, each once.
fn distinct(text: &str, folded: &mut String, line: &mut String) {
    folded.clear();
    line.clear();
    let mut seen: HashSet<&str, BuildHasherDefault<Fnv>> = HashSet::default();
    if text.is_ascii() {
        words::fold_into(text, folded);
    } else {
        for word in words::words(text) {
            words::fold_into(&text[word], folded);
            folded.push(' ');
        }
        // A blank parts what was parted; nothing that folds becomes a sign.
        for word in folded.split(' ').filter(|word| !word.is_empty()) {
            add(word, &mut seen, line);
        }
        return;
    }
    for word in words::words(folded) {
        add(&folded[word], &mut seen, line);
    }
}

fn add<'w>(word: &'w str, seen: &mut HashSet<&'w str, BuildHasherDefault<Fnv>>, line: &mut String) {
    if seen.insert(word) {
        line.push_str(word);
        line.push(' ');
    }
}

/// Fowler, Noll and Vo's hash: short words are many, and nobody gains from making them collide but a slower index of their own.
#[derive(Debug)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_stands_once() {
        let (mut folded, mut line) = (String::new(), String::new());
        distinct("The fox, the FOX; a-b_a", &mut folded, &mut line);
        assert_eq!(line, "the fox a b ");
        distinct("Été é été x\u{a0}X", &mut folded, &mut line);
        assert_eq!(line, "été é x ");
        distinct("", &mut folded, &mut line);
        assert_eq!(line, "");
    }
}
