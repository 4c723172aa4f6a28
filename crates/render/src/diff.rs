//! Changes as unified diffs: computed, recognised and read line by line.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};

/// How many unchanged lines are shown around a change.
const CONTEXT_LINES: u32 = 3;

/// The change from `old` to `new` as a unified diff. No `old` means a new file.
///
/// Histogram, as `git diff --histogram`: its time grows with the lines, also where two texts have nothing in common.
pub fn unified(path: &str, old: Option<&str>, new: &str) -> String {
    let path = crate::plain::first_line(path, 300);
    // An absolute path is not below a directory `a` or `b`.
    let (a, b) = if path.starts_with('/') {
        (path.clone(), path)
    } else {
        (format!("a/{path}"), format!("b/{path}"))
    };
    let before = old.map_or("/dev/null", |_| &a);
    let input = InternedInput::new(old.unwrap_or_default(), new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    if hunks.is_empty() {
        return String::new();
    }
    let mut out = format!("--- {before}\n+++ {b}\n");
    for group in hunks.chunk_by(share_context) {
        add_hunks(&mut out, &input, group);
    }
    out
}

/// True if no line between two changes is further than the context from both.
fn share_context(one: &Hunk, next: &Hunk) -> bool {
    next.before.start - one.before.end <= 2 * CONTEXT_LINES
}

/// Adds changes that share their context, under one head. (imara-diff 0.2.0's own printer miscounts the lines before the first.)
fn add_hunks(out: &mut String, input: &InternedInput<&str>, group: &[Hunk]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return;
    };
    let lead = first.before.start.min(CONTEXT_LINES);
    let old_lines = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    let trail = (old_lines - last.before.end).min(CONTEXT_LINES);
    let before = first.before.start - lead..last.before.end + trail;
    let after = first.after.start - lead..last.after.end + trail;
    let (old_range, new_range) = (line_range(&before), line_range(&after));
    out.extend(["@@ -", &old_range, " +", &new_range, " @@\n"]);
    let mut at = before.start;
    for hunk in group {
        add_lines(
            out,
            input,
            ' ',
            &input.before[line_places(at..hunk.before.start)],
        );
        add_lines(
            out,
            input,
            '-',
            &input.before[line_places(hunk.before.clone())],
        );
        add_lines(
            out,
            input,
            '+',
            &input.after[line_places(hunk.after.clone())],
        );
        at = hunk.before.end;
    }
    add_lines(out, input, ' ', &input.before[line_places(at..before.end)]);
}

/// Adds lines behind a sign; a last line without a newline is marked as `diff -u` marks it.
fn add_lines(out: &mut String, input: &InternedInput<&str>, sign: char, lines: &[Token]) {
    for &line in lines {
        let line = input.interner[line];
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Lines are counted from 1; an empty range names the line before it, and a count of 1 is not written.
fn line_range(lines: &Range<u32>) -> String {
    match lines.end - lines.start {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn line_places(lines: Range<u32>) -> Range<usize> {
    lines.start as usize..lines.end as usize
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

/// The kind of a diff line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffLine {
    Head,
    Hunk,
    Added,
    Removed,
    Context,
}

/// The lines of a diff and what each is. Hunks are counted, so that a removed `-- x` is not taken for a file's name.
pub(crate) fn diff_lines(diff: &str) -> impl Iterator<Item = (DiffLine, &str)> {
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    diff.lines().map(move |line| {
        let kind = match (line.as_bytes().first(), hunk_sizes(line)) {
            (_, Some(sizes)) if old_left == 0 && new_left == 0 => {
                (old_left, new_left) = sizes;
                DiffLine::Hunk
            }
            _ if old_left == 0 && new_left == 0 => DiffLine::Head,
            (Some(b'+'), _) => DiffLine::Added,
            (Some(b'-'), _) => DiffLine::Removed,
            (Some(b'\\'), _) => DiffLine::Head,
            _ => DiffLine::Context,
        };
        if matches!(kind, DiffLine::Removed | DiffLine::Context) {
            old_left = old_left.saturating_sub(1);
        }
        if matches!(kind, DiffLine::Added | DiffLine::Context) {
            new_left = new_left.saturating_sub(1);
        }
        (kind, line)
    })
}

/// Lines added and removed.
pub(crate) fn diff_size(diff: &str) -> (u64, u64) {
    diff_lines(diff).fold((0, 0), |(added, removed), (kind, _)| match kind {
        DiffLine::Added => (added + 1, removed),
        DiffLine::Removed => (added, removed + 1),
        DiffLine::Head | DiffLine::Hunk | DiffLine::Context => (added, removed),
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
    use super::DiffLine::{Added, Context, Head, Hunk, Removed};
    use super::*;

    #[test]
    fn a_change_is_computed_and_read_back() {
        let diff = unified("a.txt", Some("one\n-- two\n"), "one\n++ zwei\nthree\n");
        let kinds: Vec<_> = diff_lines(&diff).map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [Head, Head, Hunk, Context, Removed, Added, Added]);
        assert_eq!(diff_size(&diff), (2, 1));
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
    fn an_absolute_path_stays_as_it_is() {
        let diff = unified("/tmp/a.txt", Some("one\n"), "two\n");
        assert!(
            diff.starts_with("--- /tmp/a.txt\n+++ /tmp/a.txt\n@@ "),
            "{diff}"
        );
    }

    #[test]
    fn a_last_line_without_a_newline_is_marked() {
        assert_eq!(
            unified("a", Some("one\ntwo"), "one\ntwo\n"),
            "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n"
        );
        assert_eq!(unified("a", Some("same"), "same"), "");
    }

    #[test]
    fn hunks_far_apart_have_their_own_heads() {
        let numbers: Vec<_> = (1..=40).map(|line: u8| line.to_string()).collect();
        let old = numbers.join("\n") + "\n";
        let new = old.replace("\n5\n", "\nfive\n").replace("\n30\n", "\n");
        let diff = unified("a", Some(&old), &new);
        let heads: Vec<&str> = diff.lines().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(heads, ["@@ -2,7 +2,7 @@", "@@ -27,7 +27,6 @@"]);
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
