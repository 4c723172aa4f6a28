//! Messages that the client has sent before their turn.

use std::collections::{HashMap, VecDeque};

use super::UpcomingMethods;
use crate::replay::message::{AnswerDecision, MessageId, MessageKind};

/// How much of it may wait. No client has so many questions at once.
const MOST: usize = 1024;

/// Messages that have come, and whose turn has not.
#[derive(Debug)]
pub(super) struct UnheardMessages {
    coming: UpcomingMethods,
    requests: VecDeque<(MessageId, String)>,
    notifications: VecDeque<String>,
    /// The agent's requests that are open, by their ids.
    open: HashMap<String, OpenIds>,
}

/// Requests of the agent's under one id. It may ask twice before it is answered.
#[derive(Debug, Default)]
struct OpenIds {
    unanswered: u64,
    answers: VecDeque<AnswerDecision>,
}

/// The result of waiting.
pub(super) enum WaitOutcome {
    /// There is a new message.
    More,
    /// Requests have waited long enough.
    TooLong,
    HungUp,
}

/// The result of taking in a message of the client.
#[derive(Debug)]
pub(super) enum TakenMessage {
    /// It waits for its turn.
    Kept,
    /// A request that will never have a turn.
    Unknown(MessageId, String),
    /// A request too many.
    TooMany(MessageId, String),
    /// A line that is ignored, described in words.
    Ignored(String),
}

impl UnheardMessages {
    pub(super) fn new(coming: UpcomingMethods) -> Self {
        Self {
            coming,
            requests: VecDeque::new(),
            notifications: VecDeque::new(),
            open: HashMap::new(),
        }
    }

    pub(super) fn take_in(&mut self, said: MessageKind) -> TakenMessage {
        match said {
            MessageKind::Request { id, method } => self.add_request(id, method),
            MessageKind::Notification { method } => self.add_notification(method),
            MessageKind::Answer { id, decision } => match self.open.get_mut(&id.key) {
                Some(open) if open.unanswered > 0 => {
                    open.unanswered -= 1;
                    open.answers.push_back(decision);
                    TakenMessage::Kept
                }
                _ => {
                    TakenMessage::Ignored(format!("an answer to `{}`, which is not open", id.token))
                }
            },
            MessageKind::Noise => TakenMessage::Ignored("a line that is not a message".to_owned()),
        }
    }

    fn add_request(&mut self, id: MessageId, method: String) -> TakenMessage {
        let waiting = self.requests.iter().filter(|(_, other)| *other == method);
        let waiting = waiting.count() as u64;
        if self.coming.requests.get(&method).copied().unwrap_or(0) <= waiting {
            return TakenMessage::Unknown(id, method);
        }
        if self.requests.len() >= MOST {
            return TakenMessage::TooMany(id, method);
        }
        self.requests.push_back((id, method));
        TakenMessage::Kept
    }

    fn add_notification(&mut self, method: String) -> TakenMessage {
        let waiting = self.notifications.iter().filter(|other| **other == method);
        let waiting = waiting.count() as u64;
        let coming = self.coming.notifications.get(&method).copied();
        if coming.unwrap_or(0) <= waiting || self.notifications.len() >= MOST {
            return TakenMessage::Ignored(format!(
                "the notification `{method}`, which the recording has not"
            ));
        }
        self.notifications.push_back(method);
        TakenMessage::Kept
    }

    /// The first request of this method.
    pub(super) fn take_request(&mut self, method: &str) -> Option<MessageId> {
        let mut requests = self.requests.iter();
        let place = requests.position(|(_, other)| other == method)?;
        self.requests.remove(place).map(|(id, _)| id)
    }

    /// Whether there was a notification of this method.
    pub(super) fn take_notification(&mut self, method: &str) -> bool {
        let mut notifications = self.notifications.iter();
        let place = notifications.position(|other| other == method);
        place.is_some_and(|place| self.notifications.remove(place).is_some())
    }

    /// The answer to a request of the agent's, which is closed then.
    pub(super) fn take_answer(&mut self, id: &MessageId) -> Option<AnswerDecision> {
        let open = self.open.get_mut(&id.key)?;
        let answer = open.answers.pop_front()?;
        if open.unanswered == 0 && open.answers.is_empty() {
            self.open.remove(&id.key);
        }
        Some(answer)
    }

    /// Counts a request of the agent.
    pub(super) fn open(&mut self, id: MessageId) {
        self.open.entry(id.key).or_default().unanswered += 1;
    }

    pub(super) fn is_open(&self, id: &MessageId) -> bool {
        self.open.contains_key(&id.key)
    }

    /// This has had its turn.
    pub(super) fn remove_coming(&mut self, said: &MessageKind) {
        let (methods, method) = match said {
            MessageKind::Request { method, .. } => (&mut self.coming.requests, method),
            MessageKind::Notification { method } => (&mut self.coming.notifications, method),
            MessageKind::Answer { .. } | MessageKind::Noise => return,
        };
        if let Some(count) = methods.get_mut(method) {
            *count = count.saturating_sub(1);
        }
    }

    pub(super) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// All requests that wait.
    pub(super) fn give_up(&mut self) -> VecDeque<(MessageId, String)> {
        std::mem::take(&mut self.requests)
    }
}
