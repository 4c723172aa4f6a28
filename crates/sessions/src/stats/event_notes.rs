//! The usage of a session, taken from its events.
//!
//! Agents report tokens by turn, and some by model. The first answers of a turn, one for each model, carry them; the other
//! answers carry none.

use std::collections::HashMap;

use lapidary_json::Token;
use lapidary_vocab::event::{TextKind, ToolCallStatus, ToolCompletion, TurnComplete, UsageUpdate};
use lapidary_vocab::stats::TokenCounts;
use lapidary_vocab::{Body, Event, Number, Text};

use crate::by_hash::hash;
use crate::listing::ListedSession;
use crate::times::epoch_ms;
use crate::usage_notes::{NoteKind, NotedCall, NotedMessage, UsageNotes};

/// The extension of events that repeat the history of a session: an earlier run has used their tokens.
const REPLAYED: &str = "acp.replay";

/// Reads the events of one session in order.
#[derive(Debug)]
pub(super) struct EventNotes {
    notes: UsageNotes,
    /// The model that the session began with.
    model: Option<String>,
    /// Turns that are over, in every run of the session.
    turns: u64,
    /// Answers of the turn that is going on.
    answers: u64,
    /// Responses with their token usage.
    responses: u64,
    is_speaking: bool,
    /// Tokens of the steps of the turn that is going on.
    steps: Option<TokenCounts>,
    /// The time of the latest event.
    time: Option<i64>,
    /// The calls of the session by their ids.
    calls: HashMap<String, NotedCall>,
    /// The calls of the response that is going on.
    recent: Vec<String>,
}

impl EventNotes {
    pub(super) fn new(session: &ListedSession) -> Self {
        let info = session.info();
        let mut notes = UsageNotes::new(session.id(), info.provider.clone());
        notes.project.clone_from(&info.project);
        Self {
            notes,
            model: None,
            turns: 0,
            answers: 0,
            responses: 0,
            is_speaking: false,
            steps: None,
            time: session.started_ms,
            calls: HashMap::new(),
            recent: Vec::new(),
        }
    }

    /// Takes in an event.
    pub(super) fn read_event(&mut self, event: &Event) {
        if event.base.extensions.contains_key(REPLAYED) {
            return;
        }
        let time = event.base.timestamp.as_ref();
        self.time = time.and_then(|time| epoch_ms(&time.to_str())).or(self.time);
        match &event.body {
            Body::SessionInit(init) => self.model = init.model.as_ref().map(owned_text),
            Body::UserInput(input) if !input.is_synthetic => self.note_turn(&event.base.id),
            Body::Text(said) if is_models(&said.kind) => self.begin_answer(),
            Body::ToolInvocation(call) => {
                self.begin_answer();
                self.note_call(&call.call_id, &call.tool_name);
            }
            Body::ToolCompletion(done) => self.note_completion(done),
            Body::UsageUpdate(update) => self.note_step(update),
            Body::TurnComplete(turn) => self.turn_end(Some(turn)),
            Body::RunEnd(_) if self.answers > 0 => self.turn_end(None),
            _ => {}
        }
    }

    pub(super) fn finish(mut self) -> UsageNotes {
        for call in std::mem::take(&mut self.calls).into_values() {
            self.notes.put_call(call);
        }
        self.notes
    }

    fn note_turn(&mut self, id: &str) {
        let (time, id) = (self.time, hash(id));
        self.notes
            .put_message(noted_message(id, NoteKind::Turn, time));
    }

    fn begin_answer(&mut self) {
        if !std::mem::replace(&mut self.is_speaking, true) {
            self.answers += 1;
        }
    }

    /// The id of an answer of the turn that is going on. Calls of tools stand at the first.
    fn answer_id(&self, place: u64) -> u64 {
        hash(("answer", self.turns, place))
    }

    fn note_call(&mut self, id: &Text, tool: &Text) {
        let (id, message) = (owned_text(id), self.answer_id(0));
        let tool = self.notes.name_number(&tool.to_str());
        let call = NotedCall {
            id: hash((message, &id)),
            message,
            tool,
            is_error: false,
            is_cancelled: false,
        };
        self.recent.push(id.clone());
        self.calls.entry(id).or_insert(call);
    }

    fn note_completion(&mut self, done: &ToolCompletion) {
        self.is_speaking = false;
        if let Some(call) = self.calls.get_mut(&*done.call_id.to_str()) {
            call.is_cancelled = done.status == ToolCallStatus::Cancelled;
            call.is_error = done.is_error && !call.is_cancelled;
        }
    }

    fn note_step(&mut self, update: &UsageUpdate) {
        let used = update.step_usage.token();
        let count = |name| used.get(name).and_then(Token::u64);
        let (input, output) = (count("input_tokens"), count("output_tokens"));
        if input.or(output).or(count("total_tokens")).is_some() {
            let cached = count("cache_read_input_tokens");
            let mut counts = counts_from_numbers([input, output, cached, count("total_tokens")]);
            counts.cache_written = count("cache_creation_input_tokens").unwrap_or_default();
            match &update.model {
                // Of a session file: it names the model of each response, and has no end of a turn.
                Some(model) => self.note_response(&model.to_str(), counts),
                None => self.steps.get_or_insert_default().add(&counts),
            }
        }
    }

    /// A response that carries its own token usage.
    fn note_response(&mut self, model: &str, counts: TokenCounts) {
        let id = hash(("response", self.responses));
        self.responses += 1;
        for call in self.recent.drain(..) {
            self.calls.entry(call).and_modify(|call| call.message = id);
        }
        self.answers = 0;
        self.is_speaking = false;
        let model = self.notes.name_number(model);
        self.notes.put_message(NotedMessage {
            model: Some(model),
            tokens: Some(counts),
            ..noted_message(id, NoteKind::Answer, self.time)
        });
    }

    fn turn_end(&mut self, turn: Option<&TurnComplete>) {
        let steps = self.steps.take();
        let mut used = turn.map(by_model).unwrap_or_default();
        let total = turn.and_then(turn_tokens).or(steps);
        if used.is_empty() && (self.answers > 0 || total.is_some()) {
            used.push((self.model.clone(), total));
        }
        let last = used.len() as u64;
        for (place, (model, tokens)) in used.into_iter().enumerate() {
            self.note_answer(place as u64, model, tokens);
        }
        for place in last..self.answers {
            self.note_answer(place, self.model.clone(), Some(TokenCounts::default()));
        }
        self.turns += 1;
        self.recent.clear();
        self.answers = 0;
        self.is_speaking = false;
    }

    fn note_answer(&mut self, place: u64, model: Option<String>, tokens: Option<TokenCounts>) {
        let model = model.map(|model| self.notes.name_number(&model));
        let id = self.answer_id(place);
        self.notes.put_message(NotedMessage {
            model,
            tokens,
            ..noted_message(id, NoteKind::Answer, self.time)
        });
    }
}

fn noted_message(id: u64, kind: NoteKind, time: Option<i64>) -> NotedMessage {
    NotedMessage {
        id,
        kind,
        time,
        model: None,
        tokens: None,
        response: None,
    }
}

fn owned_text(text: &Text) -> String {
    text.to_str().into_owned()
}

fn is_models(kind: &TextKind) -> bool {
    matches!(kind, TextKind::Text | TextKind::Thinking)
}

fn by_model(turn: &TurnComplete) -> Vec<(Option<String>, Option<TokenCounts>)> {
    let models = turn.model_usage.iter().map(|(model, used)| {
        let numbers = [
            used.input_tokens.as_ref(),
            used.output_tokens.as_ref(),
            used.cache_read_tokens.as_ref(),
            used.total_tokens.as_ref(),
        ];
        (
            Some(model.clone()),
            Some(counts_from_numbers(numbers.map(whole_number))),
        )
    });
    models.collect()
}

fn turn_tokens(turn: &TurnComplete) -> Option<TokenCounts> {
    let used = turn.usage.as_ref()?;
    let numbers = [
        used.input_tokens.as_ref(),
        used.output_tokens.as_ref(),
        used.cache_read_tokens.as_ref(),
        used.total_tokens.as_ref(),
    ];
    let numbers = numbers.map(whole_number);
    numbers
        .iter()
        .any(Option::is_some)
        .then(|| counts_from_numbers(numbers))
}

fn whole_number(number: Option<&Number>) -> Option<u64> {
    number.and_then(Number::u64)
}

/// Thoughts are counted only in the total.
fn counts_from_numbers(numbers: [Option<u64>; 4]) -> TokenCounts {
    let [input, output, cached, total] = numbers.map(Option::unwrap_or_default);
    let total = total.max(input.saturating_add(output));
    TokenCounts {
        input,
        output,
        cached,
        thoughts: total - input.saturating_add(output),
        total,
        ..TokenCounts::default()
    }
}
