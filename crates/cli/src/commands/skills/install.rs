//! `skills install`: skills from a directory, a repository or an archive.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use lapidary::engine::git;
use lapidary::gemini::skills::{
    InstallError, InstallMode, PackageError, PackageRequest, PlacedSkill, RefusedSkill,
    SkillPackage, normalized,
};
use lapidary::vocab::skills::SkillAction;

use super::change::{SkillChangeFormat, SkillChangeOutcome};
use super::common::{SkillScopeArg, SkillsContext, SkillsWorkspace, remove_leftovers};
use super::consent::ConsentQuestion;
use super::source::{FetchRequest, SkillSource};
use super::stop::{StopListener, cancelled_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Install skills from a directory, a git repository or a .skill file
///
/// All skills that are found are installed, or none: they are copied beside their place and moved there when they are complete. What leads out of its directory is refused: links, names in archives, paths.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills install ./my-skill
  lapidary skills install owner/repo
  lapidary skills install https://example.org/skills.git --path skills/reviewer
  lapidary skills install reviewer.skill --scope workspace --consent

On a terminal it shows the skills, and asks. Without a terminal it needs --consent.")]
pub(crate) struct Args {
    /// A directory, OWNER/REPO on GitHub, an address (https://, http://, ssh://, git@, file://), or a .skill file
    #[arg(value_name = "SOURCE", value_hint = clap::ValueHint::AnyPath, value_parser = NonEmptyStringValueParser::new())]
    source: String,
    /// The directory in it that has the skills
    #[arg(long, value_name = "DIR")]
    path: Option<String>,
    /// For whom
    #[arg(long, value_enum, default_value_t = SkillScopeArg::User)]
    scope: SkillScopeArg,
    /// Do not ask: you have read the skill
    #[arg(long)]
    consent: bool,
    /// How long cloning may take
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = crate::durations::time_up_to_an_hour)]
    timeout: Duration,
    #[command(flatten)]
    workspace: SkillsWorkspace,
    #[command(flatten)]
    output: SkillChangeFormat,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = SkillsContext::read_context(&args.workspace, &out.invocation)?;
    let target = here.target_dir(args.scope)?;
    let stop = StopListener::listen_for_signals(&out.invocation);
    let request = FetchRequest {
        source: &args.source,
        deadline: args.timeout,
        stop: &stop,
    };
    let source = SkillSource::fetch_source(&request, &here)?;
    stop.check()?;
    let package = find_package(args, &source, &out.invocation)?;
    say_refused(&package.refused, &out.invocation);
    let shown = git::shown(&args.source);
    let asked = ConsentQuestion {
        invocation: &out.invocation,
        package: &package,
        source: &shown,
        target: &target,
        way: InstallMode::Copy,
    };
    if !asked.obtain_consent(args.consent, &stop)? {
        out.print_message("Skill installation cancelled by user.");
        return Ok(CommandExit::Cancelled);
    }
    remove_leftovers(&target, &out.invocation, &|| stop.is_wanted())?;
    let placed = package.install_unless(&target, InstallMode::Copy, &|| stop.is_wanted());
    let mut outcome = SkillChangeOutcome::new(SkillAction::Install);
    for skill in &placed.map_err(|error| not_copied(error, &source))? {
        outcome.note_skill(skill);
        outcome.words.extend(overwritten_remark(skill, ""));
        outcome.words.push(format!(
            "Successfully installed skill: {} (scope: {}, location: {})",
            skill.name,
            args.scope.as_str(),
            skill.location.display()
        ));
    }
    outcome.change.source = Some(shown);
    outcome.change.scope = Some(args.scope.skill_scope());
    outcome
        .change
        .remarks
        .extend(here.untrusted_warning(args.scope));
    args.output.print_outcome(&outcome, out)
}

fn find_package(
    args: &Args,
    source: &SkillSource,
    invocation: &Invocation,
) -> Result<SkillPackage, Failure> {
    let root = source.root_dir();
    let searched = args.path.as_ref().map(|path| root.join(path));
    let searched = normalized(searched.as_deref().unwrap_or(root));
    invocation.print_message(&format!(
        "Searching for skills in {}...",
        searched.display()
    ));
    let package = SkillPackage::find(&PackageRequest {
        root,
        path: args.path.as_deref(),
        name: &git::shown(&args.source),
        is_foreign: source.is_foreign(),
    });
    let named = |path: &Path| match path.to_str() {
        Some("") => "without --path".to_owned(),
        _ => format!("`--path {}`", path.display()),
    };
    package.map_err(|error| nothing_found(error, &named, invocation))
}

/// Reports that there are no skills, with the skills further down as a hint. `named` says how to name a directory further down.
pub(super) fn nothing_found(
    error: PackageError,
    named: &dyn Fn(&Path) -> String,
    invocation: &Invocation,
) -> Failure {
    let (below, further) = match &error {
        PackageError::NoSkills { refused, below, .. } => {
            say_refused(refused, invocation);
            (below, "there are skills further down")
        }
        PackageError::NoDirectory { path, is_file, .. } if *is_file => {
            let directory = Path::new(path).parent().unwrap_or(Path::new(""));
            let hint = format!("it is a file: give its directory, {}", named(directory));
            return Failure::bad_input(error).with_hint(hint);
        }
        PackageError::NoDirectory { below, .. } => (below, "there are skills"),
        _ => return Failure::bad_input(error),
    };
    let mut hints: Vec<String> = below
        .iter()
        .take(10)
        .map(|(path, count)| {
            let skills = if *count == 1 { "skill" } else { "skills" };
            format!("{} ({count} {skills})", named(path))
        })
        .collect();
    if below.len() > hints.len() {
        hints.push(format!("{} more", below.len() - hints.len()));
    }
    let failure = Failure::bad_input(error);
    if hints.is_empty() {
        return failure;
    }
    failure.with_hint(format!("{further}: {}", hints.join(", ")))
}

fn say_refused(refused: &[RefusedSkill], invocation: &Invocation) {
    for refusal in refused {
        invocation.print_message(&format!(
            "warning: `{}`: {}",
            refusal.path.display(),
            refusal.why
        ));
    }
}

pub(super) fn overwritten_remark(skill: &PlacedSkill, place: &str) -> Option<String> {
    let name = &skill.name;
    let words = || format!(r#"Skill "{name}" already exists{place}. Overwriting..."#);
    skill.replaced.then(words)
}

/// The hint to link is only for a local directory: a fetched one is removed when we exit.
fn not_copied(error: InstallError, source: &SkillSource) -> Failure {
    let could_be_linked = matches!(error, InstallError::Copy(_)) && !source.is_foreign();
    let failure = not_installed(error);
    if could_be_linked {
        return failure.with_hint("`lapidary skills link` uses a directory as it is");
    }
    failure
}

pub(super) fn not_installed(error: InstallError) -> Failure {
    match &error {
        InstallError::Stopped => cancelled_failure(),
        // Only the author of the source can change an invalid name.
        InstallError::Io { source, .. } if source.kind() == ErrorKind::InvalidFilename => {
            Failure::bad_input(error)
        }
        InstallError::Io { .. }
        | InstallError::Busy(_)
        | InstallError::Changed(_)
        | InstallError::Stuck { .. }
        | InstallError::Left { .. } => Failure::internal(error),
        InstallError::Copy(_) => {
            Failure::bad_input(anyhow!(error).context("nothing was installed"))
        }
        _ => Failure::bad_input(error),
    }
}
