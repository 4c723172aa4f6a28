//! `hooks test`: runs the hooks of an event, and shows their results.

mod moments;
mod recorded;
mod report;
mod text;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use lapidary::engine::hooks::{HookContext, HookResults, fire, once_each};
use lapidary::engine::recording::STDOUT;
use lapidary::gemini::hooks::{
    Hook, HookEvent, HookPlan, HookRegistry, PassedOver, UnusableFile, event_meant,
};
use lapidary::gemini::setup::Setup;
use lapidary::gemini::trust::Trust;
use lapidary::vocab::hook_test::{HookTest, SCHEMA};
use lapidary::vocab::line;
use lapidary::wire::gemini::hooks::HookInput;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use self::moments::TestMoment;
use super::common::{HooksContext, HooksFormat, HooksWorkspace};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::system::Interruptions;

/// Run the hooks of an event, and show the input, the output and the effect of each
///
/// Hooks are run for real, as an agent would have them run: with the same input, in the same order, within the same time. Their decisions are only shown.
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
  lapidary hooks test BeforeTool --tool write_file --trust-workspace

A hook that exits with 2 blocks, even if it says nothing: Gemini CLI (0.61) lets it pass.

Exit codes:
  0   tested, with any result
  13  the input, the recording or a file that may hold hooks cannot be read
  130 interrupted: what still ran was ended, with everything that it had started")]
pub(crate) struct Args {
    /// The event, such as `BeforeTool`
    event: String,
    /// The tool that is called, for `BeforeTool` and `AfterTool`
    #[arg(long, value_name = "NAME", conflicts_with = "recording")]
    tool: Option<String>,
    /// With --tool its arguments; else what hooks of the event get besides the usual fields. A JSON object, `@FILE` or `-` for stdin
    #[arg(long, value_name = "JSON", conflicts_with = "recording")]
    input: Option<String>,
    /// Take every such moment from a recording of a run, a capture, a transcript of ACP or a session file
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,
    #[command(flatten)]
    workspace: HooksWorkspace,
    /// Trust the workspace for this test only: its hooks run
    #[arg(long)]
    trust_workspace: bool,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<HooksFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let event = parse_event(&args.event)?;
    let place = if args.trust_workspace {
        HooksContext::open_trusted(&args.workspace, &out.invocation)?
    } else {
        HooksContext::open(&args.workspace, &out.invocation)?
    };
    let variables = place.environment.vars.clone().into_iter().collect();
    let mut around = HookContext::from_setup(&place.setup, "hook-test", variables);
    if let Some(recording) = &args.recording {
        around.transcript_path = transcript_of(recording);
    }
    let moments = moments::hook_moments(args, event, &around, &out.invocation)?;
    let registry = HookRegistry::from_setup(&place.setup);
    if let Some(unusable) = registry.unusable(&place.setup) {
        return Err(unusable_file_failure(&unusable));
    }
    let notices = place.settings_notices(&registry);
    let mut test = HookTest {
        schema: SCHEMA.to_owned(),
        event: event.as_str().to_owned(),
        moments: Vec::new(),
        untrusted: untrusted_reason(&place.setup, event),
        left_out: report::left_out(&registry, event),
        warnings: registry.warnings.iter().chain(&notices).cloned().collect(),
    };
    let cancel = CancellationToken::new();
    let runtime = new_runtime()?;
    let moments = moments.into_iter();
    for planned in moments.flat_map(|it| planned_tests(it, &registry)) {
        let PlannedTest { input, plan, .. } = &planned;
        around.arguments_are_fixed = planned.is_fixed;
        let fired = runtime.block_on(fire_hooks(plan, input.clone(), &around, &cancel));
        test.moments.push(report::moment_report(&planned, &fired));
        if cancel.is_cancelled() {
            break;
        }
    }
    match HooksFormat::or_usual(args.format, out.is_terminal) {
        HooksFormat::Json => line::write(out, &test)?,
        HooksFormat::Text => {
            print_remarks(&registry, &notices, &out.invocation);
            text::print_test(&test, out)?;
        }
    }
    Ok(if cancel.is_cancelled() {
        CommandExit::Cancelled
    } else {
        CommandExit::Success
    })
}

/// Why hooks of the event did not run, if that is because the folder is not trusted.
fn untrusted_reason(setup: &Setup, event: HookEvent) -> Option<String> {
    let is_of_event = |hook: &Hook| hook.event == event;
    if !HookRegistry::withheld(setup).iter().any(is_of_event) {
        return None;
    }
    let why = match &setup.trust {
        Trust::Trusted(reason) | Trust::Untrusted(reason) => reason.to_string(),
        Trust::Unknown(doubt) => doubt.to_string(),
    };
    let folder = setup.workspace.display();
    Some(format!(
        "no hook of the settings ran: `{folder}` is not trusted: {why}"
    ))
}

/// The file that hooks can read the recorded conversation in; none if it comes from stdin.
fn transcript_of(recording: &Path) -> String {
    let path = recording.canonicalize().unwrap_or_default();
    let path = if path.is_dir() {
        path.join(STDOUT)
    } else {
        path
    };
    path.to_string_lossy().into_owned()
}

/// A test without the hooks of an unusable file would say nothing about them, so it is refused, as `run --hooks` is.
fn unusable_file_failure(unusable: &UnusableFile) -> Failure {
    let UnusableFile { path, why } = unusable;
    let error = anyhow!("`{}` cannot be used: {why}", path.display());
    Failure::bad_config(error).with_hint(
        "correct it, or move it away; `lapidary hooks check` names what is wrong, and `run --hooks` refuses, too",
    )
}

/// Prints the warnings and notes about the settings.
fn print_remarks(registry: &HookRegistry, notices: &[String], invocation: &Invocation) {
    for warning in registry.other_warnings() {
        invocation.print_message(&format!("warning: Gemini CLI says: {warning}"));
    }
    for notice in notices {
        invocation.print_message(&format!("warning: {notice}"));
    }
    if let Some(announcement) = registry.announcement() {
        invocation.print_message(&format!("note: {announcement}"));
    }
}

/// The input of hooks, the hooks that run, and the hooks that do not.
struct PlannedTest {
    input: HookInput,
    plan: HookPlan,
    /// Hooks cannot change the tool's arguments at this moment.
    is_fixed: bool,
    passed_over: Vec<PassedOver>,
}

/// The hooks of a moment. Skipped hooks are listed with the first plan, unless they run under another of the tool's names.
fn planned_tests(moment: TestMoment, registry: &HookRegistry) -> Vec<PlannedTest> {
    let is_fixed = moment.is_fixed;
    let plans = hook_plans(moment, registry);
    let stands = |hook: &Hook| (hook.origin.clone(), hook.place.clone());
    let run: HashSet<_> = plans
        .iter()
        .flat_map(|(_, plan)| plan.hooks.iter().map(stands))
        .collect();
    let planned = plans
        .into_iter()
        .enumerate()
        .map(|(number, (input, plan))| {
            let mut passed_over = Vec::new();
            if number == 0 {
                passed_over = registry.passed_over(input.event(), input.context());
                passed_over.retain(|it| !run.contains(&stands(&it.hook)));
            }
            PlannedTest {
                input,
                plan,
                is_fixed,
                passed_over,
            }
        });
    planned.collect()
}

/// A tool may go by several names: of those for which there are no more hooks, only the first is shown.
fn hook_plans(moment: TestMoment, registry: &HookRegistry) -> Vec<(HookInput, HookPlan)> {
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
    all
}

/// Runs hooks. They have process groups of their own, which a typed Ctrl-C does not reach, so an interruption cancels them here.
async fn fire_hooks(
    plan: &HookPlan,
    input: HookInput,
    around: &HookContext,
    cancel: &CancellationToken,
) -> HookResults {
    let firing = fire(plan, input, around, cancel);
    tokio::pin!(firing);
    if let Ok(mut interruptions) = Interruptions::listen_for_signals() {
        tokio::select! {
            biased;
            fired = &mut firing => return fired,
            () = interruptions.next() => cancel.cancel(),
        }
    }
    firing.await
}

fn new_runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.context("cannot set up a runtime");
    runtime.map_err(Failure::internal)
}

fn parse_event(name: &str) -> Result<HookEvent, Failure> {
    name.parse().map_err(|_| {
        let failure = Failure::usage(anyhow!("unknown hook event `{name}`"));
        failure.with_hint(event_meant(name))
    })
}
