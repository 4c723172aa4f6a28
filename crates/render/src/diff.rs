//! Changes as unified diffs: computed, recognised and read line by line.

use std::time::Duration;

use similar::TextDiff;

/// Two large texts with little in common would take very long; past this the result is coarser, not wrong.
const PATIENCE: Duration = Duration::from_millis(300);

/// The change from `old` to `new` as a unified diff. No `old` means a new file.
pub fn unified(path: &str, old: Option<&str>, new: &str) -> String {
    let path = crate::plain::first_line(path, 300);
    let before = old.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{path}"));
    TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(old.unwrap_or_default(), new)
        .unified_diff()
        .header(&before, &format!("b/{path}"))
        .to_string()
}

/// True if a text is a unified diff from its first lines on.
pub(crate) fn is_unified(text: &str) -> bool {
    let is_head = |line: &str| {
        line.starts_with("diff ") || line.starts_with("Index: ") || line.starts_with("--- ")
    };
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let starts = lines.clone().next().is_some_and(is_head);
    starts && lines.any(|line| hunk_sizes(line).is_some())
}

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Head,
    Hunk,
    Added,
    Removed,
    Context,
}

/// The lines of a diff and what each is. Hunks are counted, so that a removed `-- x` is not taken for a file's name.
pub(crate) fn lines(diff: &str) -> impl Iterator<Item = (Line, &str)> {
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    diff.lines().map(move |line| {
        let kind = match (line.as_bytes().first(), hunk_sizes(line)) {
            (_, Some(sizes)) if old_left == 0 && new_left == 0 => {
                (old_left, new_left) = sizes;
                Line::Hunk
            }
            _ if old_left == 0 && new_left == 0 => Line::Head,
            (Some(b'+'), _) => Line::Added,
            (Some(b'-'), _) => Line::Removed,
            (Some(b'\\'), _) => Line::Head,
            _ => Line::Context,
        };
        if matches!(kind, Line::Removed | Line::Context) {
            old_left = old_left.saturating_sub(1);
        }
        if matches!(kind, Line::Added | Line::Context) {
            new_left = new_left.saturating_sub(1);
        }
        (kind, line)
    })
}

/// Lines added and removed.
pub(crate) fn sizes(diff: &str) -> (u64, u64) {
    lines(diff).fold((0, 0), |(added, removed), (kind, _)| match kind {
        Line::Added => (added + 1, removed),
        Line::Removed => (added, removed + 1),
        Line::Head | Line::Hunk | Line::Context => (added, removed),
    })
}

/// How many old and new lines `@@ -1,2 +3,4 @@` announces.
fn hunk_sizes(line: &str) -> Option<(u64, u64)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let size = |range: &str| match range.split_once(',') {
        Some((start, size)) => start.parse::<u64>().and(size.parse()).ok(),
        None => range.parse::<u64>().ok().map(|_| 1),
    };
    Some((size(old)?, size(new)?))
}

#[cfg(test)]
mod tests {
    use super::Line::{Added, Context, Head, Hunk, Removed};
    use super::*;

    #[test]
    fn a_change_is_computed_and_read_back() {
        let diff = unified("a.txt", Some("one\n-- two\n"), "one\n++ zwei\nthree\n");
        let kinds: Vec<_> = lines(&diff).map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [Head, Head, Hunk, Context, Removed, Added, Added]);
        assert_eq!(sizes(&diff), (2, 1));
        assert!(is_unified(&diff));
    }

    #[test]
    fn a_new_file_has_no_past() {
        assert!(
            unified("new.txt", None, "one\n")
                .starts_with("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n")
        );
    }

    #[test]
    fn ordinary_text_is_no_diff() {
        for text in [
            "",
            "--- a title ---\ntext",
            "- item\n+ item",
            "see @@ -1 +1 @@",
        ] {
            assert!(!is_unified(text), "{text}");
        }
        assert!(is_unified(
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
        ));
    }
}
