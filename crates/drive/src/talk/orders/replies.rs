//! Answers to what the agent asked, matched with their questions.
//!
//! An event may be out before its question has come to the desk: whoever reads quickly answers before anybody has asked. Such an answer
//! waits until the request, which was seen on the wire, has become a question, or was decided without one.

use std::time::Duration;

use lapidary_vocab::command::PermissionResponse;
use lapidary_vocab::event::DecidedBy;

use super::results::{Done, Failed, Label, Outcome};
use super::{Desk, MOST};
use crate::talk::asking::{Question, Reply};

/// How long an answer waits before it looks for its question again.
pub(super) const MOMENT: Duration = Duration::from_millis(2);

/// An answer that came before its question.
#[derive(Debug)]
pub(super) struct Early {
    response: PermissionResponse,
    pub(super) label: Label,
    /// It has been seen that the request is not waiting to be handled any more; its question may still be on its way.
    is_last: bool,
}

impl Desk {
    /// Somebody has answered a question.
    pub(super) fn reply(&mut self, response: PermissionResponse, label: Label) {
        let early = Early {
            response,
            label,
            is_last: false,
        };
        let may_wait = self.is_coming(&early) && self.early.len() < MOST;
        self.settle_reply(early, may_wait);
    }

    /// Questions may have come for answers that were early.
    pub(super) fn look_again(&mut self) {
        for mut early in std::mem::take(&mut self.early) {
            let is_coming = self.is_coming(&early);
            let may_wait = is_coming || !early.is_last;
            early.is_last = !is_coming;
            self.settle_reply(early, may_wait);
        }
    }

    fn is_coming(&self, early: &Early) -> bool {
        let watcher = &self.hands.stage.watcher;
        watcher.is_asked(&early.response.request_id)
    }

    fn settle_reply(&mut self, early: Early, may_wait: bool) {
        let outcome = match self.take_question(&early.response) {
            Some(question) => self.answer(question, &early),
            None if may_wait => return self.early.push(early),
            None => Err("no request of this id waits for an answer".into()),
        };
        early.label.tell(&self.hands.stage, outcome);
    }

    /// The oldest question of that id, for agents may use one twice.
    fn take_question(&mut self, response: &PermissionResponse) -> Option<Question> {
        self.questions
            .retain(|question| !question.reply.is_closed());
        let is_meant = |question: &Question| question.request.request_id == response.request_id;
        let place = self.questions.iter().position(is_meant)?;
        self.questions.remove(place)
    }

    fn answer(&self, question: Question, early: &Early) -> Outcome {
        let response = &early.response;
        let chosen = response.updated_input.as_ref();
        let chosen = chosen.and_then(|input| input.token().get("optionId")?.string());
        let reply = Reply {
            allowed: response.allowed,
            option_id: chosen.map(std::borrow::Cow::into_owned),
            reason: response.message.as_ref().map(ToString::to_string),
            by: DecidedBy::Peer,
        };
        let session = question.session_id.to_string();
        early.label.is_about(&session);
        let late = |_| Failed::from("the request was withdrawn meanwhile");
        question.reply.send(reply).map_err(late)?;
        if response.interrupt == Some(true) {
            self.hands.cancel(&session);
        }
        Ok(Done::default())
    }
}
