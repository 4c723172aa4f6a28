//! Files that the agent reads and writes through the client. Their events are optional.

use lapidary_json::Token;
use lapidary_vocab::event::{ToolCallStatus, ToolCompletion, ToolInvocation, ToolKind};
use lapidary_vocab::{Body, Json, Text};

use super::line::AcpLine;
use super::permission::LONGEST_ARGUMENT;
use super::permission_result::RpcAnswer;
use super::requests::PendingRequest;
use super::{AcpNormalizer, shortened_agent_name, turn};
use crate::{EventBuffer, own};

/// The method that writes a file.
pub(super) const WRITE: &str = "fs/write_text_file";

/// The method that reads a file.
pub(super) const READ: &str = "fs/read_text_file";

/// The parameters of these methods.
const PARAMETERS: [&str; 4] = ["path", "line", "limit", "content"];

/// The file to be read or written, for the decision about it. Long content is omitted: it may be a whole file.
pub(super) fn file_input(params: Token<'_>) -> Json {
    let field = |name: &'static str| {
        let value = params.get(name)?.non_null()?;
        (value.as_str().len() <= LONGEST_ARGUMENT).then(|| (name, own::owned_json(value)))
    };
    Json::object(PARAMETERS.into_iter().filter_map(field))
}

impl AcpNormalizer {
    /// The agent wants to read or write a file.
    pub(super) fn file_asked(
        &mut self,
        request_id: &Text,
        method: Token<'_>,
        params: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let field = |name: &'static str| {
            let value = params?.get(name)?.non_null()?;
            Some((name, current.shared_json(value)))
        };
        let path = params.and_then(|params| own::string_token(params.get("path")));
        let path = path.map(|path| current.shared_text(path));
        let body = Body::ToolInvocation(Box::new(ToolInvocation {
            call_id: call_id(&request_id.to_str()),
            tool_name: Text::from(shortened_agent_name(method)),
            kind: if method.is(WRITE) {
                ToolKind::Edit
            } else {
                ToolKind::Read
            },
            input: Json::object(PARAMETERS.into_iter().filter_map(field)),
            parent_call_id: None,
            title: path.clone(),
            locations: path.into_iter().collect(),
            model: None,
        }));
        self.emit_event(body, Vec::new(), current, out);
    }

    /// It has, or it could not.
    pub(super) fn file_answered(
        &mut self,
        asked: &PendingRequest,
        answer: RpcAnswer<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(wish) = &asked.wish else {
            return;
        };
        let (status, output) = match answer {
            Ok(result) => {
                let content = own::string_token(result.get("content"));
                (
                    ToolCallStatus::Completed,
                    content.map(|it| current.shared_json(it)),
                )
            }
            Err(error) => {
                let message = turn::error_text(error, current);
                (ToolCallStatus::Failed, Some(Json::from(&message)))
            }
        };
        let body = Body::ToolCompletion(Box::new(ToolCompletion {
            parent_call_id: None,
            call_id: call_id(&wish.request_id.to_str()),
            is_error: status != ToolCallStatus::Completed,
            status,
            output,
            content: Vec::new(),
            locations: asked.detail.clone().into_iter().collect(),
            command: None,
            command_output: None,
            mutation: None,
        }));
        self.emit_event(body, Vec::new(), current, out);
    }
}

/// The protocol has no ids for these calls: the request's has to do.
fn call_id(request: &str) -> Text {
    Text::from(format!("fs:{request}"))
}
