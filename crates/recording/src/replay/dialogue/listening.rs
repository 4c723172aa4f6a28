//! Listening to the client, while there is nothing to say and while there is nothing else to do.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::audience::Audience;
use super::player::DialoguePlayer;
use super::waiting::{TakenMessage, WaitOutcome};
use crate::replay::message::{MessageId, MessageKind};

/// The method does not exist.
const UNKNOWN: i32 = -32601;

/// The request cannot be answered now.
const OUT_OF_TURN: i32 = -32603;

/// How often the client's oddities are noted. A client that has more says nothing new.
const NOTES: u32 = 100;

impl<A: Audience> DialoguePlayer<A> {
    pub(super) async fn refuse_all(&mut self, said: &MessageKind) -> io::Result<()> {
        let expected = said.message_description();
        for (id, method) in self.waiting.give_up() {
            let why = format!("`{method}` is out of turn: the recording has {expected} before it");
            self.refuse_request(&id, OUT_OF_TURN, &why).await?;
        }
        Ok(())
    }

    async fn refuse_request(&mut self, id: &MessageId, code: i32, why: &str) -> io::Result<()> {
        self.note_difference(why);
        let (id, why) = (&id.token, serde_json::Value::from(why));
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{why}}}}}\n"
        );
        self.write_line(line.as_bytes()).await
    }

    /// Waits for a message of the client, or until requests that wait since `since` have waited long enough.
    pub(super) async fn listen_to_client(&mut self, since: Instant) -> io::Result<WaitOutcome> {
        if self.has_hung_up {
            return Ok(WaitOutcome::HungUp);
        }
        let deadline = since.checked_add(self.rate.patience);
        let deadline = deadline.filter(|_| self.waiting.has_requests());
        self.hear_until(deadline).await
    }

    /// Waits until the time in the replay of a moment of the recording.
    pub(super) async fn wait_until(&mut self, at: Duration) -> io::Result<()> {
        let pause = self.rate.pace.scaled_time(at.saturating_sub(self.then));
        let due = self.now.checked_add(pause);
        while due.is_none_or(|due| due > Instant::now()) {
            match due {
                _ if !self.has_hung_up => {
                    self.hear_until(due).await?;
                }
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        }
        Ok(())
    }

    pub(super) async fn until_hung_up(&mut self) -> io::Result<()> {
        while !self.has_hung_up {
            self.hear_until(None).await?;
        }
        Ok(())
    }

    /// Hears at most one line.
    async fn hear_until(&mut self, deadline: Option<Instant>) -> io::Result<WaitOutcome> {
        let heard = match deadline {
            Some(deadline) => timeout_at(deadline, self.client.recv()).await,
            None => Ok(self.client.recv().await),
        };
        match heard {
            Ok(Some(said)) => self.take_in(said).await.map(|()| WaitOutcome::More),
            Ok(None) => {
                self.has_hung_up = true;
                Ok(WaitOutcome::HungUp)
            }
            Err(_) => Ok(WaitOutcome::TooLong),
        }
    }

    async fn take_in(&mut self, said: MessageKind) -> io::Result<()> {
        match self.waiting.take_in(said) {
            TakenMessage::Kept => Ok(()),
            TakenMessage::Unknown(id, method) => {
                let why = format!("the recording has no `{method}` here or later");
                self.refuse_request(&id, UNKNOWN, &why).await
            }
            TakenMessage::TooMany(id, method) => {
                let why = format!("`{method}` is one request too many to wait for its turn");
                self.refuse_request(&id, OUT_OF_TURN, &why).await
            }
            TakenMessage::Ignored(what) => {
                self.note_difference(&format!("ignored: {what}"));
                Ok(())
            }
        }
    }

    pub(super) fn note_difference(&mut self, text: &str) {
        self.notes = self.notes.saturating_add(1);
        if self.notes <= NOTES {
            self.audience.note(text);
        }
        if self.notes == NOTES {
            self.audience
                .note("further differences of the client are not listed");
        }
    }
}
