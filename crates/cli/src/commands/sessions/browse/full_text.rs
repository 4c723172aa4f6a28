//! Searching the text of one file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use lapidary::home::sessions::says;
use lapidary::render::live::Marks;
use lapidary::wire::gemini::session::{Log, MessageRecord};

use super::list::Snippet;
use super::text::one_line;

/// So much of a file is searched.
const MOST: u64 = 256 << 20;

/// So many characters are shown on either side.
const AROUND: usize = 60;

/// Where a file says all of these words (in lower case), if it does: what stands around the first of them.
pub(super) fn find(path: &Path, words: &[String], marks: Marks) -> Option<Snippet> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    let log = Log::read(&bytes);
    let mut missing: Vec<&String> = words.iter().collect();
    let mut first = None;
    for record in log.messages() {
        let Some(content) = MessageRecord::of(record).content else {
            continue;
        };
        let said = says(content);
        let lower = said.to_lowercase();
        missing.retain(|word| !lower.contains(word.as_str()));
        if first.is_none() {
            first = words
                .iter()
                .find_map(|word| snippet(&said, &lower, word, marks));
        }
        if missing.is_empty() {
            return first;
        }
    }
    None
}

/// What stands around a word. Lower case may be longer than what it is of: then the place is not exact, but on a character.
fn snippet(said: &str, lower: &str, word: &str, marks: Marks) -> Option<Snippet> {
    let at = lower.find(word)?;
    let start = said.floor_char_boundary(at);
    let end = said.ceil_char_boundary((at + word.len()).min(said.len()));
    let before = said[..start].char_indices().rev().nth(AROUND);
    let after = said[end..].char_indices().nth(AROUND);
    let after = after.map_or(said.len(), |(at, _)| end + at);
    Some(Snippet {
        before: one_line(&said[before.map_or(0, |(at, _)| at)..start], marks),
        matched: one_line(&said[start..end], marks),
        after: one_line(&said[end..after], marks),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(content: &[&str], words: &[&str]) -> Option<Snippet> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut text = r#"{"sessionId":"s","projectHash":"p"}"#.to_owned();
        for (number, content) in content.iter().enumerate() {
            let id = format!("m{number}");
            let message = serde_json::json!({ "id": id, "type": "user", "content": content });
            text.extend(["\n", &message.to_string()]);
        }
        std::fs::write(file.path(), text).unwrap();
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        find(file.path(), &words, Marks::Unicode)
    }

    #[test]
    fn all_words_are_in_the_session_but_not_all_in_one_message() {
        let said = ["the Needle\nis here", "and hay"];
        let snippet = found(&said, &["needle", "hay"]).unwrap();
        assert_eq!(
            (snippet.before.as_str(), snippet.matched.as_str()),
            ("the ", "Needle")
        );
        assert_eq!(snippet.after, " is here");
        assert_eq!(found(&said, &["needle", "straw"]), None);
        assert_eq!(found(&[], &["needle"]), None);
    }

    #[test]
    fn keys_of_the_file_are_no_text_and_what_is_found_is_harmless() {
        assert_eq!(found(&["x"], &["sessionid"]), None);
        let snippet = found(&["\u{1b}[2Ja needle\u{202e}\u{7}"], &["needle"]).unwrap();
        assert_eq!(
            (snippet.before.as_str(), snippet.after.as_str()),
            ("a ", "\\u{202e}")
        );
        let snippet = found(&["İİİİ needle"], &["needle"]).unwrap();
        assert!(!snippet.matched.is_empty());
    }
}
