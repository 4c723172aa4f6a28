//! `complete-ids`: the ids that fit the words typed so far. The completion scripts of the shells ask for them.

use std::io::Write as _;
use std::time::SystemTime;

use lapidary::home::sessions::age;
use lapidary::render::plain::sanitize;

use super::runs::common::RunStore;
use super::sessions::newest_sessions;
use crate::exit::Exit;
use crate::failure::Failure;
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

/// Whose ids fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdKind {
    Run,
    Session,
}

/// Prints an id and a description a line, with a tab between them. A failure prints nothing: it would stand in the user's line.
pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let ids = match wanted(&args.words) {
        Some(IdKind::Run) => runs().unwrap_or_default(),
        Some(IdKind::Session) => newest_sessions(MOST_IDS).unwrap_or_default(),
        None => Vec::new(),
    };
    for (id, description) in ids {
        let description = sanitize(&description).replace(['\n', '\t'], " ");
        writeln!(out, "{}\t{description}", sanitize(&id))?;
    }
    Ok(Exit::Success)
}

/// Whose ids come next. None where something else does: an option's value, another word, a file.
fn wanted(words: &[String]) -> Option<IdKind> {
    let last = words.last()?.as_str();
    if last.starts_with('-') && last != "--against" {
        return None;
    }
    let is_given = |option: &str| words.iter().any(|word| word == option);
    let verbs: Vec<_> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let verbs: Vec<_> = verbs.iter().map(|word| word.as_str()).collect();
    match verbs.as_slice() {
        ["runs", "show" | "open" | "export"]
        | ["runs", "delete", ..]
        | ["replay" | "translate"] => Some(IdKind::Run),
        ["policy", "test", ..] if is_given("--against") => Some(IdKind::Run),
        ["sessions", "show" | "resume"] | ["sessions", "delete" | "export", ..] => {
            Some(IdKind::Session)
        }
        _ => None,
    }
}

fn runs() -> Result<Vec<(String, String)>, Failure> {
    let now = SystemTime::now();
    let runs = RunStore::open(None)?.list()?;
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
        assert_eq!(wanted(&words), expected, "{line}");
    }

    #[test]
    fn ids_are_offered_where_a_command_takes_one() {
        check("runs show", Some(IdKind::Run));
        check("runs delete r-1", Some(IdKind::Run));
        check("replay", Some(IdKind::Run));
        check("policy test rules.toml --against", Some(IdKind::Run));
        check("policy test rules.toml --against r-1", Some(IdKind::Run));
        check("sessions resume", Some(IdKind::Session));
        for line in [
            "",
            "runs",
            "runs show r-1",
            "runs list",
            "runs show --format",
            "policy test",
            "run",
        ] {
            check(line, None);
        }
    }
}
