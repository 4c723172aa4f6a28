//! Errors and hints for a command line that cannot be read.

use std::ffi::OsString;
use std::io::Write as _;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use lapidary::engine::git;
use lapidary::render::plain::sanitize;

use crate::commands::command_line;
use crate::exit::CommandExit;
use crate::foreign_options::instead_of;
use crate::invocation::{Invocation, StandardStreams};

/// Prints help on stdout, complaints on stderr. A complaint repeats arguments. If a terminal would obey one of them, it is
/// printed without colours; a password in an address is left out.
pub(crate) fn report_usage_error(error: &clap::Error, invocation: &Invocation) -> CommandExit {
    if !error.use_stderr() {
        print_clap_text(error, invocation);
        return CommandExit::Success;
    }
    let args = invocation.args.get(1..).unwrap_or_default();
    if let Some(complaint) = unknown_word(error, args).or_else(|| foreign_value(error)) {
        invocation.print_message(&git::shown(&complaint.error));
        invocation.print_message(&complaint.hint);
        return CommandExit::Usage;
    }
    let is_hostile = |arg: &OsString| {
        let arg = arg.to_string_lossy();
        sanitize(&arg) != arg || git::shown(&arg) != arg
    };
    if !args.iter().any(is_hostile) {
        print_clap_text(error, invocation);
        return CommandExit::Usage;
    }
    let mut words = error.render().to_string();
    for arg in args {
        let arg = arg.to_string_lossy();
        words = words.replace(&*arg, &git::shown(&arg));
    }
    let words: String = words.split_inclusive('\'').map(git::shown).collect();
    invocation.print_message(words.trim_end());
    CommandExit::Usage
}

/// A value of another tool, such as Gemini CLI's `--approval-mode yolo`.
fn foreign_value(error: &clap::Error) -> Option<UsageComplaint> {
    if error.kind() != ErrorKind::InvalidValue {
        return None;
    }
    let value = context_text(error, ContextKind::InvalidValue)?;
    let option = context_text(error, ContextKind::InvalidArg)?;
    let option = option.split(' ').next().unwrap_or_default();
    let meant = match (option, value.as_str()) {
        ("--permission-mode", "yolo") => "bypassPermissions",
        ("--permission-mode", "auto_edit" | "auto-edit" | "auto") => "acceptEdits",
        ("--format", "json" | "jsonl" | "stream-json") => "events",
        ("--format", "quiet" | "plain") => "text",
        _ => return None,
    };
    let values = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => values.as_slice(),
        _ => &[],
    };
    values.iter().any(|it| it == meant).then(|| UsageComplaint {
        error: format!("error: invalid value `{value}` for `{option}`"),
        hint: format!("hint: use `{option} {meant}`"),
    })
}

/// Prints clap's own text. A closed stream is ignored: there is no other place for the text.
fn print_clap_text(error: &clap::Error, invocation: &Invocation) {
    let _ = match invocation.streams {
        // It knows which colours the terminal shows.
        StandardStreams::Process => error.print(),
        StandardStreams::Files { .. } if error.use_stderr() => {
            write!(invocation.stderr_writer(), "{}", error.render())
        }
        StandardStreams::Files { .. } => write!(invocation.stdout_writer(), "{}", error.render()),
    };
}

/// Two lines about a word that is not known.
#[derive(Debug, PartialEq, Eq)]
struct UsageComplaint {
    error: String,
    hint: String,
}

fn unknown_word(error: &clap::Error, args: &[OsString]) -> Option<UsageComplaint> {
    let (command, name) = command_of(args);
    let (kind, word) = match error.kind() {
        ErrorKind::UnknownArgument => {
            let word = context_text(error, ContextKind::InvalidArg)?;
            let is_option = word.starts_with('-');
            (
                if is_option {
                    "unknown option"
                } else {
                    "unexpected argument"
                },
                word,
            )
        }
        ErrorKind::InvalidSubcommand => (
            "unknown command",
            context_text(error, ContextKind::InvalidSubcommand)?,
        ),
        _ => return None,
    };
    let similar = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    let similar = similar
        .into_iter()
        .find_map(|kind| context_text(error, kind));
    let hint = instead_of(&word, &name)
        .map(str::to_owned)
        .or_else(|| prompt_without_quotes(&name, &word))
        .or_else(|| option_of_run(&name, &word))
        .or_else(|| similar.map(|similar| format!("did you mean `{similar}`?")))
        .unwrap_or_else(|| usual_hint(&command, &name));
    Some(UsageComplaint {
        error: format!("error: {kind} `{word}`"),
        hint: format!("hint: {hint}"),
    })
}

fn context_text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// The command that the words name, and its name without `lapidary`.
fn command_of(args: &[OsString]) -> (Command, String) {
    let mut command = command_line();
    command.build();
    let mut names = Vec::new();
    for word in args.iter().filter_map(|arg| arg.to_str()) {
        let Some(below) = command.find_subcommand(word) else {
            break;
        };
        names.push(below.get_name().to_owned());
        command = below.clone();
    }
    (command, names.join(" "))
}

/// `lapidary run fix the tests`, `lapidary 'fix the tests'`.
fn prompt_without_quotes(name: &str, word: &str) -> Option<String> {
    let is_prompt = match name {
        "run" => !word.starts_with('-'),
        "" => word.contains(' '),
        _ => false,
    };
    is_prompt.then(|| "put the whole prompt in quotes: `lapidary run 'fix the tests'`".to_owned())
}

/// An option of `run` without `run`.
fn option_of_run(name: &str, word: &str) -> Option<String> {
    let command = command_line();
    let run = command.find_subcommand("run").filter(|_| name.is_empty())?;
    let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
    let long = flag.strip_prefix("--");
    let short = flag.strip_prefix('-').and_then(|it| it.chars().next());
    let is_known = run.get_arguments().any(|it| match long {
        Some(long) => it.get_long() == Some(long),
        None => short.is_some() && it.get_short() == short,
    });
    is_known.then(|| format!("name the command first: `lapidary run {flag} …`"))
}

/// The hint with the command's usage.
fn usual_hint(command: &Command, name: &str) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let help = format!("lapidary {name} --help").replace("  ", " ");
    format!("usage is `{usage}`; `{help}` lists the options")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(line: &str) -> (String, String) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let parsed =
            command_line().try_get_matches_from([&["lapidary".into()], &args[..]].concat());
        let error = parsed.unwrap_err();
        let complaint = unknown_word(&error, &args).or_else(|| foreign_value(&error));
        let complaint = complaint.expect(line);
        (complaint.error, complaint.hint)
    }

    #[track_caller]
    fn check(line: &str, error: &str, hint: &str) {
        let (said, hinted) = complaint(line);
        assert_eq!((said.as_str(), hinted.as_str()), (error, hint), "{line}");
    }

    #[test]
    fn a_wrong_guess_is_answered_with_the_right_word() {
        check(
            "run --output-format=json hi",
            "error: unknown option `--output-format`",
            "hint: use `--json` for events, or `--format result` for one object",
        );
        check(
            "exec --resume-session 3 hi",
            "error: unknown option `--resume-session`",
            "hint: use `lapidary run --resume SESSION`; `latest` is the newest",
        );
        check(
            "run --permission-mode yolo hi",
            "error: invalid value `yolo` for `--permission-mode`",
            "hint: use `--permission-mode bypassPermissions`",
        );
        check(
            "serve --port 8080",
            "error: unknown option `--port`",
            "hint: use `--listen 127.0.0.1:PORT`",
        );
        check(
            "init",
            "error: unknown command `init`",
            "hint: use `lapidary config init`",
        );
        check(
            "sessions find words",
            "error: unknown command `find`",
            "hint: use `lapidary sessions search WORDS`",
        );
        check(
            "--json",
            "error: unknown option `--json`",
            "hint: name the command first: `lapidary run --json …`",
        );
        check(
            "run fix the tests",
            "error: unexpected argument `the`",
            "hint: put the whole prompt in quotes: `lapidary run 'fix the tests'`",
        );
        check(
            "schema --json",
            "error: unknown option `--json`",
            "hint: leave it out: schemas are JSON",
        );
    }

    #[test]
    fn a_slip_is_answered_with_the_nearest_word_or_the_usage() {
        check(
            "translate --formta text",
            "error: unknown option `--formta`",
            "hint: did you mean `--format`?",
        );
        check(
            "transalte",
            "error: unknown command `transalte`",
            "hint: did you mean `translate`?",
        );
        check(
            "translate one two",
            "error: unexpected argument `two`",
            "hint: usage is `lapidary translate [OPTIONS] [FILE]`; `lapidary translate --help` lists the options",
        );
    }
}
