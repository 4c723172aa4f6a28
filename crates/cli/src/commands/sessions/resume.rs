//! `sessions resume`: continue a session, without losing it.

mod other_agent;
mod screen;

use std::sync::Arc;
use std::time::SystemTime;

use anyhow::anyhow;
use lapidary::engine::headless::Job;
use lapidary::sessions::vault::{Guard, Vault, summary};
use lapidary::sessions::{OtherSessions, SelectionMode, SessionListing, SessionProject, select};

use self::other_agent::OtherAgentSession;
use super::super::run::{self, RunExtras, RunRequest};
use super::common::{ProjectScope, SessionsContext, other_named, unsupported_failure};
use super::failed_search::FailedSearch;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

const NO_PROMPT_HINT: &str = "say what the agent should do: lapidary sessions resume latest 'and now the documentation'; on a terminal, `lapidary sessions resume latest` opens the agent";

/// Continue a session, with a copy of everything in the vault
///
/// With a prompt, the agent does one turn, as `run` does: same options, and on a terminal it asks for permission. Without a prompt, the agent opens on the terminal in that session: Gemini CLI, or `claude --resume`, `codex resume`, `qwen --resume` and `opencode --session` for sessions of theirs.
///
/// Gemini CLI 0.61 loses sessions that it resumes: its next start deletes them. Here they are copied before the run, checked after it, and restored where messages are missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions resume latest
  lapidary sessions resume latest 'and now the documentation'
  lapidary sessions resume 4f1c --permission-mode acceptEdits 'fix the failing test'
  git diff | lapidary sessions resume 3 - --format result

`latest` is the session that began last, as in Gemini CLI. A number is one of `lapidary sessions list`. The beginning of an id is enough if only one session begins so. Exits as `run` does; 13 if there is no such session. An agent's screen exits with its own code.")]
pub(crate) struct Args {
    /// `latest`, a number of the list, an id or its beginning
    #[arg(value_name = "SESSION")]
    session: String,
    /// The agent's task; `-` reads it from stdin. Without it the agent opens on the terminal
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    #[command(flatten)]
    with: RunExtras,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    if let Some(other) = OtherAgentSession::find(&args.session, &args.with, &out.invocation)? {
        return resume_other(&other, args, out);
    }
    let invocation = out.invocation.clone();
    let choose = |job: &mut Job| choose_session(&args.session, job, &invocation);
    if args.prompt.is_some() || args.with.has_prompt() {
        return run::carry_out(
            RunRequest::new(args.prompt.as_deref()),
            &args.with,
            out,
            choose,
        );
    }
    let is_typed_at = out.invocation.is_stdin_terminal();
    if is_typed_at && out.is_terminal && !args.with.has_format() {
        return screen::open(&args.with, &out.invocation, choose);
    }
    let prompt = if is_typed_at {
        String::new()
    } else {
        run::prompt_on_stdin(&out.invocation)?
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage(anyhow!("no prompt was given")).with_hint(NO_PROMPT_HINT));
    }
    run::carry_out(RunRequest::new(Some(&prompt)), &args.with, out, choose)
}

/// Continues a session of another agent: with a prompt over ACP, without one by the agent's own command on the terminal.
fn resume_other(
    other: &OtherAgentSession,
    args: &Args,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    let with = other.extras(&args.with);
    let is_typed_at = out.invocation.is_stdin_terminal();
    let has_prompt = args.prompt.is_some() || args.with.has_prompt();
    if !has_prompt && is_typed_at && out.is_terminal && !args.with.has_format() {
        return screen::open_other(other, &with, &out.invocation);
    }
    if !has_prompt && is_typed_at {
        return Err(Failure::usage(anyhow!("no prompt was given")).with_hint(NO_PROMPT_HINT));
    }
    let request = RunRequest::new(args.prompt.as_deref());
    run::carry_out(request, &with, out, |job| {
        job.resume = Some(other.id.clone());
        Ok(())
    })
}

/// Names the session by its whole id: by the time the agent looks, numbers may have changed.
fn choose_session(
    session: &str,
    job: &mut Job,
    invocation: &Arc<Invocation>,
) -> Result<(), Failure> {
    let scope = ProjectScope {
        project: Some(job.config.working_dir_in(&job.environment.dir)),
        all: false,
        // Sessions that are about to change are read from their files.
        no_index: true,
    };
    let place = SessionsContext::open(invocation)?;
    finish_killed(job, &place.scope_projects(&scope)?);
    let listing = place.list_sessions(&scope)?;
    let found = select(&listing, session, SelectionMode::Generous);
    let found = found.map_err(|error| {
        // Sessions of other agents were looked for in every project.
        let search = FailedSearch {
            place: &place,
            is_everywhere: true,
            others: &OtherSessions::default(),
        };
        of_another_provider(session, &place, &scope, &listing)
            .unwrap_or_else(|| search.failure(session, error))
    })?;
    job.resume = Some(found.id().to_owned());
    Ok(())
}

/// The failure to continue a session that no file has and another provider does.
fn of_another_provider(
    named: &str,
    place: &SessionsContext,
    scope: &ProjectScope,
    listing: &SessionListing,
) -> Option<Failure> {
    let others = place.only_others(scope, listing).ok()?;
    let session = other_named(named, &others).ok()??;
    let refused = session.capabilities().resume.check(session.listed);
    refused.err().map(unsupported_failure)
}

/// Restores the sessions that a killed run has lost, before one is chosen: else `latest` would be another session, and a lost one
/// would not be found.
fn finish_killed(job: &mut Job, projects: &[SessionProject]) {
    let Some(vault) = &job.vault else { return };
    let chats: Vec<_> = projects.iter().flat_map(SessionProject::chats).collect();
    let done = Guard::finish_killed(&Vault::open(vault), &chats, SystemTime::now());
    job.notices.extend(summary(&done));
}

#[cfg(test)]
mod tests {
    use lapidary_testkit::recorded::RecordedHome;

    use super::*;

    const OWN: &str = "aaaaaaaa-0000-4000-8000-000000000001";
    const RECORDED: &str = "cccccccc-0000-4000-8000-000000000002";

    /// The refusal to continue a session of another provider, with its hint.
    fn refusal(named: &str) -> Option<String> {
        let home = RecordedHome::new();
        home.session(OWN, "2026-01-02T10:00:00.000Z", &["a question of old"]);
        home.recorded_run("20260103T100000-aa", "gemini", OWN);
        home.recorded_run("20260103T110000-bb", "qwen", RECORDED);
        let (place, scope) = (
            SessionsContext::of_test(&home),
            ProjectScope::of_test(&home),
        );
        let listing = place.list_sessions(&scope).ok()?;
        let failure = of_another_provider(named, &place, &scope, &listing)?;
        Some(format!("{}; {}", failure.error, failure.hint?))
    }

    #[test]
    fn a_session_that_is_only_recorded_is_not_resumed_and_the_hint_shows_it() {
        let expected = format!(
            "session `{RECORDED}` is in a recording only; `lapidary sessions show {RECORDED}` shows it"
        );
        for named in [RECORDED, "cccccccc", "20260103T110000-bb"] {
            assert_eq!(refusal(named).as_ref(), Some(&expected), "{named}");
        }
    }

    #[test]
    fn a_recorded_run_whose_session_file_is_there_refuses_nothing() {
        assert_eq!(refusal("20260103T100000-aa"), None);
        assert_eq!(refusal("dddddddd"), None);
    }
}
