//! Watching a program that is being recorded: how far its files have grown, whether it has ended, whether it must.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use super::Piece;
use super::tape::Tape;
use crate::follow::{CHUNK, Followed, Grown, Growth};
use crate::process::{Ended, Running};
use crate::recording::{Channel, STDERR, STDOUT};
use crate::run::stop::{Urgency, wanted};

/// Files that grow all the time are looked at only this often.
const PAUSE: Duration = Duration::from_millis(2);

/// Files are looked at this often even if nobody says that they grew.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// If the supervisor itself does not answer this long after the grace, it is given up.
const GIVE_UP: Duration = Duration::from_secs(10);

/// What watches.
pub(super) struct Watch {
    running: Running,
    tape: Tape,
    growth: Growth,
    stdout: File,
    stderr: File,
    seen: Grown,
    grown: watch::Sender<Grown>,
    grace: Duration,
    asked: Urgency,
    give_up: Option<Instant>,
}

impl Watch {
    pub(super) fn new(
        directory: &Path,
        running: Running,
        tape: Tape,
        grown: watch::Sender<Grown>,
        grace: Duration,
    ) -> io::Result<Self> {
        let (stdout, stderr) = (directory.join(STDOUT), directory.join(STDERR));
        Ok(Self {
            running,
            tape,
            growth: Growth::of(&[&stdout, &stderr]),
            stdout: File::open(stdout)?,
            stderr: File::open(stderr)?,
            seen: Grown::default(),
            grown,
            grace,
            asked: Urgency::None,
            give_up: None,
        })
    }

    /// Watches until the program and everything that it started is gone. None if its supervisor had to be given up.
    pub(super) async fn until_the_end(
        mut self,
        mut stops: watch::Receiver<Urgency>,
    ) -> Option<Ended> {
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = loop {
            // All of these can be cancelled without losing anything.
            tokio::select! {
                biased;
                ended = self.running.wait() => break Some(ended),
                urgency = wanted(&mut stops, self.asked) => self.end(urgency).await,
                () = at(self.give_up) => break None,
                () = self.growth.happened() => {
                    self.look().await;
                    sleep(PAUSE).await;
                }
                _ = heartbeat.tick() => self.look().await,
            }
        };
        self.look().await;
        self.seen.is_over = true;
        self.grown.send_replace(self.seen);
        ended
    }

    /// How far have the files grown?
    async fn look(&mut self) {
        let length = |file: &File| file.metadata().map_or(0, |metadata| metadata.len());
        let now = Grown {
            stdout: length(&self.stdout).max(self.seen.stdout),
            stderr: length(&self.stderr).max(self.seen.stderr),
            is_over: false,
        };
        if now != self.seen {
            self.tape.note(Channel::Out, now.stdout - self.seen.stdout);
            self.tape.note(Channel::Err, now.stderr - self.seen.stderr);
            self.seen = now;
            self.grown.send_replace(now);
        }
        if self.asked < Urgency::Kill && self.tape.problem().is_some() {
            self.end(Urgency::Kill).await;
        }
    }

    async fn end(&mut self, urgency: Urgency) {
        self.asked = urgency;
        let grace = match urgency {
            Urgency::None => return,
            Urgency::Cancel => {
                self.running.stop(self.grace).await;
                self.grace
            }
            Urgency::Kill => {
                self.running.kill().await;
                Duration::ZERO
            }
        };
        self.give_up = Some(Instant::now() + grace + GIVE_UP);
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Hands on what the program writes, at the pace of whoever takes it.
pub(super) struct Copier {
    stdout: Followed,
    stderr: Followed,
    pieces: mpsc::Sender<Piece>,
}

impl Copier {
    pub(super) fn new(directory: &Path, pieces: mpsc::Sender<Piece>) -> io::Result<Self> {
        Ok(Self {
            stdout: Followed::open(&directory.join(STDOUT))?,
            stderr: Followed::open(&directory.join(STDERR))?,
            pieces,
        })
    }

    /// Reads until there is nothing more to come, or nobody to take it.
    pub(super) async fn follow(mut self, mut grown: watch::Receiver<Grown>) {
        loop {
            let now = *grown.borrow_and_update();
            let Self {
                stdout,
                stderr,
                pieces,
            } = &mut self;
            let is_heard = copy(stderr, now.stderr, pieces, Piece::Err).await
                && copy(stdout, now.stdout, pieces, Piece::Out).await;
            if !is_heard || now.is_over || grown.changed().await.is_err() {
                return;
            }
        }
    }
}

/// False if nobody takes it any more, or the file cannot be read.
async fn copy(
    from: &mut Followed,
    until: u64,
    pieces: &mpsc::Sender<Piece>,
    piece: fn(Vec<u8>) -> Piece,
) -> bool {
    while from.offset < until {
        let mut bytes = vec![0; CHUNK];
        match from.read(&mut bytes, until) {
            Ok(count @ 1..) => bytes.truncate(count),
            Ok(0) | Err(_) => return false, // somebody has cut the file
        }
        if pieces.send(piece(bytes)).await.is_err() {
            return false;
        }
    }
    true
}
