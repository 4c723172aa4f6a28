//! One prompt, and the observations until its answer.

use std::collections::BTreeSet;
use std::time::Duration;

use lapidary::engine::acp::{
    AcpClient, IncomingRequest, MessageContent, ObservedLine, PendingCall, PromptAnswer,
    RequestError, TrafficLine,
};
use lapidary::vocab::Json;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};

use super::acp_probe::AcpProbe;
use super::model::{LOOK, MARK};

/// How long a cancelled turn may take to be answered.
const CANCELLED_BY: Duration = Duration::from_secs(5);

/// An agent that shows no sign of a turn is cancelled anyway.
const SILENT: Duration = Duration::from_secs(5);

/// How long reading the lines before the answer may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How much of an agent's text is kept.
const LONGEST: usize = 64 * 1024;

/// When a turn is to be cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnCancel {
    /// Not at all.
    Never,
    /// At the first sign that the agent works.
    AtFirstSign,
}

/// The observations of a turn.
pub(super) struct ObservedTurn {
    pub(super) outcome: Result<PromptAnswer, RequestError>,
    pub(super) text: String,
    /// The places in which the agent reported its token counts.
    pub(super) usage_in: BTreeSet<&'static str>,
    /// Whether it asked for permission for the command that the model had called for.
    pub(super) asked: bool,
    /// The same for the command that only reads.
    pub(super) asked_to_look: bool,
    /// How many permissions it asked for in all.
    pub(super) permissions: u64,
    /// How long after it was cancelled it was answered.
    pub(super) since_cancel: Option<Duration>,
    pub(super) took: Duration,
}

#[derive(Default)]
struct TurnSightings {
    text: String,
    usage_in: BTreeSet<&'static str>,
    has_begun: bool,
    is_ours: bool,
    asked: bool,
    /// The calls that only read, by their ids.
    looks: BTreeSet<String>,
    asked_to_look: bool,
    permissions: u64,
    cancelled: Option<Instant>,
    since_cancel: Option<Duration>,
    /// The number of the line that was seen last.
    number: Option<u64>,
}

impl ObservedTurn {
    pub(super) async fn play_turn(
        spoken: &mut AcpProbe,
        client: &AcpClient,
        session: &str,
        (text, cancel, time): (&str, TurnCancel, Duration),
    ) -> Self {
        let began = Instant::now();
        let mut seen = TurnSightings::default();
        let prompt = json!({ "type": "text", "text": text });
        let outcome = match client.prompt(session, &[Json::from_value(&prompt)]) {
            Err(error) => Err(error),
            Ok(waiting) => {
                let stop = || client.cancel(session).is_ok();
                let plan = TurnPlan {
                    cancel,
                    until: began + time,
                };
                seen.follow_turn(spoken, waiting, &plan, stop).await
            }
        };
        if let Ok(prompted) = &outcome {
            seen.note_answer(&prompted.whole);
        }
        Self {
            outcome,
            text: seen.text,
            usage_in: seen.usage_in,
            asked: seen.asked,
            asked_to_look: seen.asked_to_look,
            permissions: seen.permissions,
            since_cancel: seen.since_cancel,
            took: began.elapsed(),
        }
    }
}

struct TurnPlan {
    cancel: TurnCancel,
    /// When it has to be over.
    until: Instant,
}

impl TurnPlan {
    /// When the agent is cancelled whether or not it has begun.
    fn latest_cancel(&self, began: Instant) -> Instant {
        self.until.min(began + SILENT)
    }
}

impl TurnSightings {
    async fn follow_turn(
        &mut self,
        spoken: &mut AcpProbe,
        waiting: PendingCall,
        plan: &TurnPlan,
        stop: impl Fn() -> bool,
    ) -> Result<PromptAnswer, RequestError> {
        let began = Instant::now();
        let mut until = plan.until;
        let left = until.saturating_duration_since(began) + CANCELLED_BY;
        let mut answer = Box::pin(waiting.answer(Some(left)));
        loop {
            let is_due = plan.cancel == TurnCancel::AtFirstSign && self.cancelled.is_none();
            // All of these can be cancelled and waited for again.
            let alarm = tokio::select! {
                answered = &mut answer => {
                    self.since_cancel = self.cancelled.map(|at| at.elapsed());
                    let prompted = answered.map(|answer| PromptAnswer::from_token(&answer))?;
                    let _ = timeout(LAST_WORDS, self.catch_up(spoken, prompted.number)).await;
                    return Ok(prompted);
                }
                Some(asked) = spoken.agent.requests.next() => {
                    self.permit_own_command(asked);
                    false
                }
                Some(observed) = spoken.agent.observer.next() => {
                    self.note_line(spoken, &observed);
                    false
                }
                () = sleep_until(plan.latest_cancel(began)), if is_due => true,
                () = sleep_until(until) => {
                    self.since_cancel = self.cancelled.map(|at| at.elapsed());
                    let method = "session/prompt".to_owned();
                    return Err(RequestError::Late { method, time: began.elapsed() });
                }
            };
            if is_due && (alarm || self.has_begun) && stop() {
                let now = Instant::now();
                self.cancelled = Some(now);
                until = now + CANCELLED_BY;
            }
        }
    }

    /// Reads the lines before the answer.
    async fn catch_up(&mut self, spoken: &mut AcpProbe, number: u64) {
        while self.number.is_none_or(|last| last < number) {
            let Some(observed) = spoken.agent.observer.next().await else {
                return;
            };
            self.note_line(spoken, &observed);
        }
    }

    fn note_line(&mut self, spoken: &mut AcpProbe, observed: &ObservedLine) {
        self.number = Some(observed.number);
        spoken.noise.note_traffic(&observed.traffic);
        let TrafficLine::Received(received) = &observed.traffic else {
            return;
        };
        let MessageContent::Notification { method, params } = &received.what else {
            return;
        };
        if method.to_str() == "session/update" {
            let params = params.as_ref().map(json_value).unwrap_or_default();
            self.note_update(&params["update"]);
        }
    }

    fn note_update(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => {
                let said = update["content"]["text"].as_str().unwrap_or_default();
                if self.text.len() + said.len() <= LONGEST {
                    self.text += said;
                }
                self.has_begun = true;
                if update["_meta"]["usage"].is_object() {
                    self.usage_in.insert("chunk._meta.usage");
                }
            }
            "agent_thought_chunk" => self.has_begun = true,
            "tool_call" | "tool_call_update" => {
                self.has_begun = true;
                self.is_ours |= update.to_string().contains(MARK);
                self.looks.extend(read_call_id(update));
            }
            "usage_update" => {
                self.usage_in.insert("usage_update");
            }
            _ => {}
        }
    }

    fn note_answer(&mut self, answer: &Json) {
        let answer = json_value(answer);
        if answer["usage"].is_object() {
            self.usage_in.insert("usage");
        }
        if answer["_meta"]["quota"].is_object() {
            self.usage_in.insert("_meta.quota");
        }
    }

    /// Allows the command that our own model called for, and nothing else.
    fn permit_own_command(&mut self, asked: IncomingRequest) {
        let params = asked.params.as_ref().map(json_value).unwrap_or_default();
        let is_ours = self.is_ours || params["toolCall"].to_string().contains(MARK);
        let id = params["toolCall"]["toolCallId"].as_str();
        let is_look = read_call_id(&params["toolCall"]).is_some()
            || id.is_some_and(|id| self.looks.contains(id));
        self.permissions += 1;
        self.asked |= is_ours && !is_look;
        self.asked_to_look |= is_look;
        let kinds = if is_ours {
            ["allow_once", "allow_always"]
        } else {
            ["reject_once", "reject_always"]
        };
        let options = params["options"].as_array();
        let options = options.map(Vec::as_slice).unwrap_or_default();
        let of_kind = |kind: &str| options.iter().find(|option| option["kind"] == *kind);
        let chosen = kinds.into_iter().find_map(of_kind);
        let outcome = match chosen {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        };
        let answer = json!({ "outcome": outcome });
        asked.respond.answer(&Json::from_value(&answer));
    }
}

/// The id of a call that only reads.
fn read_call_id(call: &Value) -> Option<String> {
    let is_look = call.to_string().contains(LOOK);
    is_look.then(|| call["toolCallId"].as_str().unwrap_or_default().to_owned())
}

/// JSON that is nested too deeply to be parsed is null here.
fn json_value(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap_or_default()
}
