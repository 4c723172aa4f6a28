//! `sessions resume`: go on where a session ended, without losing it.

use std::time::SystemTime;

use lapidary::drive::headless::Job;
use lapidary::home::sessions::{Project, Selection};
use lapidary::home::vault::{Guard, Vault};

use super::super::run::{self, With};
use super::common::{Place, Scope, selected};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Continue a session, with a copy of everything in the vault
///
/// Gemini CLI 0.61 destroys conversations that it resumes: the next start of it deletes them. Here they are copied before, checked after,
/// and put back where something is missing. All that `run` can be told can be told here.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions resume latest 'and now the documentation'
  lapidary sessions resume 3 --permission-mode acceptEdits 'fix the failing test'
  git diff | lapidary sessions resume 4f1c2b3a-5d6e-4f70-8a9b-0c1d2e3f4a5b - --format result

`latest` is the session that began last, as Gemini CLI has it. A number is one of `lapidary sessions list`. Exits as `run` does; 13 if there is no such session.")]
pub(crate) struct Args {
    /// `latest`, a number of the list, or a whole id
    #[arg(value_name = "SESSION")]
    session: String,
    /// What the agent is to do; `-` or nothing reads it from stdin
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    #[command(flatten)]
    with: With,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    run::carry_out(args.prompt.as_deref(), &args.with, out, |job| {
        choose(&args.session, job)
    })
}

/// Names the session by its whole id: by the time the agent looks, numbers may have changed.
fn choose(session: &str, job: &mut Job) -> Result<(), Failure> {
    let scope = Scope {
        project: Some(job.config.working_dir_in(&job.environment.dir)),
        all: false,
        // What is about to be changed is read from the files.
        no_index: true,
    };
    let place = Place::open()?;
    finish_killed(job, &place.projects(&scope)?);
    let listing = place.listing(&scope)?;
    let found = selected(&listing, session, Selection::Strict);
    let found = found.map_err(|failure| match &job.vault {
        Some(vault) if Vault::open(vault).newest_of(session).is_ok() => failure.with_hint(format!(
            "the vault has it: `lapidary sessions vault restore {session}` brings it back"
        )),
        _ => failure,
    })?;
    job.resume = Some(found.info.id.clone());
    Ok(())
}

/// What a run has lost that was killed is back before anything is chosen: else `latest` would be another session, and a lost one none.
fn finish_killed(job: &mut Job, projects: &[Project]) {
    let Some(vault) = &job.vault else { return };
    let chats: Vec<_> = projects.iter().flat_map(Project::chats).collect();
    let done = Guard::finish_killed(&Vault::open(vault), &chats, SystemTime::now());
    let told = done.into_iter().map(|action| action.sentence);
    job.notices.extend(told);
}
