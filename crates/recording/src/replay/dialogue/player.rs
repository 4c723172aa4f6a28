//! Playing: says what is to be said, waits for what is to be waited for.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use super::audience::Audience;
use super::waiting::{Waited, Waiting};
use super::{Dialogue, ReplayRate};
use crate::replay::message::{Decision, Id, Said, with_id};
use crate::replay::script::{Script, Step, What};
use lapidary_process::Exit;
use lapidary_process::signals;

/// How far it is looked ahead for whether something can be passed over.
const AHEAD: usize = 64;

/// Signals that somebody sends to end a process.
const SENT: [&str; 4] = ["SIGTERM", "SIGKILL", "SIGINT", "SIGHUP"];

/// A dialogue that is being played.
pub(super) struct Player<A> {
    pub(super) audience: A,
    pub(super) rate: ReplayRate,
    script: Script,
    /// Steps that were read to see what comes.
    ahead: VecDeque<Step>,
    pub(super) client: Receiver<Said>,
    pub(super) has_hung_up: bool,
    pub(super) waiting: Waiting,
    /// The recorded client's requests, by their ids.
    asked: HashMap<String, Asked>,
    exit: Option<Exit>,
    duration: Option<Duration>,
    /// A moment of the recording, and when it was.
    pub(super) then: Duration,
    pub(super) now: Instant,
    pub(super) notes: u32,
}

/// A request that the recorded client made.
struct Asked {
    /// The id that this client's has. None if it made none.
    live: Option<String>,
    is_answered: bool,
}

impl<A: Audience> Player<A> {
    pub(super) fn new(
        dialogue: Dialogue,
        script: Script,
        (audience, rate): (A, ReplayRate),
        client: Receiver<Said>,
    ) -> Self {
        Self {
            audience,
            rate,
            script,
            ahead: VecDeque::new(),
            client,
            has_hung_up: false,
            waiting: Waiting::new(dialogue.coming),
            asked: HashMap::new(),
            exit: dialogue.exit,
            duration: dialogue.duration,
            then: Duration::ZERO,
            now: Instant::now(),
            notes: 0,
        }
    }

    pub(super) async fn play(mut self) -> io::Result<()> {
        let mut is_over = false;
        while let Some(Step { at, what }) = self.next()? {
            match what {
                What::Say(line) => {
                    self.until(at).await?;
                    self.say(&line).await?;
                }
                What::Complain(bytes) => {
                    self.until(at).await?;
                    self.audience.complain(&bytes);
                }
                What::Hear(said) => {
                    if !self.hear(&said).await? {
                        return Ok(());
                    }
                    self.happened(at);
                }
                What::HangUp => {
                    self.until_hung_up().await?;
                    self.happened(at);
                    is_over = true;
                }
            }
        }
        self.end(is_over).await
    }

    fn next(&mut self) -> io::Result<Option<Step>> {
        match self.ahead.pop_front() {
            Some(step) => Ok(Some(step)),
            None => self.script.next().map_err(io::Error::other),
        }
    }

    /// From now on time is counted from here.
    fn happened(&mut self, at: Duration) {
        (self.then, self.now) = (at, Instant::now());
    }

    /// After the last step.
    async fn end(&mut self, is_over: bool) -> io::Result<()> {
        match self.duration {
            Some(duration) if is_over || self.ended_by_itself() => self.until(duration).await,
            _ => self.until_hung_up().await,
        }
    }

    fn ended_by_itself(&self) -> bool {
        let is_quiet = match self.exit {
            Some(Exit::Code(code)) => code == 0,
            Some(Exit::Signal(number)) => SENT.contains(&signals::name(number).as_str()),
            None => true,
        };
        let owes = |asked: &Asked| asked.live.is_some() && !asked.is_answered;
        !is_quiet || self.asked.values().any(owes)
    }

    /// Says a line. An answer goes under the id that the client has for its request.
    async fn say(&mut self, line: &[u8]) -> io::Result<()> {
        match Said::read(line) {
            Said::Answer { id, .. } => match self.asked.get_mut(&id.key) {
                Some(asked) => {
                    asked.is_answered = true;
                    match asked.live.as_deref().map(|id| with_id(line, id)) {
                        Some(answer) => self.write(&answer).await,
                        None => Ok(()),
                    }
                }
                None => self.write(line).await,
            },
            Said::Request { id, .. } => {
                self.waiting.open(id);
                self.write(line).await
            }
            Said::Notification { .. } | Said::Noise => self.write(line).await,
        }
    }

    pub(super) async fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.audience.write(line).await
    }

    /// Waits for what the recorded client said. False if the client has hung up before.
    async fn hear(&mut self, said: &Said) -> io::Result<bool> {
        let mut since = Instant::now();
        loop {
            if self.take_heard(said) {
                self.waiting.passed(said);
                return Ok(true);
            }
            match self.listen(since).await? {
                // Whoever still speaks may be about to say it.
                Waited::More => since = Instant::now(),
                Waited::TooLong => {
                    if self.passes_over(said)? {
                        return Ok(true);
                    }
                    self.refuse_all(said).await?;
                }
                Waited::HungUp => {
                    // What has not been said by now never will be.
                    if self.waiting.has_requests() && self.passes_over(said)? {
                        return Ok(true);
                    }
                    self.refuse_all(said).await?;
                    let expected = said.described();
                    let note = format!("the client hung up where the recording has {expected}");
                    self.note(&note);
                    return Ok(false);
                }
            }
        }
    }

    fn take_heard(&mut self, said: &Said) -> bool {
        match said {
            Said::Request { id, method } => {
                let live = self.waiting.take_request(method);
                live.is_some_and(|live| {
                    self.asked_for(id, Some(live.token));
                    true
                })
            }
            Said::Notification { method } => self.waiting.take_notification(method),
            // An answer that nobody waited for then is not waited for now.
            Said::Answer { id, decision } => {
                let answer = self.waiting.take_answer(id);
                answer.map_or(!self.waiting.is_open(id), |answer| {
                    self.compare(id, decision, &answer);
                    true
                })
            }
            Said::Noise => true,
        }
    }

    fn asked_for(&mut self, id: &Id, live: Option<String>) {
        let is_answered = false;
        let asked = Asked { live, is_answered };
        self.asked.insert(id.key.clone(), asked);
    }

    fn compare(&mut self, id: &Id, recorded: &Decision, live: &Decision) {
        if recorded != live {
            let (id, live, recorded) = (&id.token, decided(live), decided(recorded));
            self.note(&format!(
                "the client's answer to `{id}` is {live}; it was {recorded}, and the replay goes on as if it still were"
            ));
        }
    }

    /// Leaves out what the client does not say, if nothing depends on it.
    fn passes_over(&mut self, said: &Said) -> io::Result<bool> {
        let can = match (said, self.peek()?) {
            (Said::Request { id, .. }, Some(What::Say(line))) => {
                matches!(Said::read(line), Said::Answer { id: answered, .. } if answered.key == id.key)
            }
            (Said::Notification { .. }, Some(What::Hear(_) | What::HangUp)) => true,
            _ => false,
        };
        if can {
            if let Said::Request { id, .. } = said {
                self.asked_for(id, None);
            }
            self.waiting.passed(said);
            let expected = said.described();
            self.note(&format!("the client skips {expected}"));
        }
        Ok(can)
    }

    /// What happened next, complaints aside.
    fn peek(&mut self) -> io::Result<Option<&What>> {
        let is_complaint = |step: &Step| matches!(step.what, What::Complain(_));
        while self.ahead.iter().all(is_complaint) && self.ahead.len() < AHEAD {
            match self.script.next().map_err(io::Error::other)? {
                Some(step) => self.ahead.push_back(step),
                None => break,
            }
        }
        let next = self.ahead.iter().find(|step| !is_complaint(step));
        Ok(next.map(|step| &step.what))
    }
}

fn decided(decision: &Decision) -> String {
    match decision {
        Decision::Refused => "an error".to_owned(),
        Decision::Outcome(outcome) => format!("`{outcome}`"),
        Decision::Answered => "a result".to_owned(),
    }
}
