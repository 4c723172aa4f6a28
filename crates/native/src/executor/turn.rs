//! One turn: the model is asked, then its calls are made.

use std::sync::Arc;

use lapidary_wire::gemini::hooks::HookEvent;
use serde_json::Value;

use super::AgentRun;
use super::activity::{ActivityKind, ErrorContext};
use super::clock::AgentClock;
use super::compression::CompressionCause;
use super::model_hooks::RequestDraft;
use super::signatures::prefix_call_ids;
use super::turn_end::{TurnEnd, TurnInterruption};
use crate::chat_log::ChatEntry;
use crate::model::{Content, ContentRole, ModelAnswer, ModelEvent, PartKind};

impl AgentRun<'_> {
    /// Takes a turn that begins with these parts. Returns the parts that the model is to be told next.
    pub(super) async fn take_turn(
        &mut self,
        message: Vec<Value>,
        clock: &Arc<AgentClock>,
    ) -> (TurnEnd, Vec<Value>) {
        self.prompts += 1;
        self.add_to_chat(ChatEntry::Message(&message));
        let asked = match self.compress_in_time(CompressionCause::Growth, clock).await {
            Ok(_) => self.ask_about(&message, clock).await,
            Err(end) => Err(end),
        };
        let answer = match asked {
            Ok((mut answer, selected)) => {
                prefix_call_ids(&mut answer.parts);
                self.selected_tools = selected;
                answer
            }
            // The model has not answered: the same message goes out again with the recovery message.
            Err(end) => return (end, message),
        };
        if let Some(usage) = answer.usage {
            self.compression.prompt_tokens = usage.prompt;
        }
        let model = self.request.model.as_str();
        self.add_to_chat(ChatEntry::Answer {
            model,
            answer: &answer,
        });
        let content = Content::from_answer(&answer.parts);
        debug_assert_eq!(content.role, ContentRole::Model);
        self.history.push(content);
        let calls: Vec<_> = answer.calls().cloned().collect();
        if calls.is_empty() {
            let message = "Agent stopped calling tools but did not call 'complete_task' to finalize the session.";
            self.emit_error(message.to_owned(), ErrorContext::ProtocolViolation);
            return (TurnEnd::NoCall, Vec::new());
        }
        let (end, finished) = self.make_calls(&calls, clock).await;
        self.add_to_chat(ChatEntry::Calls(&finished));
        let responses = finished.into_iter().flat_map(|call| call.response);
        (end, responses.collect())
    }

    /// Asks the model about these parts. A conversation that the API refuses as too long is compressed, once.
    async fn ask_about(
        &mut self,
        message: &[Value],
        clock: &AgentClock,
    ) -> Result<(ModelAnswer, Option<Vec<String>>), TurnEnd> {
        let mut is_compressed = false;
        loop {
            self.history.push(Content::user(message.iter().cloned()));
            let asked = self.ask_model(clock).await;
            let Err(end) = asked else {
                return asked;
            };
            self.history.pop();
            if is_compressed || !end.is_too_long() {
                return Err(end);
            }
            let cause = CompressionCause::Refused;
            is_compressed = self.compress_in_time(cause, clock).await?;
            if !is_compressed {
                return Err(end);
            }
        }
    }

    async fn compress_in_time(
        &mut self,
        cause: CompressionCause,
        clock: &AgentClock,
    ) -> Result<bool, TurnEnd> {
        let cancelled = self.cancelled.clone();
        // The history changes only at the end of a compression.
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(TurnEnd::Aborted),
            () = clock.wait_until_expired() => Err(TurnEnd::TimedOut),
            done = self.compress_history(cause) => done,
        }
    }

    async fn ask_model(
        &self,
        clock: &AgentClock,
    ) -> Result<(ModelAnswer, Option<Vec<String>>), TurnEnd> {
        // A request that is dropped ends, and so do hooks.
        tokio::select! {
            biased;
            interruption = self.wait_for_interruption(clock) => Err(interruption.into()),
            answer = self.ask_with_hooks() => answer,
        }
    }

    /// The answer, and the tools that hooks let the model call; none if they do not choose.
    async fn ask_with_hooks(&self) -> Result<(ModelAnswer, Option<Vec<String>>), TurnEnd> {
        let mut draft = RequestDraft::new(self);
        if let Some(answer) = self.before_model(&mut draft).await? {
            self.emit_texts(&answer);
            return Ok((answer, None));
        }
        self.select_tools(&mut draft).await?;
        // An answer that hooks judge is emitted after their verdict.
        let is_judged = self.has_hooks(HookEvent::AfterModel);
        let answer = self.generate_answer(&draft, is_judged).await?;
        let selected = draft.selected_tools();
        if !is_judged {
            return Ok((answer, selected));
        }
        let answer = self.after_model(&draft, answer).await?;
        self.emit_texts(&answer);
        Ok((answer, selected))
    }

    async fn generate_answer(
        &self,
        draft: &RequestDraft<'_>,
        is_judged: bool,
    ) -> Result<ModelAnswer, TurnEnd> {
        let request = draft.as_request(self);
        let mut listener = |event: ModelEvent| {
            let is_text =
                matches!(&event, ModelEvent::Part(part) if matches!(part.kind, PartKind::Text(_)));
            if !(is_judged && is_text) {
                self.emit_model_event(event);
            }
        };
        let answer = self.executor.model.generate(&request, &mut listener).await;
        match answer {
            Ok(answer) => {
                if let Some(usage) = answer.usage {
                    self.emit_activity(ActivityKind::Usage(usage));
                }
                Ok(answer)
            }
            Err(error) => {
                self.emit_error(error.to_string(), ErrorContext::Model);
                Err(TurnEnd::Failed(error))
            }
        }
    }

    fn emit_texts(&self, answer: &ModelAnswer) {
        let text = answer.text();
        if !text.is_empty() {
            self.emit_activity(ActivityKind::Text(text));
        }
    }

    fn emit_model_event(&self, event: ModelEvent) {
        let kind = match event {
            ModelEvent::Retry(notice) => ActivityKind::Retry(notice),
            ModelEvent::Part(part) => match part.kind {
                PartKind::Text(text) => ActivityKind::Text(text),
                PartKind::Thought(text) => ActivityKind::Thought(text),
                PartKind::Call(_) | PartKind::Other => return,
            },
        };
        self.emit_activity(kind);
    }

    /// Waits until the task is cancelled or the time is up. Can be cancelled.
    pub(super) async fn wait_for_interruption(&self, clock: &AgentClock) -> TurnInterruption {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => TurnInterruption::Cancelled,
            () = clock.wait_until_expired() => TurnInterruption::TimedOut,
        }
    }
}
