//! Reads the command line, and describes to clap no more of it than is needed.
//!
//! The description of all commands has hundreds of options, and making it takes longer than a short translation. So the command
//! that the first argument names is described alone. If clap does not accept the arguments that way, the whole description reads
//! them again: help, complaints and suggestions are always made from it.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use clap::{Args as _, FromArgMatches as _};

use super::{
    Cli, acp, agents, canary_server, capabilities, command_line, complete_ids, completions, config,
    connect, doctor, fleet, hooks, machine_format, man, mcp, policy, record, replay, run, runs,
    schema, serve, sessions, skills, translate,
};
use crate::invocation::{Invocation, StandardStreams};

/// The width of help where clap finds no terminal.
const PIPE_WIDTH: usize = 100;

/// Reads the arguments of an invocation.
pub(crate) fn parse(invocation: &Invocation) -> Result<Cli, clap::Error> {
    let args = &invocation.args;
    let is_help = |arg: &OsString| arg == "--help" || arg == "-h";
    let named = args.get(1).and_then(|name| name.to_str());
    let named = named.filter(|_| !args.iter().any(is_help));
    match named
        .and_then(single_command_line)
        .map(|alone| parse_args(alone, args))
    {
        Some(Ok(cli)) => Ok(cli),
        Some(Err(_)) | None => parse_args(whole_command_line(invocation), args),
    }
}

/// The whole command line. For streams that are not those of the process, help is as wide as clap makes it for a pipe.
fn whole_command_line(invocation: &Invocation) -> clap::Command {
    match invocation.streams {
        StandardStreams::Process => command_line(),
        StandardStreams::Files { .. } => {
            let named = invocation
                .variable_value("COLUMNS")
                .and_then(|it| it.to_str()?.parse().ok());
            command_line().term_width(named.unwrap_or(PIPE_WIDTH))
        }
    }
}

fn parse_args(command_line: clap::Command, args: &[OsString]) -> Result<Cli, clap::Error> {
    // Not dropped: that takes longer than parsing, and the process ends with it.
    let mut command_line = ManuallyDrop::new(command_line);
    let matches = command_line.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches)
}

/// The command line with one command only: the one of this name.
fn single_command_line(name: &str) -> Option<clap::Command> {
    let (name, describe) = COMMANDS.iter().find(|(known, _)| *known == name)?;
    let command = machine_format::with_json(describe(clap::Command::new(*name)));
    Some(clap::Command::new("lapidary").subcommand(command))
}

/// Adds the options of a command.
type Describe = fn(clap::Command) -> clap::Command;

/// Commands by name. An alias, which is missing here, is read by the whole description.
const COMMANDS: &[(&str, Describe)] = &[
    ("run", run::Args::augment_args),
    ("connect", connect::Args::augment_args),
    ("acp", acp::Args::augment_args),
    ("runs", runs::Args::augment_args),
    ("translate", translate::Args::augment_args),
    ("sessions", sessions::Args::augment_args),
    ("skills", skills::Args::augment_args),
    ("hooks", hooks::Args::augment_args),
    ("agents", agents::Args::augment_args),
    ("mcp", mcp::Args::augment_args),
    ("record", record::Args::augment_args),
    ("replay", replay::Args::augment_args),
    ("policy", policy::Args::augment_args),
    ("config", config::Args::augment_args),
    ("capabilities", capabilities::Args::augment_args),
    ("doctor", doctor::Args::augment_args),
    ("schema", schema::Args::augment_args),
    ("serve", serve::Args::augment_args),
    ("fleet", fleet::Args::augment_args),
    ("completions", completions::Args::augment_args),
    ("canary-server", canary_server::Args::augment_args),
    ("complete-ids", complete_ids::Args::augment_args),
    ("man", man::Args::augment_args),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_described_alone_has_the_options_that_it_has_among_all() {
        let mut all = command_line();
        all.build();
        for (name, _) in COMMANDS {
            let mut alone = single_command_line(name).unwrap();
            alone.build();
            let described = |line: &clap::Command| {
                let command = line.find_subcommand(name).expect(name);
                format!("{:#?}", command.get_arguments().collect::<Vec<_>>())
            };
            assert_eq!(described(&alone), described(&all), "{name}");
        }
    }

    #[test]
    fn every_command_can_be_described_alone() {
        let named: Vec<_> = COMMANDS.iter().map(|(name, _)| *name).collect();
        let all = command_line();
        let missing = all.get_subcommands().map(clap::Command::get_name);
        let missing: Vec<_> = missing.filter(|name| !named.contains(name)).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn both_descriptions_read_the_same_arguments() {
        for line in [
            "run --json --deny edit:**/*.rs Tidy",
            "run --format result --timeout 3s -- Tidy",
            "translate --deltas final --max-line 7 a.jsonl",
            "sessions search words --since 7d --json",
            "sessions vault add --all",
            "skills list",
            "record -- gemini --acp",
        ] {
            let args: Vec<OsString> = ["lapidary"]
                .into_iter()
                .chain(line.split(' '))
                .map(Into::into)
                .collect();
            let name = line.split(' ').next().unwrap();
            let alone = parse_args(single_command_line(name).unwrap(), &args).expect(line);
            let among_all = parse_args(command_line(), &args).expect(line);
            assert_eq!(format!("{alone:?}"), format!("{among_all:?}"));
        }
    }

    #[test]
    fn an_alias_or_a_wrong_argument_is_read_by_the_whole_description() {
        let parsed = |line: &str| {
            let mut invocation = Invocation::from_process();
            invocation.args = line.split(' ').map(Into::into).collect();
            parse(&invocation)
        };
        assert!(single_command_line("exec").is_none());
        assert!(parsed("lapidary exec Tidy").is_ok());
        let complaint = |error: clap::Error| error.to_string();
        let wrong = parsed("lapidary run --jsn").map_err(complaint).unwrap_err();
        let whole = command_line().try_get_matches_from(["lapidary", "run", "--jsn"]);
        assert_eq!(wrong, whole.map_err(complaint).unwrap_err());
    }
}
