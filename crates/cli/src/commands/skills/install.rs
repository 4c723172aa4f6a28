//! `skills install`: skills from a directory, a repository or an archive.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lapidary::drive::git::{self, CloneError, CloneRequest};
use lapidary::drive::process::Supervisor;
use lapidary::home::skills::{
    InstallError, Package, PackageError, PackageRequest, Placed, Refusal, Way, unpack,
};
use tempfile::TempDir;

use super::common::{Here, ScopeArg, Workspace};
use super::consent;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::complain;

/// Install skills from a directory, a git repository or a .skill file
///
/// All skills that are found are installed, or none: they are copied beside their place and moved there when they are complete. What leads out of its directory is refused: links, names in archives, paths.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills install ./my-skill
  lapidary skills install https://example.org/skills.git --path skills/reviewer
  lapidary skills install reviewer.skill --scope workspace --consent

On a terminal it shows what comes, and asks. Elsewhere it takes --consent.")]
pub(crate) struct Args {
    /// A directory, an address (https://, http://, ssh://, git@, file://), or a file whose name ends in .skill
    #[arg(value_name = "SOURCE")]
    source: String,
    /// The directory in it that has the skills
    #[arg(long, value_name = "DIR")]
    path: Option<String>,
    /// For whom
    #[arg(long, value_enum, default_value_t = ScopeArg::User)]
    scope: ScopeArg,
    /// Do not ask: you have looked at what it does
    #[arg(long)]
    consent: bool,
    /// How long cloning may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    #[command(flatten)]
    workspace: Workspace,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let here = Here::read(&args.workspace)?;
    let source = Source::fetch(args, &here)?;
    let root = source.root();
    let searched = args
        .path
        .as_ref()
        .map_or(root.to_owned(), |path| root.join(path));
    complain(&format!(
        "Searching for skills in {}...",
        searched.display()
    ));
    let package = Package::find(&PackageRequest {
        root,
        path: args.path.as_deref(),
        name: &args.source,
        is_foreign: source.is_foreign(),
    })
    .map_err(nothing_found)?;
    say_refused(&package.refused);
    let target = here.target(args.scope)?;
    if !consent::is_given(&package, &args.source, &target, Way::Copy, args.consent)? {
        complain("Skill installation cancelled by user.");
        return Ok(Exit::Cancelled);
    }
    let placed = package.install(&target, Way::Copy).map_err(not_installed)?;
    for skill in &placed {
        say_overwritten(skill, "");
        complain(&format!(
            "Successfully installed skill: {} (scope: {}, location: {})",
            skill.name,
            args.scope.as_str(),
            skill.location.display()
        ));
    }
    here.warn_of_distrust(args.scope);
    Ok(Exit::Success)
}

/// Where the skills are, here.
enum Source {
    Local(PathBuf),
    /// Unpacked or cloned into a directory that goes away again.
    Fetched(TempDir),
}

impl Source {
    fn fetch(args: &Args, here: &Here) -> Result<Self, Failure> {
        let source = &args.source;
        if git::is_url(source) {
            let directory = temporary()?;
            complain(&format!("Cloning skill from {source}..."));
            clone(args, here, directory.path())?;
            return Ok(Self::Fetched(directory));
        }
        let path = here.place.environment.dir.join(source);
        if source.to_lowercase().ends_with(".skill") {
            let directory = temporary()?;
            complain(&format!("Extracting skill from {source}..."));
            unpack(&path, directory.path()).map_err(Failure::bad_input)?;
            return Ok(Self::Fetched(directory));
        }
        Ok(Self::Local(path))
    }

    fn root(&self) -> &Path {
        match self {
            Self::Local(path) => path,
            Self::Fetched(directory) => directory.path(),
        }
    }

    fn is_foreign(&self) -> bool {
        matches!(self, Self::Fetched(_))
    }
}

fn temporary() -> Result<TempDir, Failure> {
    let made = tempfile::Builder::new().prefix("lapidary-skill-").tempdir();
    let made = made.context("cannot make a temporary directory");
    made.map_err(Failure::internal)
}

fn clone(args: &Args, here: &Here, into: &Path) -> Result<(), Failure> {
    let program = std::env::current_exe().context("cannot tell where this program is");
    let supervisor = Supervisor::at(program.map_err(Failure::internal)?);
    let request = CloneRequest {
        url: &args.source,
        into,
        environment: &here.place.environment,
        supervisor: &supervisor,
        deadline: Duration::from_secs(args.timeout),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.context("cannot start").map_err(Failure::internal)?;
    runtime.block_on(git::clone(&request)).map_err(|error| {
        let exit = match error {
            CloneError::TimedOut { .. } => Exit::Timeout,
            CloneError::NoGit | CloneError::Start(_) => Exit::AgentMissing,
            CloneError::TooMuch(_) => Exit::Limit,
            _ => Exit::BadInput,
        };
        let mut failure = Failure::bad_input(error);
        failure.exit = exit;
        failure
    })
}

/// What is there instead is worth more than that nothing is.
pub(super) fn nothing_found(error: PackageError) -> Failure {
    let PackageError::NoSkills { refused, below, .. } = &error else {
        return Failure::bad_input(error);
    };
    say_refused(refused);
    let mut hints: Vec<String> = below
        .iter()
        .take(10)
        .map(|(path, count)| {
            let skills = if *count == 1 { "skill" } else { "skills" };
            format!("`--path {}` ({count} {skills})", path.display())
        })
        .collect();
    if below.len() > hints.len() {
        hints.push(format!("{} more", below.len() - hints.len()));
    }
    let failure = Failure::bad_input(error);
    if hints.is_empty() {
        return failure;
    }
    failure.with_hint(format!(
        "there are skills further down: {}",
        hints.join(", ")
    ))
}

fn say_refused(refused: &[Refusal]) {
    for refusal in refused {
        complain(&format!(
            "warning: `{}` {}",
            refusal.path.display(),
            refusal.why
        ));
    }
}

pub(super) fn say_overwritten(skill: &Placed, place: &str) {
    if skill.replaced {
        complain(&format!(
            r#"Skill "{}" already exists{place}. Overwriting..."#,
            skill.name
        ));
    }
}

pub(super) fn not_installed(error: InstallError) -> Failure {
    match &error {
        InstallError::Io { .. } | InstallError::Busy(_) => Failure::internal(error),
        InstallError::Copy(_) => {
            let failure = Failure::bad_input(anyhow!(error).context("nothing was installed"));
            failure.with_hint("`lapidary skills link` uses a directory as it is")
        }
        _ => Failure::bad_input(error),
    }
}
