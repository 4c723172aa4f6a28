//! Answers of the client to permission prompts.

use lapidary_json::Token;
use lapidary_vocab::command::PermissionResponse;
use lapidary_vocab::event::DecidedBy;
use lapidary_vocab::{Json, Text};

use super::inbox::ClientInbox;
use super::prompt::{PermissionAnswer, PermissionPrompt};
use super::results::{CommandError, CommandLabel};
use crate::policy::StandingAnswer;

impl ClientInbox {
    /// Answers a prompt, if it waits: its session then, or why the answer is refused.
    pub(super) fn answer_prompt(
        &self,
        response: &PermissionResponse,
        label: &CommandLabel,
    ) -> Option<Result<Text, CommandError>> {
        let mut option_id = None;
        let taken = self.take_prompt(&response.request_id, |prompt| {
            label.set_session(&prompt.session_id.to_str());
            option_id = named_option(response)?;
            let options = prompt.options.as_ref();
            check_named_option(options, option_id.as_deref(), response.allowed)?;
            check_response(prompt, response)
        })?;
        Some(taken.and_then(|prompt| {
            let answer = PermissionAnswer {
                allowed: response.allowed,
                option_id,
                is_for_run: response.for_run == Some(true),
                reason: response.message.as_ref().map(ToString::to_string),
                by: DecidedBy::Peer,
            };
            let sent = prompt.reply.send(answer);
            sent.map_err(|_| "the agent has withdrawn the request")?;
            Ok(prompt.session_id)
        }))
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
