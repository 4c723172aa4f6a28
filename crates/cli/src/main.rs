//! The `lapidary` command: the process is an [`Invocation`], and ends with the exit code of its command.

use std::process::ExitCode;

use lapidary_cli::Invocation;

fn main() -> ExitCode {
    // First of all: as a supervisor this program has nothing to parse and nothing to print.
    if let Some(exit) = lapidary::supervise_if_asked() {
        return exit;
    }
    lapidary_cli::survive_large_files();
    ExitCode::from(lapidary_cli::run(Invocation::from_process()))
}
