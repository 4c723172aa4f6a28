//! A turn whose answer must fit a schema. An answer that does not is repaired in the same session, by prompts that state its
//! violations.

use std::sync::Arc;

use lapidary_json::{SharedToken, Token};
use lapidary_vocab::{Json, StructuredAnswer};

use super::conversation_state::ConversationState;
use super::ending::SessionError;
use super::session_driver::SessionDriver;
use super::turn::has_ended_well;
use crate::acp::PromptAnswer;
use crate::output_schema::{AnswerMismatch, OutputSchema, TurnSubmissions};
use crate::prompt_files::text_block;

/// Judges the answers of a session by a schema, if there is one.
#[derive(Debug)]
pub(super) struct AnswerJudge<'a> {
    state: &'a ConversationState,
    session: &'a str,
    schema: Option<&'a OutputSchema>,
    /// How many repairs were asked for.
    repairs: u32,
}

/// The verdict about an answer.
#[derive(Debug)]
pub(super) enum JudgedAnswer {
    /// It fits; without an answer if there is no schema, or if the agent did not complete the turn: then that is how it ended.
    Final(Option<StructuredAnswer>),
    /// It does not fit: the prompt that asks for a repair.
    Repair(Vec<Json>),
    /// It does not fit, and no repair is left, after so many.
    Unfit(AnswerMismatch, u32),
}

/// The end of a task of our own agent that stopped without `complete_task`. The next prompt would be another task, which knows
/// nothing of this one: there is nothing to repair.
const GIVEN_UP: &str = "ERROR_NO_COMPLETE_TASK_CALL";

/// How an agent of our own ended its task.
fn own_ending(prompted: &PromptAnswer) -> Option<Token<'_>> {
    prompted.whole.token().get("_meta")?.get("lapidary")
}

/// How often the agent may repair the answer that it gave to this prompt.
fn repairs_after(prompted: &PromptAnswer, schema: &OutputSchema) -> u32 {
    let own = own_ending(prompted).and_then(|ending| ending.get("terminateReason"));
    if own.is_some_and(|reason| reason.is(GIVEN_UP)) {
        0
    } else {
        schema.repairs()
    }
}

impl<'a> AnswerJudge<'a> {
    pub(super) fn new(
        state: &'a ConversationState,
        session: &'a str,
        schema: Option<&'a OutputSchema>,
    ) -> Self {
        Self {
            state,
            session,
            schema,
            repairs: 0,
        }
    }

    /// The answer to the next prompt is to be judged.
    pub(super) fn begin_prompt(&self) {
        if self.schema.is_some() {
            self.state.observer.begin_answer(self.session);
            let desk = self.state.submissions.iter();
            desk.for_each(|desk| drop(desk.take_turn(self.session))); // calls of an earlier turn
        }
    }

    /// Judges the answer of the turn that is just over.
    pub(super) fn judge_answer(&mut self, prompted: &PromptAnswer) -> JudgedAnswer {
        let Some(schema) = self.schema else {
            return JudgedAnswer::Final(None);
        };
        let messages = self.state.observer.take_answer(self.session);
        if !has_ended_well(prompted) {
            return JudgedAnswer::Final(None);
        }
        // An agent of our own gives its result as data.
        let own = own_ending(prompted).and_then(|ending| ending.get("output"));
        let judged = match own.filter(|_| self.state.request.takes_output_schema()) {
            Some(output) => schema.judge_value(&Json::from(SharedToken::from(output))),
            None => schema.judge_turn(self.take_submissions(schema), &messages),
        };
        let mismatch = match judged {
            Ok(answer) => return JudgedAnswer::Final(Some(answer)),
            Err(mismatch) if self.repairs >= repairs_after(prompted, schema) => {
                return JudgedAnswer::Unfit(mismatch, self.repairs);
            }
            Err(mismatch) => mismatch,
        };
        self.repairs += 1;
        let notice = mismatch.notice(self.repairs, schema.repairs());
        self.state.say.inject_notice(Some(prompted.number), notice);
        JudgedAnswer::Repair(vec![text_block(&mismatch.repair_prompt(schema))])
    }

    /// The answers that came through the tool. It has the schema of the run, and a client may give another one with its prompt.
    fn take_submissions(&self, schema: &OutputSchema) -> TurnSubmissions {
        let desk = self.state.submissions.as_ref();
        let desk = desk.filter(|_| schema.tool().is_some());
        desk.map(|desk| desk.take_turn(self.session))
            .unwrap_or_default()
    }
}

impl SessionDriver {
    /// Sends a prompt. With an output schema, the turn is over when its answer fits, or when no repair is left.
    pub(super) async fn judged_turn(
        &mut self,
        session: &str,
        prompt: &[Json],
    ) -> Result<(), SessionError> {
        let state = Arc::clone(&self.state);
        let schema = state.request.run.output_schema.as_ref();
        let mut judge = AnswerJudge::new(&state, session, schema);
        let mut prompt = prompt.to_vec();
        loop {
            judge.begin_prompt();
            let prompted = self.run_turn(session, prompt).await?;
            match judge.judge_answer(&prompted) {
                JudgedAnswer::Final(answer) => {
                    self.answer = answer;
                    return Ok(());
                }
                JudgedAnswer::Repair(next) => prompt = next,
                JudgedAnswer::Unfit(mismatch, repairs) => {
                    self.answer = Some(mismatch.answer());
                    return Err(SessionError::Stopped(mismatch.stop_cause(repairs)));
                }
            }
        }
    }
}
