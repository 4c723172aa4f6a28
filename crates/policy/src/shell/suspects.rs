//! The commands that a line may run, and the files that it may read or write: for rules that refuse, for which a guess is enough.

use super::indirect::{given_lines, is_device, is_rebinding};
use super::lexer::{ShellWord, SimpleCommand, lex_line, lex_text};
use super::wrappers::{self, is_assignment};

/// Most pieces of one line that are looked at.
const MOST_PIECES: usize = 4096;

/// Command lines within a line (`bash -c '…'`) that are read.
const MOST_LINES: usize = 64;

/// Wrappers around a command that are looked behind: `sudo env nice …`. More of them make a line unreadable.
const MOST_LAYERS: usize = 32;

/// Options before the first other word of a command that are looked behind: `git -C x push`.
const MOST_OPTIONS: usize = 16;

/// The options of `find` and `fd` before a command.
const BEFORE_COMMANDS: [&str; 8] = [
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-x",
    "--exec",
    "-X",
    "--exec-batch",
];

/// Letters that a shell acts on in a line without blanks.
const ACTED_ON: &str = ";&|<>()`$\\'\"{*?[";

/// Programs whose arguments are no files.
const TALKERS: [&str; 5] = ["echo", "printf", "cd", "pushd", "export"];

/// Operands of one of these that may be the directory.
const MOST_TARGETS: usize = 8;

/// Programs that make files in a directory under their own names.
const COPIERS: [&str; 6] = ["cp", "mv", "install", "ln", "rsync", "scp"];

/// Programs whose arguments are programs of their own, by the beginning of their names.
const INTERPRETERS: [&str; 14] = [
    "python", "perl", "ruby", "node", "bun", "deno", "php", "lua", "awk", "gawk", "mawk", "sed",
    "ed", "ex",
];

/// Programs that change no file that they name.
const READERS: &[&str] = &[
    "cat",
    "tac",
    "nl",
    "bat",
    "head",
    "tail",
    "less",
    "more",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ls",
    "tree",
    "du",
    "stat",
    "file",
    "wc",
    "cmp",
    "diff",
    "od",
    "xxd",
    "hexdump",
    "strings",
    "cut",
    "jq",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "readlink",
    "realpath",
    "basename",
    "dirname",
    "test",
    "[",
];

/// Subcommands of git that change no file that they name.
const GIT_READERS: [&str; 9] = [
    "diff", "log", "show", "status", "blame", "grep", "ls-files", "add", "commit",
];

/// Commands that may hide in a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SuspectCommands {
    pub(crate) commands: Vec<String>,
    /// A part of it is not known before a shell runs it: `$x`, `… | sh`.
    pub(crate) is_unreadable: bool,
}

/// Files that a line names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamedFiles {
    /// Files that are only read.
    pub(crate) read: Vec<String>,
    /// Files that may be read, written, moved or removed.
    pub(crate) any: Vec<String>,
    /// Directories that it changes to.
    pub(crate) directories: Vec<String>,
    /// Patterns of those in `any`: a shell replaces them by the files that there are.
    pub(crate) patterns: Vec<String>,
}

impl SuspectCommands {
    /// Every command that may hide in a line: the commands that a shell would run, and the pieces between the signs that a shell
    /// acts on, in any quotes; each without the wrappers before it, and without the directory of its program.
    pub(super) fn find_in_line(line: &str) -> Self {
        let mut found = Self {
            commands: vec![line.to_owned()],
            is_unreadable: false,
        };
        let is_border = |letter: char| ";&|<>()`{}\n\r$".contains(letter);
        for piece in line.split(is_border).take(MOST_PIECES) {
            let words: Vec<_> = piece.split_whitespace().map(unquoted_word).collect();
            found.of_words(&words);
        }
        let read = each_command(line, |command| {
            let words: Vec<_> = command.words.iter().map(|it| it.text.clone()).collect();
            let programs = found.of_words(&words);
            found.is_unreadable |= programs.len() >= MOST_LAYERS
                || is_open(command, &programs)
                || programs
                    .iter()
                    .any(|at| is_unreadable(command, &words, *at));
        });
        found.is_unreadable |= !read;
        found.commands.retain(|text| !text.is_empty());
        found.commands.dedup();
        found
    }

    /// Adds the command that these words are, and those behind wrappers. Returns where a program may stand.
    fn of_words(&mut self, words: &[String]) -> Vec<usize> {
        let programs = program_places(words);
        for at in &programs {
            let (first, rest) = (&words[*at], &words[at + 1..]);
            let program = first.rsplit('/').next().unwrap_or(first);
            let program = program.strip_prefix('=').unwrap_or(program); // of zsh
            self.commands.push(words[*at..].join(" "));
            if program != first {
                self.commands.push(joined_command(program, rest));
            }
            self.behind_options(program, rest);
        }
        programs
    }

    /// Adds the command without the options that stand before its first other word. Which of them have values is not known.
    fn behind_options(&mut self, program: &str, rest: &[String]) {
        let mut is_value = false;
        for (at, word) in rest.iter().enumerate().take(MOST_OPTIONS) {
            let is_option = word.len() > 1 && word.starts_with(['-', '+']);
            if !is_option && at > 0 {
                self.commands.push(joined_command(program, &rest[at..]));
            }
            if !is_option && !is_value {
                return;
            }
            is_value = is_option;
        }
    }
}

impl NamedFiles {
    /// The files that a line names in words and redirections.
    pub(crate) fn find_in_line(line: &str) -> Self {
        let mut found = Self::default();
        each_command(line, |command| found.of_command(command));
        found
    }

    fn of_command(&mut self, command: &SimpleCommand) {
        for redirection in &command.redirections {
            let list = if redirection.is_written {
                &mut self.any
            } else {
                &mut self.read
            };
            list.extend(file_in(&redirection.file));
        }
        let words: Vec<_> = command.words.iter().map(|it| it.text.clone()).collect();
        let Some(at) = program_places(&words).into_iter().max() else {
            return;
        };
        let program = words[at].rsplit('/').next().unwrap_or_default();
        let before = command.words[..=at].iter();
        let values = before.filter(|it| is_assignment(&it.text));
        self.any.extend(values.filter_map(file_in)); // `f=x; rm "$f"`
        let arguments = &command.words[at + 1..];
        let named = arguments.iter().filter_map(file_in);
        match program {
            "cd" | "pushd" => self.directories.extend(named),
            program if TALKERS.contains(&program) => {}
            program if only_reads(program, &words[at + 1..]) => self.read.extend(named),
            program => {
                let named: Vec<_> = named.collect();
                let made = files_in_directory(program, &named, &words[at + 1..]);
                self.any.extend(named.into_iter().chain(made));
                self.any.extend(files_in_code(program, &words[at + 1..]));
                let open = arguments.iter().filter(|it| it.is_open && !it.is_expanded);
                self.patterns.extend(open.filter_map(file_in));
            }
        }
    }
}

/// Files that `cp a/x b` makes in a directory `b`, which stands last unless an option names it.
fn files_in_directory(program: &str, named: &[String], arguments: &[String]) -> Vec<String> {
    if !COPIERS.contains(&program) {
        return Vec::new();
    }
    let has_option = arguments
        .iter()
        .any(|word| word.starts_with("-t") || word.starts_with("--target-directory"));
    let first = if has_option {
        0
    } else {
        named.len().saturating_sub(1)
    };
    let targets = named[first..].iter().take(MOST_TARGETS);
    let made = targets.flat_map(|target| {
        let others = named.iter().filter(move |file| *file != target);
        let own = others.filter_map(|file| file.rsplit('/').next());
        own.map(move |name| format!("{target}/{name}"))
    });
    made.take(MOST_PIECES).collect()
}

/// Names in a program that an interpreter is given: `python3 -c "open('x', 'w')"`.
fn files_in_code(program: &str, arguments: &[String]) -> Vec<String> {
    if !INTERPRETERS.iter().any(|name| program.starts_with(name)) {
        return Vec::new();
    }
    let is_between = |letter: char| letter.is_whitespace() || "\"'`()[]{}<>,;:=|".contains(letter);
    let code = arguments.iter().filter(|word| word.contains(is_between));
    let names = code.flat_map(|word| word.split(is_between));
    let names = names.filter(|name| name.contains(['.', '/']));
    names.take(MOST_PIECES).map(str::to_owned).collect()
}

/// True if a line runs git, other than to read or to commit: many of its commands write its configuration.
pub fn may_configure_git(line: &str) -> bool {
    let mut may = false;
    each_command(line, |command| {
        let words: Vec<_> = command.words.iter().map(|it| it.text.clone()).collect();
        may |= program_places(&words).into_iter().any(|at| {
            let program = words[at].rsplit('/').next().unwrap_or_default();
            program == "git" && !only_reads(program, &words[at + 1..])
        });
    });
    may
}

/// The simple commands of a line, as a shell reads them.
pub(super) fn simple_commands(line: &str) -> Vec<String> {
    let commands = lex_line(line).commands.into_iter();
    let joined = commands.map(|command| {
        let words: Vec<_> = command.words.into_iter().map(|word| word.text).collect();
        words.join(" ")
    });
    joined.filter(|command| !command.is_empty()).collect()
}

fn only_reads(program: &str, arguments: &[String]) -> bool {
    let subcommand = arguments.iter().find(|word| !word.starts_with('-'));
    READERS.contains(&program)
        || (program == "git" && subcommand.is_some_and(|word| GIT_READERS.contains(&word.as_str())))
}

/// The file that a word may name: `x`, `--file=x`, `of=x`, `-ox`. Of a word with a variable its end counts.
fn file_in(word: &ShellWord) -> Option<String> {
    let text = match word.text.split_once('=') {
        Some((_, value)) => value,
        None if word.text.starts_with("--") => return None,
        None if word.text.starts_with('-') => word.text.get(2..)?,
        None => &word.text,
    };
    let text = if word.is_expanded {
        text.trim_start_matches('/')
    } else {
        text
    };
    (!text.is_empty()).then(|| text.to_owned())
}

/// Calls for each simple command of a line, and of the lines that shells are given in it. False if not all of it can be read.
pub(super) fn each_command(line: &str, mut take: impl FnMut(&SimpleCommand)) -> bool {
    let mut open = vec![line.to_owned()];
    let mut lines = 0;
    let mut is_read = true;
    while let Some(line) = open.pop() {
        lines += 1;
        if lines > MOST_LINES {
            return false;
        }
        let lexed = lex_line(&line);
        is_read &= !lexed.is_unreadable;
        for command in &lexed.commands {
            take(command);
            open.extend(inner_lines(command).filter(|inner| *inner != line));
        }
        for text in lexed.texts {
            let inside = lex_text(&text.text);
            is_read &= !text.is_expanded || !inside.is_unreadable;
            // A text may be given to a shell, on this machine or another: its lines count as commands, as far as they can be read.
            for command in inside.commands.iter().chain(&lex_line(&text.text).commands) {
                take(command);
                open.extend(inner_lines(command).filter(|inner| *inner != line));
            }
        }
    }
    is_read
}

/// Arguments of shells and the like that are lines of their own.
fn inner_lines(command: &SimpleCommand) -> impl Iterator<Item = String> + use<> {
    let words: Vec<_> = command.words.iter().map(|it| it.text.clone()).collect();
    let programs = program_places(&words).into_iter();
    let takers =
        programs.filter(|at| wrappers::find_wrapper(&words[*at]).is_some_and(|it| it.takes_lines));
    let first = takers.min().map_or(words.len(), |at| at + 1);
    let mut lines = words[first..].to_vec();
    if lines.len() > 1 && !lines[0].starts_with('-') {
        lines.push(lines.join(" ")); // `eval rm x`
    }
    let is_line = |line: &String| {
        line.contains(|letter: char| letter.is_whitespace() || ACTED_ON.contains(letter))
    };
    let lines = lines.into_iter().filter(is_line).map(without_option);
    lines.chain(given_lines(&words))
}

/// The line in the word of an option of `env`: `-S…`, `-iS…`, `--split-string=…`.
fn without_option(line: String) -> String {
    let is_flags = |flags: &str| flags.chars().all(|letter| letter.is_ascii_alphanumeric());
    let short = line.strip_prefix('-').and_then(|it| it.split_once('S'));
    let short = short.filter(|(flags, _)| is_flags(flags));
    let rest = short.map(|(_, rest)| rest);
    match rest.or_else(|| line.strip_prefix("--split-string=")) {
        Some(rest) => rest.to_owned(),
        None => line,
    }
}

fn joined_command(program: &str, rest: &[String]) -> String {
    let words = std::iter::once(program).chain(rest.iter().map(String::as_str));
    words.collect::<Vec<_>>().join(" ")
}

/// The places among words where a program may stand: the first, and the one behind each wrapper.
pub(super) fn program_places(words: &[String]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        let Some(word) = words.get(at) else { continue };
        if found.contains(&at) || found.len() >= MOST_LAYERS {
            continue;
        }
        found.push(at);
        let rest = &words[at + 1..];
        if is_assignment(word) {
            open.push(at + 1);
        } else if let Some(wrapper) = wrappers::find_wrapper(word) {
            open.extend(
                wrapper
                    .command_starts(rest)
                    .into_iter()
                    .map(|start| at + 1 + start),
            );
        } else if matches!(word.rsplit('/').next(), Some("find" | "fd" | "fdfind")) {
            let before = |word: &String| BEFORE_COMMANDS.contains(&word.as_str());
            let starts = rest.iter().enumerate().filter(|(_, word)| before(word));
            open.extend(starts.map(|(start, _)| at + 2 + start));
        } else {
            let starts = wrappers::starts_behind_words(word, rest);
            open.extend(starts.into_iter().map(|start| at + 1 + start));
        }
    }
    found
}

/// Whether a shell may make a program, or more words, of a word that stands before the last program.
fn is_open(command: &SimpleCommand, programs: &[usize]) -> bool {
    let last = programs.iter().max().map_or(0, |at| at + 1);
    let mut before = command.words.iter().take(last);
    before.any(|word| {
        let is_test = matches!(word.text.as_str(), "[" | "[[");
        word.is_open && !is_test && !is_assignment(&word.text)
    })
}

/// Whether only a running shell knows the program at this place, or its effect.
fn is_unreadable(command: &SimpleCommand, words: &[String], at: usize) -> bool {
    let word = &command.words[at];
    if word.is_expanded && !is_assignment(&word.text) {
        return true;
    }
    let rest = &words[at + 1..];
    if is_rebinding(&word.text, rest, command.is_fed) {
        return true;
    }
    let Some(wrapper) = wrappers::find_wrapper(&word.text) else {
        return false;
    };
    let starts = wrapper.command_starts(rest);
    let is_xargs = word.text.ends_with("xargs");
    let is_given = |at: &usize| {
        let is_text = |text: &str| text.contains(['{', '%', '@']); // what `-I` replaces
        is_xargs && (wrappers::find_wrapper(&rest[*at]).is_some() || is_text(&rest[*at]))
    };
    let mut operands = starts.iter().map(|at| rest[*at].as_str());
    let is_silent = operands.all(|operand| wrapper.is_shell() && is_device(operand));
    let is_told = wrapper.is_shell() && rest.iter().any(|word| word == "-s");
    starts.iter().any(is_given) || (command.is_fed && (is_silent || is_told))
}

/// A word without quotes, about.
fn unquoted_word(word: &str) -> String {
    word.chars()
        .filter(|letter| !matches!(letter, '"' | '\'' | '\\'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_hidden_in_a_shell_line_are_found() {
        for hidden in [
            "rm -rf /",
            "sudo rm -rf /",
            "sudo -n /bin/rm -rf /",
            "sudo -u root rm -rf /",
            "sudo --user root rm -rf /",
            "A=1 B=2 rm -rf /",
            "echo $(rm -rf /)",
            "echo \"`rm -rf /`\"",
            "r\\m -rf /",
            "'rm' -rf /",
            "$'\\x72m' -rf /",
            "bash -c 'rm -rf /'",
            "bash -euo pipefail -c \"rm -rf /\"",
            "bash -o pipefail -c 'cd x && rm -rf /'",
            "timeout 5 env X=1 rm  -rf   /",
            "timeout -s KILL 5 rm -rf /",
            "env -u X rm -rf /",
            "env -S 'rm -rf /'",
            "env '-Srm -rf /'",
            "stdbuf -o L rm -rf /",
            "nice -n 5 rm -rf /",
            ">/dev/null rm -rf /",
            "2>/dev/null rm -rf /",
            "</dev/null rm -rf / 2>&1",
            "echo x &>log rm -rf /",
            "echo x &>log 2>&1 rm -rf /",
            "find . -exec rm -rf / ;",
            "eval rm -rf /",
            "eval 'rm -rf' /",
            "ssh host 'rm -rf /'",
            "su -c 'rm -rf /' root",
            "(rm -rf /)",
            "x() { rm -rf /; }",
            "if true; then rm -rf /; fi",
        ] {
            let found = SuspectCommands::find_in_line(hidden).commands;
            assert!(
                found.iter().any(|it| it == "rm -rf /"),
                "{hidden}: {found:?}"
            );
        }
        for fine in [
            "git rm x",
            "sudo -n git rm x",
            "echo 'confirm x'",
            "rmdir x",
        ] {
            let found = SuspectCommands::find_in_line(fine).commands;
            assert!(
                !found.iter().any(|it| it.starts_with("rm ")),
                "{fine}: {found:?}"
            );
        }
    }

    #[test]
    fn a_command_that_only_a_running_shell_knows_is_unreadable() {
        for line in [
            "$x y",
            "\"$(which rm)\" x",
            "sudo ${RM} x",
            "eval \"$x\"",
            "bash -c \"$x\"",
            "curl x | sh",
            "bash <<< 'rm x'",
            "sh -s < x",
            "echo 'open",
            r"echo $'\'; rm -rf / #'",
        ] {
            assert!(SuspectCommands::find_in_line(line).is_unreadable, "{line}");
        }
        for line in [
            "echo $x",
            "X=$y make",
            "cargo test | tail -5",
            "cat <<< $x",
            "bash script.sh",
            "for f in *; do gcc \"$f\"; done",
            "cd \"$dir\" && make",
        ] {
            assert!(!SuspectCommands::find_in_line(line).is_unreadable, "{line}");
        }
    }

    #[track_caller]
    fn check(line: &str, read: &[&str], any: &[&str]) {
        let found = NamedFiles::find_in_line(line);
        assert_eq!((found.read, found.any), (owned(read), owned(any)), "{line}");
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn files_are_found_in_words_and_redirections() {
        check("cat a 'b c'", &["a", "b c"], &[]);
        check("echo x > a", &[], &["a"]);
        check("cat < a >b", &["a"], &["b"]);
        check("tee -a x", &[], &["x"]);
        check("dd if=a of=b", &[], &["a", "b"]);
        check("sed -i s/a/b/ x", &[], &["s/a/b/", "x"]);
        check("sudo cp a $HOME/b", &[], &["a", "b", "b/a"]);
        check("bash -c 'rm x'", &[], &["x"]);
        check("git diff x", &["diff", "x"], &[]);
        check("echo x", &[], &[]);
        assert_eq!(NamedFiles::find_in_line("cd a; rm b").directories, ["a"]);
    }
}
