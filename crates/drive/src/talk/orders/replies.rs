//! Answers to what the agent asked, matched with their questions.
//!
//! An event may be out before its question has come to the desk: whoever reads quickly answers before anybody has asked. Such an answer
//! waits until the request, which was seen on the wire, has become a question, or was decided without one.

use std::time::Duration;

use lapidary_json::Token;
use lapidary_vocab::Json;
use lapidary_vocab::command::{ElicitationResponse, PermissionResponse};
use lapidary_vocab::event::DecidedBy;

use super::results::{Done, Failed, Label, Outcome};
use super::{Desk, MOST};
use crate::policy::StandingAnswer;
use crate::talk::asking::{Question, Reply};
use crate::talk::elicitations::ElicitationReply;

/// How long an answer waits before it looks for its question again.
pub(super) const MOMENT: Duration = Duration::from_millis(2);

/// So many ids of withdrawn questions are remembered.
const MOST_WITHDRAWN: usize = 1024;

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
        let outcome = match self.find_question(&early.response) {
            Some(place) => self.answer(place, &early),
            None if may_wait => return self.early.push(early),
            None => Err("no request of this id waits for an answer".into()),
        };
        early.label.tell(&self.hands.stage, outcome);
    }

    /// Somebody is asked. A question whose id stands for another one is denied by being dropped: whoever says yes to the one has not
    /// said yes to the other.
    pub(super) fn asked(&mut self, question: Question) {
        self.put_away();
        let id = &question.request.request_id;
        let mut pending = self.questions.iter();
        let is_taken = pending.any(|other| other.request.request_id == *id);
        if !is_taken && !self.withdrawn.contains(id) {
            self.questions.push_back(question);
        }
    }

    /// Forgets the questions that were withdrawn, but for their ids: an answer to one of them may be on its way.
    fn put_away(&mut self) {
        let is_closed = |question: &Question| question.reply.is_closed();
        let closed = self.questions.iter().filter(|it| is_closed(it));
        let ids = closed.map(|question| question.request.request_id.clone());
        self.withdrawn.extend(ids);
        let excess = self.withdrawn.len().saturating_sub(MOST_WITHDRAWN);
        self.withdrawn.drain(..excess);
        self.questions.retain(|question| !is_closed(question));
    }

    fn find_question(&mut self, response: &PermissionResponse) -> Option<usize> {
        self.put_away();
        let is_meant = |question: &Question| question.request.request_id == response.request_id;
        self.questions.iter().position(is_meant)
    }

    fn answer(&mut self, place: usize, early: &Early) -> Outcome {
        let response = &early.response;
        if let Some(question) = self.questions.get(place) {
            early.label.is_about(&question.session_id.to_str());
        }
        let input = response.updated_input.as_ref();
        let chosen = input.and_then(|input| input.token().get("optionId")?.non_null());
        let chosen = chosen.map(|option| {
            let text = option.string().map(std::borrow::Cow::into_owned);
            text.ok_or_else(|| Failed::from("`optionId` has to be text"))
        });
        let chosen = chosen.transpose()?;
        if let Some(question) = self.questions.get(place) {
            agrees(
                question.options.as_ref(),
                chosen.as_deref(),
                response.allowed,
            )?;
            can_hold(question, response)?;
        }
        let late = || Failed::from("the agent has withdrawn the request");
        let question = self.questions.remove(place).ok_or_else(late)?;
        let reply = Reply {
            allowed: response.allowed,
            option_id: chosen,
            is_for_run: response.for_run == Some(true),
            reason: response.message.as_ref().map(ToString::to_string),
            by: DecidedBy::Peer,
        };
        question.reply.send(reply).map_err(|_| late())?;
        if response.interrupt == Some(true) {
            self.hands.cancel(&question.session_id.to_str());
        }
        Ok(Done::default())
    }
}

impl Desk {
    /// A user has answered what the agent asked.
    pub(super) fn fill_in(&self, response: ElicitationResponse, label: Label) {
        let id = response.request_id.clone();
        let outcome = ElicitationReply::read(response).and_then(|reply| {
            let elicitations = self.hands.stage.elicitations.as_ref();
            let elicitations = elicitations.ok_or("no elicitation waits for an answer")?;
            Ok(elicitations.reply(&id, reply)?)
        });
        let outcome = outcome.map(|()| Done::default()).map_err(Failed::from);
        label.tell(&self.hands.stage, outcome);
    }

    pub(super) fn close_elicitations(&self) {
        if let Some(elicitations) = &self.hands.stage.elicitations {
            elicitations.close();
        }
    }
}

/// An answer for the rest of the run has to say what it allows. One that cannot is an error: the client would wait in vain for later
/// requests to be allowed.
fn can_hold(question: &Question, response: &PermissionResponse) -> Result<(), Failed> {
    if response.for_run != Some(true) {
        return Ok(());
    }
    if !response.allowed {
        return Err("`forRun` needs `allowed`: a denial is for one request".into());
    }
    if StandingAnswer::of(&question.deed).is_none() {
        return Err(
            "`forRun` cannot be used here: what the agent wants to do is not exactly known".into(),
        );
    }
    Ok(())
}

/// An option that is named has to be one of the request's, and says itself whether it allows: one that says the opposite of the answer
/// it is named in must not be chosen. What one of an unknown kind says is the agent's secret.
fn agrees(options: Option<&Json>, named: Option<&str>, allowed: bool) -> Result<(), Failed> {
    let Some(named) = named else {
        return Ok(());
    };
    let mut options = options.into_iter().flat_map(|it| it.token().elements());
    let is_named = |option: &Token<'_>| option.get("optionId").is_some_and(|id| id.is(named));
    let Some(option) = options.find(is_named) else {
        let named: String = named.chars().take(40).collect();
        return Err(format!("the request has no option `{named}`").into());
    };
    let kind = option.get("kind").and_then(Token::string);
    let kind = kind.unwrap_or_default();
    let word = if allowed { "allow" } else { "reject" };
    if kind.starts_with(word) {
        return Ok(());
    }
    let kind: String = kind.chars().take(40).collect();
    Err(
        format!("`allowed` is {allowed}, but the option that is named is of the kind `{kind}`")
            .into(),
    )
}
