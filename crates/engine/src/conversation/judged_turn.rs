//! A turn whose answer must fit a schema. An answer that does not is repaired in the same session, by prompts that state its
//! violations.

use lapidary_json::SharedToken;
use lapidary_vocab::{Json, StructuredAnswer};

use super::conversation_state::ConversationState;
use super::ending::SessionError;
use super::session_driver::SessionDriver;
use super::turn_driver::has_ended_well;
use crate::acp::PromptAnswer;
use crate::output_schema::{AnswerMismatch, OutputSchema};
use crate::prompt_files::text_block;

/// The kind of agent that gave an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerOrigin {
    /// An agent of our own, whose answer to the prompt can have data.
    Local,
    /// Any other agent.
    Foreign,
}

impl AnswerOrigin {
    pub(super) fn new(is_local: bool) -> Self {
        if is_local { Self::Local } else { Self::Foreign }
    }
}

/// The prompt that asks for a repair, as content blocks.
pub(super) fn repair_blocks(mismatch: &AnswerMismatch, schema: &OutputSchema) -> Vec<Json> {
    vec![text_block(&mismatch.repair_prompt(schema))]
}

impl ConversationState {
    /// Judges the answer of the turn that is just over. None if the agent did not complete the turn: then that is how it ended.
    pub(super) fn judge_answer(
        &self,
        session: &str,
        (prompted, origin): (&PromptAnswer, AnswerOrigin),
        schema: &OutputSchema,
    ) -> Option<Result<StructuredAnswer, AnswerMismatch>> {
        let messages = self.observer.take_answer(session);
        if !has_ended_well(prompted) {
            return None;
        }
        let own = prompted.whole.token().get("_meta");
        let own = own.and_then(|meta| meta.get("lapidary")?.get("output"));
        Some(match own.filter(|_| origin == AnswerOrigin::Local) {
            Some(output) => schema.judge_value(&Json::from(SharedToken::from(output))),
            None => schema.judge_messages(&messages),
        })
    }
}

impl SessionDriver<'_> {
    /// Sends a prompt. With an output schema, the turn is over when its answer fits, or when no repair is left.
    pub(super) async fn judged_turn(
        &mut self,
        session: &str,
        prompt: &[Json],
    ) -> Result<(), SessionError> {
        let Some(schema) = &self.request.run.output_schema else {
            return self.run_turn(session, prompt).await.map(drop);
        };
        let origin = AnswerOrigin::new(self.request.local.is_some());
        let mut prompt = prompt.to_vec();
        for repair in 0.. {
            self.state.observer.begin_answer(session);
            let prompted = self.run_turn(session, &prompt).await?;
            let judged = self
                .state
                .judge_answer(session, (&prompted, origin), schema);
            let mismatch = match judged {
                None => break,
                Some(Ok(answer)) => {
                    self.answer = Some(answer);
                    break;
                }
                Some(Err(mismatch)) => mismatch,
            };
            if repair >= schema.repairs() {
                self.answer = Some(mismatch.answer());
                return Err(SessionError::Stopped(mismatch.stop_cause(repair)));
            }
            let notice = mismatch.notice(repair + 1, schema.repairs());
            self.state.say.inject_notice(Some(prompted.number), notice);
            prompt = repair_blocks(&mismatch, schema);
        }
        Ok(())
    }
}
