//! The layout of a text, and how to add or remove a value so that it still looks the same.

mod put;
mod remove;

use serde_json::Value;

use crate::jsonc::JsoncTree;

/// A text, where its values are, and how its lines begin and end.
pub(super) struct TextLayout<'a> {
    text: &'a str,
    tree: JsoncTree,
    newline: &'static str,
    /// What one step to the right is.
    unit: String,
}

impl<'a> TextLayout<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let tree = JsoncTree::parse(text)?;
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
            && !layout.line_indent(start).is_empty()
        {
            layout.unit = layout.line_indent(start).to_owned();
        }
        Some(layout)
    }

    /// Puts another value in the place of the one at a path.
    pub(super) fn replace_value(&self, path: &[String], value: &Value) -> Option<String> {
        let span = self.tree.find_node(path)?.span.clone();
        let start = self.tree.entry_start(path)?;
        let is_root = path.is_empty();
        let new = if is_root || self.owns_line(start) {
            self.multiline_text(value, self.line_indent(start))
        } else {
            in_line(value)
        };
        let (before, behind) = (&self.text[..span.start], &self.text[span.end..]);
        Some(format!("{before}{new}{behind}"))
    }

    /// Puts a list around the value at a path, which stays as it is written.
    pub(super) fn wrap_in_list(&self, path: &[String]) -> Option<String> {
        let span = self.tree.find_node(path)?.span.clone();
        let (before, behind) = (&self.text[..span.start], &self.text[span.end..]);
        let value = &self.text[span.clone()];
        let end = if value.contains('\n') {
            format!("{}{}", self.newline, self.line_indent(span.start))
        } else {
            String::new()
        };
        Some(format!("{before}[{value}{end}]{behind}"))
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
    fn line_indent(&self, at: usize) -> &str {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[line..at];
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        &line[..blanks]
    }

    /// A value over as many lines as it takes, as JavaScript would write it.
    fn multiline_text(&self, value: &Value, indent: &str) -> String {
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
