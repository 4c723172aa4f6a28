//! `man`: manual pages, for packagers.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use super::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Print the manual page of a command
///
/// For example: lapidary man translate | man -l -
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command; without it, the page of `lapidary` itself
    command: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    if let Some(name) = &args.command {
        let Some(command) = root.find_subcommand(name) else {
            let known: Vec<_> = root
                .get_subcommands()
                .map(clap::Command::get_name)
                .collect();
            let failure = Failure::usage(anyhow::anyhow!("there is no command `{name}`"));
            return Err(failure.with_hint(format!("there are {}", known.join(", "))));
        };
        root = command.clone();
    }
    out.write_all(page(&root)?.as_bytes())?;
    Ok(Exit::Success)
}

/// The page. Examples and tables are as they were written: the generator would fill their lines up as if they were prose.
fn page(command: &clap::Command) -> io::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let page = String::from_utf8_lossy(&page);
    let Some((before, notes)) = page.split_once(".SH EXTRA\n") else {
        return Ok(page.into_owned());
    };
    let (notes, after) = notes.split_at(notes.find("\n.SH ").map_or(notes.len(), |end| end + 1));
    Ok(format!("{before}.SH NOTES\n.nf\n{notes}.fi\n{after}"))
}
