//! A line of a known type → the body of its event.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::content::ContentBlock;
use lapidary_vocab::event::{
    DiagnosticKind, SessionInit, SessionState, SessionStatus, ToolCallStatus, ToolCompletion,
    ToolInvocation, TurnComplete, UserInput,
};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::gemini::stream::{
    StreamInit, StreamMessage, StreamNotice, StreamResult, ToolResult, ToolUse,
};

use super::line::{CurrentLine, LineFlaw};
use super::{StreamNormalizer, whole_text};
use crate::completions::CallSummary;
use crate::excerpt::shortened_name;
use crate::gemini::session_log::{self, LoggedCall};
use crate::gemini::turn;
use crate::{tools, verdict};

impl StreamNormalizer {
    pub(super) fn init_body(
        &mut self,
        init: &StreamInit<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let session_id = current.required_text("session_id", init.session_id)?;
        if !session_id.is_empty() {
            self.run.stamp.session_id = Some(session_id.detached());
        }
        let model = current.optional_value("model", init.model, TokenKind::String);
        Ok(Body::SessionInit(Box::new(SessionInit {
            model: model.map(|model| current.shared_text(model)),
            permission_mode: self.is_planning.then(|| Text::from("plan")),
            cwd: self
                .directory
                .as_deref()
                .map(|it| Text::from(it.to_owned())),
            ..SessionInit::default()
        })))
    }

    pub(super) fn message_body(
        message: &StreamMessage<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let text = current.required_text("content", message.content)?;
        let role = message.role.filter(|role| role.kind() == TokenKind::String);
        match role {
            Some(role) if role.is("user") => Ok(Body::UserInput(UserInput {
                text,
                ..UserInput::default()
            })),
            Some(role) if role.is("assistant") => {
                current.optional_value("delta", message.delta, TokenKind::Bool);
                Ok(whole_text(text))
            }
            _ => Err(LineFlaw {
                field: "role",
                found: message.role.map(Token::kind),
            }),
        }
    }

    pub(super) fn tool_use_body(
        &mut self,
        call: &ToolUse<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let call_id = current.required_text("tool_id", call.tool_id)?;
        let tool_name = current.required_text("tool_name", call.tool_name)?;
        let input = current.optional_value("parameters", call.parameters, TokenKind::Object);
        let name = tool_name.to_str();
        let kind = tools::kind(&name);
        let location = tools::call_location(&name, input);
        let locations: Vec<_> = location
            .map(|it| current.shared_text(it))
            .into_iter()
            .collect();
        if let Some(id) = call.tool_id {
            let summary = CallSummary::new(&tool_name, &kind, input, &locations);
            let size = summary.memory_size();
            self.calls.open(id.as_str(), summary, size);
        }
        Ok(Body::ToolInvocation(Box::new(ToolInvocation {
            kind,
            call_id,
            input: input.map_or_else(Json::empty_object, |input| current.shared_json(input)),
            parent_call_id: None,
            title: None,
            locations,
            model: None,
            tool_name: tool_name.clone(),
        })))
    }

    pub(super) fn tool_result_body(
        &mut self,
        result: &ToolResult<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let call_id = current.required_text("tool_id", result.tool_id)?;
        let status = current.required_text("status", result.status)?;
        let call = result
            .tool_id
            .and_then(|id| self.calls.close_id(id.as_str()));
        if call.is_none() {
            let id = call_id.to_str();
            let message = format!(
                "a result for `{}`, which was never called",
                shortened_name(&id)
            );
            current.add_complaint(DiagnosticKind::ProtocolViolation, message);
        }
        let error = current.optional_value("error", result.error, TokenKind::Object);
        if let Some(error) = error {
            current.add_extension("error", error);
        }
        let said = error
            .and_then(|error| error.get("message"))
            .and_then(Token::non_null);
        let output = result.output.and_then(Token::non_null);
        let output = output.filter(|output| !output.is("")).or(said).or(output);
        let output = output.map(|output| current.shared_json(output));
        let session = self.run.stamp.session_id.as_ref();
        let logged = self.logged.take_call(session, &call_id);
        let (output, content) = match logged {
            Some(logged) => completed_output(output, logged, current),
            None => (output, Vec::new()),
        };
        let call = call.unwrap_or_default();
        let mut completion = ToolCompletion {
            parent_call_id: None,
            call_id,
            status: call_status(&status),
            is_error: status != *"success",
            output,
            content,
            locations: call.locations.clone(),
            command: None,
            command_output: None,
            mutation: None,
        };
        call.add_derived_fields(&mut completion);
        Ok(Body::ToolCompletion(Box::new(completion)))
    }

    pub(super) fn notice_body(
        &mut self,
        notice: &StreamNotice<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let message = current.required_text("message", notice.message)?;
        let severity = current.optional_value("severity", notice.severity, TokenKind::String);
        if let Some(severity) = severity {
            current.add_extension("severity", severity);
        }
        let is_warning = severity.is_some_and(|severity| severity.is("warning"));
        self.run.verdict.notice(!is_warning, &message);
        Ok(Body::SessionStatus(SessionStatus {
            status: SessionState::Error,
            message: Some(message),
        }))
    }

    pub(super) fn result_body(
        &mut self,
        outcome: &StreamResult<'_>,
        current: &mut CurrentLine<'_>,
    ) -> Result<Body, LineFlaw> {
        let status = current.required_text("status", outcome.status)?;
        let error = current.optional_value("error", outcome.error, TokenKind::Object);
        let counts = current.optional_value("stats", outcome.stats, TokenKind::Object);
        let said = |name| {
            error
                .and_then(|error| error.get(name))
                .and_then(|token| token.if_kind(TokenKind::String))
        };
        let message = said("message").filter(|message| !message.is(""));
        let message = message.map(|token| current.shared_text(token));
        let error_type = said("type")
            .and_then(Token::string)
            .map(std::borrow::Cow::into_owned);
        self.run.verdict.result(verdict::AgentReport {
            status: status.to_string(),
            error_type,
            message: message.clone(),
            ..verdict::AgentReport::default()
        });
        let mut turn = TurnComplete {
            is_error: status != *"success",
            subtype: Some(status),
            errors: message
                .or_else(|| said("type").map(|token| current.shared_text(token)))
                .into_iter()
                .collect(),
            permission_denials: self.run.denials.listed().to_vec(),
            ..TurnComplete::default()
        };
        if let Some(error) = error {
            current.add_extension("error", error);
        }
        if let Some(counts) = counts {
            current.add_extension("stats", counts);
            turn::stream_stats(counts, &mut turn);
            self.run
                .verdict
                .asked(self.run.has_spoken || turn.usage.is_some());
        }
        Ok(Body::TurnComplete(Box::new(turn)))
    }
}

/// A completion from the stream's result and the session log's additional fields.
fn completed_output(
    output: Option<Json>,
    logged: LoggedCall,
    current: &mut CurrentLine<'_>,
) -> (Option<Json>, Vec<ContentBlock>) {
    let mut derived = Vec::new();
    let content: Vec<_> = logged.diff.map(ContentBlock::Diff).into_iter().collect();
    if !content.is_empty() {
        derived.push("content");
    }
    let is_said = output
        .as_ref()
        .is_some_and(|output| output.as_str() != "\"\"");
    let output = match logged.output {
        Some(logged) if !is_said => {
            derived.push("output");
            Some(logged)
        }
        _ => output,
    };
    if let Some(response) = logged.response {
        let response = Json::from_value(&response);
        current
            .extensions
            .push((session_log::RESPONSE.to_owned(), response));
    }
    if !derived.is_empty() {
        let derived = Json::from_value(&derived);
        current
            .extensions
            .push((session_log::DERIVED.to_owned(), derived));
    }
    (output, content)
}

fn call_status(status: &Text) -> ToolCallStatus {
    match status.to_str().as_ref() {
        // Also for calls that the user cancelled: the stream does not tell them apart.
        "success" => ToolCallStatus::Completed,
        "error" => ToolCallStatus::Failed,
        other => ToolCallStatus::Other(other.to_owned()),
    }
}
