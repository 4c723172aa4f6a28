//! Where things stand in the files they are written in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::file;
use crate::jsonc::{JsoncChild, JsoncNode, JsoncTree, LineIndex};
use crate::notice::TextPosition;

/// Files that have been looked at.
#[derive(Default)]
pub(super) struct FilePositions(HashMap<PathBuf, Option<PositionedText>>);

/// A file's text and where its values are.
pub(super) struct PositionedText {
    pub(super) tree: JsoncTree,
    lines: LineIndex<'static>,
}

impl PositionedText {
    fn read(path: &Path) -> Option<Self> {
        let text = file::json_text(path).ok()??;
        Some(Self {
            tree: JsoncTree::parse(&text)?,
            lines: LineIndex::new(text),
        })
    }

    /// Where a byte is. Asked for so often that the text cannot be read anew each time.
    pub(super) fn byte_position(&self, byte: usize) -> TextPosition {
        self.lines.byte_position(byte)
    }

    /// Where a path of keys leads, or as far as it leads.
    fn follow_keys(&self, keys: &[String]) -> Option<usize> {
        let mut node = &self.tree.root;
        let mut found = None;
        for key in keys {
            let Some(child) = child_at(node, key) else {
                break;
            };
            found = Some(child.start);
            node = &child.node;
        }
        found
    }
}

/// The value at a key, without a search where it is an item of a list.
fn child_at<'a>(node: &'a JsoncNode, key: &str) -> Option<&'a JsoncChild> {
    let at = key
        .parse()
        .ok()
        .and_then(|index: usize| node.children.get(index));
    at.filter(|child| child.key == key)
        .or_else(|| node.child_by_key(key))
}

impl FilePositions {
    /// A file, if it can be read and is JSON.
    pub(super) fn positioned_text(&mut self, path: &Path) -> Option<&PositionedText> {
        let entry = self.0.entry(path.to_owned());
        entry.or_insert_with(|| PositionedText::read(path)).as_ref()
    }

    /// Where a path of keys leads, or as far as it leads.
    pub(super) fn key_position(&mut self, path: &Path, keys: &[String]) -> Option<TextPosition> {
        let text = self.positioned_text(path)?;
        text.follow_keys(keys)
            .map(|start| text.byte_position(start))
    }
}
