//! Adding a value to an object or a list.

use serde_json::Value;

use super::{TextLayout, in_line};
use crate::jsonc::{JsoncChild, JsoncNode};

/// A new entry: an item, or a key with its value.
struct NewEntry<'a> {
    key: Option<&'a str>,
    value: &'a Value,
}

impl NewEntry<'_> {
    /// The layout of a value: over several lines that begin with these blanks, or else on one line.
    fn entry_text(&self, layout: &TextLayout<'_>, indent: Option<&str>) -> String {
        let value = match indent {
            Some(indent) => layout.multiline_text(self.value, indent),
            None => in_line(self.value),
        };
        match self.key {
            Some(key) => format!("{}: {value}", Value::from(key)),
            None => value,
        }
    }
}

impl TextLayout<'_> {
    /// Adds a key to the object at a path.
    pub(in super::super) fn add_key(
        &self,
        path: &[String],
        key: &str,
        value: &Value,
    ) -> Option<String> {
        let place = self.tree.find_node(path)?.children.len();
        let key = Some(key);
        self.put_entry(path, place, &NewEntry { key, value })
    }

    /// Puts an item into the list at a path.
    pub(in super::super) fn insert(
        &self,
        path: &[String],
        place: usize,
        value: &Value,
    ) -> Option<String> {
        self.put_entry(path, place, &NewEntry { key: None, value })
    }

    fn put_entry(&self, path: &[String], place: usize, new: &NewEntry<'_>) -> Option<String> {
        let node = self.tree.find_node(path)?;
        let children = &node.children;
        Some(match (children.get(place), children.last()) {
            (Some(next), _) => self.put_before(next, new),
            (None, Some(last)) => self.put_behind(node, last, new),
            (None, None) => self.put_first(path, node, new),
        })
    }

    fn put_before(&self, next: &JsoncChild, new: &NewEntry<'_>) -> String {
        let indent = self
            .owns_line(next.start)
            .then(|| self.line_indent(next.start));
        let (before, behind) = self.text.split_at(next.start);
        let between = self.entry_separator(indent);
        format!("{before}{},{between}{behind}", new.entry_text(self, indent))
    }

    /// The comma goes right behind the last value, the new entry behind its comment.
    fn put_behind(&self, node: &JsoncNode, last: &JsoncChild, new: &NewEntry<'_>) -> String {
        let end = last.node.span.end;
        let (point, is_line_end) = self.place_behind(end, node.span.end - 1);
        let indent = if self.owns_line(last.start) {
            Some(self.line_indent(last.start).to_owned())
        } else {
            let deeper = || format!("{}{}", self.line_indent(node.span.start), self.unit);
            is_line_end.then(deeper)
        };
        let new = new.entry_text(self, indent.as_deref());
        let between = self.entry_separator(indent.as_deref());
        let (before, behind) = (&self.text[..end], &self.text[point..]);
        let kept = &self.text[end..point];
        format!("{before},{kept}{between}{new}{behind}")
    }

    /// Adds the first entry, where there may be comments.
    fn put_first(&self, path: &[String], node: &JsoncNode, new: &NewEntry<'_>) -> String {
        let (open, close) = (node.span.start + 1, node.span.end - 1);
        let (before, behind) = (&self.text[..open], &self.text[close..]);
        let kept = self.text[open..close].trim_end();
        let start = self.tree.entry_start(path).unwrap_or(node.span.start);
        let is_in_line = kept.is_empty() && !path.is_empty() && !self.owns_line(start);
        if is_in_line {
            return format!("{before}{}{behind}", new.entry_text(self, None));
        }
        let outer = self.line_indent(start);
        let inner = format!("{outer}{}", self.unit);
        let new = new.entry_text(self, Some(&inner));
        let newline = self.newline;
        format!("{before}{kept}{newline}{inner}{new}{newline}{outer}{behind}")
    }

    /// Where a new entry goes behind the last value of an object or a list: at the end of its line, behind its comment. True if
    /// that is the end of a line.
    fn place_behind(&self, end: usize, close: usize) -> (usize, bool) {
        let mut from = end;
        while let Some(at) = self.text[from..close].find('\n').map(|at| at + from) {
            let comments = &self.tree.plain.comments;
            let next = comments.partition_point(|comment| comment.end <= at);
            let comment = comments.get(next).filter(|comment| comment.contains(&at));
            let Some(comment) = comment else {
                let is_crlf = self.text[..at].ends_with('\r');
                return (if is_crlf { at - 1 } else { at }, true);
            };
            from = comment.end;
        }
        (self.text[..close].trim_end().len(), false)
    }

    fn entry_separator(&self, indent: Option<&str>) -> String {
        match indent {
            Some(indent) => format!("{}{indent}", self.newline),
            None => " ".to_owned(),
        }
    }
}
