//! `run`: an agent on a prompt, with an outcome that can be trusted.

mod args;
mod asking;
mod job;
mod present;
pub(super) mod signals;

pub(super) use args::Args;
pub(super) use present::explain;

use lapidary::drive::headless::Job;
use lapidary::drive::run::Run;
use lapidary::normalize::{Ending, Stopped};
use lapidary::vocab::Cause;

use self::signals::Listener;
use super::sink::{self, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    let listener = Listener::register();
    let format = args.format(out);
    let id = args
        .common
        .run_id
        .clone()
        .unwrap_or_else(lapidary::drive::fresh_run);
    let options = sink::options(&id, format, args.common.no_raw, args.common.deltas);
    let mut asking = None;
    let run = match job::of(args, format, options.clone()) {
        Ok(mut job) => {
            if let Some((attendant, asks)) = asking::attended() {
                job.speaking.attendant = attendant;
                asking = Some(asks);
            }
            Job::start(&job)
        }
        Err(failure) if failure.exit == Exit::Usage => return Err(failure),
        // A run that cannot be made has one ending all the same, for whoever reads the events.
        Err(failure) => Run::refused(&options, refusal(&failure)),
    };
    let heard = listener.ends(run.stopper());
    present::present(run, heard, format, args, &id, asking, out)
}

pub(super) fn refusal(failure: &Failure) -> Ending {
    let stopped = Stopped {
        cause: match failure.exit {
            Exit::BadInput if failure.is_config => Cause::BadConfig,
            Exit::BadInput => Cause::BadInput,
            _ => Cause::Internal,
        },
        message: format!("{:#}", failure.error),
        hint: failure.hint.clone(),
    };
    Ending {
        stopped: Some(stopped),
        ..Ending::default()
    }
}

impl Args {
    /// Text for people, events for programs.
    fn format(&self, out: &Printer) -> Format {
        let usual = if out.is_terminal {
            Format::Text
        } else {
            Format::Events
        };
        self.format.unwrap_or(usual)
    }
}
