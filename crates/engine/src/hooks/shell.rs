//! The shell that runs a hook's command, and how a word is written for it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The name of the shell, also in its own error messages.
#[cfg(unix)]
pub(super) const SHELL: &str = "bash";
#[cfg(windows)]
pub(super) const SHELL: &str = "powershell.exe";

/// The shell's program, as the hook's own search path has it, and the arguments before the command.
#[cfg(unix)]
pub(super) fn shell(variables: &[(OsString, OsString)]) -> (PathBuf, Vec<OsString>) {
    (program_path(SHELL, variables), vec!["-c".into()])
}

/// Where a program is. Starting one by its mere name from a changed environment would cost a copy of ourselves.
fn program_path(program: &str, variables: &[(OsString, OsString)]) -> PathBuf {
    let path = variables.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new("/usr/bin:/bin"), |(_, path)| path.as_os_str());
    std::env::split_paths(path)
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_absolute() && candidate.is_file())
        .unwrap_or_else(|| PathBuf::from(program))
}

/// PowerShell does not exit with the code of its last command by itself; see [`AFTER`].
#[cfg(windows)]
pub(super) fn shell(variables: &[(OsString, OsString)]) -> (PathBuf, Vec<OsString>) {
    let before = ["-NoProfile", "-NonInteractive", "-Command"];
    let program = program_path(SHELL, variables);
    (program, before.map(OsString::from).to_vec())
}

/// Appended to each command.
#[cfg(windows)]
pub(super) const AFTER: &str = "; if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }";
#[cfg(unix)]
pub(super) const AFTER: &str = "";

/// How PowerShell reads a variable of the environment: never as code, and always as one word.
#[cfg(windows)]
pub(super) fn from_environment(name: &str, _is_bare: bool) -> String {
    format!("${{env:{name}}}")
}

/// How bash reads a variable of the environment: never as code, and as one word if quotes are around it.
#[cfg(unix)]
pub(super) fn from_environment(name: &str, is_bare: bool) -> String {
    let quote = if is_bare { "\"" } else { "" };
    format!("{quote}${{{name}}}{quote}")
}

/// A word for PowerShell.
#[cfg(windows)]
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    if word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "''"))
}

/// A word for bash, byte for byte as Gemini CLI (0.61) writes it: scripts may have got used to its oddities.
#[cfg(unix)]
pub(super) fn quoted(word: &str) -> String {
    let has = |what: &str| word.contains(|char| is_space(char) || what.contains(char));
    if word.is_empty() {
        return String::new();
    }
    if has("\"\\") && !word.contains('\'') {
        return format!("'{word}'");
    }
    if has("\"'") {
        return format!("\"{}\"", escaped_word(word, "\"\\$`!"));
    }
    let mut quoted = String::new();
    let mut rest = word;
    while let Some(at) = rest.find(|char| SPECIAL.contains(char)) {
        let (before, special) = (&rest[..at], &rest[at..]);
        quoted.push_str(before);
        // A letter and a colon are taken for a drive: then it is the next character that is escaped.
        let is_drive =
            special.starts_with(':') && before.ends_with(|char: char| char.is_ascii_alphabetic());
        let next = special
            .chars()
            .nth(1)
            .filter(|next| is_drive && SPECIAL.contains(*next));
        match next {
            Some(next) => quoted.extend([':', '\\', next]),
            None => quoted.extend(['\\'].into_iter().chain(special.chars().next())),
        }
        rest = &special[if next.is_some() { 2 } else { 1 }..];
    }
    quoted + rest
}

/// Characters with a meaning to a shell outside quotes.
#[cfg(unix)]
const SPECIAL: &str = "#!\"$&'()*,:;<=>?@[\\]^`{|}";

#[cfg(unix)]
fn escaped_word(word: &str, what: &str) -> String {
    let mut escaped = String::new();
    for char in word.chars() {
        escaped.extend(what.contains(char).then_some('\\'));
        escaped.push(char);
    }
    escaped
}

/// Whether JavaScript treats it as a space.
pub(super) fn is_space(char: char) -> bool {
    char == '\u{feff}' || (char.is_whitespace() && char != '\u{85}')
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The expected ones were made by `shell-quote` 1.8.3.
    #[test]
    fn words_are_quoted_as_upstream_quotes_them() {
        let check = |word, expected| assert_eq!(quoted(word), expected, "{word}");
        check("", "");
        check("/a/b-c_d.e~f", "/a/b-c_d.e~f");
        check("/a b", "'/a b'");
        check("/a'b", "\"/a'b\"");
        check("/a\\b", "'/a\\b'");
        check(
            "/it's $5 `x` \"y\" \\ !",
            "\"/it's \\$5 \\`x\\` \\\"y\\\" \\\\ \\!\"",
        );
        check("/a$b&c", "/a\\$b\\&c");
        check("C:(x)", "C:\\(x\\)");
        check("a:b", "a\\:b");
        check("::(", "\\:\\:\\(");
        check("/ü\u{a0}x", "'/ü\u{a0}x'");
    }

    #[test]
    fn the_shell_is_the_one_of_the_hooks_own_search_path() {
        let here = tempfile::tempdir().unwrap();
        std::fs::write(here.path().join("bash"), "").unwrap();
        let mut path = OsString::from("relative:");
        path.push(here.path());
        path.push(":/bin");
        let (program, _) = shell(&[("PATH".into(), path)]);
        assert_eq!(program, here.path().join("bash"));
        let (program, _) = shell(&[("PATH".into(), "/nowhere".into())]);
        assert_eq!(program, PathBuf::from("bash"));
    }
}
