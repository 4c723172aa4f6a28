//! How a text is indented where it really is, learnt from lines that are known in both.

use std::collections::BTreeMap;

use lapidary_gemini::js;

/// The spaces and tabs that a line begins with.
pub(super) fn indent_of(line: &str) -> &str {
    let inside = line.trim_start_matches([' ', '\t']);
    &line[..line.len() - inside.len()]
}

/// Which indentation of a model's text stands for which one of the file.
#[derive(Debug, Default)]
pub(super) struct Indentation {
    known: BTreeMap<String, String>,
    /// One indentation of the model's stands for several of the file's: it has lost them.
    is_lost: bool,
}

impl Indentation {
    /// Learns from a line that is in both texts.
    pub(super) fn learn_line(&mut self, asked: &str, file: &str) {
        if js::trim(asked).is_empty() || js::trim(file).is_empty() {
            return;
        }
        let (asked, file) = (indent_of(asked), indent_of(file));
        let known = self
            .known
            .entry(asked.to_owned())
            .or_insert_with(|| file.to_owned());
        self.is_lost |= known != file;
    }

    /// The indentation in the file for one of the model's text; none if the known pairs do not tell.
    pub(super) fn file_indentation(&self, asked: &str) -> Option<String> {
        if self.is_lost {
            return None;
        }
        if let Some(known) = self.known.get(asked) {
            return Some(known.clone());
        }
        self.shifted_indentation(asked)
            .or_else(|| self.scaled_indentation(asked))
            .or_else(|| self.extended_indentation(asked))
    }

    /// If every known line is moved by the same letters, so is this one.
    fn shifted_indentation(&self, asked: &str) -> Option<String> {
        let (first, moved) = self.known.iter().next()?;
        let (taken, put) = without_common_end(first, moved);
        let is_everywhere = self.known.iter().all(|(asked, file)| {
            asked
                .strip_prefix(taken)
                .is_some_and(|rest| file.strip_prefix(put) == Some(rest))
        });
        let rest = asked.strip_prefix(taken).filter(|_| is_everywhere)?;
        Some(put.to_owned() + rest)
    }

    /// If every known line has so many units in one text and so many in the other, this one has too: two spaces become four, or a tab.
    fn scaled_indentation(&self, asked: &str) -> Option<String> {
        let ((least, least_file), (most, most_file)) =
            (self.known.first_key_value()?, self.known.last_key_value()?);
        let unit = most
            .strip_prefix(least.as_str())
            .filter(|unit| !unit.is_empty())?;
        let unit_file = most_file.strip_prefix(least_file.as_str())?;
        let steps = |more: &str| -> Option<(usize, usize)> {
            let is_even = more.chars().all(|letter| unit.starts_with(letter));
            is_even.then_some((more.len(), unit.len()))
        };
        let write = |more: &str| -> Option<String> {
            let (times, per) = steps(more)?;
            let letters = times * unit_file.len();
            let letter = unit_file.chars().next().unwrap_or(' ');
            let is_whole =
                letters.is_multiple_of(per) && unit_file.chars().all(|other| other == letter);
            is_whole.then(|| least_file.clone() + &String::from(letter).repeat(letters / per))
        };
        let fits = self.known.iter().all(|(asked, file)| {
            asked.strip_prefix(least.as_str()).and_then(write).as_ref() == Some(file)
        });
        asked
            .strip_prefix(least.as_str())
            .filter(|_| fits)
            .and_then(write)
    }

    /// The longest known indentation that this one begins with, and the rest as it is.
    fn extended_indentation(&self, asked: &str) -> Option<String> {
        let known = self
            .known
            .iter()
            .rev()
            .find(|(known, _)| asked.starts_with(known.as_str()));
        known.map(|(known, file)| file.clone() + &asked[known.len()..])
    }
}

/// Two texts without the letters that both end with.
fn without_common_end<'a>(one: &'a str, other: &'a str) -> (&'a str, &'a str) {
    let letters = one.bytes().rev().zip(other.bytes().rev());
    let same = letters.take_while(|(one, other)| one == other).count();
    (&one[..one.len() - same], &other[..other.len() - same])
}
