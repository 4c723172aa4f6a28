//! Events folded into what people see: a conversation.
//!
//! Chunks become texts, a tool's result joins its call, everything else is a notice. Markdown and HTML print these items.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use lapidary_vocab::event::{
    RunEnd, SessionInit, StreamDeltaKind, TextEvent, ToolCompletion, ToolInvocation, TurnComplete,
    UserInput,
};
use lapidary_vocab::{Body, Event, Text, TextBuilder};

use crate::echo::Echo;
use crate::notice::{self, Notice};
use crate::plain;
use crate::totals::Totals;
use crate::words;

/// How long a text may be to be read as Markdown. Parsing takes many times a text's size, and nobody writes a megabyte of prose.
pub(crate) const MOST_PROSE: usize = 1024 * 1024;

/// How much of a prompt a title shows.
const LONGEST_TITLE: usize = 80;

/// A conversation and what is known about it.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    pub(crate) session: Session,
    pub(crate) items: Vec<Item>,
    pub(crate) totals: Totals,
    pub(crate) end: Option<RunEnd>,
    /// The first line of each prompt.
    pub(crate) prompts: Vec<String>,
    /// The events that are the last to tell of a call that nothing answers, if that is known: such a call is not waited for.
    unanswered: HashSet<u64>,
    pushed: u64,
    turns: usize,
    echo: Echo,
    open_calls: HashMap<String, Open>,
    /// True if the last item is a text that the next chunk may continue.
    is_speaking: bool,
    /// True if the agent has said something in this turn.
    has_answered: bool,
}

/// The header's facts.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) provider: String,
    pub(crate) id: Option<Text>,
    pub(crate) init: SessionInit,
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Item {
    User(User),
    Prose(Prose),
    Tool(Box<Tool>),
    Notice(Notice),
    TurnEnd(Box<TurnEnd>),
}

/// What was said to the agent.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) text: Text,
    pub(crate) images: usize,
    pub(crate) is_synthetic: bool,
    pub(crate) at: Option<String>,
}

/// What the agent said or thought.
#[derive(Debug)]
pub(crate) struct Prose {
    /// The kind's word: `text`, `thinking`, `plan`, or what a newer version has.
    pub(crate) kind: String,
    /// What was said so far. Joined as tokens, because a chunk may end within a character.
    words: TextBuilder,
    pub(crate) parent: Option<Text>,
}

impl Prose {
    pub(crate) fn text(&self) -> String {
        self.words.to_str().into_owned()
    }

    /// An answer that is too long to be prose. It is written out as it stands, without being held once more.
    pub(crate) fn long_answer(&self) -> Option<Cow<'_, str>> {
        let may_be = self.kind == "text" && self.parent.is_none() && self.words.size() > MOST_PROSE;
        let text = may_be.then(|| self.words.to_str());
        text.filter(|text| text.len() > MOST_PROSE)
    }

    /// Its first line. The marks of Markdown would only be noise there.
    pub(crate) fn gist(&self, limit: usize) -> String {
        plain::first_line(&self.text(), limit)
            .replace("**", "")
            .replace('`', "")
    }
}

/// A call of a tool and what came of it. A completion without its call is shown all the same.
#[derive(Debug, Default)]
pub(crate) struct Tool {
    pub(crate) call: Option<ToolInvocation>,
    pub(crate) done: Option<ToolCompletion>,
    /// Whether somebody denied it.
    pub(crate) is_denied: bool,
    began: Option<String>,
    ended: Option<String>,
}

impl Tool {
    pub(crate) fn called(call: &ToolInvocation, event: &Event) -> Self {
        Self {
            call: Some(call.clone()),
            began: timestamp(event),
            ..Self::default()
        }
    }

    pub(crate) fn complete(&mut self, done: &ToolCompletion, event: &Event) {
        self.done = Some(done.clone());
        self.ended = timestamp(event);
    }

    /// How long it took, if both times are known.
    pub(crate) fn millis(&self) -> Option<u64> {
        words::millis_between(self.began.as_deref()?, self.ended.as_deref()?)
    }
}

/// A call that has not been answered: where its item is, and which event told of it last.
#[derive(Debug, Clone, Copy)]
struct Open {
    at: usize,
    told: u64,
}

/// The end of a turn.
#[derive(Debug)]
pub(crate) struct TurnEnd {
    pub(crate) errors: Vec<Text>,
    pub(crate) is_error: bool,
    /// Tokens and time of this turn alone.
    pub(crate) facts: Vec<String>,
}

impl Transcript {
    /// Takes the next event in.
    pub(crate) fn push(&mut self, event: &Event) {
        self.pushed += 1;
        self.totals.note(event);
        self.note_session(event);
        if self.echo.repeats(&event.body) {
            return;
        }
        let was_speaking = std::mem::take(&mut self.is_speaking);
        if let Some(notice) = notice::of(event) {
            self.items.push(Item::Notice(notice));
            return;
        }
        match &event.body {
            Body::StreamDelta(delta) => match (&delta.kind, &delta.text_delta) {
                (StreamDeltaKind::MessageStart | StreamDeltaKind::MessageStop, _) => {}
                (kind, Some(chunk)) => self.chunk(
                    kind.as_str(),
                    chunk,
                    delta.parent_call_id.as_ref(),
                    was_speaking,
                ),
                // A tool's arguments come whole with its invocation.
                (_, None) => self.is_speaking = was_speaking,
            },
            Body::Text(text) => self.chunk(
                text.kind.as_str(),
                &text.text,
                text.parent_call_id.as_ref(),
                false,
            ),
            // Tool results on their way back to the model: the calls show them.
            Body::UserInput(input) if input.is_synthetic && input.text.is_empty() => {}
            Body::UserInput(input) => self.input(input, event),
            Body::ToolInvocation(call) => self.call(call, event),
            Body::ToolCompletion(done) => self.complete(done, event),
            Body::TurnComplete(turn) => self.end_turn(turn, event),
            Body::RunEnd(end) => self.end_run(end),
            // The header, the totals and notices have taken the rest.
            _ => self.is_speaking = was_speaking,
        }
    }

    fn input(&mut self, input: &UserInput, event: &Event) {
        if !input.is_synthetic {
            let prompt = plain::first_line(&input.text.to_str(), LONGEST_TITLE);
            self.prompts.push(prompt);
        }
        self.items.push(Item::User(User {
            text: input.text.clone(),
            images: input.images.len(),
            is_synthetic: input.is_synthetic,
            at: timestamp(event),
        }));
    }

    /// Hands over the items that nothing will change any more.
    pub(crate) fn finished(&mut self) -> Vec<Item> {
        let open = self.open_calls.values().map(|open| open.at).min();
        // Chunks may follow, and the end of a run takes back that of its only turn.
        let is_open = self.is_speaking || matches!(self.items.last(), Some(Item::TurnEnd(_)));
        let count = self.items.len() - usize::from(is_open && !self.items.is_empty());
        let count = open.map_or(count, |open| count.min(open));
        for open in self.open_calls.values_mut() {
            open.at -= count;
        }
        self.items.drain(..count).collect()
    }

    /// Lets go of what was said, for who only wants the rest. Nothing is waited for, so nothing is held.
    pub(crate) fn forget_items(&mut self) {
        self.items.clear();
    }

    /// An empty one for the same events once more, now that it is known which calls nothing answers.
    pub(crate) fn again(&self) -> Self {
        Self {
            unanswered: self.open_calls.values().map(|open| open.told).collect(),
            ..Self::default()
        }
    }

    fn note_session(&mut self, event: &Event) {
        if self.session.provider.is_empty() {
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
        // A session file names the model on what it said, not at its start.
        if let Body::Text(TextEvent { model, .. }) = &event.body
            && self.session.init.model.is_none()
        {
            self.session.init.model.clone_from(model);
        }
    }

    fn chunk(&mut self, kind: &str, chunk: &Text, parent: Option<&Text>, continues: bool) {
        self.has_answered |= kind == "text";
        match self.items.last_mut() {
            Some(Item::Prose(prose))
                if continues && prose.kind == kind && prose.parent.as_ref() == parent =>
            {
                prose.words.push(chunk);
            }
            _ => {
                let mut words = TextBuilder::default();
                words.push(chunk);
                self.items.push(Item::Prose(Prose {
                    kind: kind.to_owned(),
                    words,
                    parent: parent.cloned(),
                }));
            }
        }
        self.is_speaking = true;
    }

    fn call(&mut self, call: &ToolInvocation, event: &Event) {
        let id = call.call_id.to_string();
        let told = self.pushed;
        let tool = Box::new(Tool::called(call, event));
        // Over ACP a call is told again whenever more is known about it.
        let known = self.open_calls.get(&id).map(|open| open.at);
        let known = known.filter(|at| *at < self.items.len());
        let at = known.unwrap_or(self.items.len());
        match self.items.get_mut(at) {
            Some(item) => *item = Item::Tool(tool),
            None => self.items.push(Item::Tool(tool)),
        }
        if self.unanswered.contains(&told) {
            self.open_calls.remove(&id);
        } else {
            self.open_calls.insert(id, Open { at, told });
        }
    }

    fn complete(&mut self, done: &ToolCompletion, event: &Event) {
        let at = self.open_calls.remove(&*done.call_id.to_str());
        if let Some(Item::Tool(tool)) = at.and_then(|open| self.items.get_mut(open.at)) {
            tool.complete(done, event);
        } else {
            let mut tool = Tool::default();
            tool.complete(done, event);
            self.items.push(Item::Tool(Box::new(tool)));
        }
    }

    fn end_turn(&mut self, turn: &TurnComplete, event: &Event) {
        if let Some(result) = turn.result.as_ref().filter(|_| !self.has_answered) {
            self.chunk("text", result, None, false);
        }
        self.has_answered = false;
        self.is_speaking = false;
        self.turns += 1;
        let mut own = Totals::default();
        own.note(event);
        self.items.push(Item::TurnEnd(Box::new(TurnEnd {
            errors: turn.errors.clone(),
            is_error: turn.is_error,
            facts: own.facts(),
        })));
    }

    fn end_run(&mut self, end: &RunEnd) {
        self.end = Some(end.clone());
        // The accounts of a single turn are those of the run, which follow.
        if let Some(Item::TurnEnd(turn)) = self.items.last()
            && self.turns == 1
            && turn.errors.is_empty()
        {
            self.items.pop();
        }
    }

    /// The first words a person said, for a title.
    pub(crate) fn title(&self) -> Option<&str> {
        self.prompts.first().map(String::as_str)
    }
}

fn timestamp(event: &Event) -> Option<String> {
    event.base.timestamp.as_ref().map(Text::to_string)
}
