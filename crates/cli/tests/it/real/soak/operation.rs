//! The operations of one round of the soak, which run at the same time: runs, resumes, starts of the bare CLI, and kills.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::world::Real;
use super::dice::Dice;
use crate::run::world::{MARK, Mark};
use crate::support::{ended, with_a_small_disk};

/// The session of those whose vault is full: they cannot see which others are under way.
pub(super) const ALONE: &str = "dddddddd-4444-4444-8444-444444444444";

/// No kill comes later: by then most runs are over.
const LATEST_KILL: u64 = 4000;

/// One process that is started.
#[derive(Debug)]
pub(super) enum Operation {
    /// `run --resume`, with this transport.
    Resume(&'static str, &'static str, String),
    /// The same with a vault on a disk that is full, in a session that nothing else continues.
    FullDisk(String),
    /// `run`.
    Run(&'static str, String),
    /// `gemini --list-sessions`.
    BareList,
    /// `gemini --resume`.
    BareResume(&'static str, String),
}

/// The process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Us,
    UsPolitely,
    Supervisor,
    Cli,
    All,
}

/// An operation under way.
pub(super) struct Doing {
    operation: Operation,
    child: Child,
    mark: Mark,
    victim: Option<(Victim, When)>,
    /// Where the CLI of this world writes.
    chats: PathBuf,
    started: Instant,
}

/// When the victim is killed.
#[derive(Debug, Clone, Copy)]
enum When {
    /// So long after the start.
    AfterStart(Duration),
    /// So long after the prompt was written into a session file.
    AfterPrompt(Duration),
}

impl Operation {
    pub(super) fn random(dice: &mut Dice, sessions: &[&'static str], prompt: &str) -> Self {
        let tools = if dice.percent(50) { " with tools" } else { "" };
        let transport = dice.one_of(&["stream-json", "acp"]);
        let text = format!("{prompt}{tools}");
        match dice.below(100) {
            0..56 => Self::Resume(transport, dice.one_of(sessions), text),
            56..60 => Self::FullDisk(text),
            60..75 => Self::Run(transport, text),
            75..90 => Self::BareList,
            _ => Self::BareResume(dice.one_of(sessions), text),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Resume(transport, ..) => format!("resumes over {transport}"),
            Self::FullDisk(_) => "resumes on a full disk".to_owned(),
            Self::Run(transport, ..) => format!("runs over {transport}"),
            Self::BareList => "lists by the CLI".to_owned(),
            Self::BareResume(..) => "resumes by the CLI".to_owned(),
        }
    }

    /// What must not be lost, and the session that it is sent to, if it is known.
    pub(super) fn prompt(&self) -> Option<(String, Option<&'static str>)> {
        let marked = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        match self {
            Self::Resume(_, session, text) => Some((marked(text), Some(*session))),
            Self::FullDisk(text) => Some((marked(text), Some(ALONE))),
            Self::Run(_, text) => Some((marked(text), None)),
            Self::BareList | Self::BareResume(..) => None,
        }
    }

    pub(super) fn start(self, real: &Real, dice: &mut Dice) -> Doing {
        let mark = Mark::fresh();
        let mut command = self.command(real);
        command
            .env(MARK, mark.value())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let is_ours = matches!(self, Self::Resume(..) | Self::Run(..));
        let all = [
            Victim::Us,
            Victim::UsPolitely,
            Victim::Supervisor,
            Victim::Cli,
            Victim::All,
        ];
        let victim = dice.one_of(&all);
        let when = if dice.percent(35) {
            When::AfterStart(Duration::from_millis(dice.below(LATEST_KILL)))
        } else {
            When::AfterPrompt(Duration::from_millis(dice.below(800)))
        };
        let is_killed = is_ours && dice.percent(40);
        // Runs that start in the same moment are rarely in the same phase.
        thread::sleep(Duration::from_millis(dice.below(700)));
        Doing {
            child: command.spawn().unwrap(),
            operation: self,
            mark,
            victim: is_killed.then_some((victim, when)),
            chats: real.world.home().join(".gemini/tmp/project/chats"),
            started: Instant::now(),
        }
    }

    fn command(&self, real: &Real) -> Command {
        let bare = |args: &[&str]| {
            let mut command = real.world.command(V0_61_0, &real.api.base_url());
            command.args(args);
            command
        };
        match self {
            Self::Resume(transport, id, text) => real.command(
                "run",
                &["--yolo", "--transport", transport, "--resume", id, text],
            ),
            Self::FullDisk(text) => with_a_full_disk(
                real,
                &real.command("run", &["--yolo", "--resume", ALONE, text]),
            ),
            Self::Run(transport, text) => {
                real.command("run", &["--yolo", "--transport", transport, text])
            }
            Self::BareList => bare(&["--list-sessions"]),
            Self::BareResume(id, text) => bare(&[
                "-m",
                "gemini-2.5-flash",
                "--yolo",
                "--resume",
                id,
                "-p",
                text,
            ]),
        }
    }
}

impl Doing {
    pub(super) fn is_resume(&self) -> bool {
        matches!(
            self.operation,
            Operation::Resume(..) | Operation::FullDisk(_)
        )
    }

    /// Kills the victim when it is time, and waits until no process of the operation is left.
    pub(super) fn finish(mut self) {
        if let Some((victim, when)) = self.victim {
            let mut is_due = self.is_due(when);
            while !is_due() && self.child.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(10));
            }
            drop(is_due);
            self.kill(victim);
            super::report(&format!("killed: {victim:?} of {:?}", self.operation));
        }
        let everything_was_killed = matches!(self.victim, Some((Victim::All, _)));
        if everything_was_killed {
            self.kill_what_started_meanwhile();
        }
        ended(self.child);
        self.mark.assert_nothing_is_left();
    }

    /// A process may start another one between the look at `/proc` and its own end. With all of them killed at once no
    /// supervisor is left to end that one.
    fn kill_what_started_meanwhile(&self) {
        while !self.mark.processes().is_empty() {
            self.kill(Victim::All);
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn is_due(&self, when: When) -> impl FnMut() -> bool + use<> {
        let (started, chats) = (self.started, self.chats.clone());
        let prompt = self.operation.prompt().map(|it| it.0).unwrap_or_default();
        let mut written = None;
        move || match when {
            When::AfterStart(time) => started.elapsed() >= time,
            When::AfterPrompt(time) => {
                if written.is_none() && is_written(&chats, &prompt) {
                    written = Some(Instant::now());
                }
                written.is_some_and(|written| written.elapsed() >= time)
            }
        }
    }

    fn kill(&self, victim: Victim) {
        let us = i32::try_from(self.child.id()).unwrap();
        let own = env!("CARGO_BIN_EXE_lapidary");
        for (pid, line) in self.mark.processes() {
            let is_ours = line.starts_with(own);
            let is_meant = match victim {
                Victim::Us | Victim::UsPolitely => pid == us,
                Victim::Supervisor => is_ours && pid != us,
                Victim::Cli => line.contains("gemini.js"),
                Victim::All => true,
            };
            let signal = match victim {
                Victim::UsPolitely => Signal::SIGTERM,
                _ => Signal::SIGKILL,
            };
            if is_meant {
                // It may have ended by itself.
                let _ = kill(Pid::from_raw(pid), signal);
            }
        }
    }
}

fn is_written(chats: &Path, prompt: &str) -> bool {
    let entries = fs::read_dir(chats).into_iter().flatten().flatten();
    let mut texts = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.any(|text| text.contains(prompt))
}

/// Where the vault is a small disk.
fn with_a_full_disk(real: &Real, usual: &Command) -> Command {
    with_a_small_disk(usual, &real.path("state/vault"), "8k")
}
