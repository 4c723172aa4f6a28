//! Playing a dialogue: sends the agent's lines, and waits for the client's messages.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use super::audience::Audience;
use super::waiting::{UnheardMessages, WaitOutcome};
use super::{Dialogue, ReplayRate};
use crate::replay::message::{AnswerDecision, MessageId, MessageKind, with_id};
use crate::replay::script::{ScriptSource, ScriptStep, StepKind};
use lapidary_process::Exit;
use lapidary_process::signals;

/// How many steps are looked at to decide whether a message can be skipped.
const AHEAD: usize = 64;

/// Signals that are used to end a process.
const SENT: [&str; 4] = ["SIGTERM", "SIGKILL", "SIGINT", "SIGHUP"];

/// A dialogue that is being played.
pub(super) struct DialoguePlayer<A> {
    pub(super) audience: A,
    pub(super) rate: ReplayRate,
    script: ScriptSource,
    /// Steps that were read ahead.
    ahead: VecDeque<ScriptStep>,
    pub(super) client: Receiver<MessageKind>,
    pub(super) has_hung_up: bool,
    pub(super) waiting: UnheardMessages,
    /// The recorded client's requests, by their ids.
    asked: HashMap<String, RecordedRequest>,
    exit: Option<Exit>,
    duration: Option<Duration>,
    /// A moment of the recording, and when it was.
    pub(super) then: Duration,
    pub(super) now: Instant,
    pub(super) notes: u32,
}

/// A request that the recorded client made.
struct RecordedRequest {
    /// The id that this client's has. None if it made none.
    live: Option<String>,
    is_answered: bool,
}

impl<A: Audience> DialoguePlayer<A> {
    pub(super) fn new(
        dialogue: Dialogue,
        script: ScriptSource,
        (audience, rate): (A, ReplayRate),
        client: Receiver<MessageKind>,
    ) -> Self {
        Self {
            audience,
            rate,
            script,
            ahead: VecDeque::new(),
            client,
            has_hung_up: false,
            waiting: UnheardMessages::new(dialogue.coming),
            asked: HashMap::new(),
            exit: dialogue.exit,
            duration: dialogue.duration,
            then: Duration::ZERO,
            now: Instant::now(),
            notes: 0,
        }
    }

    pub(super) async fn play_script(mut self) -> io::Result<()> {
        let mut is_over = false;
        while let Some(ScriptStep { at, what }) = self.next()? {
            match what {
                StepKind::Say(line) => {
                    self.wait_until(at).await?;
                    self.say_line(&line).await?;
                }
                StepKind::Complain(bytes) => {
                    self.wait_until(at).await?;
                    self.audience.complain(&bytes);
                }
                StepKind::Hear(said) => {
                    if !self.wait_for_message(&said).await? {
                        return Ok(());
                    }
                    self.set_time_base(at);
                }
                StepKind::HangUp => {
                    self.until_hung_up().await?;
                    self.set_time_base(at);
                    is_over = true;
                }
            }
        }
        self.end_script(is_over).await
    }

    fn next(&mut self) -> io::Result<Option<ScriptStep>> {
        match self.ahead.pop_front() {
            Some(step) => Ok(Some(step)),
            None => self.script.next().map_err(io::Error::other),
        }
    }

    /// From now on time is counted from here.
    fn set_time_base(&mut self, at: Duration) {
        (self.then, self.now) = (at, Instant::now());
    }

    /// After the last step.
    async fn end_script(&mut self, is_over: bool) -> io::Result<()> {
        match self.duration {
            Some(duration) if is_over || self.ended_by_itself() => self.wait_until(duration).await,
            _ => self.until_hung_up().await,
        }
    }

    fn ended_by_itself(&self) -> bool {
        let is_quiet = match self.exit {
            Some(Exit::Code(code)) => code == 0,
            Some(Exit::Signal(number)) => SENT.contains(&signals::name(number).as_str()),
            None => true,
        };
        let owes = |asked: &RecordedRequest| asked.live.is_some() && !asked.is_answered;
        !is_quiet || self.asked.values().any(owes)
    }

    /// Says a line. An answer goes under the id that the client has for its request.
    async fn say_line(&mut self, line: &[u8]) -> io::Result<()> {
        match MessageKind::from_line(line) {
            MessageKind::Answer { id, .. } => match self.asked.get_mut(&id.key) {
                Some(asked) => {
                    asked.is_answered = true;
                    match asked.live.as_deref().map(|id| with_id(line, id)) {
                        Some(answer) => self.write_line(&answer).await,
                        None => Ok(()),
                    }
                }
                None => self.write_line(line).await,
            },
            MessageKind::Request { id, .. } => {
                self.waiting.open(id);
                self.write_line(line).await
            }
            MessageKind::Notification { .. } | MessageKind::Noise => self.write_line(line).await,
        }
    }

    pub(super) async fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        self.audience.write(line).await
    }

    /// Waits for a message of the recorded client. False if the client has hung up before.
    async fn wait_for_message(&mut self, said: &MessageKind) -> io::Result<bool> {
        let mut since = Instant::now();
        loop {
            if self.take_heard(said) {
                self.waiting.remove_coming(said);
                return Ok(true);
            }
            match self.listen_to_client(since).await? {
                // A client that still sends messages may be about to send it.
                WaitOutcome::More => since = Instant::now(),
                WaitOutcome::TooLong => {
                    if self.passes_over(said)? {
                        return Ok(true);
                    }
                    self.refuse_all(said).await?;
                }
                WaitOutcome::HungUp => {
                    // A message that has not come by now never will.
                    if self.waiting.has_requests() && self.passes_over(said)? {
                        return Ok(true);
                    }
                    self.refuse_all(said).await?;
                    let expected = said.message_description();
                    let note = format!("the client hung up where the recording has {expected}");
                    self.note_difference(&note);
                    return Ok(false);
                }
            }
        }
    }

    fn take_heard(&mut self, said: &MessageKind) -> bool {
        match said {
            MessageKind::Request { id, method } => {
                let live = self.waiting.take_request(method);
                live.is_some_and(|live| {
                    self.asked_for(id, Some(live.token));
                    true
                })
            }
            MessageKind::Notification { method } => self.waiting.take_notification(method),
            // An answer that the recorded agent did not wait for is not waited for now.
            MessageKind::Answer { id, decision } => {
                let answer = self.waiting.take_answer(id);
                answer.map_or(!self.waiting.is_open(id), |answer| {
                    self.compare_decisions(id, decision, &answer);
                    true
                })
            }
            MessageKind::Noise => true,
        }
    }

    fn asked_for(&mut self, id: &MessageId, live: Option<String>) {
        let is_answered = false;
        let asked = RecordedRequest { live, is_answered };
        self.asked.insert(id.key.clone(), asked);
    }

    fn compare_decisions(
        &mut self,
        id: &MessageId,
        recorded: &AnswerDecision,
        live: &AnswerDecision,
    ) {
        if recorded != live {
            let (id, live, recorded) = (&id.token, decision_text(live), decision_text(recorded));
            self.note_difference(&format!(
                "the client's answer to `{id}` is {live}; it was {recorded}, and the replay goes on as if it still were"
            ));
        }
    }

    /// Skips a message that the client does not send, if nothing depends on it.
    fn passes_over(&mut self, said: &MessageKind) -> io::Result<bool> {
        let can = match (said, self.peek_step()?) {
            (MessageKind::Request { id, .. }, Some(StepKind::Say(line))) => {
                matches!(MessageKind::from_line(line), MessageKind::Answer { id: answered, .. } if answered.key == id.key)
            }
            (MessageKind::Notification { .. }, Some(StepKind::Hear(_) | StepKind::HangUp)) => true,
            _ => false,
        };
        if can {
            if let MessageKind::Request { id, .. } = said {
                self.asked_for(id, None);
            }
            self.waiting.remove_coming(said);
            let expected = said.message_description();
            self.note_difference(&format!("the client skips {expected}"));
        }
        Ok(can)
    }

    /// The event of the next step that is not stderr.
    fn peek_step(&mut self) -> io::Result<Option<&StepKind>> {
        let is_complaint = |step: &ScriptStep| matches!(step.what, StepKind::Complain(_));
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

fn decision_text(decision: &AnswerDecision) -> String {
    match decision {
        AnswerDecision::Refused => "an error".to_owned(),
        AnswerDecision::Outcome(outcome) => format!("`{outcome}`"),
        AnswerDecision::Answered => "a result".to_owned(),
    }
}
