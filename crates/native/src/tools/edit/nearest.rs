//! The place that is most like a text which is nowhere, for a model that has to try again.

use std::collections::HashSet;

use lapidary_gemini::js;

/// Texts of more lines are not compared.
const MOST_LINES: usize = 20_000;
/// A place with fewer of the lines is not worth naming.
const LEAST_ALIKE: f64 = 0.5;
/// Letters of a line that are shown.
const SHOWN: usize = 120;

/// Where the text is nearly, and the first line that differs: a sentence for the model. None if no place is alike.
pub(in super::super) fn nearest_place_hint(text: &str, old: &str) -> Option<String> {
    let wanted: Vec<_> = old.trim_end_matches('\n').split('\n').collect();
    let lines: Vec<_> = text.split('\n').collect();
    if lines.len() > MOST_LINES || wanted.len() > lines.len() {
        return None;
    }
    let (start, alike) = best_window(&lines, &wanted)?;
    if alike < LEAST_ALIKE {
        return None;
    }
    let window = &lines[start..start + wanted.len()];
    let differs = window
        .iter()
        .zip(&wanted)
        .position(|(line, wanted)| line != wanted)?;
    Some(format!(
        "The nearest text is at lines {}-{}. Line {} of the file is {}, and `old_string` has {}{}",
        start + 1,
        start + wanted.len(),
        start + differs + 1,
        quoted_line(window[differs]),
        quoted_line(wanted[differs]),
        difference_kind(window[differs], wanted[differs])
    ))
}

/// The window of lines with the most words in common, and how alike it is.
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of lines are far below 2^52"
)]
fn best_window(lines: &[&str], wanted: &[&str]) -> Option<(usize, f64)> {
    let words: Vec<_> = wanted.iter().map(|line| line_words(line)).collect();
    // Only windows are looked at in which one line is alike: most texts have few.
    let mut best: Option<(usize, f64)> = None;
    for (at, line) in lines.iter().enumerate() {
        for (place, wanted) in words.iter().enumerate().take(20) {
            let is_anchor = !wanted.is_empty() && line_likeness(line, wanted) >= LEAST_ALIKE;
            let Some(start) = at
                .checked_sub(place)
                .filter(|start| is_anchor && start + words.len() <= lines.len())
            else {
                continue;
            };
            let window = lines[start..start + words.len()].iter().zip(&words);
            let sum: f64 = window
                .map(|(line, wanted)| line_likeness(line, wanted))
                .sum();
            let alike = sum / words.len() as f64;
            if best.is_none_or(|(_, most)| alike > most) {
                best = Some((start, alike));
            }
        }
    }
    best
}

fn line_words(line: &str) -> HashSet<&str> {
    let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty()).collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of words are far below 2^52"
)]
fn line_likeness(line: &str, wanted: &HashSet<&str>) -> f64 {
    let own = line_words(line);
    if own.is_empty() && wanted.is_empty() {
        return 1.0;
    }
    let both = own.intersection(wanted).count();
    let all = own.len() + wanted.len() - both;
    both as f64 / all.max(1) as f64
}

fn quoted_line(line: &str) -> String {
    let cut: String = line.chars().take(SHOWN).collect();
    let dots = if cut.len() < line.len() { "..." } else { "" };
    format!("`{}{dots}`", cut.escape_debug())
}

/// What kind of difference it is, if that can be said.
fn difference_kind(line: &str, wanted: &str) -> &'static str {
    let without_space = |text: &str| {
        text.chars()
            .filter(|letter| !js::is_space(*letter))
            .collect::<String>()
    };
    if js::trim(line) == js::trim(wanted) {
        ": only white space at its start or end differs."
    } else if without_space(line) == without_space(wanted) {
        ": only white space differs."
    } else if line.to_lowercase() == wanted.to_lowercase() {
        ": only capital letters differ."
    } else {
        "."
    }
}
