//! Where the values of a text stand.

use std::ops::Range;

use lapidary_json::Token;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{BlankedText, bounds};

/// A text that is JSON with comments, and where its values are.
pub(crate) struct JsoncTree {
    pub(crate) plain: BlankedText,
    pub(crate) root: JsoncNode,
}

/// A value.
pub(crate) struct JsoncNode {
    /// Its bytes.
    pub(crate) span: Range<usize>,
    /// Its children: none unless it is a list or an object.
    pub(crate) children: Vec<JsoncChild>,
    /// Those of a large object by key, so that each is found without looking at all the others.
    by_key: Vec<usize>,
}

/// An object of fewer keys is searched from one end to the other.
const LARGE: usize = 16;

/// A value in a list or an object.
pub(crate) struct JsoncChild {
    /// Its key, unescaped; in a list, its position.
    pub(crate) key: String,
    /// Where it begins: at its key, or in a list where its value does.
    pub(crate) start: usize,
    pub(crate) node: JsoncNode,
}

impl JsoncTree {
    /// The values of a text. None if it is not JSON, or too much of it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let plain = BlankedText::new(text);
        // Below, nothing has to be checked.
        serde_json::from_str::<IgnoredAny>(&plain.text).ok()?;
        bounds::check(&plain.text).ok()?;
        let mut walk = TreeWalk {
            text: &plain.text,
            at: 0,
        };
        let root = walk.read_value()?;
        Some(Self { plain, root })
    }

    /// The value at a path of keys.
    pub(crate) fn find_node(&self, keys: &[impl AsRef<str>]) -> Option<&JsoncNode> {
        keys.iter().try_fold(&self.root, |node, key| {
            Some(&node.child_by_key(key.as_ref())?.node)
        })
    }

    /// Where the value at a path of keys begins, with its key.
    pub(crate) fn entry_start(&self, keys: &[impl AsRef<str>]) -> Option<usize> {
        let Some((last, way)) = keys.split_last() else {
            return Some(self.root.span.start);
        };
        Some(self.find_node(way)?.child_by_key(last.as_ref())?.start)
    }

    /// All of it as JavaScript reads it, as far as we have values for it: half of a surrogate pair becomes the replacement
    /// character, as when it is written, and an infinite number the largest one.
    pub(super) fn to_value(&self) -> Value {
        self.root.to_value(&self.plain.text)
    }
}

impl JsoncNode {
    /// The value at a key. Of two with the same key the last counts.
    pub(crate) fn child_by_key(&self, key: &str) -> Option<&JsoncChild> {
        Some(&self.children[self.child_index(key)?])
    }

    /// Which of the children that is.
    pub(crate) fn child_index(&self, key: &str) -> Option<usize> {
        if self.by_key.is_empty() {
            return self.children.iter().rposition(|child| child.key == key);
        }
        let key_of = |at: &usize| self.children[*at].key.as_str();
        let end = self.by_key.partition_point(|at| key_of(at) <= key);
        let last = self.by_key.get(end.checked_sub(1)?)?;
        (key_of(last) == key).then_some(*last)
    }

    fn new(span: Range<usize>, children: Vec<JsoncChild>) -> Self {
        let mut by_key = Vec::new();
        if children.len() >= LARGE {
            by_key.extend(0..children.len());
            // Those of the same key stay in their order.
            by_key.sort_by(|one, other| children[*one].key.cmp(&children[*other].key));
        }
        Self {
            span,
            children,
            by_key,
        }
    }

    fn to_value(&self, text: &str) -> Value {
        let own = &text[self.span.clone()];
        let children = self.children.iter();
        match own.as_bytes().first() {
            Some(b'{') => {
                let pairs = children.map(|child| (child.key.clone(), child.node.to_value(text)));
                Value::Object(pairs.collect())
            }
            Some(b'[') => children.map(|child| child.node.to_value(text)).collect(),
            Some(b'"') => Value::String(unescaped_text(own)),
            _ => serde_json::from_str(own).unwrap_or_else(|_| infinite_number(own)),
        }
    }
}

/// The text of a string that is valid JSON.
fn unescaped_text(string: &str) -> String {
    let token = Token::parse(string).ok();
    let text = token.and_then(Token::string);
    text.map(Into::into).unwrap_or_default()
}

/// A number that JavaScript calls infinite.
fn infinite_number(number: &str) -> Value {
    if number.starts_with('-') {
        f64::MIN.into()
    } else {
        f64::MAX.into()
    }
}

struct TreeWalk<'a> {
    text: &'a str,
    at: usize,
}

impl TreeWalk<'_> {
    fn read_value(&mut self) -> Option<JsoncNode> {
        let start = self.skip_space();
        let mut children = Vec::new();
        match self.next()? {
            b'{' => self.read_members(&mut children, b'}')?,
            b'[' => self.read_members(&mut children, b']')?,
            b'"' => self.skip_text()?,
            _ => self.skip_word(),
        }
        Some(JsoncNode::new(start..self.at, children))
    }

    fn read_members(&mut self, children: &mut Vec<JsoncChild>, end: u8) -> Option<()> {
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
                        b'}' => self.read_key()?,
                        _ => children.len().to_string(),
                    };
                    let node = self.read_value()?;
                    children.push(JsoncChild { key, start, node });
                }
            }
        }
    }

    /// A key and the colon behind it.
    fn read_key(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_text()?;
        let key = unescaped_text(&self.text[start..self.at]);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// However many there are, and in whatever order.
    #[test]
    fn of_two_with_the_same_key_the_last_is_found() {
        for count in [3, LARGE - 1, LARGE, 100] {
            let pairs: Vec<_> = (0..count)
                .map(|at| format!("\"k{}\": {at}", at % (count - 1)))
                .collect();
            let text = format!("{{{}}}", pairs.join(", "));
            let tree = JsoncTree::parse(&text).unwrap();
            let found = |key: &str| Some(&text[tree.find_node(&[key])?.span.clone()]);
            assert_eq!(found("k0"), Some(&*(count - 1).to_string()));
            for at in 1..count - 1 {
                assert_eq!(found(&format!("k{at}")), Some(&*at.to_string()));
            }
            assert_eq!((found("j"), found("k"), found("l")), (None, None, None));
        }
        let text = format!("[{}]", ["7"; 100].join(","));
        let tree = JsoncTree::parse(&text).unwrap();
        assert_eq!(tree.entry_start(&["42"]), Some(1 + 2 * 42));
        assert_eq!(tree.entry_start(&["100"]), None);
    }
}
