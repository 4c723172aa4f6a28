//! `sessions browse`: recorded sessions, to be looked through on a terminal.
//!
//! ```text
//! keyboard ─┐
//! listing  ─┤ Input ──► State ──► Effect ──► workers
//! reading  ─┤             │
//! search   ─┘             └──► view
//! ```

mod canvas;
mod confirm;
mod deletion;
mod document;
mod entry;
mod full_text;
mod keys;
mod layout;
mod list;
mod open;
mod screen;
mod seams;
mod sources;
mod state;
mod text;
mod transcript;
mod view;
mod words;
mod worker;

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::common::{Place, Scope};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live::terminal;
use crate::printer::Printer;
use crate::system;
use canvas::Rect;
use screen::{Keyboard, Screen, screen_area};
use sources::Sources;
use state::{Effect, Input, Outcome, Setup, State};
use worker::Workers;

/// So often it is looked whether somebody wants us to end, when nothing else happens.
const LOOK: Duration = Duration::from_millis(250);

/// So many inputs are taken before what came of them is drawn.
const AT_ONCE: usize = 64;

/// Look through recorded sessions on a terminal: search, read, resume, export
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions browse
  lapidary sessions browse --all

Letters search titles and texts. F1 shows the keys. Nothing is changed without asking.")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: Scope,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<Exit, Failure> {
    refuse_without_a_terminal(out)?;
    let place = Place::open()?;
    let outcome = {
        let is_ending = system::is_ending().map_err(Failure::internal)?;
        let (sender, inputs) = channel(); // workers tell something some times a second, and a person types
        let about = about(args, &place, out);
        let sources = Sources::new(place, args.scope.clone())?;
        let screen = Screen::take().context("cannot use the terminal");
        let mut screen = screen.map_err(Failure::internal)?;
        let setup = Setup {
            screen: screen_area()?,
            ..about
        };
        let workers = Workers::start(sources, setup.marks, sender.clone());
        let keyboard = Keyboard::listen(sender).map_err(Failure::internal)?;
        let mut browser = Browser {
            state: State::new(setup),
            workers,
            inputs,
        };
        let outcome = browser.run(&mut screen, &is_ending);
        keyboard.stop();
        browser.workers.finish();
        outcome?
    };
    leave(&outcome, out)
}

fn refuse_without_a_terminal(out: &Printer) -> Result<(), Failure> {
    let why = if !out.is_terminal {
        "stdout is not a terminal"
    } else if !std::io::stdin().is_terminal() {
        "stdin is not a terminal"
    } else if std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
        "this terminal cannot move its cursor"
    } else {
        return Ok(());
    };
    let failure = Failure::usage(anyhow!("there is nothing to browse on: {why}"));
    Err(failure.with_hint("`lapidary sessions list` prints them"))
}

/// What is known before the terminal is taken.
fn about(args: &Args, place: &Place, out: &Printer) -> Setup {
    let marks = terminal::marks();
    let shown = if args.scope.all {
        "all projects".to_owned()
    } else {
        let root = place.root(args.scope.project.as_deref());
        below_home(&root.unwrap_or_default(), place)
    };
    Setup {
        screen: Rect::ZERO,
        marks,
        colour: out.colour,
        now: place.now,
        place: text::one_line(&shown, marks),
        is_everywhere: args.scope.all,
    }
}

/// A path as people write it.
fn below_home(path: &Path, place: &Place) -> String {
    let home = place.environment.home.as_deref();
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => Path::new("~").join(below).display().to_string(),
        None => path.display().to_string(),
    }
}

/// What is done about it, now that the terminal is as it was.
fn leave(outcome: &Outcome, out: &mut Printer) -> Result<Exit, Failure> {
    match outcome {
        Outcome::Done => Ok(Exit::Success),
        Outcome::Interrupted => Ok(Exit::Cancelled),
        Outcome::Resume(it) => seams::resume(it, out),
    }
}

struct Browser {
    state: State,
    workers: Workers,
    inputs: Receiver<Input>,
}

impl Browser {
    /// Draws, waits for something to happen, and sees to what it asks for; until somebody leaves.
    fn run(&mut self, screen: &mut Screen, is_ending: &AtomicBool) -> Result<Outcome, Failure> {
        self.workers.list();
        loop {
            screen.draw(&self.state)?;
            let mut next = self.wait(is_ending);
            for _ in 0..AT_ONCE {
                for effect in self.state.update(next) {
                    if effect == Effect::Suspend {
                        let area = screen.suspend()?;
                        self.state.update(Input::Resize(area));
                    } else if let Some(outcome) = self.perform(effect) {
                        return Ok(outcome);
                    }
                }
                match self.inputs.try_recv() {
                    Ok(input) => next = input,
                    Err(_) => break,
                }
            }
        }
    }

    /// The next input. Nothing is done until there is one, except looking for signals now and then.
    fn wait(&self, is_ending: &AtomicBool) -> Input {
        loop {
            // A terminal that is gone sends no key, and its signal may have gone to somebody else.
            if is_ending.load(Ordering::Relaxed) || system::is_terminal_gone() {
                return Input::Terminated;
            }
            match self.inputs.recv_timeout(LOOK) {
                Ok(input) => return input,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Input::Terminated,
            }
        }
    }

    fn perform(&self, effect: Effect) -> Option<Outcome> {
        match effect {
            Effect::List => self.workers.list(),
            Effect::Read(ticket, path, extent) => self.workers.read(ticket, path, extent),
            Effect::Search(ticket, query, files) => self.workers.search(ticket, query, files),
            Effect::Export(path, to) => self.workers.export(path, to),
            Effect::Plan(path, size) => self.workers.plan(path, size),
            Effect::Delete(path) => self.workers.delete(path),
            Effect::Suspend => {} // that is the screen's
            Effect::Leave(outcome) => return Some(outcome),
        }
        None
    }
}
