//! `complete-ids`: the ids that fit the words typed so far. The completion scripts of the shells ask for them.

use std::io::Write as _;
use std::time::SystemTime;

use clap::{Arg, Command};
use lapidary::render::plain::sanitize;
use lapidary::sessions::age;

use super::command_line;
use super::runs::common::RunStore;
use super::sessions::newest_sessions;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// A shell shows at most so many ids: a longer list cannot be read.
const MOST_IDS: usize = 200;

/// Print the ids that a shell may offer next
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The words behind `lapidary`, without the one that is being typed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The kind of id that a word can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdKind {
    Agent,
    Run,
    Session,
}

/// Prints an id and a description a line, with a tab between them. A failure prints nothing: it would stand in the user's line.
pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let ids = match wanted_id_kind(&args.words) {
        Some(IdKind::Agent) => super::agents::definition_names(&out.invocation).unwrap_or_default(),
        Some(IdKind::Run) => run_ids(&out.invocation).unwrap_or_default(),
        Some(IdKind::Session) => newest_sessions(MOST_IDS, &out.invocation).unwrap_or_default(),
        None => Vec::new(),
    };
    for (id, description) in ids {
        let description = sanitize(&description).replace(['\n', '\t'], " ");
        writeln!(out, "{}\t{description}", sanitize(&id))?;
    }
    Ok(CommandExit::Success)
}

/// The kind of id that comes next. None where an option's value, another word or a file comes next.
fn wanted_id_kind(words: &[String]) -> Option<IdKind> {
    let typed = TypedWords::parse(words);
    let verbs: Vec<_> = typed.verbs.iter().map(String::as_str).collect();
    match typed.open_option.as_deref() {
        None => {}
        Some("against") if verbs.starts_with(&["policy", "test"]) => return Some(IdKind::Run),
        Some(_) => return None,
    }
    match verbs.as_slice() {
        ["runs", "show" | "open" | "export"]
        | ["runs", "delete", ..]
        | ["replay" | "translate"] => Some(IdKind::Run),
        ["agents", "show" | "run" | "enable" | "disable"] | ["agents", "ack", ..] => {
            Some(IdKind::Agent)
        }
        ["sessions", "show" | "resume"] | ["sessions", "delete" | "export", ..] => {
            Some(IdKind::Session)
        }
        _ => None,
    }
}

/// The typed words, split by the parser's own table of commands.
#[derive(Debug, Default)]
struct TypedWords {
    /// Commands and arguments, without options and their values.
    verbs: Vec<String>,
    /// The option whose value comes next.
    open_option: Option<String>,
}

impl TypedWords {
    fn parse(words: &[String]) -> Self {
        let mut typed = Self::default();
        let mut command = command_line();
        for word in words {
            if word.starts_with('-') && word.len() > 1 {
                typed.open_option = value_option(&command, word);
            } else if !typed.takes_option_value(&command) {
                let verb = command.find_subcommand(word).cloned();
                command = verb.unwrap_or(command);
                typed.verbs.push(word.clone());
            }
        }
        typed
    }

    /// Whether this word is the value of the option before it. An option for several values takes all that follow.
    fn takes_option_value(&mut self, command: &Command) -> bool {
        let open = self.open_option.as_deref();
        let option = open.and_then(|id| command.get_arguments().find(|it| it.get_id() == id));
        let Some(option) = option else {
            return false;
        };
        let values = option.get_num_args().unwrap_or_default();
        if values.max_values() <= 1 {
            self.open_option = None;
        }
        true
    }
}

/// The id of the option that a word names, if its value is the next word.
fn value_option(command: &Command, word: &str) -> Option<String> {
    let is_named = |option: &&Arg| match word.strip_prefix("--") {
        Some(long) => option.get_long() == Some(long),
        None => option.get_short() == word[1..].chars().next() && word.chars().count() == 2,
    };
    let option = command.get_arguments().find(is_named)?;
    let takes_value = option.get_action().takes_values();
    takes_value.then(|| option.get_id().to_string())
}

fn run_ids(invocation: &Invocation) -> Result<Vec<(String, String)>, Failure> {
    let now = SystemTime::now();
    let runs = RunStore::open(None, invocation)?.list_runs()?;
    let described = runs.into_iter().take(MOST_IDS).map(|run| {
        let agent = run.info.agent.unwrap_or_default();
        let outcome = run.info.outcome.map(|outcome| outcome.to_string());
        let outcome = outcome.unwrap_or_else(|| run.info.state.to_string());
        let description = format!("{agent}, {outcome}, {}", age(Some(run.began_ms), now));
        (run.info.id, description)
    });
    Ok(described.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<IdKind>) {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(wanted_id_kind(&words), expected, "{line}");
    }

    #[test]
    fn ids_are_offered_where_a_command_takes_one() {
        check("runs show", Some(IdKind::Run));
        check("runs delete r-1", Some(IdKind::Run));
        check("replay", Some(IdKind::Run));
        check("policy test rules.toml --against", Some(IdKind::Run));
        check("policy test rules.toml --against r-1", Some(IdKind::Run));
        check("sessions resume", Some(IdKind::Session));
        check("agents show", Some(IdKind::Agent));
        check("agents run", Some(IdKind::Agent));
        check("agents ack one", Some(IdKind::Agent));
        check("runs show --no-raw", Some(IdKind::Run));
        check("runs show --format text", Some(IdKind::Run));
        check("runs export --to=html -o x.html", Some(IdKind::Run));
        for line in [
            "",
            "runs",
            "runs show r-1",
            "runs list",
            "runs show --format",
            "runs export latest -o",
            "policy test",
            "run",
        ] {
            check(line, None);
        }
    }
}
