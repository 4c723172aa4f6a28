//! Answers of the client to permission prompts and elicitations.
//!
//! An event may be out before its prompt: a client that reads quickly answers first. Such an answer waits until the request, which the
//! line observer has announced, has become a prompt, or was decided without one.

use std::sync::Arc;

use lapidary_json::Token;
use lapidary_vocab::Json;
use lapidary_vocab::command::{ElicitationResponse, PermissionResponse};
use lapidary_vocab::event::DecidedBy;

use super::results::{CommandDone, CommandError, CommandLabel, CommandOutcome};
use super::{CommandLoop, MOST};
use crate::conversation::client_inbox::ClientInbox;
use crate::conversation::elicitation_reply::ElicitationReply;
use crate::conversation::prompt::{PermissionAnswer, PermissionPrompt};
use crate::policy::StandingAnswer;

/// An answer that came before its prompt.
#[derive(Debug)]
pub(super) struct EarlyAnswer {
    response: PermissionResponse,
    pub(super) label: CommandLabel,
}

impl CommandLoop {
    pub(super) fn client_inbox(&self) -> Option<&Arc<ClientInbox>> {
        self.executor.state.prompts.client_inbox()
    }

    /// The client has answered a permission prompt.
    pub(super) fn reply_to_prompt(&mut self, response: PermissionResponse, label: CommandLabel) {
        self.settle_reply(EarlyAnswer { response, label });
    }

    /// Prompts may have come out for answers that were early.
    pub(super) fn look_again(&mut self) {
        for early in std::mem::take(&mut self.early) {
            self.settle_reply(early);
        }
    }

    fn settle_reply(&mut self, early: EarlyAnswer) {
        let (id, inbox) = (&early.response.request_id, self.client_inbox());
        // In this order: a prompt that comes out between the two is found.
        let may_come =
            inbox.is_some_and(|inbox| inbox.is_prompt_expected(id)) && self.early.len() < MOST;
        let outcome = match inbox.and_then(|inbox| self.answer_prompt(inbox, &early)) {
            Some(outcome) => outcome,
            None if may_come => return self.early.push(early),
            None => Err("no request of this id waits for an answer".into()),
        };
        early.label.report_result(&self.executor.state, outcome);
    }

    /// Answers a prompt, if there is one.
    fn answer_prompt(&self, inbox: &ClientInbox, early: &EarlyAnswer) -> Option<CommandOutcome> {
        let response = &early.response;
        let mut chosen = None;
        let taken = inbox.take_prompt(&response.request_id, |prompt| {
            early.label.set_session(&prompt.session_id.to_str());
            chosen = named_option(response)?;
            let options = prompt.options.as_ref();
            check_named_option(options, chosen.as_deref(), response.allowed)?;
            check_response(prompt, response)
        })?;
        Some(taken.and_then(|prompt| self.send_answer(prompt, response, chosen)))
    }

    fn send_answer(
        &self,
        prompt: PermissionPrompt,
        response: &PermissionResponse,
        option_id: Option<String>,
    ) -> CommandOutcome {
        let answer = PermissionAnswer {
            allowed: response.allowed,
            option_id,
            is_for_run: response.for_run == Some(true),
            reason: response.message.as_ref().map(ToString::to_string),
            by: DecidedBy::Peer,
        };
        let sent = prompt.reply.send(answer);
        sent.map_err(|_| CommandError::from("the agent has withdrawn the request"))?;
        if response.interrupt == Some(true) {
            self.executor.cancel_turn(&prompt.session_id.to_str());
        }
        Ok(CommandDone::default())
    }

    /// A user has answered an elicitation.
    pub(super) fn fill_in(&self, response: ElicitationResponse, label: CommandLabel) {
        let id = response.request_id.clone();
        let outcome = ElicitationReply::from_response(response).and_then(|reply| {
            let inbox = self
                .client_inbox()
                .ok_or("no elicitation waits for an answer")?;
            Ok(inbox.answer_elicitation(&id, reply)?)
        });
        let outcome = outcome
            .map(|()| CommandDone::default())
            .map_err(CommandError::from);
        label.report_result(&self.executor.state, outcome);
    }
}

/// The option of the agent that the client names.
fn named_option(response: &PermissionResponse) -> Result<Option<String>, CommandError> {
    let input = response.updated_input.as_ref();
    let named = input.and_then(|input| input.token().get("optionId")?.non_null());
    let named = named.map(|option| {
        let text = option.string().map(std::borrow::Cow::into_owned);
        text.ok_or_else(|| CommandError::from("`optionId` has to be text"))
    });
    named.transpose()
}

/// An answer for the rest of the run has to name the actions it allows. An answer that cannot is an error: the client would wait
/// in vain for later requests to be allowed.
fn check_response(
    prompt: &PermissionPrompt,
    response: &PermissionResponse,
) -> Result<(), CommandError> {
    if response.for_run != Some(true) {
        return Ok(());
    }
    if !response.allowed {
        return Err("`forRun` needs `allowed`: a denial is for one request".into());
    }
    if StandingAnswer::from_policy(&prompt.action).is_none() {
        return Err(
            "`forRun` cannot be used here: what the agent wants to do is not exactly known".into(),
        );
    }
    Ok(())
}

/// A named option has to be one of the request's, and its kind must not contradict the answer that names it. An option of an
/// unknown kind is refused.
fn check_named_option(
    options: Option<&Json>,
    named: Option<&str>,
    allowed: bool,
) -> Result<(), CommandError> {
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
