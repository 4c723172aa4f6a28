//! The texts of a file, as the index keeps them: who said each, and its words.

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

/// Hands over the words of each text of a session, parted by blanks, in order; and returns whose texts they are.
pub(super) fn of<E>(
    summary: &Summary,
    bytes: &[u8],
    mut take: impl FnMut(&str) -> Result<(), E>,
) -> Result<Vec<Owner>, E> {
    let mut owners = Vec::new();
    let mut line = String::new();
    let mut failed = None;
    entries::each(
        summary,
        bytes,
        |_| true,
        |entry| {
            let role = Role::ALL.iter().position(|role| *role == entry.role);
            owners.push(Owner(
                role.and_then(|role| u8::try_from(role).ok()).unwrap_or(0),
                entry.tool.as_deref().map(ToOwned::to_owned),
                entry.model.as_deref().map(ToOwned::to_owned),
            ));
            in_order(&entry.text, &mut line);
            failed = take(&line).err();
            failed.is_none()
        },
    );
    match failed {
        Some(error) => Err(error),
        None => Ok(owners),
    }
}

/// The words of a text.
fn in_order(text: &str, line: &mut String) {
    line.clear();
    for word in words::words(text) {
        words::fold_into(&text[word], line);
        line.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_order() {
        let mut line = String::new();
        in_order("The fox, the FOX; a-b_a", &mut line);
        assert_eq!(line, "the fox the fox a b a ");
        in_order("Été é été x\u{a0}X", &mut line);
        assert_eq!(line, "été é été x x ");
        in_order("", &mut line);
        assert_eq!(line, "");
    }
}
