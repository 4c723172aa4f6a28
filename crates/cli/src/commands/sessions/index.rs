//! `sessions index`: the index that makes lists and searches fast.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lapidary::render::plain::sanitize;
use lapidary::sessions::{
    IndexError, OtherFiles, ProjectReach, ProviderScope, SessionCandidate, SessionIndex,
    SessionProviders, UpdateProgress, candidates, providers,
};
use lapidary::vocab::event::Provider;

use super::common::{AgentFilter, SessionsContext};
use super::vault::counted_noun;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// Make or update the index that makes lists and searches fast
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions index
  lapidary sessions index --agent claude
  lapidary sessions index --status
  lapidary sessions index --drop

The index is made from the sessions of every agent and project and lies in the cache directory (LAPIDARY_CACHE_DIR, or else \
$XDG_CACHE_HOME/lapidary). Once there is one, `list` and `search` use it and keep it up to date; what they say is the same with \
and without it. Dropping it loses nothing.")]
pub(crate) struct Args {
    /// Show its path and its contents
    #[arg(long)]
    status: bool,
    /// Delete it
    #[arg(long, conflicts_with_all = ["status", "agent"])]
    drop: bool,
    /// Make it anew from the files
    #[arg(long, conflicts_with_all = ["status", "drop", "agent"])]
    rebuild: bool,
    #[command(flatten)]
    whose: AgentFilter,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let place = SessionsContext::open(&out.invocation)?;
    let Some(path) = place.index_path() else {
        let failure = Failure::bad_input(anyhow!("there is no directory for an index"));
        return Err(failure.with_hint("set LAPIDARY_CACHE_DIR"));
    };
    let failed = |error: IndexError| {
        let what = format!("cannot use the index `{}`", path.display());
        Failure::internal(anyhow!(error).context(what))
    };
    if args.status {
        return print_status(&args.whose, &place, out);
    }
    if args.drop {
        let was_there = SessionIndex::delete(&path).map_err(failed)?;
        let said = if was_there {
            "dropped"
        } else {
            "there was none"
        };
        out.print_note(&format!("the index `{}`: {said}", path.display()))?;
        return Ok(CommandExit::Success);
    }
    let (files, warnings) = gemini_files(&args.whose, &place);
    for warning in &warnings {
        out.print_message(&format!("warning: {warning}"));
    }
    let mut index = SessionIndex::open_or_make(&path, place.now).map_err(failed)?;
    if args.rebuild {
        index.clear().map_err(failed)?;
    }
    let mut meter = IndexMeter::new(out.invocation.clone());
    let (providers, scope) = (wanted_providers(&args.whose, &place), every_project(&place));
    let progress = &mut |at| meter.show_progress(at);
    let stores: Vec<_> = providers.stores().collect();
    let others = if args.whose.is_given() {
        OtherFiles::Kept
    } else {
        OtherFiles::Gone
    };
    let updated = index.update_from(&files, &stores, &scope, others, progress);
    meter.clear();
    for warning in std::mem::take(&mut index.warnings) {
        out.print_message(&format!("warning: {warning}"));
    }
    match updated {
        Ok(updated) => writeln!(
            out,
            "{} in the index: {} read, {} as they were, {} gone{}",
            counted_noun(updated.read + updated.known, "file"),
            updated.read,
            updated.known,
            updated.gone,
            if updated.left > 0 {
                format!(
                    "; {} left for later, unreadable or just written",
                    updated.left
                )
            } else {
                String::new()
            }
        )?,
        Err(IndexError::Busy) => out.print_note("another process is updating the index already")?,
        Err(error) => return Err(failed(error)),
    }
    Ok(CommandExit::Success)
}

/// The session files of Gemini CLI, if they are wanted, with warnings.
fn gemini_files(
    whose: &AgentFilter,
    place: &SessionsContext,
) -> (Vec<SessionCandidate>, Vec<String>) {
    candidates(whose.gemini_projects(&place.store.projects()))
}

fn wanted_providers(whose: &AgentFilter, place: &SessionsContext) -> SessionProviders {
    let is_wanted = |provider: &Provider| whose.takes_provider(provider);
    providers(&place.environment).of_agents(&is_wanted)
}

fn print_status(
    whose: &AgentFilter,
    place: &SessionsContext,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    let Some(path) = place.index_path().filter(|path| path.exists()) else {
        out.print_note("there is no index; `lapidary sessions index` makes one")?;
        return Ok(CommandExit::Success);
    };
    let (files, _) = gemini_files(whose, place);
    let mut index = SessionIndex::open(&path, place.now);
    let known = index.count_known(&files);
    let providers = wanted_providers(whose, place);
    let stores: Vec<_> = providers.stores().collect();
    let (count, known_count) = index.count_stored(&stores, &every_project(place));
    for warning in &index.warnings {
        out.print_message(&format!("warning: {warning}"));
    }
    let size = path.metadata().map(|about| about.len());
    let size = size.with_context(|| format!("cannot look at `{}`", path.display()));
    let size = size.map_err(Failure::internal)?;
    let files = files.iter().filter(|file| file.refused.is_none()).count() + count;
    let known = known + known_count;
    writeln!(
        out,
        "{}\n{size} bytes; {known} of {files} files are in it as they are now",
        sanitize(&path.to_string_lossy())
    )?;
    Ok(CommandExit::Success)
}

/// Every project of every agent.
fn every_project(place: &SessionsContext) -> ProviderScope<'static> {
    ProviderScope {
        projects: &[],
        reach: ProjectReach::Everywhere,
        now: place.now,
    }
}

/// How far it is, on a terminal.
struct IndexMeter {
    invocation: Arc<Invocation>,
    is_shown: bool,
    percent: Option<u64>,
}

impl IndexMeter {
    fn new(invocation: Arc<Invocation>) -> Self {
        Self {
            is_shown: invocation.is_stderr_terminal(),
            invocation,
            percent: None,
        }
    }

    fn show_progress(&mut self, at: UpdateProgress) {
        let percent = at.bytes * 100 / at.of_bytes.max(1);
        if self.is_shown && self.percent.replace(percent) != Some(percent) {
            // A closed stderr is no reason to stop.
            let _ = write!(
                self.invocation.stderr_writer(),
                "\r{percent:>3} %  {} of {} files",
                at.files,
                at.of_files
            );
        }
    }

    fn clear(&self) {
        if self.percent.is_some() {
            let _ = write!(self.invocation.stderr_writer(), "\r\x1b[K");
        }
    }
}
