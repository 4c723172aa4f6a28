//! Hooks that mean to deny, and whose output or exit code Gemini CLI would ignore. No script is run, only read: findings are suspicions.

use std::path::Path;

use super::super::{HookEntry, HookEvent};
use super::{FindingReport, LintSeverity, UnplacedFinding};
use crate::file;
use crate::notice::TextPosition;

/// Longer scripts are not looked at.
const LONGEST: u64 = 256 * 1024;
/// How many lines before an exit may hold the words that go with it.
const NEAR: usize = 6;

/// A script that exits with 2 and says nothing near it.
pub(super) fn look_at_script(report: &mut FindingReport<'_>, entry: &HookEntry, path: &Path) {
    if !report.scripts.insert((path.to_owned(), entry.hook.event)) {
        return;
    }
    let Some(text) = script_text(path) else {
        return;
    };
    let subject = entry.hook.display_name().to_owned();
    let is_heard = can_object(entry.hook.event);
    for place in silent_exits(&text).into_iter().filter(|_| is_heard) {
        let found = silent_exit_finding(
            &subject,
            "the script exits with 2 here, and nothing near it seems to be printed",
        );
        report.add_at(path, Some(place), found);
    }
    if let Some(line) = claude_line(&text) {
        let place = TextPosition { line, column: 1 };
        report.add_at(path, Some(place), claude_answer_finding(&subject, "script"));
    }
    if !can_block(entry.hook.event) || !has_known_interpreter(&text) {
        return;
    }
    if let Some(found) = mute_script_finding(&subject, entry.hook.event, &text) {
        report.add_at(path, Some(TextPosition { line: 1, column: 1 }), found);
    }
}

/// The same for a command in the settings themselves.
pub(super) fn look_at_command(report: &mut FindingReport<'_>, entry: &HookEntry) {
    if answers_claude(&entry.hook.command) {
        let found = claude_answer_finding(entry.hook.display_name(), "command");
        report.add_to(entry, "command", found);
    }
    if can_block(entry.hook.event) && ends_with_one(&entry.hook.command) {
        let found = only_warns(entry.hook.display_name(), entry.hook.event, "command");
        report.add_to(entry, "command", found);
    }
    if silent_exits(&entry.hook.command).is_empty() || !can_object(entry.hook.event) {
        return;
    }
    let found = silent_exit_finding(
        entry.hook.display_name(),
        "the command exits with 2 and seems to print nothing",
    );
    report.add_to(entry, "command", found);
}

/// Whether a text has the word with which hooks of Claude Code answer about tools, and not that of Gemini CLI.
pub(in crate::hooks) fn answers_claude(text: &str) -> bool {
    claude_line(text).is_some()
}

/// The line of that word.
fn claude_line(text: &str) -> Option<usize> {
    if text.contains("decision") {
        return None; // the other one is spelt with a capital
    }
    let mut lines = text.lines().map(code_of);
    let index = lines.position(|line| line.contains("permissionDecision"))?;
    Some(index + 1)
}

fn claude_answer_finding<'a>(subject: &'a str, what: &str) -> UnplacedFinding<'a> {
    UnplacedFinding {
        severity: LintSeverity::Warning,
        code: "claude_answer",
        subject,
        sentence: format!(
            "the {what} answers with `permissionDecision`, which only Claude Code reads: Gemini CLI lets everything pass"
        ),
        hint: Some(
            "say `\"decision\": \"deny\"` (or `allow`, `ask`) and `\"reason\": \"…\"` beside `hookSpecificOutput`, not in it".to_owned(),
        ),
    }
}

fn silent_exit_finding<'a>(subject: &'a str, what: &str) -> UnplacedFinding<'a> {
    UnplacedFinding {
        severity: LintSeverity::Warning,
        code: "silent_exit",
        subject,
        sentence: format!("{what}: Gemini CLI then blocks nothing (Lapidary does)"),
        hint: Some("print the reason to stderr before `exit 2`".to_owned()),
    }
}

/// A script that looks as if it cannot say no at all.
fn mute_script_finding<'a>(
    subject: &'a str,
    event: HookEvent,
    text: &str,
) -> Option<UnplacedFinding<'a>> {
    if exits_with_one(text) {
        return Some(only_warns(subject, event, "script"));
    }
    let says_nothing =
        !text.lines().map(code_of).any(has_output_command) && !has_exit_with(text, "2");
    says_nothing.then(|| UnplacedFinding {
        severity: LintSeverity::Note,
        code: "never_speaks",
        subject,
        sentence: format!("as far as can be seen the script never prints anything: at {event} it lets everything pass"),
        hint: None,
    })
}

fn only_warns<'a>(subject: &'a str, event: HookEvent, what: &str) -> UnplacedFinding<'a> {
    UnplacedFinding {
        severity: LintSeverity::Warning,
        code: "exit_one",
        subject,
        sentence: format!(
            "the {what} exits with 1, which only warns: at {event} it blocks nothing"
        ),
        hint: Some("exit with 2 and a reason on stderr to block".to_owned()),
    }
}

/// Whether a text exits with 1, and has no other way to say no.
fn exits_with_one(text: &str) -> bool {
    has_exit_with(text, "1")
        && !has_exit_with(text, "2")
        && !text.contains("decision")
        && !text.contains("continue")
}

/// The same for a command, which usually runs a program that may say no: no other command may follow.
fn ends_with_one(command: &str) -> bool {
    const NOTHING: [&str; 7] = ["", "fi", "done", "esac", "exit", "0", "true"];
    let behind = ["exit 1", "exit(1)"]
        .into_iter()
        .filter_map(|exit| command.rsplit_once(exit));
    let words = |text: &str| {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
        words.into_iter().all(|word| NOTHING.contains(&word))
    };
    exits_with_one(command) && behind.into_iter().any(|(_, behind)| words(behind))
}

fn has_exit_with(text: &str, code: &str) -> bool {
    let mut lines = text.lines().map(code_of);
    lines.any(|line| exit_at(line, code).is_some())
}

/// The events at which an objection has an effect, if only that a result is hidden or that the agent goes on.
pub(super) fn can_object(event: HookEvent) -> bool {
    can_block(event)
        || matches!(
            event,
            HookEvent::AfterTool | HookEvent::AfterAgent | HookEvent::AfterModel
        )
}

/// The events at which a hook can say no.
fn can_block(event: HookEvent) -> bool {
    matches!(
        event,
        HookEvent::BeforeTool | HookEvent::BeforeAgent | HookEvent::BeforeModel
    )
}

/// Whether a script runs nothing that might speak for it.
fn has_known_interpreter(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("#!") && ["sh", "python", "node"].iter().any(|it| first.contains(it))
}

/// Where a text exits with 2 without a word near it.
fn silent_exits(text: &str) -> Vec<TextPosition> {
    let lines: Vec<&str> = text.lines().map(code_of).collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(column) = exit_at(line, "2") else {
            continue;
        };
        let near = lines[..=index]
            .iter()
            .rev()
            .filter(|line| !line.trim().is_empty());
        if !near.take(NEAR).any(|line| has_output_command(line)) {
            let column = line[..column].chars().count() + 1;
            found.push(TextPosition {
                line: index + 1,
                column,
            });
        }
    }
    found
}

/// A line without its comment, as far as that can be told.
fn code_of(line: &str) -> &str {
    let trimmed = line.trim_start();
    if trimmed.starts_with('#') || trimmed.starts_with("//") {
        return "";
    }
    line.split(" # ").next().unwrap_or(line)
}

/// Whether the output of a command on a line may reach Gemini CLI: on stdout or stderr, not in a file, a variable or another program.
fn has_output_command(line: &str) -> bool {
    const CALLS: [&str; 7] = [
        "print(",
        ".write(",
        "json.dump(",
        "console.",
        "print!",
        "puts ",
        "die ",
    ];
    if CALLS.iter().any(|call| line.contains(call)) {
        return true;
    }
    let line = without_captured(line);
    let commands = line
        .split([';', '&', '{', '('])
        .flat_map(|part| part.split("||"));
    // Of a pipe only the last program's output counts. `2>&1` and the like are split too, which does no harm.
    let last = commands.filter_map(|command| command.rsplit('|').next());
    line.contains(">&2") && has_words(&line) || last.into_iter().any(is_heard)
}

fn has_words(line: &str) -> bool {
    ["echo", "printf", "cat", "jq", "tee"]
        .iter()
        .any(|word| line.split_whitespace().any(|it| it == *word))
}

fn is_heard(command: &str) -> bool {
    const SPEAKERS: [&str; 6] = ["echo", "printf", "cat", "jq", "tee", "print"];
    const BEFORE: [&str; 5] = ["then", "else", "do", "!", "if"];
    let mut words = command
        .split_whitespace()
        .skip_while(|word| BEFORE.contains(word));
    let goes_elsewhere =
        command.replace("/dev/stderr", "").contains('>') && !command.contains("/dev/stderr");
    words.next().is_some_and(|word| SPEAKERS.contains(&word)) && !goes_elsewhere
}

/// A line without its substitutions: `$(…)` and the like.
fn without_captured(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut depth = 0_usize;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '$' if letters.peek() == Some(&'(') => {
                depth += 1;
                letters.next();
            }
            '(' if depth > 0 => depth += 1,
            ')' if depth > 0 => depth -= 1,
            other if depth == 0 => out.push(other),
            _ => {}
        }
    }
    out
}

/// Where a line exits with a code, in the shells, Python or JavaScript.
fn exit_at(line: &str, code: &str) -> Option<usize> {
    let shell = format!("exit {code}");
    let call = format!("exit({code})");
    let ends = |at: usize| {
        let rest = &line[at..];
        !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let shell = line.match_indices(&shell).find(|(at, found)| {
        let starts =
            !line[..*at].ends_with(|it: char| it.is_ascii_alphanumeric() || "_.-$".contains(it));
        starts && ends(at + found.len())
    });
    let call = line.match_indices(&call).next();
    shell.or(call).map(|(at, _)| at)
}

/// The text of a script that is one: short, regular, without zero bytes.
fn script_text(path: &Path) -> Option<String> {
    let bytes = file::first_bytes(path, LONGEST + 1)?;
    let is_text = bytes.len() as u64 <= LONGEST && !bytes.contains(&0);
    is_text.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_ends_with_one_only_warns() {
        for only in [
            "exit 1",
            "echo no; exit 1",
            "if grep -q rm; then echo no; exit 1; fi",
            "grep -q rm && exit 1; exit 0",
            "./guard.sh || exit 1",
            "python3 -c 'import sys; sys.exit(1)'",
        ] {
            assert!(ends_with_one(only), "{only}");
        }
        for other in [
            "exit 10",
            "exit 2",
            "cd hooks || exit 1; ./guard.sh",
            "test -e x || exit 1; echo no >&2; exit 2",
            "echo '{\"decision\": \"deny\"}'; exit 1",
            "true # exit 1",
        ] {
            assert!(!ends_with_one(other), "{other}");
        }
    }

    #[test]
    fn an_exit_with_2_is_silent_if_no_line_near_it_prints() {
        let check = |text: &str, expected: &[(usize, usize)]| {
            let found = silent_exits(text);
            let found: Vec<_> = found
                .iter()
                .map(|place| (place.line, place.column))
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        check("#!/bin/sh\nexit 2\n", &[(2, 1)]);
        check("[ -n \"$X\" ] && exit 2", &[(1, 16)]);
        check("echo no >&2; exit 2", &[]);
        check("echo no >&2\nexit 2", &[]);
        check("# exit 2", &[]);
        check("exit 20", &[]);
        check("on_exit 2", &[]);
        check("import sys\nsys.exit(2)", &[(2, 5)]);
        check("print('no')\nsys.exit(2)", &[]);
        check("process.exit(2)", &[(1, 9)]);
        check(
            "echo start\na=1\nb=1\nc=1\nd=1\ne=1\nf=1\ng=1\nexit 2",
            &[(9, 1)],
        );
    }
}
