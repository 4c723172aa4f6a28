//! Commands that hide in a program's arguments: in options that run their value, in variables, and in assignments that change the
//! meaning of names.

use super::wrappers::is_assignment;

/// Parts of the names of options whose value is run: `--checkpoint-action`, `-oProxyCommand`, `--filter`.
const RUN: [&str; 9] = [
    "exec", "command", "cmd", "program", "filter", "action", "shell", "pager", "editor",
];

/// Builtins that evaluate their arguments: a substitution runs although it stands in quotes.
const EVALUATORS: [&str; 12] = [
    "let", "declare", "typeset", "local", "readonly", "export", "unset", "test", "[", "[[",
    "printf", "read",
];

/// Lines that a program is given to run, by an option or by a variable.
pub(super) fn given_lines(words: &[String]) -> Vec<String> {
    let lines = words.iter().enumerate().flat_map(|(at, word)| {
        let before = at.checked_sub(1).map(|at| words[at].as_str());
        let behind = words.get(at + 1);
        [of_pair(word, before), of_option(word, behind)]
    });
    lines.flatten().map(|line| without_sign(&line)).collect()
}

/// `GIT_PAGER='rm x'`, `--filter='rm x'`, `-c alias.x='!rm x'`
fn of_pair(word: &str, before: Option<&str>) -> Option<String> {
    let (name, value) = word.split_once('=')?;
    let is_setting = before.is_some_and(|option| option.starts_with('-'));
    let is_line = value.contains(char::is_whitespace) || value.starts_with('!');
    let is_given = (is_assignment(word) || is_setting) && is_line;
    (is_given || runs_value(name)).then(|| value.to_owned())
}

/// `--exec 'rm x'`
fn of_option(word: &str, behind: Option<&String>) -> Option<String> {
    let is_line = |line: &&String| line.contains(char::is_whitespace);
    let runs = (word == "-x" && behind.as_ref().is_some_and(is_line)) || runs_value(word);
    behind.filter(|_| runs && !word.contains('=')).cloned()
}

fn runs_value(option: &str) -> bool {
    let name = option.to_ascii_lowercase();
    name.starts_with('-') && RUN.iter().any(|word| name.contains(word))
}

/// An alias of git begins with `!`, an action of tar with `exec=`.
fn without_sign(line: &str) -> String {
    let rest = line
        .strip_prefix('!')
        .or_else(|| line.strip_prefix("exec="));
    rest.unwrap_or(line).to_owned()
}

/// Whether a program changes the meaning of later names, or runs the output of another command.
pub(super) fn is_rebinding(program: &str, rest: &[String], is_fed: bool) -> bool {
    let has = |option: &str| rest.iter().any(|word| word.starts_with(option));
    let name = program.rsplit('/').next().unwrap_or(program);
    match name {
        "alias" => rest.iter().any(|word| word.contains('=')),
        "hash" => has("-p"),
        "enable" => has("-f"),
        "bind" => has("-x"),
        "mapfile" | "readarray" => has("-C"),
        "complete" | "compgen" => has("-C") || has("-F"),
        "at" | "batch" | "crontab" => is_fed,
        "." | "source" => is_fed || rest.first().is_none_or(|file| is_device(file)),
        name if EVALUATORS.contains(&name) => rest.iter().any(|word| is_evaluated(word)),
        name => name.starts_with("BASH_ENV=") || name.starts_with("ENV="),
    }
}

/// An index of a list is evaluated: `a[$(rm x)]`.
fn is_evaluated(word: &str) -> bool {
    word.contains('[') && (word.contains("$(") || word.contains('`'))
}

/// A file with the output of another command, or with a text of the line.
pub(super) fn is_device(file: &str) -> bool {
    file == "-" || file.starts_with("/dev/") || file.starts_with("/proc/")
}
