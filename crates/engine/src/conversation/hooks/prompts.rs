//! Prompts and sessions: hooks add context to them, and may block prompts.

use lapidary_gemini::hooks::HookEvent;
use lapidary_json::Token;
use lapidary_vocab::Json;
use lapidary_wire::gemini::hooks::EventDetails;

use super::hook_messages::cut_message;
use super::{BegunSession, HookPlace, HookRunner, lock_unpoisoned};
use crate::hooks::{AppliedEffect, HookResults};

/// The answer that hooks get if the agent wrote no text.
const SILENCE: &str = "[no response text]";

impl HookRunner {
    /// A session begins: anew (`startup`), or where it was left (`resume`).
    pub(in crate::conversation) async fn session_begins(&self, session: &str, source: &str) {
        let place = HookPlace {
            session,
            after: None,
        };
        let begins = BegunSession {
            session: session.to_owned(),
            context: None,
        };
        {
            let mut begun = self.lock_begun();
            begun.retain(|begun| begun.session != session); // it may have been opened before
            begun.push(begins);
        }
        let source = source.to_owned();
        let fired = self
            .fire_hooks(EventDetails::SessionStart { source }, place)
            .await;
        let mut begun = self.lock_begun();
        if let Some(begun) = begun.iter_mut().find(|begun| begun.session == session) {
            begun.context = joined_context(&fired);
        }
    }

    /// A session ends.
    pub(in crate::conversation) async fn session_ends(&self, session: &str) {
        let around = self.hook_context(session); // while it is still known
        let is_known = {
            let mut begun = self.lock_begun();
            let before = begun.len();
            begun.retain(|begun| begun.session != session);
            begun.len() < before
        };
        if is_known {
            let place = HookPlace {
                session,
                after: self.say.latest_line(),
            };
            let reason = "exit".to_owned();
            let details = EventDetails::SessionEnd { reason };
            self.fire_around(around, details, place).await;
        }
    }

    /// Every session that has begun.
    pub(in crate::conversation) fn begun_sessions(&self) -> Vec<String> {
        let begun = self.lock_begun();
        begun.iter().map(|begun| begun.session.clone()).collect()
    }

    /// The prompt with the context that hooks add, or the reason why a hook blocks it.
    pub(in crate::conversation) async fn before_prompt(
        &self,
        session: &str,
        prompt: &[Json],
    ) -> Result<Vec<Json>, String> {
        let place = HookPlace {
            session,
            after: None,
        };
        let said = text_of(prompt);
        let fired = self
            .fire_hooks(EventDetails::BeforeAgent { prompt: said }, place)
            .await;
        if self.running.is_over() {
            return Err("the run ended before it had answered".to_owned());
        }
        for effect in fired.effects() {
            if let AppliedEffect::Stop(reason) | AppliedEffect::Block(reason) = effect {
                return Err(cut_message(&reason));
            }
        }
        let first = self
            .first_context(session)
            .map(|context| context_block(&context));
        let last = joined_context(&fired).map(|context| context_block(&context));
        let prompt = prompt.iter().cloned();
        Ok(first.into_iter().chain(prompt).chain(last).collect())
    }

    /// The next prompt, if a hook rejects the agent's answer.
    pub(in crate::conversation) async fn after_prompt(
        &self,
        session: &str,
        prompt: &[Json],
        answer: String,
        is_again: bool,
    ) -> Option<Vec<Json>> {
        let place = HookPlace {
            session,
            after: self.say.latest_line(),
        };
        if answer.is_empty() && self.may_be_blocked() {
            self.notice_once("blocked", place, || {
                "the agent said nothing: perhaps a `BeforeAgent` hook has blocked the prompt, which Gemini CLI does not say over ACP".to_owned()
            });
        }
        if !self.has_hooks(HookEvent::AfterAgent, None) {
            return None;
        }
        let details = EventDetails::AfterAgent {
            prompt: text_of(prompt),
            prompt_response: if answer.is_empty() {
                SILENCE.to_owned()
            } else {
                answer
            },
            stop_hook_active: is_again,
        };
        let fired = self.fire_hooks(details, place).await;
        let mut next = None;
        for effect in fired.effects() {
            match effect {
                AppliedEffect::GoOn(reason) => next = Some(vec![text_block(&reason)]),
                AppliedEffect::ForgetContext => self.notice_once("forget", place, || {
                    "a hook asks to clear the conversation, which ACP has no request for".to_owned()
                }),
                _ => {}
            }
        }
        next
    }

    /// Notes that `AfterAgent` hooks do not run any more in this turn.
    pub(in crate::conversation) fn gives_up(&self, session: &str, rounds: u32) {
        if self.has_hooks(HookEvent::AfterAgent, None) {
            let message = format!(
                "`AfterAgent` hooks have made the agent go on {rounds} times in session `{session}`, and are not asked again"
            );
            self.send_notice(self.say.latest_line(), message);
        }
    }

    fn first_context(&self, session: &str) -> Option<String> {
        let mut begun = self.lock_begun();
        let begun = begun.iter_mut().find(|begun| begun.session == session)?;
        begun.context.take()
    }

    fn lock_begun(&self) -> std::sync::MutexGuard<'_, Vec<BegunSession>> {
        lock_unpoisoned(&self.begun)
    }
}

fn joined_context(fired: &HookResults) -> Option<String> {
    fired.effects().into_iter().find_map(|effect| match effect {
        AppliedEffect::AddContext(context) => Some(context),
        _ => None,
    })
}

fn context_block(context: &str) -> Json {
    text_block(&format!("<hook_context>{context}</hook_context>"))
}

fn text_block(text: &str) -> Json {
    Json::object([
        ("type", Json::from_value(&"text")),
        ("text", Json::from_value(&text)),
    ])
}

/// The text of a prompt's text blocks.
fn text_of(prompt: &[Json]) -> String {
    let texts = prompt.iter().filter_map(|block| {
        let block = block.token();
        let is_text = block.get("type").is_some_and(|kind| kind.is("text"));
        is_text.then(|| block.get("text").and_then(Token::string))?
    });
    texts.collect()
}
