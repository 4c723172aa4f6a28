//! `completions`: for the shells.

use std::io::Write as _;

use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use lapidary::engine::agents;
use lapidary::gemini::hooks::HookEvent;
use lapidary::vocab::schema::PUBLISHED;

use super::command_line;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Print a completion script for a shell
///
/// For example: lapidary completions bash > ~/.local/share/bash-completion/completions/lapidary
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    // By way of memory: the generator panics if it cannot write.
    let mut script = Vec::new();
    let mut command = with_names(command_line());
    clap_complete::generate(args.shell, &mut command, "lapidary", &mut script);
    let script = with_ids(args.shell, String::from_utf8_lossy(&script).into_owned());
    out.write_all(script.as_bytes())?;
    Ok(CommandExit::Success)
}

/// Ids of runs and sessions are not known when the script is made: it asks `lapidary complete-ids` for them.
fn with_ids(shell: Shell, script: String) -> String {
    match shell {
        Shell::Bash => script + include_str!("completions/ids.bash"),
        Shell::Fish => script + include_str!("completions/ids.fish"),
        Shell::Zsh => {
            let head = "_lapidary() {\n";
            let asking = format!("{head}{}", include_str!("completions/ids.zsh"));
            script.replacen(head, &asking, 1)
        }
        _ => script,
    }
}

/// Names that a shell may offer where others are taken, too, or where we say more about a wrong one than the parser would.
fn with_names(command: Command) -> Command {
    let command = command.mut_subcommands(|verb| match verb.get_name() {
        "hooks" => verb.mut_subcommands(|verb| offer_values(verb, "event", &event_names())),
        "schema" => offer_values(verb, "name", &schema_names()),
        _ => verb,
    });
    command.mut_subcommands(|verb| offer_values(verb, "agent", &agent_names()))
}

/// A command that offers these for an argument, if it has that.
fn offer_values(command: Command, argument: &str, names: &[&'static str]) -> Command {
    if !command.get_arguments().any(|it| it.get_id() == argument) {
        return command;
    }
    command.mut_arg(argument, |it| {
        it.value_parser(PossibleValuesParser::new(names.to_vec()))
    })
}

fn event_names() -> Vec<&'static str> {
    HookEvent::ALL.map(HookEvent::as_str).into()
}

fn schema_names() -> Vec<&'static str> {
    PUBLISHED.iter().map(|it| it.name).collect()
}

/// The known agents, and the demo.
fn agent_names() -> Vec<&'static str> {
    let known = agents::KNOWN.iter().map(|agent| agent.name);
    known.chain(["demo"]).collect()
}
