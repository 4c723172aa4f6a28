//! Unified diffs: recognised in text, and made of a file's text before and after.

use std::fmt::Write as _;

use lapidary_vocab::Text;
use lapidary_vocab::content::{ContentBlock, DiffBlock};

/// How many unchanged lines stand around a change.
const CONTEXT: usize = 3;

/// True if the text is a unified diff: a hunk behind the header of `git diff`, or behind the two lines that `diff -u` begins with.
///
/// ```
/// use lapidary_normalize::unified_diff::is_unified_diff;
/// assert!(is_unified_diff("diff --git a/f b/f\n@@ -1 +1 @@\n-a\n+b\n"));
/// assert!(is_unified_diff("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"));
/// assert!(!is_unified_diff("mentions diff --git but has no hunk"));
/// ```
pub fn is_unified_diff(text: &str) -> bool {
    let from_git = text.contains("diff --git ") && text.contains("\n@@ ");
    from_git || has_plain_header(text)
}

fn has_plain_header(text: &str) -> bool {
    let mut lines = [""; 3];
    text.lines().any(|line| {
        lines = [lines[1], lines[2], line];
        lines[0].starts_with("--- ") && lines[1].starts_with("+++ ") && lines[2].starts_with("@@ -")
    })
}

/// True if a JSON string may hold a diff. Cheaper than to decode it.
pub(crate) fn may_hold_diff(token: &str) -> bool {
    token.contains("diff --git ") || token.contains("+++ ")
}

/// The diffs among content blocks, one behind the other.
pub(crate) fn of_blocks(content: &[ContentBlock]) -> Option<Text> {
    let diffs = content.iter().filter_map(|block| match block {
        ContentBlock::Diff(diff) => of_block(diff),
        _ => None,
    });
    let all = diffs.collect::<Vec<_>>().join("\n");
    (!all.is_empty()).then(|| Text::from(all))
}

fn of_block(diff: &DiffBlock) -> Option<String> {
    if let Some(unified) = &diff.unified {
        return Some(unified.to_str().trim().to_owned());
    }
    let texts = [&diff.path, &diff.old_text, &diff.new_text];
    let texts = texts.map(|text| text.as_ref().map(Text::to_str).unwrap_or_default());
    let [path, old, new] = texts;
    let old_name = match diff.old_text {
        Some(_) => path.as_ref(),
        None => "/dev/null",
    };
    made_of(old_name, &path, &old, &new)
}

/// The change in one hunk: everything between the first and the last line that differ. None if nothing does.
fn made_of(old_name: &str, new_name: &str, old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let (old, new) = (DiffLines::new(old), DiffLines::new(new));
    let least = old.0.len().min(new.0.len());
    let before = (0..least).take_while(|at| old.0[*at] == new.0[*at]).count();
    let after = (0..least - before)
        .take_while(|at| old.0[old.0.len() - 1 - at] == new.0[new.0.len() - 1 - at])
        .count();
    let start = before.saturating_sub(CONTEXT);
    let kept = after.min(CONTEXT);
    let (old_end, new_end) = (old.0.len() - after, new.0.len() - after);
    let mut diff = format!("--- {old_name}\n+++ {new_name}\n");
    let range = |end: usize| {
        let count = end + kept - start;
        // An empty range is counted from the line before it.
        let first = if count == 0 { start } else { start + 1 };
        format!("{first},{count}")
    };
    let _ = writeln!(diff, "@@ -{} +{} @@", range(old_end), range(new_end));
    let mut say = |mark: char, lines: &[&str]| {
        for line in lines {
            let _ = write!(diff, "{mark}{line}");
            if !line.ends_with('\n') {
                diff.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    say(' ', &old.0[start..before]);
    say('-', &old.0[before..old_end]);
    say('+', &new.0[before..new_end]);
    say(' ', &old.0[old_end..old_end + kept]);
    Some(diff.trim_end_matches('\n').to_owned())
}

/// Lines with their ends.
struct DiffLines<'a>(Vec<&'a str>);

impl<'a> DiffLines<'a> {
    fn new(text: &'a str) -> Self {
        Self(text.split_inclusive('\n').collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expected: &str) {
        let diff = made_of("a", "b", old, new).unwrap_or_default();
        assert_eq!(diff, expected, "{old:?} {new:?}");
    }

    #[test]
    fn a_change_is_one_hunk_with_its_context() {
        check("x\n", "x\n", "");
        check("a\n", "b\n", "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+b");
        check("", "n\n", "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+n");
        check("n\n", "", "--- a\n+++ b\n@@ -1,1 +0,0 @@\n-n");
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let hunk = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8";
        check(
            old,
            &old.replace('5', "V"),
            &format!("--- a\n+++ b\n{hunk}"),
        );
        let end = "\\ No newline at end of file";
        check(
            "a\nb",
            "a\nb\n",
            &format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n{end}\n+b"),
        );
        // Repeated lines: what is counted at the end is not counted at the beginning, too.
        check(
            "a\na\n",
            "a\na\na\n",
            "--- a\n+++ b\n@@ -1,2 +1,3 @@\n a\n a\n+a",
        );
    }

    #[test]
    fn a_diff_is_recognised_by_its_header_and_a_hunk() {
        for diff in [
            "diff --git a/f b/f\nindex 1..2\n@@ -1 +1 @@\n-a\n+b\n",
            "noise\n--- a.txt\t2026\n+++ b.txt\t2026\n@@ -1,3 +1 @@\n-a\n",
        ] {
            assert!(is_unified_diff(diff), "{diff}");
        }
        for text in [
            "diff --git a/f b/f\n",
            "--- a\n@@ -1 +1 @@\n",
            "--- a\n+++ b\nno hunk",
            "+++ b\n--- a\n@@ -1 +1 @@",
        ] {
            assert!(!is_unified_diff(text), "{text}");
        }
    }
}
