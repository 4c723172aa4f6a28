//! Prompts of a client: a session has one turn at a time, and each prompt waits for its turn.

use std::sync::atomic::Ordering;

use lapidary_gemini::json_schema::JsonSchema;
use lapidary_json::SharedToken;
use lapidary_vocab::command::{CreateSession, SendMessage};
use lapidary_vocab::event::Provider;
use lapidary_vocab::{Json, Text};

use super::SessionCommands;
use crate::acp::PromptAnswer;
use crate::agent_hooks::HookedTurn;
use crate::client::{CommandDone, CommandError, CommandOutcome, InterruptEpoch, SessionQueue};
use crate::conversation::judged_turn::{AnswerJudge, JudgedAnswer};
use crate::conversation::opening::SessionTarget;
use crate::output_schema::{DEFAULT_REPAIRS, OutputSchema};
use crate::prompt_files::{prompt_blocks, text_block};

impl SessionCommands {
    /// A prompt. Without a session it goes to the only one, and if there is none, to a new one.
    pub(super) async fn send_message(
        &self,
        message: SendMessage,
        came: InterruptEpoch,
    ) -> CommandOutcome {
        if message.text.is_empty() && message.content.is_empty() {
            return Err("the prompt is empty".into());
        }
        let session = match &message.session_id {
            None => self.session_or_new().await?,
            named => self.resolve_session(named.as_ref()).await?,
        };
        let schema = self.schema_of(&message)?;
        let mut blocks = self.text_blocks(&session, &message.text);
        blocks.extend(message.content);
        // A schema of the prompt itself is not in the session.
        let is_told = self.state.request.has_schema_in_session() && message.output_schema.is_none();
        if let Some(schema) = schema.as_ref().filter(|_| !is_told) {
            blocks.extend(self.text_blocks(&session, &schema.instructions().into()));
        }
        self.prompt_session(&session, blocks, (schema.as_ref(), came))
            .await
    }

    /// A session, and perhaps its first turn, whose result then names the session.
    pub(super) async fn create_session(
        &self,
        wanted: CreateSession,
        came: InterruptEpoch,
    ) -> CommandOutcome {
        let opened = self.open(SessionTarget::New, Some(&wanted.cwd)).await?;
        let Some(prompt) = wanted.prompt.filter(|prompt| !prompt.is_empty()) else {
            return Ok(opened.done);
        };
        let message = SendMessage {
            session_id: Some(Text::from(opened.id.clone())),
            text: prompt,
            ..SendMessage::default()
        };
        let turn = self.send_message(message, came).await?;
        let result = turn.result.as_ref();
        let result = result.map(|result| answer_with_session(result, &opened.id));
        Ok(CommandDone { result, ..turn })
    }

    /// The schema of the command, else that of the connection.
    fn schema_of(&self, message: &SendMessage) -> Result<Option<OutputSchema>, CommandError> {
        let usual = self.state.request.run.output_schema.as_ref();
        let mut schema = usual.cloned();
        if let Some(given) = &message.output_schema {
            let given = JsonSchema::parse(given.as_str());
            let given = given.map_err(|error| format!("`outputSchema` cannot be used: {error}"))?;
            let repairs = usual.map_or(DEFAULT_REPAIRS, OutputSchema::repairs);
            schema = Some(OutputSchema::new(given).with_repairs(repairs));
        }
        Ok(match message.schema_repairs {
            Some(repairs) => schema.map(|schema| schema.with_repairs(repairs)),
            None => schema,
        })
    }

    /// The text of a prompt. Gemini CLI gets a link for each file that it names with `@path`, as in `run`; any other text goes as it came.
    fn text_blocks(&self, session: &str, text: &Text) -> Vec<Json> {
        if text.is_empty() {
            return Vec::new();
        }
        let request = &self.state.request;
        if request.provider == Provider::Gemini {
            let roots = self.state.lock_table().cwd_of(session).into_iter();
            let roots: Vec<_> = roots.chain(request.roots.iter().cloned()).collect();
            let blocks = prompt_blocks(&text.to_str(), &roots);
            if blocks.len() > 1 || text.to_str().starts_with('@') {
                return blocks;
            }
        }
        vec![Json::object([
            ("type", Json::from_value(&"text")),
            ("text", Json::from(text)),
        ])]
    }

    async fn session_or_new(&self) -> Result<String, CommandError> {
        let _opening = self.queues.opening.lock().await;
        if !self.state.lock_table().session_ids().is_empty() {
            return self.only_session();
        }
        Ok(self.open_now(SessionTarget::New, None).await?.id)
    }

    async fn prompt_session(
        &self,
        session: &str,
        mut blocks: Vec<Json>,
        (schema, came): (Option<&OutputSchema>, InterruptEpoch),
    ) -> CommandOutcome {
        let queue = self.queues.queue_for(session);
        let _turn = self.queues.wait_for_turn(session, came).await?;
        if !queue.has_begun.load(Ordering::SeqCst) {
            self.add_system_prompt(&mut blocks);
        }
        let mut judge = AnswerJudge::new(&self.state, session, schema);
        loop {
            judge.begin_prompt();
            let prompted = self.run_turn(session, &queue, blocks).await?;
            let number = prompted.number;
            match judge.judge_answer(&prompted) {
                JudgedAnswer::Final(answer) => {
                    let done = CommandDone::new(prompted.whole, number);
                    return Ok(CommandDone { answer, ..done });
                }
                JudgedAnswer::Repair(next) => blocks = next,
                JudgedAnswer::Unfit(mismatch, repairs) => {
                    return Err(CommandError::from_mismatch(&mismatch, repairs, number));
                }
            }
        }
    }

    /// A session's first prompt has the system prompt before it, as a part of its text.
    fn add_system_prompt(&self, blocks: &mut Vec<Json>) {
        let Some(system) = &self.state.request.system_prompt else {
            return;
        };
        let first = blocks.first().map(Json::token);
        let first = first.filter(|block| block.get("type").is_some_and(|kind| kind.is("text")));
        let words = first.and_then(|block| block.get("text")?.string());
        match words.map(|words| text_block(&format!("{system}\n\n{words}"))) {
            Some(both) => blocks[0] = both,
            None => blocks.insert(0, text_block(system)),
        }
    }

    /// One prompt, and the prompts that hooks want after it.
    async fn run_turn(
        &self,
        session: &str,
        queue: &SessionQueue,
        blocks: Vec<Json>,
    ) -> Result<PromptAnswer, CommandError> {
        let mut turn = HookedTurn::new(session, blocks);
        loop {
            let prepared = self.state.run_prompt_hooks(&mut turn);
            queue.unless_interrupted(prepared).await??;
            let prompted = self.send_prompt(&turn, queue).await;
            let prompted =
                prompted.or_else(|error| self.unless_stopped(session).and(Err(error)))?;
            // An interrupt ends the turn with the answer that is there.
            let goes_on = self.state.goes_on(&mut turn, &prompted);
            let goes_on = queue.unless_interrupted(goes_on).await;
            self.unless_stopped(session)?;
            if !matches!(goes_on, Ok(true)) {
                return Ok(prompted);
            }
        }
    }

    /// Gives a prompt, and waits for the answer, or until the session is closed.
    async fn send_prompt(
        &self,
        turn: &HookedTurn,
        queue: &SessionQueue,
    ) -> Result<PromptAnswer, CommandError> {
        let answered = self.state.give_prompt(turn)?;
        queue.has_begun.store(true, Ordering::SeqCst);
        Ok(queue.unless_closed(answered).await??)
    }

    /// A turn is over. If a hook stopped it, the command has failed, even if the agent reports success.
    fn unless_stopped(&self, session: &str) -> Result<(), CommandError> {
        let mut table = self.state.lock_table();
        let stopped = table.stop_of(session);
        table.last_stop.clone_from(&stopped);
        stopped.map_or(Ok(()), |stopped| Err(stopped.message.into()))
    }
}

/// The agent's answer, with the id of the session.
fn answer_with_session(answer: &Json, session: &str) -> Json {
    let members = answer.token().members().map(|(name, value)| {
        let name = name.string().unwrap_or_default().into_owned();
        (name, Json::from(SharedToken::from(value)))
    });
    let members: Vec<_> = members.filter(|(name, _)| name != "sessionId").collect();
    let members = members
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    Json::object(
        [("sessionId", Json::from_value(&session))]
            .into_iter()
            .chain(members),
    )
}
