//! `canary-server`: the MCP server whose tool a scripted model calls when `doctor --prove` proves a denial.

use std::fs;
use std::io;
use std::path::PathBuf;

use lapidary_standin::attempt::serve_vault;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Serve one MCP tool over stdio that makes a file when it is called
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file that a call makes
    file: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    serve_vault(io::stdin().lock(), out, || fs::write(&args.file, ""))?;
    Ok(Exit::Success)
}
