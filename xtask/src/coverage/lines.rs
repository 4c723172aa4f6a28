//! From regions of a file, each with its count, to its lines, as `llvm-cov` counts them.

use std::collections::BTreeMap;

/// A stretch of code and how often it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeRegion {
    /// Line and column of its first character, from 1.
    pub(super) start: (usize, usize),
    /// Line and column behind its last character.
    pub(super) end: (usize, usize),
    pub(super) count: usize,
}

/// How often each line ran that has code. A line ran as often as the regions that begin in it, or the innermost one that goes on over its
/// beginning, whichever ran more often.
pub(super) fn line_counts(regions: &[CodeRegion]) -> BTreeMap<usize, usize> {
    let mut regions = regions.to_vec();
    // The outer before the inner.
    regions.sort_by_key(|region| (region.start, std::cmp::Reverse(region.end)));
    let mut lines = BTreeMap::new();
    let mut wrapping: BTreeMap<usize, usize> = BTreeMap::new();
    for region in &regions {
        for line in region.start.0 + 1..=region.end.0 {
            wrapping.insert(line, region.count); // the inner one counts
        }
        let first: &mut usize = lines.entry(region.start.0).or_default();
        *first = region.count.max(*first);
    }
    for (line, count) in wrapping {
        let here: &mut usize = lines.entry(line).or_default();
        *here = count.max(*here);
    }
    lines
}

/// Where the tests within a source file begin: their lines are not counted.
pub(super) fn tests_begin(source: &str) -> usize {
    let lines: Vec<_> = source.lines().collect();
    let is_marked = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ");
    let marked = lines.windows(2).position(is_marked);
    marked.map_or(usize::MAX, |place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: (usize, usize), end: (usize, usize), count: usize) -> CodeRegion {
        CodeRegion { start, end, count }
    }

    #[test]
    fn a_line_within_a_branch_counts_as_the_branch() {
        let function = region((1, 1), (7, 2), 3);
        let branch = region((3, 10), (5, 6), 0);
        let lines = line_counts(&[branch, function]);
        let expected = [(1, 3), (2, 3), (3, 3), (4, 0), (5, 0), (6, 3), (7, 3)];
        assert_eq!(lines, BTreeMap::from(expected));
    }

    #[test]
    fn a_line_that_begins_several_regions_ran_if_one_of_them_did() {
        let lines = line_counts(&[region((4, 1), (4, 9), 0), region((4, 12), (4, 20), 2)]);
        assert_eq!(lines, BTreeMap::from([(4, 2)]));
    }

    #[test]
    fn the_tests_of_a_file_are_not_counted() {
        assert_eq!(tests_begin("fn a() {}\n\n#[cfg(test)]\nmod tests {\n"), 3);
        assert_eq!(tests_begin("#[cfg(test)]\nuse x;\n"), usize::MAX);
    }
}
