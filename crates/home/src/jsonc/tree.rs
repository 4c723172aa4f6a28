//! Where the values of a text stand.

use std::ops::Range;

use super::Plain;

/// A text that is JSON with comments, and where its values are.
pub(crate) struct Tree {
    pub(crate) plain: Plain,
    pub(crate) root: Node,
}

/// A value.
pub(crate) struct Node {
    /// Its bytes.
    pub(crate) span: Range<usize>,
    /// What is in it: nothing unless it is a list or an object.
    pub(crate) children: Vec<Child>,
}

/// A value in a list or an object.
pub(crate) struct Child {
    /// Its key, unescaped; in a list, its position.
    pub(crate) key: String,
    /// Where it begins: at its key, or in a list where its value does.
    pub(crate) start: usize,
    pub(crate) node: Node,
}

impl Tree {
    /// The values of a text. None if it is not JSON.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let plain = Plain::of(text);
        // Below, nothing has to be checked.
        serde_json::from_str::<serde::de::IgnoredAny>(&plain.text).ok()?;
        let mut walk = Walk {
            text: &plain.text,
            at: 0,
        };
        let root = walk.value()?;
        Some(Self { plain, root })
    }

    /// The value at a path of keys.
    pub(crate) fn find(&self, keys: &[impl AsRef<str>]) -> Option<&Node> {
        keys.iter().try_fold(&self.root, |node, key| {
            Some(&node.child(key.as_ref())?.node)
        })
    }

    /// Where the value at a path of keys begins, with its key.
    pub(crate) fn start(&self, keys: &[impl AsRef<str>]) -> Option<usize> {
        let Some((last, way)) = keys.split_last() else {
            return Some(self.root.span.start);
        };
        Some(self.find(way)?.child(last.as_ref())?.start)
    }
}

impl Node {
    /// The value at a key. Of two with the same key the last counts.
    pub(crate) fn child(&self, key: &str) -> Option<&Child> {
        self.children.iter().rev().find(|child| child.key == key)
    }
}

struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl Walk<'_> {
    fn value(&mut self) -> Option<Node> {
        let start = self.skip_space();
        let mut children = Vec::new();
        match self.next()? {
            b'{' => self.members(&mut children, b'}')?,
            b'[' => self.members(&mut children, b']')?,
            b'"' => self.skip_text()?,
            _ => self.skip_word(),
        }
        Some(Node {
            span: start..self.at,
            children,
        })
    }

    fn members(&mut self, children: &mut Vec<Child>, end: u8) -> Option<()> {
        self.at += 1;
        loop {
            let start = self.skip_space();
            match self.next()? {
                found if found == end => {
                    self.at += 1;
                    return Some(());
                }
                b',' => self.at += 1,
                _ => {
                    let key = match end {
                        b'}' => self.key()?,
                        _ => children.len().to_string(),
                    };
                    let node = self.value()?;
                    children.push(Child { key, start, node });
                }
            }
        }
    }

    /// A key and the colon behind it.
    fn key(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_text()?;
        let key = serde_json::from_str(&self.text[start..self.at]).ok()?;
        self.skip_space();
        self.at += 1;
        Some(key)
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) -> usize {
        while self.next().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        self.at
    }

    fn skip_text(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.next()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn skip_word(&mut self) {
        let ends = |byte: u8| byte.is_ascii_whitespace() || b",]}".contains(&byte);
        while self.next().is_some_and(|byte| !ends(byte)) {
            self.at += 1;
        }
    }
}
