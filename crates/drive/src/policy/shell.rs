//! What a command line would run, as far as it can be told without being a shell.
//!
//! To allow, a line must be understood: it is cut into its simple commands, and one that holds anything that a shell would act on
//! (substitutions, variables, redirections, groups, escapes, quotes without an end) is not *plain*. To refuse, a guess is enough:
//! every piece that may be a command is looked at, whatever quotes it stands in.

use std::borrow::Cow;

/// Redirections that write nothing anybody keeps.
const HARMLESS: [&str; 3] = ["2>&1", "2>/dev/null", ">/dev/null"];

/// Words before a command that leave it what it is.
const WRAPPERS: [&str; 32] = [
    "sudo", "doas", "env", "command", "builtin", "exec", "eval", "nohup", "time", "timeout",
    "nice", "setsid", "stdbuf", "xargs", "busybox", "sh", "bash", "zsh", "dash", "ksh", "if",
    "then", "else", "elif", "while", "until", "do", "!", "{", "&", "coproc", "trap",
];

/// No line has more pieces that are looked at, whoever wrote it.
const MOST_PIECES: usize = 4096;

/// A command line, cut into its simple commands. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) whole: String,
    pub(super) parts: Vec<Part>,
}

/// One simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    /// True if a shell would run exactly this and nothing else.
    pub(super) is_plain: bool,
}

impl CommandLine {
    pub(super) fn of(line: &str) -> Self {
        Self {
            whole: line.trim().to_owned(),
            parts: Cutter::default().cut(line),
        }
    }
}

/// Whether the line would mean more to a shell than a program and its arguments.
pub(super) fn has_operators(text: &str) -> bool {
    text.contains([';', '&', '|', '<', '>', '$', '`', '(', ')', '\n'])
}

#[derive(Default)]
struct Cutter {
    parts: Vec<Part>,
    text: String,
    is_odd: bool,
}

impl Cutter {
    fn cut(mut self, line: &str) -> Vec<Part> {
        let mut rest = line;
        while let Some(letter) = rest.chars().next() {
            let taken = match letter {
                ';' | '&' | '|' | '\n' => {
                    self.end();
                    rest = &rest[1..];
                    continue;
                }
                '\'' => self.quoted(rest),
                '"' => self.double_quoted(rest),
                _ if self.is_word_start() && harmless(rest).is_some() => {
                    rest = &rest[harmless(rest).unwrap_or(1)..];
                    continue;
                }
                '<' | '>' | '$' | '`' | '(' | ')' | '\\' => self.odd(letter),
                // A comment: what stands in it is no quote, and would hide the line behind it.
                '#' if self.text.is_empty() || self.is_word_start() => self.odd(letter),
                letter if letter.is_control() && letter != '\t' => self.odd(letter),
                letter => letter.len_utf8(),
            };
            self.text.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
        self.end();
        if self.parts.is_empty() {
            self.parts.push(Part::default());
        }
        self.parts
    }

    fn is_word_start(&self) -> bool {
        self.text.ends_with([' ', '\t'])
    }

    fn odd(&mut self, letter: char) -> usize {
        self.is_odd = true;
        letter.len_utf8()
    }

    /// How long the text in single quotes is, quotes included. Nothing in it means anything.
    fn quoted(&mut self, rest: &str) -> usize {
        match rest[1..].find('\'') {
            Some(end) => end + 2,
            None => self.unended(rest),
        }
    }

    /// The same for double quotes, in which a shell still substitutes.
    fn double_quoted(&mut self, rest: &str) -> usize {
        let mut is_escaped = false;
        for (at, letter) in rest.char_indices().skip(1) {
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => return at + 1,
                '$' | '`' => self.is_odd = true,
                _ => {}
            }
        }
        self.unended(rest)
    }

    fn unended(&mut self, rest: &str) -> usize {
        self.is_odd = true;
        rest.len()
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        let is_odd = std::mem::take(&mut self.is_odd);
        let text = text.trim_matches([' ', '\t']);
        if text.is_empty() && !is_odd {
            return;
        }
        self.parts.push(Part {
            text: text.to_owned(),
            is_plain: !is_odd,
        });
    }
}

/// How long the harmless redirection is that the text begins with, if it does and a word ends there.
fn harmless(rest: &str) -> Option<usize> {
    let found = HARMLESS.iter().find(|word| rest.starts_with(**word))?;
    let next = rest[found.len()..].chars().next();
    next.is_none_or(|next| matches!(next, ' ' | '\t' | '\n' | ';' | '|' | '&'))
        .then_some(found.len())
}

/// Every command that may hide in a part of a line: its pieces between whatever a shell acts on, without quotes, without words
/// before them that leave a command what it is, and without the directory that a program lies in.
pub(super) fn suspects(part: &str) -> Vec<String> {
    let is_border = |letter: char| ";&|<>()`{}\n\r$".contains(letter);
    let mut found = vec![part.to_owned()];
    for piece in part.split(is_border).take(MOST_PIECES) {
        let words: Vec<_> = piece.split_whitespace().map(bare).collect();
        let mut words = words.as_slice();
        loop {
            found.push(words.join(" "));
            let Some((first, rest)) = words.split_first() else {
                break;
            };
            if let Some((_, program)) = first.rsplit_once('/') {
                found.push([&[program.to_owned()], rest].concat().join(" "));
            }
            if !is_prefix(first) {
                break;
            }
            words = skip_options(rest);
        }
    }
    found.retain(|text| !text.is_empty());
    found.dedup();
    found
}

/// A word as the shell would read it, about.
fn bare(word: &str) -> String {
    word.chars()
        .filter(|letter| !matches!(letter, '"' | '\'' | '\\'))
        .collect()
}

fn is_prefix(word: &str) -> bool {
    let program = word.rsplit('/').next().unwrap_or(word);
    let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .chars()
                .all(|letter| letter == '_' || letter.is_ascii_alphanumeric())
    });
    is_assignment || WRAPPERS.contains(&program)
}

fn skip_options(words: &[String]) -> &[String] {
    let is_option = |word: &String| {
        word.starts_with('-') || word.starts_with(|letter: char| letter.is_ascii_digit())
    };
    let skipped = words.iter().take_while(|word| is_option(word)).count();
    &words[skipped..]
}

/// A program and its arguments as a line that a shell would read back as just these.
pub fn command_line<'a>(program: &str, args: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = if program.contains('=') {
        in_quotes(program) // it would be an assignment
    } else {
        quoted(program).into_owned()
    };
    for arg in args {
        line.push(' ');
        line.push_str(&quoted(arg));
    }
    line
}

/// A word as it is typed to a shell: in quotes, unless there is nothing in it that needs them.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    in_quotes(word).into()
}

fn in_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[(&str, bool)]) {
        let parts = CommandLine::of(line).parts;
        let parts: Vec<_> = parts
            .iter()
            .map(|part| (part.text.as_str(), part.is_plain))
            .collect();
        assert_eq!(parts, expected, "{line}");
    }

    #[test]
    fn a_line_is_cut_where_a_shell_would() {
        check("git diff", &[("git diff", true)]);
        check(
            "git diff; rm -rf /",
            &[("git diff", true), ("rm -rf /", true)],
        );
        check(
            "a && b || c & d | e |& f\ng",
            &["a", "b", "c", "d", "e", "f", "g"].map(|it| (it, true)),
        );
        check(
            "echo 'a; b' \"c && d\"",
            &[("echo 'a; b' \"c && d\"", true)],
        );
        check("git diff $(rm x)", &[("git diff $(rm x)", false)]);
        check("git diff `rm x`", &[("git diff `rm x`", false)]);
        check("git diff \"$(rm x)\"", &[("git diff \"$(rm x)\"", false)]);
        check("git diff '$(rm x)'", &[("git diff '$(rm x)'", true)]);
        check(
            "git diff > /etc/passwd",
            &[("git diff > /etc/passwd", false)],
        );
        check("diff <(rm x) y", &[("diff <(rm x) y", false)]);
        check(
            "cargo test 2>&1 | tail -5",
            &[("cargo test", true), ("tail -5", true)],
        );
        check(
            "cargo test 2>&12",
            &[("cargo test 2>", false), ("12", true)],
        );
        check("echo \\; rm", &[("echo \\", false), ("rm", true)]);
        check("echo 'open; rm", &[("echo 'open; rm", false)]);
        check("echo \"a\\\"; rm\"", &[("echo \"a\\\"; rm\"", true)]);
        check("git diff\r\nrm", &[("git diff\r", false), ("rm", true)]);
        check("git diff #'\nrm\n#'", &[("git diff #'\nrm\n#'", false)]);
        check("", &[("", false)]);
        check(" ;; ", &[("", false)]);
    }

    #[test]
    fn what_may_hide_in_a_part_is_found() {
        for hidden in [
            "rm -rf /",
            "sudo rm -rf /",
            "sudo -n /bin/rm -rf /",
            "A=1 B=2 rm -rf /",
            "echo $(rm -rf /)",
            "echo \"`rm -rf /`\"",
            "r\\m -rf /",
            "'rm' -rf /",
            "bash -c 'rm -rf /'",
            "timeout 5 env X=1 rm  -rf   /",
            "(rm -rf /)",
        ] {
            let found = suspects(hidden);
            assert!(
                found.iter().any(|it| it == "rm -rf /"),
                "{hidden}: {found:?}"
            );
        }
        assert!(!suspects("git rm x").iter().any(|it| it.starts_with("rm")));
    }

    #[test]
    fn arguments_survive_as_one() {
        assert_eq!(
            command_line("npm", ["test", "a b", "it's", "$x"]),
            r"npm test 'a b' 'it'\''s' '$x'"
        );
        assert_eq!(command_line("a tool", ["", "é=1"]), "'a tool' '' é=1");
        assert_eq!(command_line("A=b", []), "'A=b'");
    }
}
