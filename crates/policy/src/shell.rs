//! The commands that a line would run, as far as they can be told without being a shell.
//!
//! To allow, a line must be understood: it is cut into its simple commands, and one that holds a sign that a shell would act on
//! (substitutions, variables, redirections, groups, escapes, quotes without an end) is not *plain*. To refuse, a guess is enough:
//! [`SuspectCommands`] has every command that may hide in a line, and [`NamedFiles`] every file that it may be about.

mod braces;
#[cfg(test)]
mod hostile;
mod indirect;
mod kinds;
mod lexer;
mod requests;
mod suspects;
mod wrappers;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;

pub(super) use braces::expand_braces;
pub(super) use kinds::commands_of;
pub(super) use requests::command_words;
pub use suspects::may_configure_git;
pub(super) use suspects::{NamedFiles, SuspectCommands};

/// Redirections that write no file.
const HARMLESS: [&str; 3] = ["2>&1", "2>/dev/null", ">/dev/null"];

/// A command line, cut into its simple commands. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) whole: String,
    pub(super) parts: Vec<CommandPart>,
    is_unreadable: OnceCell<bool>,
}

/// One simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandPart {
    pub(super) text: String,
    /// True if a shell would run exactly this and nothing else.
    pub(super) is_plain: bool,
    suspects: OnceCell<Vec<String>>,
}

impl CommandPart {
    /// The commands that may hide in it.
    pub(super) fn suspect_commands(&self) -> &[String] {
        let suspects = || SuspectCommands::find_in_line(&self.text).commands;
        self.suspects.get_or_init(suspects)
    }
}

impl CommandLine {
    pub(super) fn parse(line: &str) -> Self {
        let mut parts = LineCutter::default().cut_line(line);
        if parts.iter().any(|part| !part.is_plain) {
            let more = overlooked_commands(line, &parts);
            parts.extend(more);
        }
        Self {
            whole: line.trim().to_owned(),
            parts,
            is_unreadable: OnceCell::new(),
        }
    }

    /// Whether only a running shell knows one of its programs.
    pub(super) fn is_unreadable(&self) -> bool {
        let is_unreadable = || SuspectCommands::find_in_line(&self.whole).is_unreadable;
        *self.is_unreadable.get_or_init(is_unreadable)
    }
}

/// Commands that only a look at the whole line shows: where it was cut, a shell may read on (`$(2>&1 rm x)`).
fn overlooked_commands(line: &str, parts: &[CommandPart]) -> Vec<CommandPart> {
    let known: HashSet<&String> = parts
        .iter()
        .flat_map(CommandPart::suspect_commands)
        .collect();
    let commands = suspects::simple_commands(line).into_iter();
    let more = commands.filter(|command| !known.contains(command));
    more.map(|text| CommandPart {
        text,
        ..CommandPart::default()
    })
    .collect()
}

/// Whether the line would mean more to a shell than a program and its arguments.
pub(super) fn has_operators(text: &str) -> bool {
    text.contains([';', '&', '|', '<', '>', '$', '`', '(', ')', '\n'])
}

#[derive(Default)]
struct LineCutter {
    parts: Vec<CommandPart>,
    text: String,
    is_odd: bool,
}

impl LineCutter {
    fn cut_line(mut self, line: &str) -> Vec<CommandPart> {
        let mut rest = line;
        while let Some(letter) = rest.chars().next() {
            let taken = match letter {
                ';' | '&' | '|' | '\n' => {
                    self.end_part();
                    rest = &rest[1..];
                    continue;
                }
                '\'' => self.take_quoted(rest),
                '"' => self.double_quoted(rest),
                _ if self.is_word_start() && harmless_redirection(rest).is_some() => {
                    rest = &rest[harmless_redirection(rest).unwrap_or(1)..];
                    continue;
                }
                '<' | '>' | '$' | '`' | '(' | ')' | '\\' => self.take_odd_letter(letter),
                // A comment: a quote in it has no meaning, and would hide the line behind it.
                '#' if self.text.is_empty() || self.is_word_start() => self.take_odd_letter(letter),
                letter if letter.is_control() && letter != '\t' => self.take_odd_letter(letter),
                letter => letter.len_utf8(),
            };
            self.text.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
        self.end_part();
        if self.parts.is_empty() {
            self.parts.push(CommandPart::default());
        }
        self.parts
    }

    fn is_word_start(&self) -> bool {
        self.text.ends_with([' ', '\t'])
    }

    fn take_odd_letter(&mut self, letter: char) -> usize {
        self.is_odd = true;
        letter.len_utf8()
    }

    /// The length of the text in single quotes, quotes included. No sign in it has a meaning.
    fn take_quoted(&mut self, rest: &str) -> usize {
        match rest[1..].find('\'') {
            Some(end) => end + 2,
            None => self.take_unended(rest),
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
        self.take_unended(rest)
    }

    fn take_unended(&mut self, rest: &str) -> usize {
        self.is_odd = true;
        rest.len()
    }

    fn end_part(&mut self) {
        let text = std::mem::take(&mut self.text);
        let is_odd = std::mem::take(&mut self.is_odd);
        let text = text.trim_matches([' ', '\t']);
        if text.is_empty() && !is_odd {
            return;
        }
        self.parts.push(CommandPart {
            text: text.to_owned(),
            is_plain: !is_odd,
            suspects: OnceCell::new(),
        });
    }
}

/// How long the harmless redirection is that the text begins with, if it does and a word ends there.
fn harmless_redirection(rest: &str) -> Option<usize> {
    let found = HARMLESS.iter().find(|word| rest.starts_with(**word))?;
    let next = rest[found.len()..].chars().next();
    next.is_none_or(|next| matches!(next, ' ' | '\t' | '\n' | ';' | '|' | '&'))
        .then_some(found.len())
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
pub fn quoted(word: &str) -> Cow<'_, str> {
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
        let parts = LineCutter::default().cut_line(line);
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
    fn a_command_that_the_cuts_hide_is_a_part_of_its_own() {
        let parts = CommandLine::parse("x=$(2>&1 /bin/rm y)").parts;
        assert!(
            parts
                .iter()
                .any(|part| part.text == "/bin/rm y" && !part.is_plain)
        );
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
