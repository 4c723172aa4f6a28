//! The part of a changed file that a model is shown: the changed lines with five around them, as Gemini CLI finds them.
//!
//! The lines come from the shortest edit script. Of several equally short ones, we take the one that the `diff` package takes:
//! the lines shown depend on it.

use std::collections::HashMap;

use super::file_text::text_lines;

/// Lines that are shown around a change.
const CONTEXT: usize = 5;
/// A longer edit script is not looked for: the lines between the first and the last change count as changed.
const LONGEST_SCRIPT: usize = 2000;

/// The changed parts of `new`, with `...` where lines are left out.
pub(super) fn changed_snippet(old: &str, new: &str) -> String {
    if old.is_empty() {
        return new.to_owned();
    }
    let ranges = changed_ranges(&whole_lines(old), &whole_lines(new));
    if ranges.is_empty() {
        return new.to_owned();
    }
    let lines = text_lines(new);
    let mut shown: Vec<(usize, usize)> = Vec::new();
    for (start, end) in ranges {
        let start = start.saturating_sub(CONTEXT);
        let end = (end + CONTEXT).min(lines.len());
        match shown.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => shown.push((start, end)),
        }
    }
    let mut parts = Vec::new();
    let mut last = 0;
    for (start, end) in shown {
        if start > last {
            parts.push("...".to_owned());
        }
        let start = start.min(end);
        parts.push(lines[start..end].join("\n"));
        last = end;
    }
    if last < lines.len() {
        parts.push("...".to_owned());
    }
    parts.join("\n")
}

/// Lines with their ends. There is no empty one behind the last end.
fn whole_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The places in the new lines where lines were added or, if start and end are the same, removed.
fn changed_ranges(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let (old, new) = number_lines(old, new);
    let steps = edit_script(&old, &new).unwrap_or_else(|| rough_script(&old, &new));
    let (mut at, mut ranges) = (0, Vec::new());
    for (step, count) in steps {
        match step {
            Step::Keep => at += count,
            Step::Add => {
                ranges.push((at, at + count));
                at += count;
            }
            Step::Remove => ranges.push((at, at)),
        }
    }
    ranges
}

/// Equal lines get equal numbers: they are compared often.
fn number_lines(old: &[&str], new: &[&str]) -> (Vec<usize>, Vec<usize>) {
    fn number<'a>(known: &mut HashMap<&'a str, usize>, lines: &[&'a str]) -> Vec<usize> {
        let mut numbers = Vec::with_capacity(lines.len());
        for line in lines {
            let next = known.len();
            numbers.push(*known.entry(line).or_insert(next));
        }
        numbers
    }
    let mut known = HashMap::new();
    (number(&mut known, old), number(&mut known, new))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Keep,
    Add,
    Remove,
}

/// A way through the edit graph: how far it is in the old lines, and its last step as a place among all steps.
#[derive(Clone, Copy)]
struct Way {
    old: isize,
    last: usize,
}

/// Steps of all ways, each with the one before it. The first stands for the start.
struct Steps(Vec<(Step, usize, usize)>);

impl Steps {
    fn add_step(&mut self, step: Step, count: usize, before: usize) -> usize {
        if count == 0 {
            return before;
        }
        let (same, have, earlier) = self.0[before];
        if before > 0 && same == step {
            self.0.push((step, have + count, earlier));
        } else {
            self.0.push((step, count, before));
        }
        self.0.len() - 1
    }

    fn steps_until(&self, mut at: usize) -> Vec<(Step, usize)> {
        let mut steps = Vec::new();
        while at > 0 {
            let (step, count, before) = self.0[at];
            steps.push((step, count));
            at = before;
        }
        steps.reverse();
        steps
    }
}

/// The shortest edit script, none if it is too long.
fn edit_script(old: &[usize], new: &[usize]) -> Option<Vec<(Step, usize)>> {
    let (old_len, new_len) = (old.len().cast_signed(), new.len().cast_signed());
    let mut steps = Steps(vec![(Step::Keep, 0, 0)]);
    let follow = |way: Way, diagonal: isize, steps: &mut Steps| -> Way {
        let mut at = way.old;
        let is_same = |at: isize| {
            let beside = at - diagonal;
            at < old_len
                && beside < new_len
                && old[at.cast_unsigned()] == new[beside.cast_unsigned()]
        };
        while is_same(at + 1) {
            at += 1;
        }
        let count = (at - way.old).cast_unsigned();
        Way {
            old: at,
            last: steps.add_step(Step::Keep, count, way.last),
        }
    };
    let is_end =
        |way: Way, diagonal: isize| way.old + 1 >= old_len && way.old - diagonal + 1 >= new_len;
    let start = follow(Way { old: -1, last: 0 }, 0, &mut steps);
    if is_end(start, 0) {
        return Some(steps.steps_until(start.last));
    }
    let middle = LONGEST_SCRIPT + 1;
    let mut ways: Vec<Option<Way>> = vec![None; 2 * middle + 1];
    ways[middle] = Some(start);
    let place = |diagonal: isize| (middle.cast_signed() + diagonal).cast_unsigned();
    // A way that has reached an edge of the graph leaves nothing to find beyond its diagonal.
    let (mut lowest, mut highest) = (isize::MIN, isize::MAX);
    for length in 1..=LONGEST_SCRIPT.cast_signed() {
        let mut diagonal = lowest.max(-length);
        while diagonal <= highest.min(length) {
            let removing = ways[place(diagonal - 1)].take();
            let adding = ways[place(diagonal + 1)];
            let can_add = adding.is_some_and(|way| {
                let beside = way.old - diagonal;
                0 <= beside && beside < new_len
            });
            let can_remove = removing.is_some_and(|way| way.old + 1 < old_len);
            let base = match (removing, adding) {
                (removing, Some(adding))
                    if can_add
                        && (!can_remove
                            || removing.is_some_and(|removing| removing.old < adding.old)) =>
                {
                    let last = steps.add_step(Step::Add, 1, adding.last);
                    Some(Way {
                        old: adding.old,
                        last,
                    })
                }
                (Some(removing), _) if can_remove => {
                    let last = steps.add_step(Step::Remove, 1, removing.last);
                    Some(Way {
                        old: removing.old + 1,
                        last,
                    })
                }
                _ => None,
            };
            let way = base.map(|way| follow(way, diagonal, &mut steps));
            if let Some(way) = way
                && is_end(way, diagonal)
            {
                return Some(steps.steps_until(way.last));
            }
            if way.is_some_and(|way| way.old + 1 >= old_len) {
                highest = highest.min(diagonal - 1);
            }
            if way.is_some_and(|way| way.old - diagonal + 1 >= new_len) {
                lowest = lowest.max(diagonal + 1);
            }
            ways[place(diagonal)] = way;
            diagonal += 2;
        }
    }
    None
}

/// Everything between the common start and the common end is changed.
fn rough_script(old: &[usize], new: &[usize]) -> Vec<(Step, usize)> {
    let start = old
        .iter()
        .zip(new)
        .take_while(|(one, other)| one == other)
        .count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(one, other)| one == other).count();
    vec![
        (Step::Keep, start),
        (Step::Remove, old.len() - start - end),
        (Step::Add, new.len() - start - end),
        (Step::Keep, end),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(word: &str, numbers: std::ops::RangeInclusive<usize>) -> String {
        let lines: Vec<_> = numbers.map(|number| format!("{word}{number}\n")).collect();
        lines.concat()
    }

    #[test]
    fn a_change_is_shown_with_five_lines_around_it() {
        let old = numbered("", 1..=20);
        let new = old.replace("10\n", "ten\n");
        assert_eq!(
            changed_snippet(&old, &new),
            "...\n5\n6\n7\n8\n9\nten\n11\n12\n13\n14\n15\n..."
        );
        assert_eq!(changed_snippet("", "a\nb"), "a\nb");
        assert_eq!(changed_snippet("a\n", "a\n"), "a\n");
        assert_eq!(changed_snippet("a\nb\n", "a\n"), "a\n");
    }

    #[test]
    fn a_long_script_ends() {
        let (old, new) = (numbered("", 1..=5000), numbered("new ", 1..=5000));
        assert_eq!(text_lines(&changed_snippet(&old, &new)).len(), 5001);
    }
}
