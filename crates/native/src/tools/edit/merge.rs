//! The change from one text to another, made to a third that is nearly the first.
//!
//! Lines that are the same in all three hold them together. Between two such lines, if only one side differs from the old text, that
//! side is taken; if both do, the edit is unclear. Lines count as the same when they differ in white space only.

use lapidary_gemini::js;

use super::indent::{Indentation, indent_of};

/// More pairs of lines are not compared.
const MOST_PAIRS: usize = 4_000_000;

const CONFLICT: &str = "the lines that the edit changes are different there";
const INDENTATION: &str =
    "the indentation of `old_string` does not tell how `new_string` is to be indented there";
const TOO_LONG: &str = "the edit is too long to be merged";

/// Makes the change from `old` to `new` in `place`, which ends as the place ended.
pub(super) fn merge_change(old: &str, new: &str, place: &str) -> Result<String, &'static str> {
    let ends = place.ends_with('\n');
    let old_lines = split_lines(old, new);
    let new_lines = if new.is_empty() {
        Vec::new()
    } else {
        split_lines(new, old)
    };
    let mut file_lines: Vec<_> = place.split('\n').collect();
    if ends {
        file_lines.pop();
    }
    let merged = Merge {
        old: &old_lines,
        new: &new_lines,
        file: &file_lines,
        indentation: Indentation::default(),
    };
    let lines = merged.merged_lines()?;
    let mut text = lines.join("\n");
    if ends && !lines.is_empty() {
        text.push('\n');
    }
    Ok(text)
}

/// The lines of a text. A line end that both texts end with belongs to the last line.
fn split_lines<'a>(text: &'a str, beside: &str) -> Vec<&'a str> {
    let both_end = text.ends_with('\n') && (beside.ends_with('\n') || beside.is_empty());
    let text = if both_end {
        &text[..text.len() - 1]
    } else {
        text
    };
    text.split('\n').collect()
}

struct Merge<'a> {
    old: &'a [&'a str],
    new: &'a [&'a str],
    file: &'a [&'a str],
    indentation: Indentation,
}

/// Lines of the three texts that lie between lines they share.
struct Gap<'a> {
    old: &'a [&'a str],
    new: &'a [&'a str],
    file: &'a [&'a str],
    /// The lines of the file around the gap.
    around: (Option<&'a str>, Option<&'a str>),
}

impl<'a> Merge<'a> {
    fn merged_lines(mut self) -> Result<Vec<String>, &'static str> {
        let in_file = common_lines(self.old, self.file).ok_or(TOO_LONG)?;
        let in_new = common_lines(self.old, self.new).ok_or(TOO_LONG)?;
        for (old, file) in &in_file {
            self.indentation
                .learn_line(self.old[*old], self.file[*file]);
        }
        let mut shared = in_file.iter().filter_map(|(old, file)| {
            let new = in_new.iter().find(|(line, _)| line == old)?.1;
            Some((*old, *file, new))
        });
        let mut merged = Vec::new();
        let mut at = (0, 0, 0);
        loop {
            let next = shared.next();
            let (old, file, new) =
                next.unwrap_or((self.old.len(), self.file.len(), self.new.len()));
            let gap = Gap {
                old: &self.old[at.0..old],
                file: &self.file[at.1..file],
                new: &self.new[at.2..new],
                around: (
                    at.1.checked_sub(1).map(|line| self.file[line]),
                    self.file.get(file).copied(),
                ),
            };
            merged.extend(self.merged_gap(&gap)?);
            if next.is_none() {
                return Ok(merged);
            }
            merged.push(self.shared_line(self.old[old], self.new[new], self.file[file])?);
            at = (old + 1, file + 1, new + 1);
        }
    }

    /// A line of all three texts: the file's, unless the edit changes white space in it.
    fn shared_line(&self, old: &str, new: &str, file: &str) -> Result<String, &'static str> {
        if old == new || js::trim(file).is_empty() {
            return Ok(file.to_owned());
        }
        let inside = if js::trim(old) == js::trim(new) {
            js::trim(file)
        } else {
            js::trim(new)
        };
        let indent = if indent_of(old) == indent_of(new) {
            Some(indent_of(file).to_owned())
        } else {
            self.indentation.file_indentation(indent_of(new))
        };
        Ok(indent.ok_or(INDENTATION)? + inside)
    }

    fn merged_gap(&self, gap: &Gap<'a>) -> Result<Vec<String>, &'static str> {
        let kept = || gap.file.iter().map(|line| (*line).to_owned()).collect();
        if gap.old == gap.new || (are_same(gap.file, gap.new) && !are_same(gap.file, gap.old)) {
            return Ok(kept());
        }
        if !are_same(gap.old, gap.file) {
            return self.line_by_line(gap).ok_or(CONFLICT)?;
        }
        let written = gap.new.iter().enumerate();
        written
            .map(|(place, line)| self.indented_line(gap, place, line))
            .collect()
    }

    /// Where all three have as many lines, one that the edit changes may stand beside one that is different in the file.
    fn line_by_line(&self, gap: &Gap<'a>) -> Option<Result<Vec<String>, &'static str>> {
        if gap.old.len() != gap.new.len() || gap.old.len() != gap.file.len() {
            return None;
        }
        let is_clear = |place: usize| {
            gap.old[place] == gap.new[place]
                || are_same(&gap.old[place..=place], &gap.file[place..=place])
        };
        if !(0..gap.old.len()).all(is_clear) {
            return None;
        }
        let line = |place: usize| {
            if gap.old[place] == gap.new[place] {
                Ok(gap.file[place].to_owned())
            } else {
                self.indented_line(gap, place, gap.new[place])
            }
        };
        Some((0..gap.old.len()).map(line).collect())
    }

    /// A new line with the indentation that it has there.
    fn indented_line(
        &self,
        gap: &Gap<'a>,
        place: usize,
        line: &str,
    ) -> Result<String, &'static str> {
        let inside = js::trim(line);
        if inside.is_empty() {
            return Ok(String::new());
        }
        let known = self.indentation.file_indentation(indent_of(line));
        let indent = known
            .or_else(|| nearby_indentation(gap, place))
            .ok_or(INDENTATION)?;
        Ok(indent + line.trim_start_matches([' ', '\t']))
    }
}

/// The indentation of the line that a new one takes the place of, or of the lines around it if they agree.
fn nearby_indentation(gap: &Gap<'_>, place: usize) -> Option<String> {
    if gap.file.len() == gap.new.len() {
        return Some(indent_of(gap.file[place]).to_owned());
    }
    let mut around: Vec<_> = gap.file.to_vec();
    if around.is_empty() {
        around.extend(gap.around.0.into_iter().chain(gap.around.1));
    }
    let mut indents = around
        .into_iter()
        .filter(|line| !js::trim(line).is_empty())
        .map(indent_of);
    let first = indents.next()?;
    indents
        .all(|indent| indent == first)
        .then(|| first.to_owned())
}

/// A line without its white space: lines of the same words count as the same.
fn without_white_space(line: &str) -> String {
    line.chars()
        .filter(|letter| !js::is_space(*letter))
        .collect()
}

/// Whether lines are the same but for white space and empty ones.
fn are_same(one: &[&str], other: &[&str]) -> bool {
    let full = |lines: &[&str]| -> Vec<String> {
        let all = lines.iter().map(|line| without_white_space(line));
        all.filter(|line| !line.is_empty()).collect()
    };
    full(one) == full(other)
}

/// The longest common lines, as pairs of places. None if there are too many to compare.
fn common_lines(one: &[&str], other: &[&str]) -> Option<Vec<(usize, usize)>> {
    if one.len().saturating_mul(other.len()) > MOST_PAIRS {
        return None;
    }
    let (first, second): (Vec<_>, Vec<_>) = (
        one.iter().map(|line| without_white_space(line)).collect(),
        other.iter().map(|line| without_white_space(line)).collect(),
    );
    let width = second.len() + 1;
    let mut longest = vec![0_u32; (first.len() + 1) * width];
    for row in (0..first.len()).rev() {
        for column in (0..second.len()).rev() {
            longest[row * width + column] = if first[row] == second[column] {
                longest[(row + 1) * width + column + 1] + 1
            } else {
                longest[(row + 1) * width + column].max(longest[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < first.len() && column < second.len() {
        if first[row] == second[column] {
            pairs.push((row, column));
            row += 1;
            column += 1;
        } else if longest[(row + 1) * width + column] >= longest[row * width + column + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    Some(pairs)
}
