//! `sessions continue`: another agent continues a session, from a briefing.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use lapidary::sessions::briefing::{BriefingFold, SessionBriefing};
use lapidary::sessions::{
    FromFiles, GeminiSessions, ListedSession, ReplaySessionError, SelectionMode,
    SessionProvider as _, select,
};
use lapidary::vocab::Event;

use super::super::run::{self, RunExtras, RunRequest};
use super::common::{ProjectScope, SessionsContext, other_named};
use super::failed_search::FailedSearch;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Continue a session in another agent, from a briefing
///
/// The other agent gets a prompt with the goal, the decisions, the changed files with their diffs, the open todos and the last words of the session: shortened, without secrets and escape sequences, and marked as the transcript of another agent. It is shown before it is sent. No session file of the other agent is made.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions continue 4f1c2b3a --in codex --print
  lapidary sessions continue 4f1c2b3a --in codex
  lapidary sessions continue c1a0de00 --in gemini --yes 'now write the tests'

SESSION may be of any agent and of any project; the other agent works in the session's directory unless -C names one. Exits as `run` does; 13 if there is no such session.")]
pub(crate) struct Args {
    /// Id of the session, or its beginning
    #[arg(value_name = "SESSION")]
    session: String,
    /// The task for the other agent [default: continue the work]
    #[arg(value_name = "TASK")]
    prompt: Option<String>,
    /// The agent that continues, as `run --agent` takes it
    #[arg(long = "in", value_name = "AGENT", conflicts_with = "agent")]
    in_agent: String,
    /// Send the briefing without asking
    #[arg(long)]
    yes: bool,
    /// Print the briefing, and start nothing
    #[arg(long, conflicts_with = "yes")]
    print: bool,
    #[command(flatten)]
    with: RunExtras,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    if args.with.has_prompt() {
        let error = anyhow!("the task comes as an argument, not as a prompt of its own");
        let hint = "say `lapidary sessions continue ID --in AGENT 'the task'`";
        return Err(Failure::usage(error).with_hint(hint));
    }
    let place = SessionsContext::open(&out.invocation)?;
    let briefing = session_briefing(&args.session, &place)?;
    if briefing.is_empty() {
        let error = anyhow!(
            "session `{}` has nothing to carry on with",
            briefing.session_id
        );
        return Err(Failure::bad_input(error));
    }
    let directory = briefing.project.as_ref().map(PathBuf::from);
    let prompt = briefing
        .redacted(place.environment.home.clone())
        .prompt(args.prompt.as_deref());
    if args.print {
        write!(out, "{prompt}")?;
        return Ok(CommandExit::Success);
    }
    if !args.yes && !confirm_sending(&prompt, args, out)? {
        out.print_note("nothing was sent")?;
        return Ok(CommandExit::Cancelled);
    }
    let mut with = args.with.clone();
    with.common.agent = Some(args.in_agent.clone());
    let directory = directory.filter(|directory| directory.is_dir());
    with.common.working_dir = with.common.working_dir.or(directory);
    run::carry_out(RunRequest::with_text(prompt), &with, out, |_| Ok(()))
}

/// Shows the briefing, and asks. Without a terminal there is no answer.
fn confirm_sending(prompt: &str, args: &Args, out: &Printer) -> Result<bool, Failure> {
    let invocation = &out.invocation;
    if !invocation.can_ask() {
        let error = anyhow!("the briefing is shown before it is sent, and this is not a terminal");
        let hint = "`--print` shows it, `--yes` sends it without asking";
        return Err(Failure::usage(error).with_hint(hint));
    }
    invocation.print_message(prompt.trim_end());
    let mut err = invocation.stderr_writer();
    write!(err, "Send this to `{}`? [y]es / [n]o: ", args.in_agent)?;
    err.flush()?;
    let answer = invocation.read_line()?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The briefing of a session of any agent, in any project.
fn session_briefing(named: &str, place: &SessionsContext) -> Result<SessionBriefing, Failure> {
    let scope = ProjectScope::everywhere();
    let listing = place.list_sessions(&scope)?;
    let others = place.only_others(&scope, &listing)?;
    if let Some(session) = other_named(named, &others)? {
        return folded(session.listed, |take| session.replay(take));
    }
    let session = select(&listing, named, SelectionMode::Generous);
    let session = session.map_err(|error| {
        let search = FailedSearch {
            place,
            is_everywhere: true,
            others: &others,
        };
        search.failure(named, error)
    })?;
    let mut files = FromFiles;
    folded(session, |take| {
        GeminiSessions::new(&mut files).replay(session, take)
    })
}

fn folded(
    session: &ListedSession,
    replay: impl FnOnce(&mut dyn FnMut(Event)) -> Result<(), ReplaySessionError>,
) -> Result<SessionBriefing, Failure> {
    let info = session.info();
    let project = info.project.as_deref().map(Path::new);
    let project = project.map(|project| project.to_string_lossy());
    let mut fold = BriefingFold::new(info.provider.as_str(), session.id(), project.as_deref());
    let replayed = replay(&mut |event| fold.read_event(&event));
    replayed.map_err(|error| Failure::bad_input(anyhow!(error)))?;
    Ok(fold.finish())
}
