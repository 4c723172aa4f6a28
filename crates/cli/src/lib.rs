//! The commands of `lapidary`: arguments in, a short story each, an exit code out.

mod commands;
#[cfg(test)]
mod document_commands;
mod durations;
mod escaped_writer;
mod exit;
mod failure;
mod foreign_options;
mod invocation;
mod live;
mod printer;
mod system;
mod terminal_filter;
mod usage;

use std::sync::Arc;

use crate::exit::CommandExit;
use crate::failure::report_failure;
use crate::printer::Printer;

pub use crate::invocation::{Invocation, StandardStreams};

/// Makes a write fail that exceeds the file size limit of this process: by default the signal would end it without a message.
pub fn survive_large_files() {
    system::survive_large_files();
}

/// Runs the command that the arguments name. Returns the exit code.
pub fn run(invocation: Invocation) -> u8 {
    let invocation = Arc::new(invocation);
    let exit = match commands::parse(&invocation) {
        Ok(cli) => run_command(&cli, &invocation),
        Err(error) => usage::report_usage_error(&error, &invocation),
    };
    exit.exit_code()
}

fn run_command(cli: &commands::Cli, invocation: &Arc<Invocation>) -> CommandExit {
    let mut printer = Printer::new(invocation.clone());
    let ended = commands::run(cli.command.as_ref(), &mut printer);
    match ended.and_then(|exit| printer.close().map(|()| exit).map_err(Into::into)) {
        Ok(exit) => exit,
        Err(failure) => report_failure(&failure, invocation),
    }
}
