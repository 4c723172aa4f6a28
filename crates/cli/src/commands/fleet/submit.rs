//! `fleet submit`: new tickets.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use lapidary::engine::budget::Budget;
use lapidary::engine::policy::lexical;
use lapidary::vocab::fleet::FleetSubmission;
use lapidary::vocab::{Cause, line};
use lapidary_fleet::{
    FleetStore, LaneLimit, NewTicket, RetryPolicy, StoreError, SubmissionAnswer, TicketId,
    TicketSpec, WorkspaceSpec,
};
use serde_json::value::RawValue;

use super::super::run::prompt_on_stdin;
use super::super::sessions::SessionsFormat;
use super::follow::wait_for_end;
use super::store_option::{StoreOption, block_on, store_failure, user_name};
use super::ticket_line::parse_line;
use crate::durations::parse_time;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// Tickets of a batch that go to the store at a time.
const BATCH: usize = 200;

/// Options of one ticket: a line of a batch has fields for them.
const OF_ONE_TICKET: [&str; 21] = [
    "agent",
    "model",
    "repo",
    "reference",
    "push",
    "directory",
    "permission_mode",
    "deny",
    "ask",
    "timeout",
    "budget",
    "ask_timeout",
    "output_schema",
    "needs",
    "lane",
    "priority",
    "not_before",
    "after",
    "retries",
    "retry",
    "request_key",
];

const TASK: &str = "Task";
const PLACE: &str = "Queue";

/// Submit a ticket: a task for an agent, which a worker runs
///
/// A ticket has no command line and no environment, and no rule that allows: the worker's configuration bounds it, and a ticket only narrows that.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet submit 'fix the failing test' --repo https://example.org/app.git --ref main
  lapidary fleet submit --prompt-file task.md --agent claude --lane repo:app=1 --needs gpu --retries 1
  lapidary fleet submit 'nightly report' --request-key nightly-2026-11-18 --not-before 2h --wait
  lapidary fleet submit 'and then this' --after 1hc8k3x9e2r7m4qz6t0w
  lapidary fleet submit --batch tickets.jsonl --format json

A line of a batch is an object: the fields of a spec (`prompt`, `agent`, `model`, `workspace`, `permissionMode`, `deny`, `ask`, \
`timeout`, `budget`, `askTimeout`, `outputSchema`, `retry`) and `requestKey`, `priority`, `notBefore`, `lanes`, `needs`, `after`, \
`retries`. With --wait the command exits as `run` would.")]
pub(crate) struct Args {
    /// The prompt [default: stdin]
    #[arg(value_name = "PROMPT", conflicts_with_all = ["prompt_file", "batch"])]
    prompt: Option<String>,
    /// A file with the prompt
    #[arg(long, value_name = "FILE", conflicts_with = "batch", help_heading = TASK)]
    prompt_file: Option<PathBuf>,
    /// A file with a ticket on each line, `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_ONE_TICKET)]
    batch: Option<PathBuf>,
    /// An agent by its name in the worker's configuration
    #[arg(long, value_name = "NAME", help_heading = TASK)]
    agent: Option<String>,
    /// Model to use
    #[arg(short, long, help_heading = TASK)]
    model: Option<String>,
    /// A git repository: a URL, or a path on the worker's machine
    #[arg(long, value_name = "URL", conflicts_with = "directory", help_heading = TASK)]
    repo: Option<String>,
    /// Its branch, tag or commit [default: its default branch]
    #[arg(long = "ref", value_name = "REF", requires = "repo", help_heading = TASK)]
    reference: Option<String>,
    /// Push the result to this branch
    #[arg(long, value_name = "BRANCH", requires = "repo", help_heading = TASK)]
    push: Option<String>,
    /// A directory on the worker's machine, which the worker must allow
    #[arg(short = 'C', long, value_name = "DIR", help_heading = TASK)]
    directory: Option<PathBuf>,
    /// The widest permission mode: default, acceptEdits, bypassPermissions or plan
    #[arg(long, value_name = "MODE", value_parser = ["default", "acceptEdits", "bypassPermissions", "plan"], hide_possible_values = true, help_heading = TASK)]
    permission_mode: Option<String>,
    /// Deny, such as `execute:git push*`; repeatable
    #[arg(long, value_name = "WHAT", help_heading = TASK)]
    deny: Vec<String>,
    /// Ask, such as `edit:.github/**`; repeatable
    #[arg(long, value_name = "WHAT", help_heading = TASK)]
    ask: Vec<String>,
    /// Longest attempt, such as 90, 5m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = TASK)]
    timeout: Option<Duration>,
    /// Most usage of an attempt: tokens=N,cost=USD,tool-calls=N,turns=N
    #[arg(long, value_name = "LIMITS", help_heading = TASK)]
    budget: Option<String>,
    /// How long a permission request waits for `fleet answer` before it is denied
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = TASK)]
    ask_timeout: Option<Duration>,
    /// JSON Schema that the answer must fit
    #[arg(long, value_name = "FILE", help_heading = TASK)]
    output_schema: Option<PathBuf>,
    /// A label that the worker must have; repeatable
    #[arg(long, value_name = "LABEL", help_heading = PLACE)]
    needs: Vec<String>,
    /// A lane, and how many of its tickets run at a time; repeatable
    #[arg(long, value_name = "NAME[=LIMIT]", value_parser = parse_lane, help_heading = PLACE)]
    lane: Vec<LaneLimit>,
    /// Higher ones first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, help_heading = PLACE)]
    priority: i16,
    /// Not before this time (`2026-11-20T08:00:00Z`), or not for this long (`2h`)
    #[arg(long, value_name = "TIME", value_parser = parse_start, help_heading = PLACE)]
    not_before: Option<Timestamp>,
    /// Run it after this ticket has completed; repeatable
    #[arg(long, value_name = "TICKET", help_heading = PLACE)]
    after: Vec<TicketId>,
    /// How many more attempts there may be after the first
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=999), help_heading = PLACE)]
    retries: u32,
    /// When an attempt is repeated by itself: untouched, always or never
    #[arg(long, value_name = "WHEN", default_value = "untouched", value_parser = parse_policy, help_heading = PLACE)]
    retry: RetryPolicy,
    /// The same key and content give the same ticket, however often they are submitted
    #[arg(long, value_name = "KEY", help_heading = PLACE)]
    request_key: Option<String>,
    /// Wait until the ticket has ended
    #[arg(long, conflicts_with = "batch")]
    wait: bool,
    #[command(flatten)]
    store: StoreOption,
    /// What to print [default: text on a terminal, json when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

fn parse_lane(text: &str) -> Result<LaneLimit, String> {
    let (name, limit) = match text.rsplit_once('=') {
        None => (text, None),
        Some((name, limit)) => (name, Some(limit)),
    };
    let limit = limit.map(|limit| match limit.parse::<u32>() {
        Ok(0) => Err("the limit 0 would let no ticket run: use 1 or more".to_owned()),
        Ok(limit) => Ok(limit),
        Err(_) => Err("the limit is not a number: use `NAME=LIMIT`".to_owned()),
    });
    Ok(LaneLimit {
        name: name.to_owned(),
        limit: limit.transpose()?,
    })
}

fn parse_start(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let problem = "use a time (`2026-11-20T08:00:00Z`) or a delay (`2h`)";
    let delay = parse_time(text).map_err(|_| problem.to_owned())?;
    let start = Timestamp::now().checked_add(delay);
    start.map_err(|_| problem.to_owned())
}

fn parse_policy(word: &str) -> Result<RetryPolicy, String> {
    let all = [
        RetryPolicy::Untouched,
        RetryPolicy::Always,
        RetryPolicy::Never,
    ];
    let known = all.into_iter().find(|policy| policy.as_str() == word);
    known.ok_or_else(|| "use untouched, always or never".to_owned())
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    match &args.batch {
        Some(file) => submit_batch(args, file, out),
        None => submit_one(args, out),
    }
}

fn submit_one(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let ticket = make_ticket(args, out)?;
    let format = SessionsFormat::or_usual(args.format, out.is_terminal);
    block_on(async {
        let store = args.store.open(&out.invocation).await?;
        let submitted = submit(&*store, std::slice::from_ref(&ticket)).await?;
        let [submission] = submitted.as_slice() else {
            return Err(Failure::internal(anyhow!("one ticket has one answer")));
        };
        let id = accepted(submission)?;
        let report = report_of(submission);
        match format {
            SessionsFormat::Json => line::write(out, &report)?,
            SessionsFormat::Text => writeln!(out, "{id}")?,
        }
        out.flush()?;
        if args.wait || out.is_terminal || !args.needs.is_empty() {
            note_missing_workers(&*store, &args.needs, out).await?;
        }
        if !args.wait {
            return Ok(CommandExit::Success);
        }
        let ended = wait_for_end(&*store, id).await?;
        let (outcome, cause) = (
            ended.outcome.unwrap_or_default(),
            ended.cause.unwrap_or_default(),
        );
        out.print_message(&format!("note: ticket {id} ended: {outcome} ({cause})"));
        Ok(CommandExit::from_outcome(&Cause::from(cause.as_str())))
    })
}

/// Says that no worker is there now, or which labels none of them has. The ticket waits for one that does.
async fn note_missing_workers(
    store: &dyn FleetStore,
    needs: &[String],
    out: &mut Printer,
) -> Result<(), Failure> {
    let overview = store.overview().await.map_err(store_failure)?;
    let workers = overview.workers.iter();
    let workers: Vec<_> = workers.filter(|worker| worker.left_at.is_none()).collect();
    if workers.is_empty() && needs.is_empty() {
        out.print_note("no worker is there now: `lapidary fleet work` runs the ticket")?;
    }
    let labels = workers.iter().flat_map(|worker| &worker.start.labels);
    let labels: Vec<&String> = labels.collect();
    for need in needs.iter().filter(|need| !labels.contains(need)) {
        let note = format!("no worker that is there now has the label `{need}`: the ticket waits");
        out.print_note(&note)?;
    }
    Ok(())
}

/// The ticket of a submission that was not refused.
fn accepted(submission: &SubmissionAnswer) -> Result<&TicketId, Failure> {
    match submission {
        SubmissionAnswer::Created(id) | SubmissionAnswer::Existing(id) => Ok(id),
        SubmissionAnswer::Conflict { ticket } => {
            let error = anyhow!(
                "the request key belongs to ticket `{ticket}`, which asks for something else"
            );
            Err(Failure::bad_input(error).with_hint("use another key, or submit the same again"))
        }
        SubmissionAnswer::UnknownPredecessor { ticket } => {
            let error = anyhow!("there is no ticket `{ticket}` to run after");
            Err(Failure::bad_input(error).with_hint("`lapidary fleet list` shows the tickets"))
        }
    }
}

fn report_of(submission: &SubmissionAnswer) -> FleetSubmission {
    let refused = accepted(submission).err();
    FleetSubmission {
        ticket: accepted(submission).ok().map(ToString::to_string),
        existing: matches!(submission, SubmissionAnswer::Existing(_)),
        error: refused.map(|failure| failure.error.to_string()),
        line: None,
    }
}

/// Submits, and asks again where the answer was lost: a submission is idempotent.
async fn submit(
    store: &dyn FleetStore,
    tickets: &[NewTicket],
) -> Result<Vec<SubmissionAnswer>, Failure> {
    let mut submitted = store.submit(tickets).await;
    if submitted.as_ref().is_err_and(StoreError::is_passing) {
        submitted = store.submit(tickets).await;
    }
    let submitted = submitted.map_err(store_failure)?;
    store.flush().await.map_err(store_failure)?;
    Ok(submitted)
}

fn make_ticket(args: &Args, out: &Printer) -> Result<NewTicket, Failure> {
    let prompt = match (&args.prompt, &args.prompt_file) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some(file)) => fs::read_to_string(file).map_err(|error| {
            let context = format!("cannot read `{}`", file.display());
            Failure::bad_input(anyhow!(error).context(context))
        })?,
        (None, None) => prompt_on_stdin(&out.invocation)?,
    };
    let workspace = (args.repo.is_some() || args.directory.is_some()).then(|| WorkspaceSpec {
        repo: args.repo.clone(),
        reference: args.reference.clone(),
        push: args.push.clone(),
        directory: args.directory.clone(),
    });
    if let Some(budget) = &args.budget {
        Budget::parse(budget).map_err(|error| Failure::usage(anyhow!(error)))?;
    }
    let spec = TicketSpec {
        agent: args.agent.clone(),
        model: args.model.clone(),
        workspace: workspace
            .map(|workspace| on_this_machine(workspace, out))
            .transpose()?,
        permission_mode: args.permission_mode.clone(),
        deny: args.deny.clone(),
        ask: args.ask.clone(),
        timeout: args.timeout.map(|time| time.as_secs_f64()),
        budget: args.budget.clone(),
        ask_timeout: args.ask_timeout.map(|time| time.as_secs_f64()),
        output_schema: args.output_schema.as_deref().map(read_schema).transpose()?,
        retry: args.retry,
        ..TicketSpec::new(prompt)
    };
    spec.check()
        .map_err(|error| Failure::usage(anyhow!(error)))?;
    Ok(NewTicket {
        request_key: args.request_key.clone(),
        priority: args.priority,
        not_before: args.not_before,
        lanes: args.lane.clone(),
        needs: args.needs.clone(),
        after: args.after.clone(),
        max_attempts: args.retries.saturating_add(1),
        ..NewTicket::new(spec, &user_name(&out.invocation))
    })
}

/// A relative directory or repository counts from here, where the user is.
fn on_this_machine(mut workspace: WorkspaceSpec, out: &Printer) -> Result<WorkspaceSpec, Failure> {
    let here = out.invocation.current_dir();
    let here = here.map_err(|error| Failure::bad_input(anyhow!(error)))?;
    if let Some(directory) = &mut workspace.directory {
        *directory = here.join(&*directory);
    }
    if let Some(repo) = &mut workspace.repo
        && here.join(&*repo).is_dir()
    {
        // The form of the worker's list of repositories.
        *repo = lexical(&here.join(&*repo)).display().to_string();
    }
    Ok(workspace)
}

fn read_schema(file: &Path) -> Result<Box<RawValue>, Failure> {
    let context = || format!("cannot use the schema `{}`", file.display());
    let text = fs::read_to_string(file);
    let text = text.map_err(|error| Failure::bad_input(anyhow!(error).context(context())))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::bad_input(anyhow!(error).context(context())))
}

fn submit_batch(args: &Args, file: &Path, out: &mut Printer) -> Result<CommandExit, Failure> {
    let created_by = user_name(&out.invocation);
    let input: Box<dyn BufRead> = if let Some("-") = file.to_str() {
        Box::new(std::io::Cursor::new(prompt_on_stdin(&out.invocation)?))
    } else {
        let opened = fs::File::open(file).map_err(|error| {
            let context = format!("cannot read `{}`", file.display());
            Failure::bad_input(anyhow!(error).context(context))
        })?;
        Box::new(BufReader::new(opened))
    };
    let format = SessionsFormat::or_usual(args.format, out.is_terminal);
    let refused = block_on(async {
        let store = args.store.open(&out.invocation).await?;
        let mut refused = 0u64;
        let mut waiting: Vec<(u64, NewTicket)> = Vec::new();
        for (number, line) in (1..).zip(input.lines()) {
            let line = line.map_err(|error| Failure::bad_input(anyhow!(error)))?;
            if line.trim().is_empty() {
                continue;
            }
            match parse_line(&line, &created_by) {
                Ok(ticket) => waiting.push((number, ticket)),
                Err(error) => {
                    refused += 1;
                    print_refusal(number, error.to_string(), format, out)?;
                }
            }
            if waiting.len() == BATCH {
                refused += send_batch(&*store, std::mem::take(&mut waiting), format, out).await?;
            }
        }
        refused += send_batch(&*store, waiting, format, out).await?;
        Ok(refused)
    })?;
    Ok(match refused {
        0 => CommandExit::Success,
        _ => CommandExit::BadInput,
    })
}

/// Says how many were refused.
async fn send_batch(
    store: &dyn FleetStore,
    tickets: Vec<(u64, NewTicket)>,
    format: SessionsFormat,
    out: &mut Printer,
) -> Result<u64, Failure> {
    let (numbers, tickets): (Vec<u64>, Vec<NewTicket>) = tickets.into_iter().unzip();
    let submitted = match submit(store, &tickets).await {
        Ok(submitted) => submitted.iter().map(report_of).collect(),
        // One ticket that cannot be stored does not keep the others out.
        Err(_) if tickets.len() > 1 => {
            let mut reports = Vec::new();
            for ticket in &tickets {
                reports.push(submit_alone(store, ticket).await?);
            }
            reports
        }
        Err(failure) => vec![refusal_report(&failure)],
    };
    let mut refused = 0;
    for (number, mut report) in numbers.into_iter().zip(submitted) {
        match (report.error.take(), format) {
            (Some(error), _) => {
                refused += 1;
                print_refusal(number, error, format, out)?;
            }
            (None, SessionsFormat::Json) => {
                report.line = Some(number);
                line::write(out, &report)?;
            }
            (None, SessionsFormat::Text) => {
                writeln!(out, "{}", report.ticket.unwrap_or_default())?;
            }
        }
    }
    out.flush()?;
    Ok(refused)
}

async fn submit_alone(
    store: &dyn FleetStore,
    ticket: &NewTicket,
) -> Result<FleetSubmission, Failure> {
    match store.submit(std::slice::from_ref(ticket)).await {
        Ok(submitted) => Ok(submitted
            .first()
            .map_or_else(|| refusal_report_of("no answer"), report_of)),
        Err(StoreError::BadRequest { field, problem }) => {
            Ok(refusal_report_of(&format!("`{field}` {problem}")))
        }
        Err(error) => Err(store_failure(error)),
    }
}

fn refusal_report(failure: &Failure) -> FleetSubmission {
    refusal_report_of(&failure.error.to_string())
}

fn refusal_report_of(error: &str) -> FleetSubmission {
    FleetSubmission {
        ticket: None,
        existing: false,
        error: Some(error.to_owned()),
        line: None,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the text is made for it")]
fn print_refusal(
    number: u64,
    error: String,
    format: SessionsFormat,
    out: &mut Printer,
) -> Result<(), Failure> {
    match format {
        SessionsFormat::Json => {
            let report = FleetSubmission {
                line: Some(number),
                ..refusal_report_of(&error)
            };
            line::write(out, &report)?;
        }
        SessionsFormat::Text => out.print_message(&format!("error: line {number}: {error}")),
    }
    Ok(())
}
