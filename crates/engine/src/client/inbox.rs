//! Requests of the agent that wait for an answer of the client program (`connect`): permission prompts and elicitations.
//!
//! The line observer announces a request here before its line becomes an event, so no answer of the client can come too early: the
//! answer to a request whose prompt is not out yet waits until it is, or until the request was decided without one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lapidary_vocab::Text;
use lapidary_vocab::event::ElicitationRequest;
use tokio::sync::{Notify, mpsc, oneshot};

use super::elicitation_reply::ElicitationReply;
use super::prompt::{PermissionPrompt, PromptAttendant};

/// How many ids of withdrawn prompts are remembered.
const MOST_WITHDRAWN: usize = 1024;

/// How many elicitations may wait for an answer. One more is declined.
const MOST_ELICITATIONS: usize = 64;

/// The longest message of an elicitation, in bytes.
const LONGEST_MESSAGE: usize = 64 << 10;

/// The longest form or address of an elicitation, in bytes.
const LONGEST_FORM: usize = 256 << 10;

/// Permission prompts and elicitations that wait for the client.
#[derive(Debug, Default)]
pub(crate) struct ClientInbox {
    state: Mutex<InboxState>,
    /// A prompt has come out, or will not.
    changed: Notify,
}

#[derive(Debug, Default)]
struct InboxState {
    /// The ids of permission requests whose prompt is not out yet, under the numbers of their lines. Hooks may run before, for as
    /// long as they take.
    expected: BTreeMap<u64, Text>,
    /// Prompts that wait for an answer.
    prompts: VecDeque<PermissionPrompt>,
    /// The ids of prompts that were given up before the client answered.
    withdrawn: VecDeque<Text>,
    /// Elicitations that wait for an answer, under their ids.
    elicitations: BTreeMap<String, oneshot::Sender<ElicitationReply>>,
    /// No commands come any more.
    is_closed: bool,
    /// No prompts are taken any more.
    has_ended: bool,
}

/// Announces a prompt for as long as it lives. It travels with the request.
#[derive(Debug)]
pub(crate) struct ExpectedPrompt {
    inbox: Arc<ClientInbox>,
    number: u64,
}

impl Drop for ExpectedPrompt {
    fn drop(&mut self) {
        self.inbox.lock_state().expected.remove(&self.number);
        self.inbox.changed.notify_one();
    }
}

impl ClientInbox {
    /// Announces the prompt for a request in this line.
    pub(crate) fn expect_prompt(self: &Arc<Self>, number: u64, id: Text) -> ExpectedPrompt {
        self.lock_state().expected.insert(number, id);
        ExpectedPrompt {
            inbox: Arc::clone(self),
            number,
        }
    }

    /// Whether a prompt of this id is announced and not out yet.
    pub(crate) fn is_prompt_expected(&self, id: &Text) -> bool {
        self.lock_state().expected.values().any(|other| other == id)
    }

    /// Puts out the prompt for the request in this line. A prompt with the id of another prompt, waiting or withdrawn, is denied
    /// by being dropped: a yes to one prompt is no yes to another. False if no prompts are taken any more.
    pub(crate) fn put_prompt(&self, number: u64, prompt: PermissionPrompt) -> bool {
        let mut state = self.lock_state();
        if state.has_ended {
            return false;
        }
        state.expected.remove(&number);
        state.withdraw_closed();
        let id = &prompt.request.request_id;
        let mut others = state.prompts.iter();
        let is_taken = others.any(|other| other.request.request_id == *id);
        if !is_taken && !state.withdrawn.contains(id) && !state.is_closed {
            state.prompts.push_back(prompt);
        }
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Takes out the prompt of this id, unless `check` refuses the answer. None if no such prompt waits.
    pub(crate) fn take_prompt<E>(
        &self,
        id: &Text,
        check: impl FnOnce(&PermissionPrompt) -> Result<(), E>,
    ) -> Option<Result<PermissionPrompt, E>> {
        let mut state = self.lock_state();
        state.withdraw_closed();
        let is_meant = |prompt: &PermissionPrompt| prompt.request.request_id == *id;
        let place = state.prompts.iter().position(is_meant)?;
        match check(state.prompts.get(place)?) {
            Ok(()) => state.prompts.remove(place).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }

    /// Waits until a prompt is out, or will not be. Can be cancelled.
    pub(crate) async fn wait_for_change(&self) {
        self.changed.notified().await;
    }

    /// Opens an elicitation for the client's answer. None if it is too much to ask.
    pub(crate) fn open_elicitation(
        &self,
        request: &ElicitationRequest,
    ) -> Option<oneshot::Receiver<ElicitationReply>> {
        let form = request.requested_schema.as_ref();
        let form = form.map_or(0, |form| form.as_str().len());
        let url = request.url.as_ref().map_or(0, Text::size);
        let is_short = request.message.size() <= LONGEST_MESSAGE && form.max(url) <= LONGEST_FORM;
        let mut state = self.lock_state();
        state.elicitations.retain(|_, reply| !reply.is_closed());
        if !is_short || state.is_closed || state.elicitations.len() >= MOST_ELICITATIONS {
            return None;
        }
        let (reply, replied) = oneshot::channel();
        let id = request.request_id.to_string();
        state.elicitations.insert(id, reply);
        Some(replied)
    }

    /// Answers an elicitation, if it still waits.
    pub(crate) fn answer_elicitation(
        &self,
        id: &Text,
        reply: ElicitationReply,
    ) -> Result<(), &'static str> {
        let open = self.lock_state().elicitations.remove(&*id.to_str());
        let open = open.ok_or("no elicitation of this id waits for an answer")?;
        let sent = open.send(reply);
        sent.map_err(|_| "the agent has withdrawn the elicitation")
    }

    /// No commands come any more. Permission prompts are denied and elicitations declined, from now on too.
    pub(crate) fn close(&self) {
        let mut state = self.lock_state();
        state.is_closed = true;
        state.prompts.clear();
        state.elicitations.clear();
    }

    /// The conversation has ended: prompts are denied, and none is taken any more.
    pub(crate) fn end_conversation(&self) {
        let mut state = self.lock_state();
        state.has_ended = true;
        state.prompts.clear();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock_state().is_closed
    }

    fn lock_state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InboxState {
    /// Forgets prompts that were given up, but for their ids: an answer to one of them may be on its way.
    fn withdraw_closed(&mut self) {
        let is_closed = |prompt: &PermissionPrompt| prompt.reply.is_closed();
        let closed = self.prompts.iter().filter(|prompt| is_closed(prompt));
        let ids = closed.map(|prompt| prompt.request.request_id.clone());
        self.withdrawn.extend(ids);
        let excess = self.withdrawn.len().saturating_sub(MOST_WITHDRAWN);
        self.withdrawn.drain(..excess);
        self.prompts.retain(|prompt| !is_closed(prompt));
    }
}

/// Where the permission prompts of a conversation go.
#[derive(Debug)]
pub(crate) enum PromptTarget {
    Nobody,
    Person(mpsc::UnboundedSender<PermissionPrompt>),
    Client(Arc<ClientInbox>),
}

impl PromptTarget {
    pub(crate) fn new(attendant: &PromptAttendant) -> Self {
        match attendant {
            PromptAttendant::Nobody => Self::Nobody,
            PromptAttendant::Somebody(prompts) => Self::Person(prompts.clone()),
            PromptAttendant::Peer => Self::Client(Arc::default()),
        }
    }

    /// The inbox of the client, if a client answers.
    pub(crate) fn client_inbox(&self) -> Option<&Arc<ClientInbox>> {
        match self {
            Self::Client(inbox) => Some(inbox),
            Self::Nobody | Self::Person(_) => None,
        }
    }

    pub(crate) fn is_attended(&self) -> bool {
        !matches!(self, Self::Nobody)
    }

    /// Puts the prompt for the request in this line. False if no attendant can answer it.
    pub(crate) fn put_prompt(&self, number: u64, prompt: PermissionPrompt) -> bool {
        match self {
            Self::Nobody => false,
            Self::Person(prompts) => prompts.send(prompt).is_ok(),
            Self::Client(inbox) => inbox.put_prompt(number, prompt),
        }
    }
}

#[cfg(test)]
mod tests;
