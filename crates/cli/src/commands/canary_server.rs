//! `canary-server`: the MCP server whose tool a scripted model calls when `doctor --prove` proves a denial.

use std::fs;
use std::io::BufReader;
use std::path::PathBuf;

use lapidary_standin::attempt::{serve_vault, trace_of};

use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Serve one MCP tool over stdio, with a file for each sort of request that came
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory in which the files are made
    directory: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let stdin = BufReader::new(out.invocation.stdin_reader());
    serve_vault(stdin, out, |request| {
        fs::write(args.directory.join(trace_of(request)), "")
    })?;
    Ok(CommandExit::Success)
}
