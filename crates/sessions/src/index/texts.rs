//! The texts of a file, as the index keeps them: who said each, and its words.

use rusqlite::{CachedStatement, Connection, params};
use serde::{Deserialize, Serialize};

use super::schema::TEXTS_PER_FILE;
use crate::search::EntryRole;
use crate::search::entries::TextEntry;
use crate::search::letters::LetterForm;
use crate::search::tokens::text_tokens;

/// The owner of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextOwner(
    pub(super) u8,
    pub(super) Option<String>,
    pub(super) Option<String>,
);

impl TextOwner {
    pub(super) fn of_entry(entry: &TextEntry<'_>) -> Self {
        let role = EntryRole::ALL.iter().position(|role| *role == entry.role);
        Self(
            role.and_then(|role| u8::try_from(role).ok()).unwrap_or(0),
            entry.tool.as_deref().map(ToOwned::to_owned),
            entry.model.as_deref().map(ToOwned::to_owned),
        )
    }

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

/// Writes the texts of one file.
pub(super) struct TextRows<'c> {
    connection: &'c Connection,
    statement: CachedStatement<'c>,
    file: i64,
    number: i64,
    owners: Vec<TextOwner>,
    words: TextTokens,
    failed: Option<rusqlite::Error>,
}

impl<'c> TextRows<'c> {
    pub(super) fn new(connection: &'c Connection, file: i64) -> rusqlite::Result<Self> {
        let insert = "INSERT INTO words (rowid, folded, exact) VALUES (?1, ?2, ?3)";
        Ok(Self {
            connection,
            statement: connection.prepare_cached(insert)?,
            file,
            number: file.saturating_mul(TEXTS_PER_FILE),
            owners: Vec::new(),
            words: TextTokens::default(),
            failed: None,
        })
    }

    /// Writes a text. False once one could not be written.
    pub(super) fn add_text(&mut self, entry: &TextEntry<'_>) -> bool {
        if self.failed.is_some() {
            return false;
        }
        self.owners.push(TextOwner::of_entry(entry));
        self.words.set_text(&entry.text);
        let end = self.file.saturating_add(1).saturating_mul(TEXTS_PER_FILE);
        // Beyond as many texts as a file can have numbers for, none is written: it would be found in the next file.
        if !self.words.folded.is_empty() && self.number < end {
            let TextTokens { folded, exact } = &self.words;
            let written = self.statement.execute(params![self.number, folded, exact]);
            self.failed = written.err();
        }
        self.number += 1;
        self.failed.is_none()
    }

    /// Writes whose texts they are.
    pub(super) fn finish(self) -> rusqlite::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let list = serde_json::to_string(&self.owners).unwrap_or_default();
        self.connection
            .prepare_cached("INSERT INTO texts (file, count, list) VALUES (?1, ?2, ?3)")?
            .execute(params![self.file, self.owners.len() as u64, list])?;
        Ok(())
    }
}

impl TextTokens {
    pub(super) fn set_text(&mut self, text: &str) {
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
