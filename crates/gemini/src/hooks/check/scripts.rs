//! Whether a hook's program is there. Nothing is run: the command is read as far as a shell would read it the same way.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::HookEntry;
use super::{FindingReport, LintSeverity, UnplacedFinding, shebang, silence};

/// What runs the script that follows it.
const INTERPRETERS: [&str; 14] = [
    "bash", "sh", "dash", "zsh", "ksh", "fish", "python", "python2", "python3", "node", "ruby",
    "perl", "deno", "bun",
];

/// Commands that a shell runs itself, or that only it can find.
const BUILTINS: [&str; 38] = [
    "[", "[[", "!", "(", "((", ":", ".", "{", "alias", "bg", "cd", "command", "declare", "echo",
    "eval", "exec", "exit", "export", "false", "for", "function", "if", "let", "local", "printf",
    "pwd", "read", "return", "set", "shift", "source", "test", "trap", "true", "type", "umask",
    "until", "while",
];

pub(super) fn check_script(report: &mut FindingReport<'_>, entry: &HookEntry) {
    let hook = &entry.hook;
    silence::look_at_command(report, entry);
    let Some(words) = simple_command(&hook.command) else {
        return;
    };
    let around = ScriptContext {
        workspace: &report.setup.workspace,
        home: report.surroundings.home,
    };
    let Some(program) = words.first() else { return };
    let name = program.rsplit('/').next().unwrap_or(program);
    if INTERPRETERS.contains(&name) {
        if let Some(script) = script_of(&words[1..]).and_then(|word| around.expanded_path(word)) {
            check_script_file(report, entry, &script, FileUse::Read);
        }
    } else if program.contains('/') {
        if let Some(path) = around.expanded_path(program) {
            check_script_file(report, entry, &path, FileUse::Run);
        }
    } else if is_missing(program, report.surroundings.search_path) {
        let blocks = if silence::can_object(hook.event) {
            ", which blocks"
        } else {
            ""
        };
        let sentence = format!(
            "`{program}` is in no directory of PATH; the shell then says so and exits with 127{blocks}"
        );
        add_script_finding(
            report,
            entry,
            "missing_program",
            LintSeverity::Warning,
            sentence,
            None,
        );
    }
}

/// The purpose of a file.
#[derive(Clone, Copy, PartialEq)]
enum FileUse {
    Run,
    Read,
}

fn check_script_file(
    report: &mut FindingReport<'_>,
    entry: &HookEntry,
    path: &Path,
    wanted: FileUse,
) {
    let shown = path.display();
    let found = match fs::metadata(path) {
        Err(error) => {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => "is not there".to_owned(),
                _ => format!("cannot be looked at: {error}"),
            };
            Err((
                "missing_script",
                format!("its script `{shown}` {what}"),
                None,
            ))
        }
        Ok(about) if about.is_dir() => Err((
            "missing_script",
            format!("its script `{shown}` is a directory"),
            None,
        )),
        Ok(about) if wanted == FileUse::Run && !about.is_file() => Err((
            "missing_script",
            format!("its script `{shown}` is not a regular file"),
            None,
        )),
        Ok(about) if wanted == FileUse::Run && !is_executable(&about) => Err((
            "not_executable",
            format!("its script `{shown}` is not executable, so the shell cannot start it"),
            Some(format!("chmod +x {shown}")),
        )),
        Ok(_) => Ok(()),
    };
    match found {
        Ok(()) => {
            if wanted == FileUse::Run {
                shebang::check_shebang(report, entry, path);
            }
            silence::look_at_script(report, entry, path);
        }
        Err((code, sentence, hint)) => {
            add_script_finding(report, entry, code, LintSeverity::Error, sentence, hint);
        }
    }
}

fn add_script_finding(
    report: &mut FindingReport<'_>,
    entry: &HookEntry,
    code: &'static str,
    severity: LintSeverity,
    sentence: String,
    hint: Option<String>,
) {
    let subject = entry.hook.display_name();
    report.add_to(
        entry,
        "command",
        UnplacedFinding {
            severity,
            code,
            subject,
            sentence,
            hint,
        },
    );
}

#[cfg(unix)]
pub(super) fn is_executable(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &fs::Metadata) -> bool {
    true
}

fn is_missing(program: &str, search_path: &[PathBuf]) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    let is_word = program.chars().all(is_plain);
    is_word
        && !search_path.is_empty()
        && !BUILTINS.contains(&program)
        && !search_path
            .iter()
            .any(|folder| folder.join(program).is_file())
}

/// The script among an interpreter's arguments. None if the program is an argument itself.
fn script_of(arguments: &[String]) -> Option<&str> {
    let inline = ["-c", "-e", "-m", "-p", "--eval", "--print", "-"];
    let first = arguments
        .iter()
        .find(|word| !word.starts_with('-') || inline.contains(&word.as_str()))?;
    let is_script = !inline.contains(&first.as_str()) && first != "run" && first != "eval";
    is_script.then_some(first.as_str())
}

/// Where words lead.
struct ScriptContext<'a> {
    workspace: &'a Path,
    home: &'a Path,
}

impl ScriptContext<'_> {
    /// The path that a word stands for. None if only a shell can tell.
    fn expanded_path(&self, word: &str) -> Option<PathBuf> {
        let mut word = word.to_owned();
        for name in ["GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR"] {
            let workspace = self.workspace.to_string_lossy();
            word = word.replace(&format!("${{{name}}}"), &workspace);
            word = word.replace(&format!("${name}"), &workspace);
        }
        let home = self.home.to_string_lossy();
        word = word.replace("${HOME}", &home).replace("$HOME", &home);
        if let Some(rest) = word.strip_prefix("~/") {
            word = format!("{home}/{rest}");
        }
        let needs_a_shell = word.starts_with('~') || word.contains(['$', '`', '*', '?', '[']);
        let word = word.strip_prefix("./").unwrap_or(&word);
        (!needs_a_shell).then(|| self.workspace.join(word))
    }
}

/// The words of the first command, without the variables set for it. `None` if only a shell can expand them.
pub(super) fn simple_command(command: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let target = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '\\' if letter == '"' => target.push(letters.next()?),
                        '`' if letter == '"' => return None,
                        inner => target.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            '|' | ';' | '&' | '<' | '>' | '\n' => break,
            '`' | '(' | ')' | '{' | '}' if !is_variable(word.as_deref(), letter) => return None,
            ' ' | '\t' => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    let is_set = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|it| it.is_ascii_alphanumeric() || it == '_')
        })
    };
    let set = words.iter().take_while(is_set).count();
    Some(words.split_off(set))
}

/// Whether a brace belongs to `${NAME}`.
fn is_variable(word: Option<&str>, letter: char) -> bool {
    let word = word.unwrap_or_default();
    match letter {
        '{' => word.ends_with('$'),
        '}' => word.contains("${"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_command_is_read_as_a_shell_reads_it() {
        let check = |command: &str, expected: Option<&[&str]>| {
            let words = simple_command(command);
            let words = words
                .as_ref()
                .map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(words.as_deref(), expected, "{command}");
        };
        check("a b  c", Some(&["a", "b", "c"]));
        check("'a b' \"c \\\" d\" e\\ f", Some(&["a b", "c \" d", "e f"]));
        check("X=1 Y='2 3' ./run -x", Some(&["./run", "-x"]));
        check("./run | tee x", Some(&["./run"]));
        check("./run >/dev/null", Some(&["./run"]));
        check(
            "${GEMINI_PROJECT_DIR}/run",
            Some(&["${GEMINI_PROJECT_DIR}/run"]),
        );
        check(
            "\"$GEMINI_PROJECT_DIR\"/run.sh",
            Some(&["$GEMINI_PROJECT_DIR/run.sh"]),
        );
        check("$(which x) y", None);
        check("(a; b)", None);
        check("'open", None);
        check("", Some(&[]));
    }

    #[test]
    fn an_interpreters_script_is_its_first_argument_that_is_no_option() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(script_of(&words("x.py --flag")), Some("x.py"));
        assert_eq!(script_of(&words("-u x.py")), Some("x.py"));
        assert_eq!(script_of(&words("-c print(1)")), None);
        assert_eq!(script_of(&words("-m module")), None);
    }
}
