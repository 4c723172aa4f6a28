//! `--json`: the machine format of each command that has `--format`.

use clap::builder::{ArgPredicate, PossibleValue};
use clap::{Arg, ArgAction, Command};

use super::common::OUTPUT;

const FORMAT: &str = "format";
const JSON: &str = "json";

/// Adds `--json` to every command that prints a machine format.
pub(super) fn with_json(command: Command) -> Command {
    let command = command.mut_subcommands(with_json);
    match machine_format(&command) {
        Some(format) => with_flag(command, format),
        None => command,
    }
}

/// The word for it: `json`, or `events` where agents speak.
fn machine_format(command: &Command) -> Option<&'static str> {
    let format = command.get_arguments().find(|it| it.get_id() == FORMAT)?;
    let values = format.get_possible_values();
    let has = |word: &&str| {
        values
            .iter()
            .map(PossibleValue::get_name)
            .any(|it| it == *word)
    };
    [JSON, "events"].into_iter().find(has)
}

fn with_flag(command: Command, format: &'static str) -> Command {
    let format_arg = command.get_arguments().find(|it| it.get_id() == FORMAT);
    let heading = format_arg.and_then(Arg::get_help_heading);
    let heading = heading.filter(|it| *it == OUTPUT).map(|_| OUTPUT);
    let has_quiet = command.get_arguments().any(|it| it.get_id() == "quiet");
    let others = [FORMAT].into_iter().chain(has_quiet.then_some("quiet"));
    let flag = Arg::new(JSON)
        .long(JSON)
        .action(ArgAction::SetTrue)
        .help(format!("Short for --format {format}"))
        .help_heading(heading)
        .conflicts_with_all(others);
    let is_given = ArgPredicate::Equals("true".into());
    command
        .mut_arg(FORMAT, |it| it.default_value_if(JSON, is_given, format))
        .arg(flag)
}
