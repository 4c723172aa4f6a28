//! The texts of a file, as the index keeps them: who said each, and its words.

use serde::{Deserialize, Serialize};

use crate::scan::FileSummary;
use crate::search::letters::LetterForm;
use crate::search::tokens::text_tokens;
use crate::search::{EntryRole, entries};

/// Whose a text is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextOwner(
    pub(super) u8,
    pub(super) Option<String>,
    pub(super) Option<String>,
);

impl TextOwner {
    pub(super) fn entry_role(&self) -> EntryRole {
        let role = EntryRole::ALL.get(usize::from(self.0));
        role.copied().unwrap_or(EntryRole::Notice)
    }
}

/// Stands first in the exact form of a text. Nothing else reads so.
pub(super) const IS_EXACT: char = '\u{e001}';

/// The tokens of a text, in order, parted by blanks.
#[derive(Debug, Default)]
pub(super) struct TextTokens {
    /// As they are compared without marks.
    pub(super) folded: String,
    /// With marks, behind [`IS_EXACT`]. Empty where that makes no difference.
    pub(super) exact: String,
}

/// Hands over the tokens of each text of a session; and returns whose texts they are.
pub(super) fn collect_tokens<E>(
    summary: &FileSummary,
    bytes: &[u8],
    mut take: impl FnMut(&TextTokens) -> Result<(), E>,
) -> Result<Vec<TextOwner>, E> {
    let mut owners = Vec::new();
    let mut words = TextTokens::default();
    let mut failed = None;
    entries::for_each_text(
        summary,
        bytes,
        |_| true,
        |entry| {
            let role = EntryRole::ALL.iter().position(|role| *role == entry.role);
            owners.push(TextOwner(
                role.and_then(|role| u8::try_from(role).ok()).unwrap_or(0),
                entry.tool.as_deref().map(ToOwned::to_owned),
                entry.model.as_deref().map(ToOwned::to_owned),
            ));
            words.set_text(&entry.text);
            failed = take(&words).err();
            failed.is_none()
        },
    );
    match failed {
        Some(error) => Err(error),
        None => Ok(owners),
    }
}

impl TextTokens {
    fn set_text(&mut self, text: &str) {
        self.folded.clear();
        self.exact.clear();
        let mut has_forms = false;
        for token in text_tokens(text) {
            has_forms |= token.has_forms();
            token.add_comparable(text, LetterForm::Folded, &mut self.folded);
            self.folded.push(' ');
        }
        if !has_forms {
            return;
        }
        self.exact.extend([IS_EXACT, ' ']);
        let start = self.exact.len();
        for token in text_tokens(text) {
            token.add_comparable(text, LetterForm::Exact, &mut self.exact);
            self.exact.push(' ');
        }
        if self.exact[start..] == self.folded {
            self.exact.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_order_and_the_exact_form_is_kept_where_it_is_another() {
        let is = |text: &str, folded: &str, exact: &str| {
            let mut words = TextTokens::default();
            words.set_text("before");
            words.set_text(text);
            assert_eq!((&*words.folded, &*words.exact), (folded, exact), "{text}");
        };
        is("The fox, the FOX; a-b_a", "the fox the fox a b a ", "");
        is("Дом x\u{a0}X", "дом x x ", "");
        is("Été x", "ete x ", "\u{e001} été x ");
        is("日本。語", "日 本 \u{e000} 語 ", "");
        is("", "", "");
    }
}
