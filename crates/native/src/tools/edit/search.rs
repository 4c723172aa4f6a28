//! Where a text is that is not there letter for letter.

use lapidary_gemini::js;

use super::EditRequest;

/// A text this short is not looked for nearly: it would be found anywhere.
const SHORTEST: usize = 10;
/// How much of the text may differ, and the weight of a difference in white space.
const MOST_DIFFERENT: f64 = 0.1;
const WHITE_SPACE: f64 = 0.1;
/// The search compares every window of lines, each in the square of its length.
const MOST_WORK: usize = 400_000_000;
/// Patterns of more words are not looked for.
const MOST_WORDS: usize = 20_000;

/// A place in the text, by its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_nearly: bool,
}

impl Found {
    /// The lines of the place, counted from 1.
    pub(super) fn line_numbers(&self, text: &str) -> (usize, usize) {
        let first = text[..self.start].matches('\n').count() + 1;
        let inside = text[self.start..self.end].trim_end_matches('\n');
        (first, first + inside.matches('\n').count())
    }
}

/// Lines with their ends, and where each begins.
struct SourceLines<'a> {
    lines: Vec<&'a str>,
    starts: Vec<usize>,
}

impl<'a> SourceLines<'a> {
    fn from_text(text: &'a str) -> Self {
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let mut starts = Vec::with_capacity(lines.len() + 1);
        let mut at = 0;
        for line in &lines {
            starts.push(at);
            at += line.len();
        }
        starts.push(at);
        Self { lines, starts }
    }

    fn found_lines(&self, first: usize, count: usize, is_nearly: bool) -> Found {
        Found {
            start: self.starts[first],
            end: self.starts[first + count],
            is_nearly,
        }
    }
}

/// The places where each line is the same but for the white space around it.
pub(super) fn by_line(request: EditRequest<'_>) -> Vec<Found> {
    let source = SourceLines::from_text(request.text);
    let mut wanted: Vec<_> = request.old.split('\n').map(js::trim).collect();
    // The last line end belongs to the last line, unless the edit takes it away.
    if request.old.ends_with('\n') && (request.new.ends_with('\n') || request.new.is_empty()) {
        wanted.pop();
    }
    let trimmed: Vec<_> = source.lines.iter().map(|line| js::trim(line)).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at + wanted.len() <= trimmed.len() {
        if !wanted.is_empty() && trimmed[at..].starts_with(&wanted) {
            found.push(source.found_lines(at, wanted.len(), false));
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    found
}

/// The places where the words are the same but for the white space between them. A place begins with a line.
pub(super) fn by_word(request: EditRequest<'_>) -> Vec<Found> {
    const DELIMITERS: [char; 10] = ['(', ')', ':', '[', ']', '{', '}', '>', '<', '='];
    let mut spaced = String::with_capacity(request.old.len() * 2);
    for letter in request.old.chars() {
        if DELIMITERS.contains(&letter) {
            spaced.extend([' ', letter, ' ']);
        } else {
            spaced.push(letter);
        }
    }
    let words: Vec<_> = spaced
        .split(js::is_space)
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() || words.len() > MOST_WORDS {
        return Vec::new();
    }
    let mut found: Vec<Found> = Vec::new();
    for start in line_starts(request.text) {
        let is_free = found.last().is_none_or(|last| last.end <= start);
        if is_free && let Some(end) = words_at(request.text, start, &words) {
            found.push(Found {
                start,
                end,
                is_nearly: false,
            });
        }
    }
    found
}

fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(place, _)| place + 1))
}

/// Where the words end that begin in this line behind its indentation.
fn words_at(text: &str, start: usize, words: &[&str]) -> Option<usize> {
    let indentation = text[start..].len() - text[start..].trim_start_matches([' ', '\t']).len();
    let mut at = start + indentation;
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            at += text[at..].len() - text[at..].trim_start_matches(js::is_space).len();
        }
        at += text[at..].strip_prefix(word).map(|_| word.len())?;
    }
    Some(at)
}

/// The places that differ in less than a tenth, the best first where they overlap.
pub(super) fn nearly_equal_places(request: EditRequest<'_>) -> Vec<Found> {
    let length = request.old.encode_utf16().count();
    let source = SourceLines::from_text(request.text);
    let is_too_much = source
        .lines
        .len()
        .saturating_mul(length.saturating_mul(length))
        > MOST_WORK;
    if length < SHORTEST || is_too_much {
        return Vec::new();
    }
    let wanted: Vec<_> = request
        .old
        .split_inclusive('\n')
        .map(|line| line.trim_end_matches(js::is_space))
        .collect();
    let candidates = candidate_windows(&source, &wanted);
    let mut chosen: Vec<usize> = Vec::new();
    for (at, _) in candidates {
        if chosen
            .iter()
            .all(|other| other.abs_diff(at) >= wanted.len())
        {
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen
        .into_iter()
        .map(|at| source.found_lines(at, wanted.len(), true))
        .collect()
}

fn candidate_windows(source: &SourceLines<'_>, wanted: &[&str]) -> Vec<(usize, f64)> {
    let block: Vec<u16> = wanted.join("\n").encode_utf16().collect();
    let stripped = without_space(&block);
    let mut candidates = Vec::new();
    for at in 0..(source.lines.len() + 1).saturating_sub(wanted.len()) {
        let window = source.lines[at..at + wanted.len()].iter();
        let window = window
            .map(|line| line.trim_end_matches(js::is_space))
            .collect::<Vec<_>>()
            .join("\n");
        let window: Vec<u16> = window.encode_utf16().collect();
        if let Some(score) = window_score(&window, &block, &stripped) {
            candidates.push((at, score));
        }
    }
    candidates.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
    candidates
}

#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn window_score(window: &[u16], block: &[u16], stripped: &[u16]) -> Option<f64> {
    let length = block.len() as f64;
    if window.len().abs_diff(block.len()) as f64 / length > MOST_DIFFERENT / WHITE_SPACE {
        return None;
    }
    // White space counts a tenth, so that this is more than can still be near enough.
    let bound = block.len() / 8 + 1;
    let plain = edit_distance(&without_space(window), stripped, bound)?;
    let raw = edit_distance(window, block, usize::MAX)?;
    let weighted = plain as f64 + (raw as f64 - plain as f64) * WHITE_SPACE;
    let score = weighted / length;
    (score <= MOST_DIFFERENT).then_some(score)
}

fn without_space(text: &[u16]) -> Vec<u16> {
    let is_space = |unit: &u16| char::from_u32(u32::from(*unit)).is_some_and(js::is_space);
    text.iter()
        .copied()
        .filter(|unit| !is_space(unit))
        .collect()
}

/// How many units have to be changed to make one text of the other (Levenshtein), none if it is more than `most`.
fn edit_distance(one: &[u16], other: &[u16], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, unit) in one.iter().enumerate() {
        let mut diagonal = place;
        row[0] = place + 1;
        let mut least = row[0];
        for (column, beside) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(unit != beside);
            diagonal = row[column + 1];
            let value = replaced.min(row[column] + 1).min(diagonal + 1);
            row[column + 1] = value;
            least = least.min(value);
        }
        if least > most {
            return None;
        }
    }
    row.pop().filter(|distance| *distance <= most)
}
