//! Events folded into what people see: a conversation.
//!
//! Chunks become texts, a tool's result joins its call, everything else is a notice. Markdown and HTML print these items.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use lapidary_vocab::event::{
    PermissionDecision, PermissionRequest, RunEnd, SessionInit, StreamDeltaKind, TextEvent,
    ToolCompletion, ToolInvocation, TurnComplete, UserInput,
};
use lapidary_vocab::{Body, Event, Text, TextBuilder};

use crate::call_state::CallState;
use crate::echo::EchoFilter;
use crate::notice::{Notice, NoticeLevel};
use crate::notices;
use crate::permission::{OpenRequests, PermissionAnswer};
use crate::plain;
use crate::totals::UsageTotals;
use crate::words;

/// How long a text may be to be read as Markdown. Parsing takes many times a text's size, and prose of a megabyte does not occur.
pub(crate) const MOST_PROSE: usize = 1024 * 1024;

/// How much of a prompt a title shows.
const LONGEST_TITLE: usize = 80;

/// A conversation and the facts about it.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) session: SessionHeader,
    pub(crate) items: Vec<TranscriptItem>,
    pub(crate) totals: UsageTotals,
    pub(crate) end: Option<RunEnd>,
    pub(crate) prompts: Vec<PromptEntry>,
    /// How many items tell of a failure.
    pub(crate) failures: usize,
    /// The events that are the last to tell of a call that nothing answers, if that is known: such a call is not waited for.
    unanswered: HashSet<u64>,
    pushed: u64,
    turns: usize,
    /// The usage since the last turn ended or the last prompt came.
    turn: UsageTotals,
    requests: OpenRequests,
    /// The error that was shown last in this turn.
    last_error: Option<String>,
    echo: EchoFilter,
    open_calls: HashMap<String, UnansweredCall>,
    /// True if the last item is a text that the next chunk may continue.
    is_speaking: bool,
    /// True if the agent has written text in this turn.
    has_answered: bool,
}

/// The header's facts.
#[derive(Debug, Default)]
pub(crate) struct SessionHeader {
    pub(crate) provider: String,
    pub(crate) id: Option<Text>,
    pub(crate) init: SessionInit,
}

/// A prompt, for a list of them.
#[derive(Debug)]
pub(crate) struct PromptEntry {
    /// Its first line.
    pub(crate) title: String,
    pub(crate) at: Option<String>,
    /// How much failed before the next prompt.
    pub(crate) failures: usize,
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum TranscriptItem {
    User(UserMessage),
    Prose(AgentProse),
    Tool(Box<ToolCallItem>),
    Notice(Notice),
    TurnEnd(Box<TurnEnd>),
}

/// Input to the agent: a prompt, or text that was inserted for the user.
#[derive(Debug)]
pub(crate) struct UserMessage {
    pub(crate) text: Text,
    pub(crate) images: usize,
    pub(crate) is_synthetic: bool,
    /// Input of an earlier run, which the agent repeats because its session is continued.
    pub(crate) is_replayed: bool,
    pub(crate) at: Option<String>,
}

/// Text or thoughts of the agent.
#[derive(Debug)]
pub(crate) struct AgentProse {
    /// The kind's word: `text`, `thinking`, `plan`, or one of a newer version.
    pub(crate) kind: String,
    /// The text so far. Joined as tokens, because a chunk may end within a character.
    words: TextBuilder,
    pub(crate) parent: Option<Text>,
}

impl AgentProse {
    pub(crate) fn display_text(&self) -> String {
        let text = self.words.to_str();
        match self.kind.as_str() {
            "thinking" => words::without_empty_title(&text).to_owned(),
            _ => text.into_owned(),
        }
    }

    /// An answer that is too long to be prose. It is written out as it stands, without being held once more.
    pub(crate) fn long_answer(&self) -> Option<Cow<'_, str>> {
        let may_be = self.kind == "text" && self.parent.is_none() && self.words.size() > MOST_PROSE;
        let text = may_be.then(|| self.words.to_str());
        text.filter(|text| text.len() > MOST_PROSE)
    }

    /// Its first line. The marks of Markdown would only be noise there.
    pub(crate) fn first_line_text(&self, limit: usize) -> String {
        plain::first_line(&self.display_text(), limit)
            .replace("**", "")
            .replace('`', "")
    }
}

/// A tool call and its result. A completion without its call is shown all the same.
#[derive(Debug, Default)]
pub(crate) struct ToolCallItem {
    pub(crate) call: Option<ToolInvocation>,
    pub(crate) done: Option<ToolCompletion>,
    /// The agent has asked for permission.
    pub(crate) is_asked: bool,
    /// The answer, if permission was asked for.
    pub(crate) answer: Option<PermissionAnswer>,
    began: Option<String>,
    ended: Option<String>,
}

impl ToolCallItem {
    pub(crate) fn from_invocation(call: &ToolInvocation, event: &Event) -> Self {
        Self {
            call: Some(call.clone()),
            began: event_timestamp(event),
            ..Self::default()
        }
    }

    pub(crate) fn add_completion(&mut self, done: &ToolCompletion, event: &Event) {
        self.done = Some(done.clone());
        self.ended = event_timestamp(event);
    }

    /// How long it took, if both times are known.
    pub(crate) fn duration_millis(&self) -> Option<u64> {
        words::millis_between(self.began.as_deref()?, self.ended.as_deref()?)
    }
}

/// A call that has not been answered: where its item is, and the last event about it.
#[derive(Debug, Clone, Copy)]
struct UnansweredCall {
    at: usize,
    told: u64,
}

/// The end of a turn.
#[derive(Debug)]
pub(crate) struct TurnEnd {
    pub(crate) errors: Vec<Text>,
    pub(crate) is_error: bool,
    /// Tokens, cost, time and calls of this turn alone.
    pub(crate) facts: Vec<String>,
}

impl Transcript {
    /// Takes the next event in.
    pub(crate) fn push(&mut self, event: &Event) {
        self.pushed += 1;
        if matches!(&event.body, Body::UserInput(input) if !input.is_synthetic) {
            self.end_unfinished_turn();
        }
        self.totals.count_event(event);
        self.turn.count_event(event);
        self.note_session(event);
        if self.echo.note_repetition(&event.body) {
            return;
        }
        let was_speaking = std::mem::take(&mut self.is_speaking);
        if let Body::PermissionDecision(decision) = &event.body {
            self.requests.remove_answered(decision);
            if self.attach_decision(decision) {
                return;
            }
        }
        if let Some(notice) = notices::notice_for(event) {
            return self.add_notice(notice);
        }
        match &event.body {
            Body::PermissionRequest(request) => {
                self.requests.add_request(request);
                self.note_asked(request);
            }
            Body::StreamDelta(delta) => match (&delta.kind, &delta.text_delta) {
                (StreamDeltaKind::MessageStart | StreamDeltaKind::MessageStop, _) => {}
                (kind, Some(chunk)) => self.add_chunk(
                    kind.as_str(),
                    chunk,
                    delta.parent_call_id.as_ref(),
                    was_speaking,
                ),
                // A tool's arguments come whole with its invocation.
                (_, None) => self.is_speaking = was_speaking,
            },
            Body::Text(text) => self.add_chunk(
                text.kind.as_str(),
                &text.text,
                text.parent_call_id.as_ref(),
                false,
            ),
            // Tool results on their way back to the model: the calls show them.
            Body::UserInput(input) if input.is_synthetic && input.text.is_empty() => {}
            Body::UserInput(input) => self.add_input(input, event),
            Body::ToolInvocation(call) => self.add_call(call, event),
            Body::ToolCompletion(done) => self.complete_call(done, event),
            Body::TurnComplete(turn) => self.end_turn(turn),
            Body::RunEnd(end) => self.end = Some(end.clone()),
            // The header, the totals and notices have taken the rest.
            _ => self.is_speaking = was_speaking,
        }
    }

    fn add_input(&mut self, input: &UserInput, event: &Event) {
        if !input.is_synthetic {
            self.prompts.push(PromptEntry {
                title: plain::first_line(&input.text.to_str(), LONGEST_TITLE),
                at: event_timestamp(event),
                failures: 0,
            });
        }
        self.items.push(TranscriptItem::User(UserMessage {
            text: input.text.clone(),
            images: input.images.len(),
            is_synthetic: input.is_synthetic,
            is_replayed: is_replayed(event),
            at: event_timestamp(event),
        }));
    }

    /// Hands over the items that nothing will change any more.
    pub(crate) fn take_finished(&mut self) -> Vec<TranscriptItem> {
        let open = self.open_calls.values().map(|open| open.at).min();
        // Chunks may follow.
        let count = self.items.len() - usize::from(self.is_speaking && !self.items.is_empty());
        let count = open.map_or(count, |open| count.min(open));
        for open in self.open_calls.values_mut() {
            open.at -= count;
        }
        self.items.drain(..count).collect()
    }

    /// Drops the items, for callers that want only the other facts. No item is waited for, so none is held.
    pub(crate) fn forget_items(&mut self) {
        self.items.clear();
    }

    /// An empty one for the same events once more, now that it is known which calls nothing answers.
    pub(crate) fn for_second_pass(&self) -> Self {
        Self {
            unanswered: self.open_calls.values().map(|open| open.told).collect(),
            ..Self::default()
        }
    }

    fn note_session(&mut self, event: &Event) {
        // The provider is a protocol's name until the agent has named itself.
        if matches!(self.session.provider.as_str(), "" | "acp") {
            event
                .base
                .provider
                .as_str()
                .clone_into(&mut self.session.provider);
        }
        if self.session.id.is_none() {
            self.session.id.clone_from(&event.base.session_id);
        }
        if let Body::SessionInit(init) = &event.body
            && self.session.init == SessionInit::default()
        {
            self.session.init = (**init).clone();
        }
        // A session file names the model on its messages, not at its start.
        if let Body::Text(TextEvent { model, .. }) = &event.body
            && self.session.init.model.is_none()
        {
            self.session.init.model.clone_from(model);
        }
    }

    fn add_chunk(&mut self, kind: &str, chunk: &Text, parent: Option<&Text>, continues: bool) {
        self.has_answered |= kind == "text";
        match self.items.last_mut() {
            Some(TranscriptItem::Prose(prose))
                if continues && prose.kind == kind && prose.parent.as_ref() == parent =>
            {
                prose.words.push(chunk);
            }
            _ => {
                let mut words = TextBuilder::default();
                words.push(chunk);
                self.items.push(TranscriptItem::Prose(AgentProse {
                    kind: kind.to_owned(),
                    words,
                    parent: parent.cloned(),
                }));
            }
        }
        self.is_speaking = true;
    }

    fn add_call(&mut self, call: &ToolInvocation, event: &Event) {
        let id = call.call_id.to_string();
        let told = self.pushed;
        let mut tool = Box::new(ToolCallItem::from_invocation(call, event));
        // Over ACP an agent sends a call again whenever it knows more about it.
        let known = self.open_calls.get(&id).map(|open| open.at);
        let known = known.filter(|at| *at < self.items.len());
        let at = known.unwrap_or(self.items.len());
        match self.items.get_mut(at) {
            Some(item) => {
                if let TranscriptItem::Tool(known) = item {
                    tool.is_asked = known.is_asked;
                    tool.answer = known.answer.take();
                }
                *item = TranscriptItem::Tool(tool);
            }
            None => self.items.push(TranscriptItem::Tool(tool)),
        }
        if self.unanswered.contains(&told) {
            self.open_calls.remove(&id);
        } else {
            self.open_calls.insert(id, UnansweredCall { at, told });
        }
    }

    fn complete_call(&mut self, done: &ToolCompletion, event: &Event) {
        let at = self.open_calls.remove(&*done.call_id.to_str());
        let has_failed = if let Some(TranscriptItem::Tool(tool)) =
            at.and_then(|open| self.items.get_mut(open.at))
        {
            tool.add_completion(done, event);
            tool.current_state() == CallState::Failed
        } else {
            let mut tool = ToolCallItem::default();
            tool.add_completion(done, event);
            let has_failed = tool.current_state() == CallState::Failed;
            self.items.push(TranscriptItem::Tool(Box::new(tool)));
            has_failed
        };
        if has_failed {
            self.note_failure();
        }
    }

    fn add_notice(&mut self, notice: Notice) {
        if notice.level == NoticeLevel::Error {
            self.last_error = Some(notice.text.clone());
            self.note_failure();
        }
        self.items.push(TranscriptItem::Notice(notice));
    }

    fn note_failure(&mut self) {
        self.failures += 1;
        if let Some(prompt) = self.prompts.last_mut() {
            prompt.failures += 1;
        }
    }

    /// The call of the request waits for its answer, where the call was told before.
    fn note_asked(&mut self, request: &PermissionRequest) {
        let id = request.tool_use_id.as_ref().map(Text::to_string);
        let open = self.open_calls.get(&id.unwrap_or_default());
        if let Some(TranscriptItem::Tool(tool)) = open.and_then(|open| self.items.get_mut(open.at))
        {
            tool.is_asked = true;
        }
    }

    /// Puts an answer to the call that it is about. False if there is no such call.
    fn attach_decision(&mut self, decision: &PermissionDecision) -> bool {
        let id = decision.tool_use_id.as_ref().map(Text::to_string);
        let id = id.unwrap_or_default();
        let Some(open) = self.open_calls.get_mut(&id) else {
            return false;
        };
        open.told = self.pushed;
        if let Some(TranscriptItem::Tool(tool)) = self.items.get_mut(open.at) {
            tool.answer = Some(decision.into());
        }
        if self.unanswered.contains(&self.pushed) {
            self.open_calls.remove(&id);
        }
        true
    }

    fn end_turn(&mut self, turn: &TurnComplete) {
        if let Some(result) = turn.result.as_ref().filter(|_| !self.has_answered) {
            self.add_chunk("text", result, None, false);
        }
        self.has_answered = false;
        self.is_speaking = false;
        self.turns += 1;
        // An error is often reported twice, by a status and by the turn. It is shown once.
        let told = self.last_error.take();
        let is_new = |error: &&Text| told.as_deref() != Some(&*error.to_str());
        let errors: Vec<_> = turn.errors.iter().filter(is_new).cloned().collect();
        let is_error = !errors.is_empty() || turn.is_error && turn.errors.is_empty();
        if is_error {
            self.note_failure();
        }
        let facts = self.turn.take_turn().usage_facts();
        self.items.push(TranscriptItem::TurnEnd(Box::new(TurnEnd {
            errors,
            is_error,
            facts,
        })));
    }

    /// Session files do not say where a turn ends: it is where the next prompt comes, or the end.
    fn end_unfinished_turn(&mut self) {
        let turn = self.turn.take_turn();
        if turn.has_counts() {
            self.is_speaking = false;
            self.items.push(TranscriptItem::TurnEnd(Box::new(TurnEnd {
                errors: Vec::new(),
                is_error: false,
                facts: turn.usage_facts(),
            })));
        }
    }

    /// Takes in what only the end tells. To be called once, after the last event.
    pub(crate) fn close_transcript(&mut self) {
        self.end_unfinished_turn();
        for notice in self.requests.take_open_notices() {
            self.add_notice(notice);
        }
    }

    /// The accounts of a single turn are those of the whole, which stand at the end.
    pub(crate) fn has_turns(&self) -> bool {
        self.turns > 1 || self.prompts.len() > 1
    }

    /// True if the prompts were not all given on one day.
    pub(crate) fn has_days(&self) -> bool {
        let mut days = self
            .prompts
            .iter()
            .filter_map(|prompt| words::spoken_day(prompt.at.as_deref()?));
        let first = days.next();
        days.any(|day| Some(day) != first)
    }

    /// True if a prompt waits for the end of its turn.
    pub(crate) fn is_working(&self) -> bool {
        self.end.is_none() && self.turns < self.prompts.len()
    }

    /// The first words a person said, for a title.
    pub(crate) fn first_prompt_title(&self) -> Option<&str> {
        self.prompts.first().map(|prompt| prompt.title.as_str())
    }
}

/// True for an event from before the run, which the agent repeats because its session is continued.
pub(crate) fn is_replayed(event: &Event) -> bool {
    event.base.extensions.contains_key("acp.replay")
}

fn event_timestamp(event: &Event) -> Option<String> {
    event.base.timestamp.as_ref().map(Text::to_string)
}
