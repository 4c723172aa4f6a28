//! `man`: manual pages, for packagers.

mod sections;

use std::io::{self, Write as _};

use anyhow::anyhow;
use clap::Command;

use super::command_line;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Print the manual page of a command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary man translate | man -l -
  lapidary man skills install > lapidary-skills-install.1
  lapidary man skills-install | man -l -")]
pub(crate) struct Args {
    /// The command, such as `skills install` or `skills-install`; without it, the page of `lapidary` itself
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let mut root = command_line();
    root.build();
    let mut command = &root;
    for name in &args.command {
        command = command_below(command, name)?;
    }
    out.write_all(man_page(command)?.as_bytes())?;
    Ok(CommandExit::Success)
}

/// The command that a name leads to, which may be that of its page: pages of commands in commands have dashes in theirs.
fn command_below<'c>(command: &'c Command, name: &str) -> Result<&'c Command, Failure> {
    if let Some(found) = command.find_subcommand(name) {
        return Ok(found);
    }
    let parts = name.split_once('-');
    if let Some((first, rest)) = parts
        && let Some(found) = command.find_subcommand(first)
    {
        return command_below(found, rest);
    }
    let known = command.get_subcommands().filter(|it| !it.is_hide_set());
    let known: Vec<_> = known.map(Command::get_name).collect();
    let said = command.get_bin_name().unwrap_or_default();
    let said = said.strip_prefix("lapidary").unwrap_or(said).trim_start();
    let failure = Failure::usage(anyhow!(
        "there is no command `{}`",
        format!("{said} {name}").trim_start()
    ));
    Err(if known.is_empty() {
        failure.with_hint(format!("`{said}` has none of its own"))
    } else {
        failure.with_hint(format!("there are {}", known.join(", ")))
    })
}

fn man_page(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    let version = concat!("lapidary ", env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(command.clone()).source(version);
    man.render(&mut page)?;
    Ok(sections::section_pages(&String::from_utf8_lossy(&page)))
}
