//! `skills link`: skills that stay where they are.

use std::path::Path;

use anyhow::anyhow;
use clap::builder::NonEmptyStringValueParser;
use lapidary::gemini::skills::{InstallMode, PackageRequest, SkillPackage};
use lapidary::vocab::skills::SkillAction;

use super::change::{SkillChangeFormat, SkillChangeOutcome};
use super::common::{SkillScopeArg, SkillsContext, SkillsWorkspace, remove_leftovers};
use super::consent::ConsentQuestion;
use super::install::{not_installed, nothing_found, overwritten_remark};
use super::source::{FetchVerb, not_a_directory};
use super::stop::StopListener;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Link skills from a directory, so that changes there count at once
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary skills link ~/my-skills
  lapidary skills link . --scope workspace --consent

On a terminal it shows the skills, and asks. Without a terminal it needs --consent.")]
pub(crate) struct Args {
    /// The directory
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::DirPath, value_parser = NonEmptyStringValueParser::new())]
    path: String,
    /// For whom
    #[arg(long, value_enum, default_value_t = SkillScopeArg::User)]
    scope: SkillScopeArg,
    /// Do not ask: you have read the skill
    #[arg(long)]
    consent: bool,
    #[command(flatten)]
    workspace: SkillsWorkspace,
    #[command(flatten)]
    output: SkillChangeFormat,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let here = SkillsContext::read_context(&args.workspace, &out.invocation)?;
    let target = here.target_dir(args.scope)?;
    let stop = StopListener::listen_for_signals(&out.invocation);
    let package = find_package(args, &here)?;
    let asked = ConsentQuestion {
        invocation: &out.invocation,
        package: &package,
        source: &args.path,
        target: &target,
        way: InstallMode::Link,
    };
    if !asked.obtain_consent(args.consent, &stop)? {
        out.print_message("Skill linking cancelled by user.");
        return Ok(CommandExit::Cancelled);
    }
    remove_leftovers(&target, &out.invocation, &|| stop.is_wanted())?;
    let placed = package.install_unless(&target, InstallMode::Link, &|| stop.is_wanted());
    let mut outcome = SkillChangeOutcome::new(SkillAction::Link);
    for skill in &placed.map_err(not_installed)? {
        outcome.note_skill(skill);
        outcome
            .words
            .extend(overwritten_remark(skill, " at destination"));
    }
    outcome.words.push("Successfully linked skills.".to_owned());
    outcome.change.source = Some(args.path.clone());
    outcome.change.scope = Some(args.scope.skill_scope());
    outcome
        .change
        .remarks
        .extend(here.untrusted_warning(args.scope));
    args.output.print_outcome(&outcome, out)
}

fn find_package(args: &Args, here: &SkillsContext) -> Result<SkillPackage, Failure> {
    let root = here.place.environment.dir.join(&args.path);
    let root = root
        .canonicalize()
        .map_err(|error| Failure::bad_input(anyhow!("cannot read `{}`: {error}", args.path)))?;
    if !root.is_dir() {
        return Err(not_a_directory(&args.path, FetchVerb::Link));
    }
    let name = root.display().to_string();
    here.place
        .invocation
        .print_message(&format!("Searching for skills in {name}..."));
    let package = SkillPackage::find(&PackageRequest {
        root: &root,
        path: None,
        name: &format!("\"{name}\""),
        is_foreign: false,
    });
    // A skill further down is linked by its own path.
    let further = |path: &Path| format!("`{}`", Path::new(&args.path).join(path).display());
    package.map_err(|error| nothing_found(error, &further, &here.place.invocation))
}
