//! The searchable texts of a session, taken from its events.

use std::borrow::Cow;
use std::collections::HashMap;

use lapidary_json::Token;
use lapidary_vocab::event::{TextEvent, TextKind, ToolCompletion, ToolInvocation};
use lapidary_vocab::{Body, Event, Text};

use super::entries::{EntryRole, TextEntry, is_context, scalar_lines};

/// Reads the events of one session in order.
#[derive(Debug, Default)]
pub(super) struct EventTexts {
    /// The number of the message that is being said, from 1.
    message: u64,
    /// The model speaks: its next text belongs to the same message.
    is_speaking: bool,
    /// The model that the session began with.
    model: Option<String>,
    /// The tool of each call.
    tools: HashMap<String, String>,
}

impl EventTexts {
    /// Passes on the texts of an event.
    pub(super) fn read_event(&mut self, event: &Event, take: &mut dyn FnMut(&TextEntry<'_>)) {
        match &event.body {
            Body::SessionInit(init) => self.model = owned_text(init.model.as_ref()),
            Body::UserInput(input) => {
                self.message += 1;
                self.is_speaking = false;
                let text = input.text.to_str();
                if !is_context(EntryRole::User, &text) {
                    take(&self.text_entry(EntryRole::User, None, text));
                }
            }
            Body::Text(text) => self.read_text(text, take),
            Body::ToolInvocation(call) => self.read_call(call, take),
            Body::ToolCompletion(done) => self.read_completion(done, take),
            Body::SessionStatus(status) => {
                if let Some(message) = &status.message {
                    take(&self.text_entry(EntryRole::Notice, None, message.to_str()));
                }
            }
            _ => {}
        }
    }

    fn read_text(&mut self, text: &TextEvent, take: &mut dyn FnMut(&TextEntry<'_>)) {
        if text.kind == TextKind::Error {
            return take(&self.text_entry(EntryRole::Notice, None, text.text.to_str()));
        }
        self.begin_message();
        let mut entry = self.text_entry(EntryRole::Assistant, None, text.text.to_str());
        if let Some(model) = &text.model {
            entry.model = Some(model.to_str());
        }
        take(&entry);
    }

    fn read_call(&mut self, call: &ToolInvocation, take: &mut dyn FnMut(&TextEntry<'_>)) {
        self.begin_message();
        let name = call.tool_name.to_str().into_owned();
        let input = scalar_lines(std::iter::once(call.input.token()));
        take(&self.text_entry(EntryRole::Tool, Some(&name), input.into()));
        self.tools.insert(call.call_id.to_str().into_owned(), name);
    }

    fn read_completion(&mut self, done: &ToolCompletion, take: &mut dyn FnMut(&TextEntry<'_>)) {
        self.is_speaking = false;
        let tool = self.tools.get(&*done.call_id.to_str());
        let output = match &done.output {
            Some(output) => scalar_lines(std::iter::once(output.token())),
            None => said_in(&serde_json::to_string(&done.content).unwrap_or_default()),
        };
        let tool = tool.map(String::as_str);
        take(&self.text_entry(EntryRole::Tool, tool, output.into()));
    }

    fn begin_message(&mut self) {
        if !std::mem::replace(&mut self.is_speaking, true) {
            self.message += 1;
        }
    }

    fn text_entry<'a>(
        &'a self,
        role: EntryRole,
        tool: Option<&'a str>,
        text: Cow<'a, str>,
    ) -> TextEntry<'a> {
        TextEntry {
            role,
            message: Some(self.message.max(1)),
            tool: tool.map(Cow::Borrowed),
            model: self.model.as_deref().map(Cow::Borrowed),
            text,
        }
    }
}

fn said_in(json: &str) -> String {
    scalar_lines(Token::parse(json).into_iter())
}

fn owned_text(text: Option<&Text>) -> Option<String> {
    text.map(|text| text.to_str().into_owned())
}
