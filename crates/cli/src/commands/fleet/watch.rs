//! `fleet watch`: queue, lanes and workers, as they change.

use std::io::Write as _;
use std::time::Duration;

use lapidary::render::plain::{one_line, reveal};
use lapidary::vocab::fleet::FleetOverviewReport;
use lapidary::vocab::line;
use lapidary_fleet::{FleetStore, StoreError};
use tokio::time::sleep;

use super::super::sessions::SessionsFormat;
use super::follow::retry_passing;
use super::report::overview_report;
use super::store_option::{StoreOption, block_on, store_failure};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// The shortest pause between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);

/// Show queue, lanes and workers, again whenever something changes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary fleet watch
  lapidary fleet watch --once --format json | jq .waiting")]
pub(crate) struct Args {
    /// Look once, and exit
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    store: StoreOption,
    /// What to print [default: text on a terminal, one json a line when piped]
    #[arg(long, value_enum)]
    format: Option<SessionsFormat>,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    let format = SessionsFormat::or_usual(args.format, out.is_terminal);
    block_on(async {
        let store = args.store.open_existing(&out.invocation).await?;
        let mut listener = if args.once {
            None
        } else {
            Some(store.listen().await.map_err(store_failure)?)
        };
        let mut last = None;
        loop {
            let report = if args.once {
                look(&*store).await.map_err(store_failure)?
            } else {
                retry_passing(async || look(&*store).await).await?
            };
            if last.as_ref().is_none_or(|last| is_news(last, &report)) {
                match format {
                    SessionsFormat::Json => line::write(out, &report)?,
                    SessionsFormat::Text => print_text(&report, out)?,
                }
                out.flush()?;
            }
            let Some(listener) = &mut listener else {
                return Ok(());
            };
            last = Some(report);
            listener.next().await;
            sleep(SHORTEST_PAUSE).await;
        }
    })?;
    Ok(CommandExit::Success)
}

async fn look(store: &dyn FleetStore) -> Result<FleetOverviewReport, StoreError> {
    let overview = store.overview().await?;
    let prompts = match overview.open_prompts {
        0 => Vec::new(),
        _ => store.open_prompts(None).await?,
    };
    Ok(overview_report(store, &overview, &prompts))
}

/// Whether more than clocks changed.
fn is_news(last: &FleetOverviewReport, report: &FleetOverviewReport) -> bool {
    let without_clocks = |report: &FleetOverviewReport| {
        let mut report = report.clone();
        report.now.clear();
        report.oldest_waiting_ms = None;
        report
            .workers
            .iter_mut()
            .for_each(|worker| worker.seen_at.clear());
        report
    };
    without_clocks(last) != without_clocks(report)
}

fn print_text(report: &FleetOverviewReport, out: &mut Printer) -> Result<(), Failure> {
    writeln!(
        out,
        "{}  {} waiting, {} blocked, {} running, {} done, {} open permission requests",
        report.now,
        report.waiting,
        report.blocked,
        report.running,
        report.done,
        report.open_prompts
    )?;
    for prompt in &report.prompts {
        let ticket = prompt.run.rsplit_once('-').map_or("", |(ticket, _)| ticket);
        let mut title = ["title", "toolName"].iter();
        let title = title.find_map(|name| prompt.event.get(name)?.as_str());
        writeln!(
            out,
            "  ticket {ticket} asks `{}`: {}",
            one_line(&prompt.request_id),
            one_line(&reveal(title.unwrap_or_default())) // it is what `fleet answer` allows
        )?;
    }
    for lane in &report.lanes {
        let limit = lane.limit.map_or("-".to_owned(), |limit| limit.to_string());
        let name = one_line(&lane.name);
        writeln!(
            out,
            "  lane {name}: {}/{limit} running, {} waiting",
            lane.running, lane.waiting
        )?;
    }
    for worker in report.workers.iter().filter(|worker| !worker.left) {
        let draining = if worker.draining { ", draining" } else { "" };
        writeln!(
            out,
            "  worker {} on {}: {}/{} running{draining}, seen {}",
            one_line(&worker.name),
            one_line(&worker.host),
            worker.running,
            worker.slots,
            worker.seen_at
        )?;
    }
    Ok(())
}
