//! `system` lines: facts of the program, by their `subtype`.

use lapidary_json::{SharedToken, Token, TokenKind};
use lapidary_vocab::event::{
    CompactionTrigger, ContextCompaction, DecidedBy, DiagnosticKind, PermissionDecision,
    PermissionOutcome, SessionInit, SessionState, SessionStatus, SubagentComplete, SubagentSpawn,
};
use lapidary_vocab::{Body, Json, Number, Text};

use super::{ClaudeStreamNormalizer, CurrentLine};
use crate::excerpt::shortened_name;
use crate::own::{self, string_token};
use crate::tools;

impl ClaudeStreamNormalizer {
    pub(super) fn translate_system(&mut self, current: &mut CurrentLine<'_, '_>) {
        let subtype = current.line.subtype.and_then(Token::string);
        let body = match subtype.as_deref() {
            Some("init") => Some(self.session_init(current)),
            Some("permission_denied") => Some(self.denial(current)),
            Some("task_started") => subagent_spawn(current.whole),
            Some("task_notification") => subagent_complete(current.whole),
            Some("compact_boundary") => Some(compaction(current.whole)),
            Some("api_retry") => Some(api_retry(current.whole)),
            Some("informational") => informational(current),
            _ if current.line.is_state_subtype() => None,
            other => {
                let word = shortened_name(other.unwrap_or_default()).into_owned();
                let message = format!("unknown subtype of a `system` line: {word}");
                let kind = DiagnosticKind::UnknownType;
                return self.emit_diagnostic(kind, message, current);
            }
        };
        match body {
            Some(body) => self.emit(body, current),
            None => self.emit_state("state of the program", current),
        }
    }

    fn session_init(&mut self, current: &mut CurrentLine<'_, '_>) -> Body {
        let whole = current.whole;
        let text = |key| string_token(whole.get(key)).map(own::owned_text);
        let list = |key| {
            let list = whole.get(key).and_then(|it| it.if_kind(TokenKind::Array));
            list.into_iter().flat_map(Token::elements)
        };
        let version = whole.get("claude_code_version").map(own::owned_json);
        let version = version.map(|version| ("claude.version".to_owned(), version));
        current.hand.extensions.extend(version);
        let mode = text("permissionMode");
        self.is_planning |= mode.as_ref().is_some_and(|mode| *mode == *"plan");
        let named = |name| Json::object([("name", own::owned_json(name))]);
        let key_source = whole.get("apiKeySource").map(own::owned_json);
        Body::SessionInit(Box::new(SessionInit {
            model: text("model"),
            cwd: text("cwd"),
            available_tools: list("tools")
                .filter(|tool| tool.kind() == TokenKind::String)
                .map(own::owned_text)
                .collect(),
            mcp_servers: list("mcp_servers").map(own::owned_json).collect(),
            permission_mode: mode,
            account: key_source.map(|source| Json::object([("apiKeySource", source)])),
            slash_commands: list("slash_commands").map(named).collect(),
            ..SessionInit::default()
        }))
    }

    /// A call that Claude Code denied. Without `decision_reason_type` it would have asked a person.
    fn denial(&self, current: &CurrentLine<'_, '_>) -> Body {
        let whole = current.whole;
        let text = |key| string_token(whole.get(key)).map(own::owned_text);
        let id = text("tool_use_id").unwrap_or_default();
        let call = self.calls.newest(&id.to_str());
        let name = text("tool_name").unwrap_or_default();
        let why = string_token(whole.get("decision_reason_type")).and_then(Token::string);
        Body::PermissionDecision(Box::new(PermissionDecision {
            request_id: id.clone(),
            tool_use_id: Some(id),
            tool_kind: tools::kind_of_any_agent(&name.to_str()),
            tool_name: name,
            tool_input: call.map_or_else(Json::empty_object, |call| call.input.clone()),
            title: None,
            command: call.and_then(|call| call.summary.command.clone()),
            content: Vec::new(),
            options: Vec::new(),
            decision: PermissionOutcome::Denied,
            decided_by: Some(match why.as_deref() {
                None => DecidedBy::Default,
                Some(word) => DecidedBy::from(word),
            }),
            rule: None,
            reason: text("message"),
            unattended: why.is_none() && !self.is_planning,
            for_run: false,
            option_id: None,
        }))
    }
}

/// The beginning of a sub-agent. A task without a call, such as a command in the background, is none.
fn subagent_spawn(whole: Token<'_>) -> Option<Body> {
    let text = |key| string_token(whole.get(key)).map(own::owned_text);
    is_subagent(whole).then_some(())?;
    Some(Body::SubagentSpawn(SubagentSpawn {
        call_id: text("tool_use_id")?,
        agent_type: text("subagent_type"),
        description: text("description"),
        is_resume: false,
        resume_agent_id: None,
    }))
}

/// `task_type` is absent in notifications.
fn is_subagent(whole: Token<'_>) -> bool {
    let kind = string_token(whole.get("task_type"));
    kind.is_none_or(|kind| kind.is("local_agent"))
}

fn subagent_complete(whole: Token<'_>) -> Option<Body> {
    let text = |key| string_token(whole.get(key)).map(own::owned_text);
    is_subagent(whole).then_some(())?;
    Some(Body::SubagentComplete(SubagentComplete {
        call_id: text("tool_use_id")?,
        agent_id: text("task_id"),
        status: text("status"),
        summary: text("summary"),
    }))
}

fn compaction(whole: Token<'_>) -> Body {
    let about = whole.get("compact_metadata");
    let trigger = string_token(about.and_then(|it| it.get("trigger"))).and_then(Token::string);
    let before = about.and_then(|about| about.get("pre_tokens"));
    Body::ContextCompaction(ContextCompaction {
        trigger: CompactionTrigger::from(trigger.as_deref().unwrap_or("auto")),
        pre_tokens: before.and_then(|it| Number::from_token(SharedToken::from(it))),
        summary: None,
    })
}

/// Claude Code asks the model once more.
fn api_retry(whole: Token<'_>) -> Body {
    let number = |key| whole.get(key).and_then(Token::u64).unwrap_or_default();
    let error = string_token(whole.get("error")).and_then(Token::string);
    let status = whole.get("error_status").and_then(Token::u64);
    let status = status
        .map(|status| format!(" ({status})"))
        .unwrap_or_default();
    let message = format!(
        "retry {} of {} in {} ms: {}{status}",
        number("attempt"),
        number("max_retries"),
        number("retry_delay_ms"),
        shortened_name(error.as_deref().unwrap_or("error")),
    );
    Body::SessionStatus(SessionStatus {
        status: SessionState::Other("api_retry".to_owned()),
        message: Some(Text::from(message)),
    })
}

fn informational(current: &mut CurrentLine<'_, '_>) -> Option<Body> {
    let content = string_token(current.whole.get("content"))?;
    let level = string_token(current.whole.get("level"));
    if let Some(level) = level {
        let level = ("claude.level".to_owned(), own::owned_json(level));
        current.hand.extensions.push(level);
    }
    let is_error = level.is_some_and(|level| level.is("error"));
    Some(Body::SessionStatus(SessionStatus {
        status: if is_error {
            SessionState::Error
        } else {
            SessionState::Other("informational".to_owned())
        },
        message: Some(own::owned_text(content)),
    }))
}
