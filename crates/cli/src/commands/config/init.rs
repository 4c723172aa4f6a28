//! `config init`: a commented configuration file to start from.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use lapidary::engine::config::FILE_NAME;

use super::files;
use super::template::{ConfigOwner, config_template};
use crate::commands::sessions::export::file::{self as whole_file, ExportManner};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;
use lapidary::engine::recording::private_directories;

/// Write a commented lapidary.toml, in which nothing is set yet
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary config init           the project's file, ./lapidary.toml
  lapidary config init --user    your own file, which may also grant permissions

A file that exists is never replaced.")]
pub(crate) struct Args {
    /// Write your own file instead of the project's
    #[arg(long)]
    user: bool,
    /// Directory of the project [default: .]
    #[arg(
        short = 'C',
        long = "working-dir",
        value_name = "DIR",
        conflicts_with = "user"
    )]
    working_dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let (directory, environment) =
        files::search_context(args.working_dir.as_deref(), &out.invocation)?;
    let (path, owner) = if args.user {
        let path = files::user_file(&environment);
        let path = path.ok_or_else(|| {
            let failure = Failure::bad_input(anyhow!("there is no home directory"));
            failure.with_hint("set HOME or XDG_CONFIG_HOME")
        })?;
        (path, ConfigOwner::User)
    } else {
        (directory.join(FILE_NAME), ConfigOwner::Project)
    };
    if path.symlink_metadata().is_ok() {
        let failure = Failure::bad_input(anyhow!("`{}` exists already", path.display()));
        return Err(failure.with_hint("`lapidary config show` shows what it says"));
    }
    if let Some(folder) = path.parent() {
        private_directories(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))
            .map_err(Failure::bad_input)?;
    }
    let manner = ExportManner {
        is_private: false,
        replaces: false,
    };
    whole_file::write_export_file(&path, manner, |file| {
        Ok(file.write_all(config_template(owner).as_bytes())?)
    })?;
    writeln!(
        out,
        "{}",
        lapidary::render::plain::sanitize(&path.display().to_string())
    )?;
    out.print_note("every line is a comment: remove the `#` of what you want to set")?;
    Ok(CommandExit::Success)
}
