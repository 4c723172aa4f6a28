//! The output of a command, as a model gets it.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use lapidary_gemini::js;
use regex::Regex;

use super::super::file_text::{first_units, utf16_length};

/// Bytes that are kept of an output: its end.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;
/// An output with a NUL among these bytes is binary, and not shown.
const SNIFFED: usize = 4096;

/// An output while it grows.
#[derive(Debug, Default)]
pub(super) struct ShellOutput {
    bytes: Vec<u8>,
    is_cut: bool,
    is_binary: bool,
    count: usize,
}

impl ShellOutput {
    /// Adds bytes. The front is dropped when there is twice too much, so that not every byte moves all others.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let sniffed = SNIFFED.saturating_sub(self.count).min(bytes.len());
        self.is_binary |= bytes[..sniffed].contains(&0);
        self.count += bytes.len();
        if self.is_binary {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * MOST_BYTES {
            self.cut_beginning();
        }
    }

    fn cut_beginning(&mut self) {
        let start = self.bytes.len().saturating_sub(MOST_BYTES);
        self.is_cut |= start > 0;
        self.bytes.drain(..start);
    }

    /// The text, without escape sequences and without white space around it.
    pub(super) fn into_text(mut self) -> String {
        self.cut_beginning();
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if self.is_cut {
            text += "\n[GEMINI_CLI_WARNING: Output truncated. The buffer is limited to 16MB.]";
        }
        js::trim(&without_escapes(&text)).to_owned()
    }
}

/// A text without the sequences that move a cursor or change a colour.
fn without_escapes(text: &str) -> String {
    static SEQUENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let title = r"\x1b\][\s\S]*?(?:\x07|\x1b\\|\x{9c})";
        let other =
            r"[\x1b\x{9b}][\[\]()#;?]*(?:[0-9]{1,4}(?:[;:][0-9]{0,4})*)?[0-9A-PR-TZcf-nq-uy=><~]";
        Regex::new(&format!("{title}|{other}")).ok()
    });
    match &*SEQUENCE {
        Some(sequence) if text.contains(['\u{1b}', '\u{9b}']) => {
            sequence.replace_all(text, "").into_owned()
        }
        _ => text.to_owned(),
    }
}

/// A text that a model must not take for instructions.
pub(super) fn mark_untrusted(text: &str) -> String {
    let text = text.replace("</untrusted_context>", "&lt;/untrusted_context&gt;");
    format!("<untrusted_context>\n{text}\n</untrusted_context>")
}

/// A text that fits. A longer one keeps a fifth of its start and the rest of its end, and is written to a file whole.
pub(super) fn shortened_output(text: String, most: usize, temporary: &Path) -> String {
    let length = utf16_length(&text);
    if length <= most {
        return text;
    }
    let head = most / 5;
    let tail = most - head;
    let place = match save_output(&text, temporary) {
        Ok(path) => path,
        Err(error) => format!("(not kept: {error})"),
    };
    let start = first_units(&text, head);
    let end = &text[first_units(&text, length - tail).len()..];
    format!(
        "Output too large. Showing first {} and last {} characters. For full output see: {place}\n{start}\n\n... [{} characters omitted] ...\n\n{end}",
        grouped_digits(head),
        grouped_digits(tail),
        grouped_digits(length - head - tail)
    )
}

fn save_output(text: &str, temporary: &Path) -> std::io::Result<String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = temporary.join("tool-outputs");
    std::fs::create_dir_all(&folder)?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(
        "run_shell_command_{}_{number}.txt",
        std::process::id()
    ));
    std::fs::write(&path, text)?;
    Ok(path.to_string_lossy().into_owned())
}

/// A number with commas: `40,000`.
fn grouped_digits(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[&[u8]]) -> String {
        let mut output = ShellOutput::default();
        for part in parts {
            output.push(part);
        }
        output.into_text()
    }

    #[test]
    fn escape_sequences_and_white_space_around_are_taken_away() {
        assert_eq!(
            of(&[b"\n\x1b[31mred\x1b[0m \x1b]0;title\x07text\x1b[2K\n\n"]),
            "red text"
        );
    }

    #[test]
    fn a_binary_output_is_not_shown() {
        assert_eq!(of(&[b"ab\0c", b"more"]), "");
    }

    #[test]
    fn a_long_answer_keeps_its_start_and_its_end_and_is_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{}{}", "a".repeat(30_000), "b".repeat(30_000));
        let fitted = shortened_output(text.clone(), 40_000, folder.path());
        let (first, rest) = fitted.split_once('\n').unwrap();
        let path = first.strip_prefix("Output too large. Showing first 8,000 and last 32,000 characters. For full output see: ");
        assert_eq!(std::fs::read_to_string(path.unwrap()).unwrap(), text);
        assert!(rest.contains("... [20,000 characters omitted] ..."));
        assert_eq!(
            shortened_output("short".to_owned(), 40_000, folder.path()),
            "short"
        );
    }

    #[test]
    fn an_endless_output_is_bounded() {
        let mut output = ShellOutput::default();
        for _ in 0..80 {
            output.push(&vec![b'x'; 1024 * 1024]);
            assert!(output.bytes.len() <= 2 * MOST_BYTES);
        }
        assert!(output.into_text().ends_with("16MB.]"));
    }
}
