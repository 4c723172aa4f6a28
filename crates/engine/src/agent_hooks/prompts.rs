//! Prompts and sessions: hooks add context to them, and may block prompts.

use lapidary_gemini::hooks::HookEvent;
use lapidary_json::Token;
use lapidary_vocab::Json;
use lapidary_wire::gemini::hooks::EventDetails;

use super::hook_messages::cut_message;
use super::{BegunSession, HookPlace, HookRunner, lock_unpoisoned};
use crate::hooks::{AppliedEffect, HookResults};
use crate::prompt_files::text_block;

/// The answer that hooks get if the agent wrote no text.
const SILENCE: &str = "[no response text]";

/// How often hooks may want the agent to go on.
const MOST_ROUNDS: u32 = 100;

/// One turn of a session: the caller's prompt, and the prompts that hooks want after it.
#[derive(Debug)]
pub(crate) struct HookedTurn {
    pub(crate) session: String,
    /// The prompt of the caller.
    prompt: Vec<Json>,
    /// The content blocks of the next prompt.
    pub(crate) next: Vec<Json>,
    /// The agent's answer so far.
    answer: String,
    rounds: u32,
}

impl HookedTurn {
    pub(crate) fn new(session: &str, prompt: Vec<Json>) -> Self {
        Self {
            session: session.to_owned(),
            next: prompt.clone(),
            prompt,
            answer: String::new(),
            rounds: 0,
        }
    }
}

impl HookRunner {
    /// A session begins: anew (`startup`), or where it was left (`resume`).
    pub(crate) async fn session_begins(&self, session: &str, source: &str) {
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
    pub(crate) async fn session_ends(&self, session: &str) {
        let before = self.lock_begun().len();
        self.lock_begun().retain(|begun| begun.session != session);
        if self.lock_begun().len() < before {
            let reason = "exit".to_owned();
            let details = EventDetails::SessionEnd { reason };
            self.fire_hooks(details, self.place_now(session)).await;
        }
    }

    /// Every session that has begun ends.
    pub(crate) async fn end_sessions(&self) {
        for session in self.begun_sessions() {
            self.session_ends(&session).await;
        }
    }

    fn begun_sessions(&self) -> Vec<String> {
        let begun = self.lock_begun();
        begun.iter().map(|begun| begun.session.clone()).collect()
    }

    fn place_now<'a>(&self, session: &'a str) -> HookPlace<'a> {
        HookPlace {
            session,
            after: self.say.latest_line(),
        }
    }

    /// Adds the context of hooks to the next prompt. The error is why a hook blocks it.
    pub(crate) async fn before_prompt(&self, turn: &mut HookedTurn) -> Result<(), String> {
        self.lock_calls().take_words(&turn.session);
        let place = HookPlace {
            session: &turn.session,
            after: None,
        };
        let prompt = text_of(&turn.next);
        let fired = self.fire_hooks(EventDetails::BeforeAgent { prompt }, place);
        let fired = fired.await;
        if self.running.is_over() {
            return Err("the run ended before it had answered".to_owned());
        }
        for effect in fired.effects() {
            if let AppliedEffect::Stop(reason) | AppliedEffect::Block(reason) = effect {
                return Err(cut_message(&reason));
            }
        }
        let first = self.first_context(&turn.session);
        if let Some(context) = first {
            turn.next.insert(0, context_block(&context));
        }
        let last = joined_context(&fired);
        turn.next
            .extend(last.map(|context| context_block(&context)));
        Ok(())
    }

    /// Whether a hook rejects the answer of the agent and wants another prompt, which is the next of the turn then. Waits for the
    /// hooks of the turn's calls first; `is_complete` is asked after that.
    pub(crate) async fn after_prompt(
        &self,
        turn: &mut HookedTurn,
        is_complete: impl FnOnce() -> bool,
    ) -> bool {
        self.wait_for_calls(Some(&turn.session)).await;
        self.report_missed(0, "the turn was cancelled before that");
        if !is_complete() {
            return false;
        }
        if turn.rounds >= MOST_ROUNDS {
            self.give_up(turn);
            return false;
        }
        let said = self.lock_calls().take_words(&turn.session);
        if !turn.answer.is_empty() && !said.is_empty() {
            turn.answer.push('\n');
        }
        turn.answer.push_str(&said);
        turn.rounds += 1;
        let next = self.fire_after_agent(turn).await;
        next.map(|next| turn.next = vec![text_block(&next)])
            .is_some()
    }

    /// Runs `AfterAgent` hooks: the prompt of the hook that wants another one.
    async fn fire_after_agent(&self, turn: &HookedTurn) -> Option<String> {
        let place = self.place_now(&turn.session);
        if turn.answer.is_empty() && self.may_be_blocked() {
            self.notice_once("blocked", place, || {
                "the agent said nothing: perhaps a `BeforeAgent` hook has blocked the prompt, which Gemini CLI does not say over ACP".to_owned()
            });
        }
        if !self.has_hooks(HookEvent::AfterAgent, None) {
            return None;
        }
        let details = EventDetails::AfterAgent {
            prompt: text_of(&turn.prompt),
            prompt_response: match turn.answer.as_str() {
                "" => SILENCE.to_owned(),
                answer => answer.to_owned(),
            },
            stop_hook_active: turn.rounds > 1,
        };
        let fired = self.fire_hooks(details, place).await;
        let mut next = None;
        for effect in fired.effects() {
            match effect {
                AppliedEffect::GoOn(reason) => next = Some(reason),
                AppliedEffect::ForgetContext => self.notice_once("forget", place, || {
                    "a hook asks to clear the conversation, which ACP has no request for".to_owned()
                }),
                _ => {}
            }
        }
        next
    }

    /// Notes that `AfterAgent` hooks do not run any more in this turn.
    fn give_up(
        &self,
        HookedTurn {
            session, rounds, ..
        }: &HookedTurn,
    ) {
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

/// The text of a prompt's text blocks.
fn text_of(prompt: &[Json]) -> String {
    let texts = prompt.iter().filter_map(|block| {
        let block = block.token();
        let is_text = block.get("type").is_some_and(|kind| kind.is("text"));
        is_text.then(|| block.get("text").and_then(Token::string))?
    });
    texts.collect()
}
