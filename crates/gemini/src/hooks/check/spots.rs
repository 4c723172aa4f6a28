//! Where things stand in the files they are written in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::file;
use crate::jsonc::{Child, Lines, Node, Tree};
use crate::notice::Place;

/// Files that have been looked at.
#[derive(Default)]
pub(super) struct Spots(HashMap<PathBuf, Option<Text>>);

/// A file's text and where its values are.
pub(super) struct Text {
    pub(super) tree: Tree,
    lines: Lines<'static>,
}

impl Text {
    fn read(path: &Path) -> Option<Self> {
        let text = file::json_text(path).ok()??;
        Some(Self {
            tree: Tree::of(&text)?,
            lines: Lines::of(text),
        })
    }

    /// Where a byte is. Asked for so often that the text cannot be read anew each time.
    pub(super) fn place(&self, byte: usize) -> Place {
        self.lines.place(byte)
    }

    /// Where a path of keys leads, or as far as it leads.
    fn follow(&self, keys: &[String]) -> Option<usize> {
        let mut node = &self.tree.root;
        let mut found = None;
        for key in keys {
            let Some(child) = child(node, key) else { break };
            found = Some(child.start);
            node = &child.node;
        }
        found
    }
}

/// The value at a key, without a search where it is an item of a list.
fn child<'a>(node: &'a Node, key: &str) -> Option<&'a Child> {
    let at = key
        .parse()
        .ok()
        .and_then(|index: usize| node.children.get(index));
    at.filter(|child| child.key == key)
        .or_else(|| node.child(key))
}

impl Spots {
    /// A file, if it can be read and is JSON.
    pub(super) fn text(&mut self, path: &Path) -> Option<&Text> {
        let entry = self.0.entry(path.to_owned());
        entry.or_insert_with(|| Text::read(path)).as_ref()
    }

    /// Where a path of keys leads, or as far as it leads.
    pub(super) fn place(&mut self, path: &Path, keys: &[String]) -> Option<Place> {
        let text = self.text(path)?;
        text.follow(keys).map(|start| text.place(start))
    }
}
