//! The `lapidary` command: arguments in, a short story each, an exit code out.

mod commands;
mod durations;
mod escaped_writer;
mod exit;
mod failure;
mod foreign_options;
mod live;
mod printer;
mod system;
mod terminal_filter;
mod usage;

use std::process::ExitCode;

use crate::failure::report;
use crate::printer::Printer;

fn main() -> ExitCode {
    // First of all: as a supervisor this program has nothing to parse and nothing to print.
    if let Some(exit) = lapidary::engine::process::supervisor::run_if_asked(std::env::args_os()) {
        return exit;
    }
    system::survive_large_files();
    let args: Vec<_> = std::env::args_os().collect();
    let cli = match commands::parse(&args) {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error),
    };
    let mut printer = Printer::new();
    let ended = commands::run(cli.command.as_ref(), &mut printer);
    match ended.and_then(|exit| printer.close().map(|()| exit).map_err(Into::into)) {
        Ok(exit) => exit,
        Err(failure) => report(&failure),
    }
}
