//! `hooks test`: runs the hooks of an event, and shows what came of it.

mod moments;
mod recorded;
mod report;
mod text;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use lapidary::drive::hooks::{Fired, Surroundings, fire, once_each};
use lapidary::home::hooks::{Event, Plan, Registry};
use lapidary::vocab::hook_test::{HookTest, SCHEMA};
use lapidary::vocab::line;
use lapidary::wire::gemini::hooks::Input;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use self::moments::Moment;
use super::common::{Format, Place, Workspace};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::system::Interruptions;

/// Run the hooks of an event, and show what each was told, what it said and what that comes to
///
/// Hooks are run for real, as an agent would have them run: with the same input, in the same order, within the same time. What they
/// decide is only shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Events:
  BeforeTool AfterTool BeforeAgent AfterAgent Notification SessionStart SessionEnd PreCompress \
BeforeModel AfterModel BeforeToolSelection

Examples:
  lapidary hooks test BeforeTool --tool run_shell_command --input '{\"command\": \"rm -rf /\"}'
  lapidary hooks test BeforeAgent --input '{\"prompt\": \"fix the tests\"}'
  lapidary hooks test SessionStart --input '{\"source\": \"resume\"}'
  lapidary hooks test BeforeTool --recording ~/.local/state/lapidary/runs/20261116T080000-1f2e3d4c
  lapidary hooks test BeforeTool --tool write_file | jq '.moments[].effects'

A hook that exits with 2 blocks, even if it says nothing: Gemini CLI (0.61) lets it pass.

Exit codes:
  0   tested, whatever came of it
  13  the input or the recording cannot be read
  130 interrupted: what still ran was ended, with everything that it had started")]
pub(crate) struct Args {
    /// The event, such as `BeforeTool`
    event: String,
    /// The tool that is called, for `BeforeTool` and `AfterTool`
    #[arg(long, value_name = "NAME", conflicts_with = "recording")]
    tool: Option<String>,
    /// With --tool its arguments; else what hooks of the event are told besides the usual. A JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "recording")]
    input: Option<String>,
    /// Take every such moment from a recording of a run, a capture, a transcript of ACP or a session file
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    #[command(flatten)]
    workspace: Workspace,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let event = event(&args.event)?;
    let Place { environment, setup } = Place::open(&args.workspace)?;
    let variables = environment.vars.into_iter().collect();
    let mut around = Surroundings::of(&setup, "hook-test", variables);
    let moments = moments::of(args, event, &around)?;
    let registry = Registry::of(&setup);
    let mut test = HookTest {
        schema: SCHEMA.to_owned(),
        event: event.as_str().to_owned(),
        moments: Vec::new(),
        left_out: report::left_out(&registry, event),
        warnings: registry.warnings.clone(),
    };
    let cancel = CancellationToken::new();
    let runtime = runtime()?;
    for (input, plan, is_fixed) in moments.into_iter().flat_map(|it| planned(it, &registry)) {
        around.arguments_are_fixed = is_fixed;
        let fired = runtime.block_on(fired(&plan, input.clone(), &around, &cancel));
        test.moments.push(report::moment(&plan, &input, &fired));
        if cancel.is_cancelled() {
            break;
        }
    }
    match Format::or_usual(args.format, out.is_terminal) {
        Format::Json => line::write(out, &test)?,
        Format::Text => text::show(&test, out)?,
    }
    Ok(if cancel.is_cancelled() {
        Exit::Cancelled
    } else {
        Exit::Success
    })
}

/// The hooks of a moment, and whether nobody can change a tool's arguments there. A tool may go by several names: of those for which there
/// are no more hooks, only the first is shown.
fn planned(moment: Moment, registry: &Registry) -> Vec<(Input, Plan, bool)> {
    let mut first = None;
    let mut all = Vec::new();
    for round in moment.rounds {
        let plans = round.into_iter().map(|input| {
            let mut plan = registry.plan(input.event(), input.context());
            plan.diagnostics.extend(moment.notes.iter().cloned());
            (input, plan)
        });
        let plans: Vec<_> = plans.collect();
        first = first.or_else(|| plans.first().cloned());
        all.extend(once_each(plans));
    }
    if all.is_empty() {
        all.extend(first);
    }
    let all = all.into_iter();
    all.map(|(input, plan)| (input, plan, moment.is_fixed))
        .collect()
}

/// Hooks have groups of their own, which a Ctrl-C that is typed at us does not reach: whoever interrupts us ends them, too.
async fn fired(
    plan: &Plan,
    input: Input,
    around: &Surroundings,
    cancel: &CancellationToken,
) -> Fired {
    let firing = fire(plan, input, around, cancel);
    tokio::pin!(firing);
    if let Ok(mut interruptions) = Interruptions::listen() {
        tokio::select! {
            biased;
            fired = &mut firing => return fired,
            () = interruptions.next() => cancel.cancel(),
        }
    }
    firing.await
}

fn runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.context("cannot set up a runtime");
    runtime.map_err(Failure::internal)
}

fn event(name: &str) -> Result<Event, Failure> {
    name.parse().map_err(|_| {
        let names = Event::ALL.map(Event::as_str).join(", ");
        let failure = Failure::usage(anyhow!("there is no event `{name}`"));
        failure.with_hint(format!("there are {names}"))
    })
}
