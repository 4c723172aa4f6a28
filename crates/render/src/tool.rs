//! A tool call for display: its telling argument, and the parts of its story.

mod parts;

use lapidary_json::Token;
use lapidary_vocab::Text;
use lapidary_vocab::event::{ToolCallStatus, ToolKind};

pub(crate) use crate::call_state::CallState;
use crate::permission::PermissionAnswer;
use crate::plain;
use crate::tool_argument::{LONGEST_ARGUMENT, telling_argument, title_beside_name};
use crate::totals;
use crate::transcript::ToolCallItem;

pub(crate) use parts::{DiffOrigin, ToolPart, tool_parts};

/// The tool that ends a task with its result.
const COMPLETION: &str = "complete_task";

impl ToolCallItem {
    pub(crate) fn current_state(&self) -> CallState {
        match &self.done {
            None if self.is_denied() => CallState::Denied,
            None => CallState::Unanswered,
            Some(done) if done.status == ToolCallStatus::Cancelled => CallState::Cancelled,
            Some(done) if totals::is_failed_call(done) => CallState::Failed,
            Some(_) => CallState::Done,
        }
    }

    fn is_denied(&self) -> bool {
        self.answer
            .as_ref()
            .is_some_and(PermissionAnswer::is_denied)
    }

    /// The tool's name. Hostile like everything else, and of any length.
    pub(crate) fn tool_name(&self) -> String {
        let name = self
            .call
            .as_ref()
            .map(|call| plain::first_line(&call.tool_name.to_str(), LONGEST_ARGUMENT));
        name.filter(|name| !name.is_empty())
            .unwrap_or_else(|| "result of an unknown call".to_owned())
    }

    /// The subject of the call, on one line.
    pub(crate) fn call_subject(&self) -> Option<String> {
        let call = self.call.as_ref().filter(|_| !self.is_completion())?;
        let title = || Some(title_beside_name(&self.tool_name(), call.title.as_ref()?));
        telling_argument(&call.input)
            .or_else(title)
            .filter(|subject| *subject != self.tool_name())
    }

    /// True if a sub-agent called it.
    pub(crate) fn is_nested(&self) -> bool {
        self.call
            .as_ref()
            .is_some_and(|call| call.parent_call_id.is_some())
    }

    /// True for the call by which an agent of Gemini's kind hands over its result. The agent's message, or the end of the sub-agent,
    /// shows that result.
    pub(crate) fn is_completion(&self) -> bool {
        self.tool_name() == COMPLETION
    }

    /// True if the result is a file's content.
    pub(crate) fn returned_a_file(&self) -> bool {
        let lists_directory = self.text_argument("dir_path").is_some();
        self.is(&ToolKind::Read) && self.current_state() == CallState::Done && !lists_directory
    }

    /// The title that the agent gave the call.
    fn agent_title(&self) -> Option<String> {
        let title = self.call.as_ref()?.title.as_ref();
        title.map(Text::to_string)
    }

    fn is(&self, kind: &ToolKind) -> bool {
        self.call.as_ref().is_some_and(|call| call.kind == *kind)
    }

    fn text_argument(&self, key: &str) -> Option<String> {
        let call = self.call.as_ref()?;
        call.input
            .token()
            .get(key)
            .and_then(Token::string)
            .map(std::borrow::Cow::into_owned)
    }

    /// The file it concerns.
    pub(crate) fn file_path(&self) -> Option<String> {
        let from_location =
            || Some(self.call.as_ref()?.locations.first().map(Text::to_string)).flatten();
        ["file_path", "absolute_path", "path"]
            .iter()
            .find_map(|key| self.text_argument(key))
            .or_else(from_location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapidary_vocab::{Body, Event, Json};

    fn tool(bodies: &[&str]) -> ToolCallItem {
        let mut tool = ToolCallItem::default();
        for body in bodies {
            let line = body.replacen('{', r#"{"id":"r-0","seq":0,"provider":"gemini","#, 1);
            let event = Event::from_json(&line).unwrap();
            match &event.body {
                Body::ToolInvocation(call) => tool = ToolCallItem::from_invocation(call, &event),
                Body::ToolCompletion(done) => tool.add_completion(done, &event),
                other => panic!("{other:?}"),
            }
        }
        tool
    }

    #[test]
    fn the_most_telling_argument_of_a_call_is_found() {
        let telling = |input: &str| {
            telling_argument(&Json::from(
                lapidary_vocab::SharedToken::parse(input).unwrap(),
            ))
        };
        assert_eq!(
            telling(r#"{"content":"x","file_path":"a.txt"}"#).as_deref(),
            Some("a.txt")
        );
        assert_eq!(
            telling(r#"{"description":"d","command":"ls\n-l"}"#).as_deref(),
            Some("ls…")
        );
        assert_eq!(telling(r#"{"n":1,"what":"x"}"#).as_deref(), Some("x"));
        assert_eq!(
            telling(r#"{"paths":["a","b"]}"#).as_deref(),
            Some(r#"["a","b"]"#)
        );
        assert_eq!(telling(r#"{"n":1}"#), None);
        assert_eq!(telling("{}"), None);
    }

    const CALL: &str = r#"{"event":"tool_invocation","callId":"c","toolName":"read_file","kind":"read","input":{"file_path":"a.rs","limit":5}}"#;

    #[test]
    fn a_read_shows_a_file_and_a_failure_comes_first() {
        let arguments = ToolPart::Arguments(vec![("limit".to_owned(), "5".to_owned())]);
        let read = tool(&[
            CALL,
            r#"{"event":"tool_completion","callId":"c","status":"completed","output":"x"}"#,
        ]);
        let file = ToolPart::File {
            path: "a.rs".to_owned(),
            text: "x".to_owned(),
        };
        assert_eq!(tool_parts(&read), [arguments.clone(), file]);
        let failed = tool(&[
            CALL,
            r#"{"event":"tool_completion","callId":"c","status":"failed","output":"no"}"#,
        ]);
        assert_eq!(
            tool_parts(&failed),
            [ToolPart::Output("no".to_owned()), arguments]
        );
    }

    #[test]
    fn a_result_that_comes_twice_is_shown_once() {
        let done = r#"{"event":"tool_completion","callId":"c","status":"completed","output":"x","content":[{"type":"text","text":"x"}]}"#;
        assert_eq!(
            tool_parts(&tool(&[done])),
            [ToolPart::Output("x".to_owned())]
        );
        assert_eq!(tool(&[done]).tool_name(), "result of an unknown call");
    }
}
