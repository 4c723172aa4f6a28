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
mod other_commands;
mod screen;
mod sources;
mod state;
mod text;
mod title_terms;
mod transcript;
mod view;
mod worker;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::common::{AgentFilter, ProjectScope, SessionsContext};
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::live::terminal;
use crate::printer::Printer;
use crate::system;
use canvas::Rect;
use screen::{BrowserScreen, Keyboard, screen_area};
use sources::BrowsedProjects;
use state::{BrowserEffect, BrowserInput, BrowserOutcome, BrowserSetup, BrowserState};
use worker::BrowserWorkers;

/// How often an idle browser checks for a signal to end.
const LOOK: Duration = Duration::from_millis(250);

/// How many inputs are handled before the next draw.
const AT_ONCE: usize = 64;

/// Look through recorded sessions on a terminal: search, read, resume, export
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lapidary sessions browse
  lapidary sessions browse --all
  lapidary sessions browse --all --agent claude

Letters search titles and texts. F1 shows the keys. Nothing is changed without asking.")]
pub(crate) struct Args {
    #[command(flatten)]
    scope: ProjectScope,
    #[command(flatten)]
    whose: AgentFilter,
}

pub(crate) fn run(args: &Args, out: &mut Printer) -> Result<CommandExit, Failure> {
    refuse_without_a_terminal(out)?;
    let place = SessionsContext::open(&out.invocation)?;
    let outcome = {
        let is_ending = system::end_signal_flag().map_err(Failure::internal)?;
        let (sender, inputs) = channel(); // unbounded: workers report a few times a second, and a person types
        let about = browser_setup(args, &place, out);
        let sources = BrowsedProjects::new(place, args.scope.clone(), args.whose.clone())?;
        let screen = BrowserScreen::take_screen().context("cannot use the terminal");
        let mut screen = screen.map_err(Failure::internal)?;
        let setup = BrowserSetup {
            screen: screen_area()?,
            ..about
        };
        let workers = BrowserWorkers::start_workers(sources, setup.marks, sender.clone());
        let keyboard = Keyboard::listen_for_keys(sender).map_err(Failure::internal)?;
        let mut browser = Browser {
            state: BrowserState::new(setup),
            workers,
            inputs,
        };
        let outcome = browser.run(&mut screen, &is_ending);
        keyboard.stop();
        browser.workers.finish_writing();
        outcome?
    };
    carry_out(&outcome, out)
}

fn refuse_without_a_terminal(out: &Printer) -> Result<(), Failure> {
    let why = if !out.is_terminal {
        "stdout is not a terminal"
    } else if !out.invocation.is_stdin_terminal() {
        "stdin is not a terminal"
    } else if out.invocation.is_terminal_dumb() {
        "this terminal cannot move its cursor"
    } else {
        return Ok(());
    };
    let failure = Failure::usage(anyhow!("there is nothing to browse on: {why}"));
    Err(failure.with_hint("`lapidary sessions list` prints them"))
}

/// The setup, except for the screen, which is not taken yet.
fn browser_setup(args: &Args, place: &SessionsContext, out: &Printer) -> BrowserSetup {
    let marks = terminal::locale_marks(&out.invocation);
    let shown = if args.scope.all {
        "all projects".to_owned()
    } else {
        let root = place.project_root(args.scope.project.as_deref());
        below_home(&root.unwrap_or_default(), place)
    };
    BrowserSetup {
        screen: Rect::ZERO,
        marks,
        colour: out.colour,
        now: place.now,
        place: text::one_line(&shown, marks),
        is_everywhere: args.scope.all,
    }
}

/// A path as people write it.
fn below_home(path: &Path, place: &SessionsContext) -> String {
    let home = place.environment.home.as_deref();
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => Path::new("~").join(below).display().to_string(),
        None => path.display().to_string(),
    }
}

/// Carries out the outcome, after the terminal was restored.
fn carry_out(outcome: &BrowserOutcome, out: &mut Printer) -> Result<CommandExit, Failure> {
    match outcome {
        BrowserOutcome::Done => Ok(CommandExit::Success),
        BrowserOutcome::Interrupted => Ok(CommandExit::Cancelled),
        BrowserOutcome::Resume(it) => other_commands::resume_session(it, out),
    }
}

struct Browser {
    state: BrowserState,
    workers: BrowserWorkers,
    inputs: Receiver<BrowserInput>,
}

impl Browser {
    /// Draws, waits for the next input, and carries out its effects, until the user leaves.
    fn run(
        &mut self,
        screen: &mut BrowserScreen,
        is_ending: &AtomicBool,
    ) -> Result<BrowserOutcome, Failure> {
        self.workers.list_sessions();
        loop {
            screen.draw_state(&self.state)?;
            let mut next = self.wait_for_input(is_ending);
            for _ in 0..AT_ONCE {
                for effect in self.state.take_input(next) {
                    if effect == BrowserEffect::Suspend {
                        let area = screen.suspend()?;
                        self.state.take_input(BrowserInput::Resize(area));
                    } else if let Some(outcome) = self.perform_effect(effect) {
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

    /// The next input. Meanwhile it checks for signals every `LOOK`.
    fn wait_for_input(&self, is_ending: &AtomicBool) -> BrowserInput {
        loop {
            // A closed terminal sends no key, and its signal may have gone to another process.
            if is_ending.load(Ordering::Relaxed) || system::is_terminal_gone() {
                return BrowserInput::Terminated;
            }
            match self.inputs.recv_timeout(LOOK) {
                Ok(input) => return input,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return BrowserInput::Terminated,
            }
        }
    }

    fn perform_effect(&self, effect: BrowserEffect) -> Option<BrowserOutcome> {
        match effect {
            BrowserEffect::List => self.workers.list_sessions(),
            BrowserEffect::Read(ticket, path, extent) => {
                self.workers.read_transcript(ticket, path, extent);
            }
            BrowserEffect::Search(ticket, query, files) => {
                self.workers.search_files(ticket, query, files);
            }
            BrowserEffect::Export(path, to) => self.workers.export_session(path, to),
            BrowserEffect::Plan(path, size) => self.workers.plan_deletion(path, size),
            BrowserEffect::Delete(path) => self.workers.delete_planned(path),
            BrowserEffect::Suspend => {} // that is the screen's
            BrowserEffect::Leave(outcome) => return Some(outcome),
        }
        None
    }
}
