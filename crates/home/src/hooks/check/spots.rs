//! Where things stand in the files they are written in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::file;
use crate::jsonc::{self, Tree};
use crate::notice::Place;

/// Files that have been looked at.
#[derive(Default)]
pub(super) struct Spots(HashMap<PathBuf, Option<Text>>);

/// A file's text and where its values are.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) tree: Tree,
}

impl Text {
    pub(super) fn place(&self, byte: usize) -> Place {
        jsonc::place(&self.text, byte)
    }
}

impl Spots {
    /// A file, if it can be read and is JSON.
    pub(super) fn text(&mut self, path: &Path) -> Option<&Text> {
        let entry = self.0.entry(path.to_owned()).or_insert_with(|| {
            let text = file::text(path).ok()??;
            let tree = Tree::of(&text)?;
            Some(Text { text, tree })
        });
        entry.as_ref()
    }

    /// Where a path of keys leads, or as far as it leads.
    pub(super) fn place(&mut self, path: &Path, keys: &[String]) -> Option<Place> {
        let text = self.text(path)?;
        let start = (1..=keys.len())
            .rev()
            .find_map(|length| text.tree.start(&keys[..length]));
        start.map(|start| text.place(start))
    }
}
