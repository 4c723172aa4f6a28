//! Finds a write that the confinement denied in the output of programs. The kernel reports it to the program alone.

use std::path::{Path, PathBuf};

use crate::policy::lexical;

/// How programs and libraries name the errors that Landlock causes.
const DENIALS: [&str; 7] = [
    "EACCES",
    "EROFS",
    "EXDEV",
    "ermission denied",
    "PermissionError",
    "ead-only file system",
    "nvalid cross-device link",
];

/// How many lines before the one with the error may name the file, as cargo does.
const LINES_BEFORE: usize = 3;

/// Longer lines are not looked at: no message is that long.
const LONGEST_LINE: usize = 4096;

/// More paths of one text are not looked at.
const MOST_PATHS: usize = 16;

/// Longer paths are not looked at.
const LONGEST_PATH: usize = 1024;

/// Only the end of a longer text is looked at: that is where programs say why they failed.
const LONGEST_TEXT: usize = 64 * 1024;

/// The paths in a text that could not be written. Relative ones count from the directory.
pub(super) fn paths_in(text: &str, directory: &Path) -> Vec<PathBuf> {
    let text = end_of(text);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.len() <= LONGEST_LINE)
        .collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if DENIALS.iter().any(|denial| line.contains(denial)) {
            let near = lines[number.saturating_sub(LINES_BEFORE)..=number].iter();
            let path = near.rev().find_map(|line| path_of_line(line));
            found.extend(path.map(|path| lexical(&directory.join(path))));
        }
    }
    found.truncate(MOST_PATHS);
    found
}

/// True if the end of a text reports a denied access. JSON that contains such a text counts, too.
pub(super) fn is_in(text: &str) -> bool {
    let text = end_of(text);
    DENIALS.iter().any(|denial| text.contains(denial))
}

fn end_of(text: &str) -> &str {
    let mut from = text.len().saturating_sub(LONGEST_TEXT);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// The last path of a line, which is the denied one: `bash: line 1: ../x/y: Permission denied`. The path at its beginning is the
/// program that complains, unless the error follows it directly.
fn path_of_line(line: &str) -> Option<&str> {
    let mut words = words_of(line);
    let first = words.first().copied().unwrap_or_default();
    let is_program = line.starts_with(first) && first.ends_with(':');
    let rest = line.get(first.len()..).unwrap_or_default().trim_start();
    let is_denied_at_once = |denial: &str| rest.find(denial).is_some_and(|at| at <= 1);
    if is_program && !DENIALS.iter().any(|denial| is_denied_at_once(denial)) {
        words.remove(0);
    }
    let mut paths = words
        .into_iter()
        .map(|word| word.trim_end_matches([':', '.', ',']));
    let is_path = |path: &&str| {
        let is_url = path.contains("//") || path.contains("](");
        path.contains('/') && !is_url && (2..=LONGEST_PATH).contains(&path.len())
    };
    paths.rfind(is_path)
}

/// The words of a line, delimited by quotes, spaces or brackets.
fn words_of(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let closing = match letter {
            '\'' | '"' | '`' => Some(letter),
            '‘' => Some('’'),
            _ => None,
        };
        let inner = &rest[letter.len_utf8()..];
        let quoted = closing.and_then(|closing| inner.split_once(closing));
        let ends = |c: char| c.is_whitespace() || "'\"`‘(),;<>|=".contains(c);
        let bare = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let word = quoted.map_or(bare, |(word, _)| word);
        let skipped = quoted.map_or(0, |_| letter.len_utf8());
        rest = &rest[skipped + word.len()..];
        // Skip the character that ended the word.
        rest = rest
            .chars()
            .next()
            .map_or("", |end| &rest[end.len_utf8()..]);
        if !word.is_empty() {
            words.push(word);
        }
    }
    words
}

/// The directory to make writable for a write of `path` to work: the nearest one that is there. None if the path is in one of these
/// directories already, or if the user cannot write there either.
pub(super) fn directory_for(path: &Path, write: &[PathBuf]) -> Option<PathBuf> {
    if path
        .as_os_str()
        .to_string_lossy()
        .contains(char::is_control)
    {
        return None;
    }
    let existing = path.ancestors().skip(1).find(|parent| parent.is_dir())?;
    let real = existing.canonicalize().ok()?;
    let is_outside = !write.iter().any(|place| real.starts_with(place));
    (is_outside && can_write(&real)).then_some(real)
}

#[cfg(unix)]
fn can_write(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn can_write(_: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_what_programs_print() {
        let check = |text: &str, expected: &[&str]| {
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(paths_in(text, Path::new("/w")), expected, "{text}");
        };
        check(
            "Error: EACCES: permission denied, open '/a b/c.txt'",
            &["/a b/c.txt"],
        );
        check(
            "sh: 1: cannot create /etc/x: Permission denied",
            &["/etc/x"],
        );
        check("bash: line 1: /etc/x: Permission denied", &["/etc/x"]);
        check("touch: cannot touch ‘/x/y’: Permission denied", &["/x/y"]);
        check(
            "PermissionError: [Errno 13] Permission denied: '/x'",
            &["/x"],
        );
        check("open /x/y: permission denied", &["/x/y"]);
        check(
            "mv: cannot move 'a' to '/x/a': Permission denied",
            &["/x/a"],
        );
        check(
            "error: failed to open: /x/.lock\n\nCaused by:\n  Permission denied (os error 13)",
            &["/x/.lock"],
        );
        check("see https://example.com/a: Permission denied", &[]);
        check("cannot open ../b/c: Permission denied", &["/b/c"]);
        check(
            "/usr/bin/bash: line 1: ../x/y: Permission denied",
            &["/x/y"],
        );
        check("/usr/bin/bash: line 1: y: Permission denied", &[]);
        check(
            "/w/gemini: 32: cannot create /x/y: Permission denied",
            &["/x/y"],
        );
        check("/x/y: Permission denied", &["/x/y"]);
        check(
            "EXDEV: cross-device link not permitted, rename '/a' -> '/b/c'",
            &["/b/c"],
        );
        check("all went well in /etc/x", &[]);
        check("Permission denied", &[]);
    }

    #[test]
    fn only_a_directory_outside_that_the_user_can_write_is_suggested() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let missing = folder.path().join("a/b/c.txt");
        assert_eq!(directory_for(&missing, &[]), Some(real.clone()));
        assert_eq!(directory_for(&missing, std::slice::from_ref(&real)), None);
        assert_eq!(directory_for(&real.join("a\u{1b}[2J"), &[]), None);
    }
}
