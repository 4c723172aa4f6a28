//! `skills link`: skills that stay where they are.

use lapidary::home::skills::{Package, PackageError, PackageRequest, Way};

use super::common::{Here, ScopeArg, Workspace};
use super::consent;
use super::install::{not_installed, nothing_found, say_overwritten};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::complain;

/// Link skills from a directory, so that changes there count at once
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills link ~/my-skills
  lapidary skills link . --scope workspace --consent

On a terminal it shows what comes, and asks. Elsewhere it takes --consent.")]
pub(crate) struct Args {
    /// The directory
    #[arg(value_name = "PATH")]
    path: String,
    /// For whom
    #[arg(long, value_enum, default_value_t = ScopeArg::User)]
    scope: ScopeArg,
    /// Do not ask: you have looked at what it does
    #[arg(long)]
    consent: bool,
    #[command(flatten)]
    workspace: Workspace,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let here = Here::read(&args.workspace)?;
    let root = here.place.environment.dir.join(&args.path);
    let root = root.canonicalize().unwrap_or(root);
    let name = root.display().to_string();
    complain(&format!("Searching for skills in {name}..."));
    let package = Package::find(&PackageRequest {
        root: &root,
        path: None,
        name: &format!("\"{name}\""),
        is_foreign: false,
    });
    let package = package.map_err(|error: PackageError| nothing_found(error))?;
    let target = here.target(args.scope)?;
    if !consent::is_given(&package, &args.path, &target, Way::Link, args.consent)? {
        complain("Skill linking cancelled by user.");
        return Ok(Exit::Cancelled);
    }
    let placed = package.install(&target, Way::Link).map_err(not_installed)?;
    for skill in &placed {
        say_overwritten(skill, " at destination");
    }
    complain("Successfully linked skills.");
    here.warn_of_distrust(args.scope);
    Ok(Exit::Success)
}
