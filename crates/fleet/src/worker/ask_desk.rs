//! Permission prompts of a run without a person at hand: each becomes an ask in the store, and waits there for an answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lapidary::engine::conversation::{PermissionAnswer, PermissionPrompt};
use lapidary::vocab::event::DecidedBy;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::held::HeldTicket;
use super::patience;
use super::upload::RequestEvent;
use crate::{FleetStore, NewPrompt, PromptAnswer};

/// The pause between two checks for deadlines and withdrawn prompts.
const LOOK: Duration = Duration::from_millis(500);

/// The most requests that are remembered. Beyond it, requests that a rule has decided are forgotten.
const MOST_OPEN: usize = 1024;

/// The prompts of a run.
pub(crate) struct AskDesk {
    pub(crate) store: Arc<dyn FleetStore>,
    pub(crate) held: Arc<HeldTicket>,
    /// How long a prompt waits for an answer.
    pub(crate) timeout: Duration,
    pub(crate) prompts: mpsc::UnboundedReceiver<PermissionPrompt>,
    pub(crate) requests: mpsc::UnboundedReceiver<RequestEvent>,
    pub(crate) answers: mpsc::UnboundedReceiver<PromptAnswer>,
}

/// A prompt, its event, or both. They come in any order.
#[derive(Default)]
struct OpenAsk {
    prompt: Option<PermissionPrompt>,
    event: Option<RequestEvent>,
    until: Option<Instant>,
}

/// The answer as a client gives it: the fields of `permission_response` that count here. An answer for the rest of the run counts
/// for this request only.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerLine {
    allowed: bool,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    updated_input: Option<AnswerOption>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerOption {
    #[serde(default)]
    option_id: Option<String>,
}

impl AskDesk {
    /// Serves until the run is over. Can be cancelled: prompts that wait are denied then.
    pub(crate) async fn serve(mut self) {
        let mut open: HashMap<String, OpenAsk> = HashMap::new();
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // All of these futures are cancellation-safe.
            tokio::select! {
                Some(prompt) = self.prompts.recv() => {
                    let id = prompt.request.request_id.to_string();
                    open.entry(id.clone()).or_default().prompt = Some(prompt);
                    self.record(&id, &mut open).await;
                }
                Some(event) = self.requests.recv() => {
                    let id = event.request.clone();
                    if open.len() >= MOST_OPEN {
                        open.retain(|_, ask| ask.prompt.is_some()); // a rule decided the others
                    }
                    open.entry(id.clone()).or_default().event = Some(event);
                    self.record(&id, &mut open).await;
                }
                Some(answer) = self.answers.recv() => self.answer(&answer, &mut open).await,
                _ = look.tick() => self.close_ended(&mut open).await,
                else => return,
            }
        }
    }

    /// Records an ask once its prompt and its event are known.
    async fn record(&self, id: &str, open: &mut HashMap<String, OpenAsk>) {
        let Some(ask) = open.get_mut(id) else { return };
        let (Some(_), Some(event), None) = (&ask.prompt, &ask.event, ask.until) else {
            return;
        };
        let prompt = NewPrompt {
            claimed: self.held.claimed.clone(),
            request: id.to_owned(),
            seq: event.seq,
            body: event.body.clone().into_bytes(),
        };
        ask.until = Some(Instant::now() + self.timeout);
        // A ticket that is lost ends its run, and the prompt with it.
        let _ = patience::while_held(&self.held, || self.store.record_prompt(&prompt)).await;
    }

    async fn answer(&self, answer: &PromptAnswer, open: &mut HashMap<String, OpenAsk>) {
        let prompt = open.remove(&answer.request).and_then(|ask| ask.prompt);
        if let Some(prompt) = prompt {
            let reply = read_answer(answer);
            let _ = prompt.reply.send(reply); // the turn may have ended
        }
        // Settle it even if it was answered before: its answer comes with every heartbeat until then.
        self.settle(&answer.request, "answered").await;
    }

    /// Denies prompts that waited too long, and settles prompts that the agent withdrew.
    async fn close_ended(&self, open: &mut HashMap<String, OpenAsk>) {
        let now = Instant::now();
        let mut ended = Vec::new();
        for (id, ask) in open.iter() {
            let is_withdrawn = ask.prompt.as_ref().is_some_and(|it| it.reply.is_closed());
            if is_withdrawn {
                ended.push((id.clone(), "withdrawn"));
            } else if ask.until.is_some_and(|until| until <= now) {
                ended.push((id.clone(), "timed_out"));
            }
        }
        for (id, how) in ended {
            if let Some(prompt) = open.remove(&id).and_then(|ask| ask.prompt) {
                let _ = prompt.reply.send(self.no_answer());
            }
            self.settle(&id, how).await;
        }
    }

    fn no_answer(&self) -> PermissionAnswer {
        let seconds = self.timeout.as_secs_f64();
        PermissionAnswer {
            allowed: false,
            option_id: None,
            is_for_run: false,
            reason: Some(format!("no answer came within {seconds} s")),
            by: DecidedBy::Default,
        }
    }

    async fn settle(&self, request: &str, how: &str) {
        let run = self.held.claimed.run();
        let settle = || self.store.settle_prompt(&run, request, how);
        let _ = patience::while_held(&self.held, settle).await;
    }
}

/// An answer that cannot be read denies the action.
fn read_answer(answer: &PromptAnswer) -> PermissionAnswer {
    let line: Option<AnswerLine> = serde_json::from_slice(&answer.answer).ok();
    let allowed = line.as_ref().is_some_and(|line| line.allowed);
    let message = line.as_ref().and_then(|line| line.message.clone());
    let word = if allowed { "allowed" } else { "denied" };
    PermissionAnswer {
        allowed,
        option_id: line.and_then(|line| line.updated_input?.option_id),
        is_for_run: false,
        reason: Some(message.unwrap_or_else(|| format!("{} {word} it", answer.by))),
        by: DecidedBy::Peer,
    }
}
