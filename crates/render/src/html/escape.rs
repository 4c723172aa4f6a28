//! Text made safe for HTML, within elements and within quoted attributes alike.

use std::io::{self, Write};

use crate::plain::sanitize;

/// The text, cleaned and escaped.
pub(super) fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 16);
    escape_clean(&sanitize(text), &mut escaped);
    escaped
}

/// The same, written out line by line: for texts that are too long to be held once more.
pub(super) fn write_escaped(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut escaped = String::new();
    for line in sanitize(text).split_inclusive('\n') {
        escaped.clear();
        escape_clean(line, &mut escaped);
        out.write_all(escaped.as_bytes())?;
    }
    Ok(())
}

/// Escapes text that was cleaned already.
pub(super) fn escape_clean(clean: &str, into: &mut String) {
    let mut from = 0;
    for (at, byte) in clean.bytes().enumerate() {
        let entity = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        into.push_str(&clean[from..at]);
        into.push_str(entity);
        from = at + 1;
    }
    into.push_str(&clean[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_html_is_left() {
        assert_eq!(
            escape_html("<a b=\"c\" d='e'>&é\0"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;é"
        );
    }
}
