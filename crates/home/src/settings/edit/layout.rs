//! How a text is laid out, and how to put something in or take it out so that it still looks the same.

use std::ops::Range;

use serde_json::Value;

use crate::jsonc::{Node, Tree};

/// What is taken out of a text.
type Cut = Range<usize>;

/// A text, where its values are, and how its lines begin and end.
pub(super) struct Layout<'a> {
    text: &'a str,
    tree: Tree,
    newline: &'static str,
    /// What one step to the right is.
    unit: String,
}

impl<'a> Layout<'a> {
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let tree = Tree::of(text)?;
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let mut layout = Self {
            text,
            tree,
            newline,
            unit: "  ".to_owned(),
        };
        let first = layout.tree.root.children.first();
        if let Some(start) = first.map(|child| child.start)
            && layout.owns_line(start)
            && !layout.indent(start).is_empty()
        {
            layout.unit = layout.indent(start).to_owned();
        }
        Some(layout)
    }

    /// Puts another value in the place of the one at a path.
    pub(super) fn replace(&self, path: &[String], value: &Value) -> Option<String> {
        let span = self.tree.find(path)?.span.clone();
        let start = self.tree.start(path)?;
        let is_root = path.is_empty();
        let new = if is_root || self.owns_line(start) {
            self.lines(value, self.indent(start))
        } else {
            in_line(value)
        };
        let (before, behind) = (&self.text[..span.start], &self.text[span.end..]);
        Some(format!("{before}{new}{behind}"))
    }

    /// Adds a key to the object at a path.
    pub(super) fn add(&self, path: &[String], key: &str, value: &Value) -> Option<String> {
        let name = Value::from(key);
        let place = self.tree.find(path)?.children.len();
        self.put(path, place, |value| format!("{name}: {value}"), value)
    }

    /// Puts an item into the list at a path.
    pub(super) fn insert(&self, path: &[String], place: usize, value: &Value) -> Option<String> {
        self.put(path, place, |value| value, value)
    }

    fn put(
        &self,
        path: &[String],
        place: usize,
        named: impl Fn(String) -> String,
        value: &Value,
    ) -> Option<String> {
        let node = self.tree.find(path)?;
        let Some(last) = node.children.last() else {
            return Some(self.put_first(path, node, named, value));
        };
        let written = |indent: Option<&str>| {
            named(match indent {
                Some(indent) => self.lines(value, indent),
                None => in_line(value),
            })
        };
        if let Some(next) = node.children.get(place) {
            let indent = self.owns_line(next.start).then(|| self.indent(next.start));
            let (before, behind) = self.text.split_at(next.start);
            let new = written(indent);
            let between = self.between(indent);
            return Some(format!("{before}{new},{between}{behind}"));
        }
        let end = last.node.span.end;
        let (point, is_line_end) = self.behind(end, node.span.end - 1);
        let own = self
            .owns_line(last.start)
            .then(|| self.indent(last.start).to_owned());
        let step = || format!("{}{}", self.indent(node.span.start), self.unit);
        let indent = own.or_else(|| is_line_end.then(step));
        let new = written(indent.as_deref());
        let between = self.between(indent.as_deref());
        let (before, kept, behind) = (
            &self.text[..end],
            &self.text[end..point],
            &self.text[point..],
        );
        Some(format!("{before},{kept}{between}{new}{behind}"))
    }

    /// Puts something where nothing is yet, but perhaps comments.
    fn put_first(
        &self,
        path: &[String],
        node: &Node,
        named: impl Fn(String) -> String,
        value: &Value,
    ) -> String {
        let (open, close) = (node.span.start + 1, node.span.end - 1);
        let (before, behind) = (&self.text[..open], &self.text[close..]);
        let kept = self.text[open..close].trim_end();
        let start = self.tree.start(path).unwrap_or(node.span.start);
        let is_in_line = kept.is_empty() && !path.is_empty() && !self.owns_line(start);
        if is_in_line {
            return format!("{before}{}{behind}", named(in_line(value)));
        }
        let outer = self.indent(start);
        let inner = format!("{outer}{}", self.unit);
        let new = named(self.lines(value, &inner));
        let newline = self.newline;
        format!("{before}{kept}{newline}{inner}{new}{newline}{outer}{behind}")
    }

    /// Where something new goes behind the last value of an object or a list: at the end of its line, behind its comment.
    /// True if that is the end of a line.
    fn behind(&self, end: usize, close: usize) -> (usize, bool) {
        let mut from = end;
        while let Some(at) = self.text[from..close].find('\n').map(|at| at + from) {
            let comments = &self.tree.plain.comments;
            let Some(comment) = comments.iter().find(|comment| comment.contains(&at)) else {
                let is_crlf = self.text[..at].ends_with('\r');
                return (if is_crlf { at - 1 } else { at }, true);
            };
            from = comment.end;
        }
        (self.text[..close].trim_end().len().max(end), false)
    }

    /// Takes out what is at a key. Comments around it stay.
    pub(super) fn remove(&self, path: &[String], key: &str) -> Option<String> {
        let node = self.tree.find(path)?;
        let at = node.children.iter().rposition(|child| child.key == key)?;
        let child = &node.children[at];
        let (start, end) = (child.start, child.node.span.end);
        let comma_behind = |end: usize| Some(self.tree.plain.text[end..].find(',')? + end);
        let is_last = at + 1 == node.children.len();
        let own: Cut = start..end;
        let mut cuts = vec![own];
        if !is_last {
            let comma = comma_behind(end)?;
            cuts.push(comma..comma + 1);
        } else if let Some(before) = at.checked_sub(1) {
            let comma = comma_behind(node.children[before].node.span.end)?;
            cuts.insert(0, comma..comma + 1);
        }
        if let [first, second] = &mut cuts[..]
            && self.text[first.end..second.start]
                .trim_matches([' ', '\t'])
                .is_empty()
        {
            first.end = second.end;
            cuts.truncate(1);
        }
        self.widen(&mut cuts, start);
        Some(without(self.text, &cuts))
    }

    /// Takes out the blanks too that would be left: a line with nothing else on it, or the gap within a line.
    fn widen(&self, cuts: &mut [Cut], start: usize) {
        let Some(cut) = cuts.iter_mut().find(|cut| cut.contains(&start)) else {
            return;
        };
        let blank = [' ', '\t'];
        let left = self.text[..cut.start].trim_end_matches(blank).len();
        let behind = &self.text[cut.end..];
        let right = cut.end + behind.len() - behind.trim_start_matches(blank).len();
        let rest = &self.text[right..];
        let newline = ["\r\n", "\n"].into_iter().find(|end| rest.starts_with(end));
        let is_line_start = left == 0 || self.text[..left].ends_with('\n');
        match newline {
            Some(newline) if is_line_start => *cut = left..right + newline.len(),
            Some(_) => *cut = left..right,
            // What follows on the same line moves up to where this stood.
            None if rest.starts_with(['}', ']']) => *cut = left..cut.end,
            None => cut.end = right,
        }
    }

    fn between(&self, indent: Option<&str>) -> String {
        match indent {
            Some(indent) => format!("{}{indent}", self.newline),
            None => " ".to_owned(),
        }
    }

    /// Whether a line begins here, blanks and comments aside.
    fn owns_line(&self, at: usize) -> bool {
        let before = &self.tree.plain.text[..at];
        match before.rfind('\n') {
            Some(end) => before[end..].trim().is_empty(),
            None => false,
        }
    }

    /// The blanks that the line of a place begins with.
    fn indent(&self, at: usize) -> &str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[line..at];
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        &line[..blanks]
    }

    /// A value over as many lines as it takes, as JavaScript would write it.
    fn lines(&self, value: &Value, indent: &str) -> String {
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut out, formatter);
        let written = serde::Serialize::serialize(value, &mut writer);
        debug_assert!(written.is_ok(), "values can always be written");
        let text = String::from_utf8_lossy(&out);
        text.replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// A value on one line, with a blank where people put one.
fn in_line(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            let items: Vec<_> = list.iter().map(in_line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let pair = |(key, value)| format!("{}: {}", Value::from(key), in_line(value));
            let pairs: Vec<_> = object
                .iter()
                .map(|(key, value)| pair((key.as_str(), value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        single => single.to_string(),
    }
}

fn without(text: &str, cuts: &[Cut]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        out.push_str(&text[from..cut.start.max(from)]);
        from = cut.end.max(from);
    }
    out.push_str(&text[from..]);
    out
}
