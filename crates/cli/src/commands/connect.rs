//! `connect`: an agent for programs. Events come out, commands go in, one JSON per line.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::sync::Arc;

use anyhow::anyhow;
use lapidary::demo::DemoAttendance;
use lapidary::engine::config::TransportChoice;
use lapidary::engine::conversation::{ClientCommand, CommandSender};
use lapidary::engine::run::Run;
use lapidary::normalize::NormalizeOptions;
use lapidary::vocab::event::RunEnd;
use lapidary::vocab::line::push_event;
use lapidary::vocab::{Body, Cause, Event};

use super::common::CommonOptions;
use super::job::JobRequest;
use super::run::signals::SignalListener;
use super::run::{explain_end, refusal_end};
use super::sink::{self, OutputFormat};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::printer::Printer;

/// The longest line that is read as a command.
const LONGEST: u64 = 64 << 20;

/// Keep an agent for a program: events out, commands in, one JSON per line
///
/// The agent is started at once and lives until stdin is closed and everything that was asked for is done. It speaks ACP. Events are
/// those of `run`; each command has one `command_result`, with the `id` that the command had. `lapidary schema commands` has
/// all commands.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Commands, each with an optional `id`:
  {\"command\":\"send_message\",\"text\":\"fix the tests\"}
      a prompt; a session is opened if there is none
  {\"command\":\"permission_response\",\"requestId\":\"0\",\"allowed\":true}
  {\"command\":\"elicitation_response\",\"requestId\":\"1\",\"action\":\"accept\",\"content\":{…}}
      answers what the agent asks of the user; also decline, cancel
  {\"command\":\"interrupt\"}
      ends the turn
  {\"command\":\"steer\",\"text\":\"leave the docs alone\"}
      a message for the turn under way, for agents that take one
  {\"command\":\"create_session\",\"cwd\":\".\"}
      also load_, resume_, close_, delete_ and list_sessions
  {\"command\":\"set_model\",\"model\":\"…\"}
      also set_mode, set_config_option, set_reasoning_effort
  {\"command\":\"set_permission_mode\",\"mode\":\"acceptEdits\"}
  {\"command\":\"authenticate\",\"methodId\":\"…\"}
  {\"command\":\"kill\"}
      ends the agent, and with it everything

Examples:
  echo '{\"command\":\"send_message\",\"text\":\"hello\"}' | lapidary connect --agent claude
  lapidary connect --agent 'opencode acp' --deny 'edit:.github/**'

What the rules and the mode leave open is asked: `permission_request` comes out, and the agent waits for its \
`permission_response`. examples/connect.py and examples/connect.ts are whole clients.

Exit codes are those of `run`.")]
pub(crate) struct Args {
    #[command(flatten)]
    common: CommonOptions,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let listener = SignalListener::register_signals(&out.invocation);
    let common = &args.common;
    let id = common.run_id.clone();
    let id = id.unwrap_or_else(lapidary::engine::fresh_run);
    let mut options =
        sink::normalize_options(&id, OutputFormat::Events, common.no_raw, common.deltas);
    options.show_files = common.show_files;
    let run = match start_run(common, &options, &out.invocation) {
        Ok((run, orders)) => {
            read_orders(orders, out.invocation.clone())?;
            run
        }
        Err(failure) if failure.exit == CommandExit::Usage => return Err(failure),
        Err(failure) => {
            let wanted = JobRequest::new(common, options.clone(), &out.invocation);
            let refused = wanted.refused_run(None);
            Run::refused(
                &options,
                wanted.agent_family(),
                &refusal_end(&failure),
                refused.as_ref(),
            )
        }
    };
    let _heard = listener.stop_run_with(run.stopper());
    // A client that was killed writes and reads no more. An agent that is silent at that time would never be stopped by a failed write.
    let stopper = run.stopper();
    out.invocation.on_unread_stdout(move || stopper.cancel());
    let end = print_all(run, out)?;
    if end.cause != Cause::EndTurn {
        explain_end(&end, &out.invocation);
    }
    Ok(CommandExit::from_outcome(&end.cause))
}

fn start_run(
    common: &CommonOptions,
    options: &NormalizeOptions,
    invocation: &Invocation,
) -> Result<(Run, CommandSender), Failure> {
    let wanted = JobRequest::new(common, options.clone(), invocation);
    let job = wanted
        .with_attendance(DemoAttendance::Attended)
        .make_job()?;
    check_transport("connect", common, job.config.transport)?;
    match job.connect() {
        Ok(conversation) => Ok((conversation.run, conversation.orders)),
        Err(error) => Ok((job.refused(&error), CommandSender::to_nobody())),
    }
}

/// An agent that gets its prompt once and then only writes cannot be kept.
pub(super) fn check_transport(
    command: &str,
    common: &CommonOptions,
    chosen: Option<TransportChoice>,
) -> Result<(), Failure> {
    let chosen = chosen.unwrap_or_default();
    if matches!(chosen, TransportChoice::Auto | TransportChoice::Acp) {
        return Ok(());
    }
    let error = anyhow!("`{command}` speaks ACP, not `{}`", chosen.as_str());
    let failure = match common.transport {
        Some(_) => Failure::usage(error),
        None => Failure::bad_config(error),
    };
    Err(failure.with_hint("`--transport acp` chooses it; `lapidary run` knows the others"))
}

/// Reads orders on a thread of their own, which ends with us: a read of stdin cannot be given up.
fn read_orders(orders: CommandSender, invocation: Arc<Invocation>) -> Result<(), Failure> {
    let thread = std::thread::Builder::new().name("lapidary-orders".to_owned());
    let body = move || {
        let mut stdin = BufReader::new(invocation.stdin_reader());
        while let Some(order) = next_order(&mut stdin) {
            orders.give(order);
        }
    };
    let spawned = thread.spawn(body).map(drop);
    spawned.map_err(|error| Failure::internal(anyhow!(error)))
}

/// The next order. Blank lines are none.
fn next_order(stdin: &mut impl BufRead) -> Option<ClientCommand> {
    loop {
        let mut line = Vec::new();
        let read = stdin
            .by_ref()
            .take(LONGEST + 1)
            .read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return None;
        }
        if line.len() as u64 > LONGEST {
            skip_line(stdin);
            return Some(ClientCommand::unreadable(&format!(
                "a command has more than {LONGEST} bytes"
            )));
        }
        match std::str::from_utf8(&line) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => return Some(ClientCommand::read(text)),
            Err(_) => return Some(ClientCommand::unreadable("a command is not UTF-8")),
        }
    }
}

fn skip_line(stdin: &mut impl BufRead) {
    while let Ok(piece @ [_, ..]) = stdin.fill_buf() {
        let end = piece.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(piece.len(), |end| end + 1);
        stdin.consume(count);
        if end.is_some() {
            return;
        }
    }
}

/// Prints events until the run ends. If stdout cannot be written to any more, cancels the run.
fn print_all(mut run: Run, out: &mut Printer) -> Result<RunEnd, Failure> {
    let mut end = None;
    let mut is_read = true;
    while let Some(events) = run.blocking_next_batch().map(|batch| batch.events) {
        if let Some(Body::RunEnd(last)) = events.last().map(|event| &event.body) {
            end = Some(last.clone());
        }
        if is_read && let Err(error) = print_events(&events, out) {
            is_read = false;
            run.stopper().cancel();
            if error.kind() != io::ErrorKind::BrokenPipe {
                out.print_message(&format!("error: cannot write: {error}"));
            }
        }
    }
    end.ok_or_else(|| Failure::internal(anyhow!("the run ended without a word")))
}

fn print_events(events: &[Event], out: &mut Printer) -> io::Result<()> {
    for event in events {
        out.write_line(|line| push_event(line, event))?;
    }
    out.flush()
}
