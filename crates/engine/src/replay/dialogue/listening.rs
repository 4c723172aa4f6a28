//! Listening to the client, while there is nothing to say and while there is nothing else to do.

use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use super::player::{Player, described};
use super::waiting::Taken;
use crate::replay::message::{Id, Said};

/// What there is no such method for.
const UNKNOWN: i32 = -32601;

/// What cannot be done now.
const OUT_OF_TURN: i32 = -32603;

/// How often the client's oddities are noted. A client that has more says nothing new.
const NOTES: u32 = 100;

/// What has become of waiting.
pub(super) enum Waited {
    /// There is something new.
    More,
    /// Requests have waited long enough.
    TooLong,
    HungUp,
}

impl Player<'_> {
    pub(super) fn refuse_all(&mut self, said: &Said) -> io::Result<()> {
        let expected = described(said);
        for (id, method) in self.waiting.give_up() {
            let why = format!("`{method}` is out of turn: the recording has {expected} before it");
            self.refuse(&id, OUT_OF_TURN, &why)?;
        }
        Ok(())
    }

    fn refuse(&mut self, id: &Id, code: i32, why: &str) -> io::Result<()> {
        self.note(why);
        let (id, why) = (&id.token, serde_json::Value::from(why));
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{why}}}}}\n"
        );
        self.write(line.as_bytes())
    }

    /// Waits for the client to say something, or for the patience with requests that wait since then to end.
    pub(super) fn listen(&mut self, since: Instant) -> io::Result<Waited> {
        if self.has_hung_up {
            return Ok(Waited::HungUp);
        }
        let deadline = since.checked_add(self.stage.patience);
        let deadline = deadline.filter(|_| self.waiting.has_requests());
        self.hear_until(deadline)
    }

    /// Lets time pass until the moment at which something happened then.
    pub(super) fn until(&mut self, at: Duration) -> io::Result<()> {
        let pause = self.stage.pace.of(at.saturating_sub(self.then));
        let due = self.now.checked_add(pause);
        while due.is_none_or(|due| due > Instant::now()) {
            if !self.has_hung_up {
                self.hear_until(due)?;
                continue;
            }
            let left = due.map_or(Duration::MAX, |due| {
                due.saturating_duration_since(Instant::now())
            });
            thread::sleep(left);
        }
        Ok(())
    }

    pub(super) fn until_hung_up(&mut self) -> io::Result<()> {
        while !self.has_hung_up {
            self.hear_until(None)?;
        }
        Ok(())
    }

    /// Hears at most one line.
    fn hear_until(&mut self, deadline: Option<Instant>) -> io::Result<Waited> {
        let heard = match deadline {
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                self.client.recv_timeout(left)
            }
            None => self.client.recv().map_err(RecvTimeoutError::from),
        };
        match heard {
            Ok(said) => self.take_in(said).map(|()| Waited::More),
            Err(RecvTimeoutError::Timeout) => Ok(Waited::TooLong),
            Err(RecvTimeoutError::Disconnected) => {
                self.has_hung_up = true;
                Ok(Waited::HungUp)
            }
        }
    }

    fn take_in(&mut self, said: Said) -> io::Result<()> {
        match self.waiting.take_in(said) {
            Taken::Kept => Ok(()),
            Taken::Unknown(id, method) => {
                let why = format!("the recording has no `{method}` here or later");
                self.refuse(&id, UNKNOWN, &why)
            }
            Taken::TooMany(id, method) => {
                let why = format!("`{method}` is one request too many to wait for its turn");
                self.refuse(&id, OUT_OF_TURN, &why)
            }
            Taken::Ignored(what) => {
                self.note(&format!("ignored: {what}"));
                Ok(())
            }
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        self.notes = self.notes.saturating_add(1);
        if self.notes <= NOTES {
            (self.stage.note)(text);
        }
        if self.notes == NOTES {
            (self.stage.note)("further differences of the client are not listed");
        }
    }
}
