//! Writes JSON as `JSON.stringify` does, on one line or indented by two. Texts come escaped.

/// Where JSON is written.
#[derive(Debug)]
pub(super) struct JsonPen<'a> {
    pub(super) out: &'a mut String,
    is_indented: bool,
    depth: usize,
    /// True until the open object or list has a member.
    is_empty: bool,
}

impl<'a> JsonPen<'a> {
    pub(super) fn new(out: &'a mut String, is_indented: bool) -> Self {
        Self {
            out,
            is_indented,
            depth: 0,
            is_empty: true,
        }
    }

    /// Opens an object or a list: `{` or `[`.
    pub(super) fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.depth += 1;
        self.is_empty = true;
    }

    /// Closes it. At the outermost, a record that stands on its own line ends there.
    pub(super) fn close(&mut self, bracket: char) {
        self.depth -= 1;
        if !self.is_empty {
            self.line();
        }
        self.is_empty = false;
        self.out.push(bracket);
        if self.depth == 0 && !self.is_indented {
            self.out.push('\n');
        }
    }

    /// Begins an element of a list.
    pub(super) fn item(&mut self) {
        if !self.is_empty {
            self.out.push(',');
        }
        self.is_empty = false;
        self.line();
    }

    /// Begins a member of an object.
    pub(super) fn key(&mut self, name: &str) {
        self.item();
        self.out.push('"');
        self.out.push_str(name);
        self.out
            .push_str(if self.is_indented { "\": " } else { "\":" });
    }

    /// A member that is a text.
    pub(super) fn text(&mut self, name: &str, escaped: &str) {
        self.key(name);
        self.quoted(escaped);
    }

    /// A text.
    pub(super) fn quoted(&mut self, escaped: &str) {
        self.out.push('"');
        self.out.push_str(escaped);
        self.out.push('"');
    }

    /// A member that is a number or a word of JSON.
    pub(super) fn value(&mut self, name: &str, value: &str) {
        self.key(name);
        self.out.push_str(value);
    }

    fn line(&mut self) {
        if self.is_indented {
            self.out.push('\n');
            for _ in 0..self.depth {
                self.out.push_str("  ");
            }
        }
    }
}
