//! The facts about a run that its manifest has beside its end: session, model, prompt, tokens, cost.
//!
//! `runs list` reads them there, so that it need not translate the output of thousands of agents.

use std::sync::{Arc, Mutex, PoisonError};

use lapidary_sessions::PriceTable;
use lapidary_vocab::event::UserInput;
use lapidary_vocab::{Body, Event, Json, Text};

use super::request::RunRequest;
use crate::answer_texts::AnswerTexts;
use crate::budget::{BudgetMeter, token_prices};
use crate::confine::ConfinedRun;
use crate::flag_answer;
use crate::recording::{CostBasis, RecordedEnd};

/// How many characters of the first prompt are kept.
const LONGEST_PROMPT: usize = 200;

/// Collects it while events are translated.
#[derive(Debug)]
pub(crate) struct RunTally {
    /// Prices of the user's own.
    prices: Option<PriceTable>,
    /// The confinement, which gets the events too.
    confined: Option<Arc<ConfinedRun>>,
    counts: Mutex<EventCounts>,
    /// The messages of the agent, if they are to be judged.
    answer: Option<Mutex<AnswerTexts>>,
    /// The data that the agent handed over by an option of its own.
    flag_data: Mutex<Option<Json>>,
}

#[derive(Debug, Default)]
struct EventCounts {
    meter: BudgetMeter,
    has_prices: bool,
    session_id: Option<Text>,
    model: Option<Text>,
    prompt: Option<String>,
}

impl RunTally {
    pub(crate) fn new(request: &RunRequest) -> Self {
        Self {
            prices: request.prices.clone(),
            confined: request.confined.clone(),
            counts: Mutex::default(),
            answer: request.output_schema.as_ref().map(|_| Mutex::default()),
            flag_data: Mutex::default(),
        }
    }

    /// Takes in events. Chunks of text, which are nearly all of them, cost one comparison each.
    pub(crate) fn note_events(&self, events: &[Event]) {
        if let Some(confined) = &self.confined {
            confined.note_events(events);
        }
        if let Some(answer) = &self.answer {
            let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
            for event in events {
                answer.note_event(event);
            }
            if let Some(data) = flag_answer::handed_over(events) {
                let mut known = self
                    .flag_data
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                *known = Some(data);
            }
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let tells = |event: &&Event| {
            !matches!(
                event.body,
                Body::StreamDelta(_)
                    | Body::Text(_)
                    | Body::ToolInvocation(_)
                    | Body::ToolCompletion(_)
            )
        };
        for event in events.iter().filter(tells) {
            counts.note_event(event, self.prices.as_ref());
        }
    }

    /// The agent's messages, if they are to be judged.
    pub(crate) fn agent_messages(&self) -> Vec<String> {
        let answer = self.answer.as_ref();
        let answer = answer.map(|it| {
            it.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take_messages()
        });
        answer.unwrap_or_default()
    }

    /// The data that the agent handed over by an option of its own.
    pub(crate) fn flag_data(&self) -> Option<Json> {
        let mut data = self
            .flag_data
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        data.take()
    }

    /// The agent's session, once it has named one.
    pub(crate) fn session_id(&self) -> Option<String> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.session_id.as_ref().map(Text::to_string)
    }

    /// The end of a recording, with the collected facts.
    pub(crate) fn complete_end(&self, mut end: RecordedEnd) -> RecordedEnd {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let (cost, is_estimated) = counts.meter.cost().unzip();
        end.session_id = counts.session_id.as_ref().map(Text::to_string);
        end.model = counts.model.as_ref().map(Text::to_string);
        end.prompt.clone_from(&counts.prompt);
        end.total_tokens = counts.meter.tokens();
        end.cost_usd = cost;
        end.cost_basis = is_estimated.map(|is_estimated| {
            if is_estimated {
                CostBasis::Prices
            } else {
                CostBasis::Reported
            }
        });
        end
    }
}

impl EventCounts {
    fn note_event(&mut self, event: &Event, prices: Option<&PriceTable>) {
        match &event.body {
            Body::SessionInit(init) => {
                let id = event.base.session_id.as_ref();
                self.session_id = self.session_id.take().or(id.map(Text::detached));
                let model = init.model.as_ref();
                self.model = self.model.take().or(model.map(Text::detached));
            }
            Body::UserInput(input) if !input.is_synthetic => self.note_prompt(input, event),
            // The table is read for the first turn that needs it.
            Body::TurnComplete(_) if !std::mem::replace(&mut self.has_prices, true) => {
                self.meter.set_prices(token_prices(prices));
            }
            _ => {}
        }
        self.meter.note(event);
    }

    fn note_prompt(&mut self, input: &UserInput, event: &Event) {
        if self.prompt.is_none() && !event.base.extensions.contains_key("acp.replay") {
            self.prompt = Some(prompt_beginning(&input.text.to_str()));
        }
    }
}

/// The beginning of a prompt, as a manifest has it.
pub(super) fn prompt_beginning(prompt: &str) -> String {
    prompt.trim().chars().take(LONGEST_PROMPT).collect()
}
