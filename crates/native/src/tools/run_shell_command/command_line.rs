//! What Gemini CLI sees in a command line before it runs it.

use std::sync::LazyLock;

use lapidary_gemini::js;
use regex::Regex;

/// The answer to a command line with a command in it.
pub(super) const BLOCKED: &str = "Command injection detected: command substitution syntax ($(), backticks, <() or >()) found in command arguments. On PowerShell, @() array subexpressions and $() subexpressions are also blocked. This is a security risk and the command was blocked.";

/// Whether the output of another command is part of the line: `$(…)`, backticks, `<(…)` or `>(…)` outside of single quotes.
pub(super) fn has_substitution(command: &str) -> bool {
    let line = without_wrapper(command);
    let mut letters = line.chars().peekable();
    let (mut is_single, mut is_double) = (false, false);
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match letter {
            '\'' if !is_double => is_single = !is_single,
            '"' if !is_single => is_double = !is_double,
            _ if is_single => {}
            '\\' if next.is_some_and(|next| !is_double || "$`\"\\\n".contains(next)) => {
                letters.next();
            }
            '`' => return true,
            '$' if next == Some('(') => return true,
            '<' | '>' if !is_double && next == Some('(') => return true,
            _ => {}
        }
    }
    false
}

/// The command line in `bash -c '…'`.
fn without_wrapper(command: &str) -> String {
    static WRAPPER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)^\s*(?:\S+/)?(?:sh|bash|zsh)\s+-c\s+").ok());
    let wrapper = WRAPPER.as_ref().and_then(|wrapper| wrapper.find(command));
    let Some(wrapper) = wrapper else {
        return js::trim(command).to_owned();
    };
    let inner = js::trim(&command[wrapper.end()..]);
    let quoted = |mark| inner.strip_prefix(mark)?.strip_suffix(mark);
    match (quoted('\''), quoted('"')) {
        (Some(inner), _) => inner.to_owned(),
        (None, Some(inner)) => unescaped_text(inner),
        (None, None) => inner.to_owned(),
    }
}

/// A text as double quotes mean it.
fn unescaped_text(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_escape =
            letter == '\\' && letters.peek().is_some_and(|next| "$`\"\\".contains(*next));
        result.extend(if is_escape {
            letters.next()
        } else {
            Some(letter)
        });
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_a_command_line_is_seen_outside_of_single_quotes() {
        for line in [
            "echo $(id)",
            "echo `id`",
            "diff <(a) <(b)",
            "echo \"$(id)\"",
            "bash -c 'echo $(id)'",
            "/bin/sh -c \"echo \\$(id)\"",
        ] {
            assert!(has_substitution(line), "{line}");
        }
        for line in [
            "echo '$(id)'",
            r"echo \$(id)",
            r#"echo "\`id\`""#,
            "echo $((1 + 1)",
            "echo \"<(a)\"",
            "(cd a; ls) > b",
        ] {
            assert_eq!(has_substitution(line), line.contains("$(("), "{line}");
        }
    }
}
