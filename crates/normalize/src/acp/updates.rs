//! `session/update`, kind by kind.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{
    AvailableCommands, CompactionTrigger, ConfigOptions, ContextCompaction, DiagnosticKind,
    SessionState, SessionStatus, StreamDeltaKind, TextEvent, TextKind, UserInput,
};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::tool_call::listed;
use lapidary_wire::acp::update::{
    CompactionUpdate, ContextUsage, MessageChunk, SessionNotice, SessionUpdate, UpdateBody,
};

use super::line::AcpLine;
use super::tracked_call::CallStage;
use super::{AcpNormalizer, content, shortened_agent_name, usage};
use crate::verdict::AgentActivity;
use crate::{EventBuffer, own};

/// True for an update that can be a piece of a conversation's history.
pub(super) fn is_history(update: &UpdateBody<'_>) -> bool {
    matches!(
        update,
        UpdateBody::UserMessageChunk(_)
            | UpdateBody::AgentMessageChunk(_)
            | UpdateBody::AgentThoughtChunk(_)
            | UpdateBody::ToolCall(_)
            | UpdateBody::ToolCallUpdate(_)
            | UpdateBody::Plan { .. }
            | UpdateBody::PlanUpdate { .. }
            | UpdateBody::PlanRemoved { .. }
            | UpdateBody::UserMessage(_)
            | UpdateBody::AgentMessage(_)
            | UpdateBody::AgentThought(_)
            | UpdateBody::ToolCallContentChunk { .. }
            | UpdateBody::Terminal { .. }
            | UpdateBody::TerminalOutputChunk { .. }
    )
}

/// True for an update about the agent's own words or actions.
pub(super) fn is_work(update: &UpdateBody<'_>) -> bool {
    is_history(update)
        && !matches!(
            update,
            UpdateBody::UserMessageChunk(_) | UpdateBody::UserMessage(_)
        )
}

/// What kind of work an update is. A chunk without text is none.
pub(super) fn update_activity(update: &UpdateBody<'_>) -> Option<AgentActivity> {
    Some(match update {
        UpdateBody::AgentMessageChunk(chunk) => {
            let words = chunk.content.and_then(content::block_text);
            if words.is_some_and(|words| words.is("")) {
                return None;
            }
            AgentActivity::Words
        }
        UpdateBody::AgentMessage(_) => AgentActivity::Words,
        UpdateBody::AgentThoughtChunk(_) | UpdateBody::AgentThought(_) => AgentActivity::Thought,
        UpdateBody::ToolCall(_)
        | UpdateBody::ToolCallUpdate(_)
        | UpdateBody::ToolCallContentChunk { .. } => AgentActivity::Call,
        _ => AgentActivity::Other,
    })
}

impl AcpNormalizer {
    pub(super) fn translate_update(
        &mut self,
        read: &SessionUpdate<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        match &read.update {
            UpdateBody::UserMessageChunk(chunk) => self.user_chunk(chunk, current, out),
            UpdateBody::AgentMessageChunk(chunk) => {
                self.take_chunk(StreamDeltaKind::Text, chunk, current, out);
            }
            UpdateBody::AgentThoughtChunk(chunk) => {
                self.take_chunk(StreamDeltaKind::Thinking, chunk, current, out);
            }
            UpdateBody::ToolCall(call) => {
                drop(self.update_call(call, CallStage::Announced, current, out));
            }
            UpdateBody::ToolCallUpdate(call) => {
                if !self.subagent_news(call, current, out) {
                    self.update_call(call, CallStage::Updated, current, out);
                }
            }
            UpdateBody::Plan { entries } => self.emit_plan(*entries, current, out),
            UpdateBody::PlanUpdate { plan } => self.plan_update(*plan, current, out),
            UpdateBody::AvailableCommands { available_commands } => {
                let available_commands = current.list_elements(*available_commands);
                let body = Body::AvailableCommands(AvailableCommands { available_commands });
                self.emit_event(body, Vec::new(), current, out);
            }
            UpdateBody::CurrentMode { current_mode_id } => {
                match own::string_token(*current_mode_id) {
                    Some(mode) => self.emit_mode(current.shared_text(mode), current, out),
                    None => current.complain_of_missing("currentModeId", *current_mode_id),
                }
            }
            UpdateBody::ConfigOptions { config_options } => {
                let config_options = current.list_elements(*config_options);
                let body = Body::ConfigOptions(ConfigOptions { config_options });
                self.emit_event(body, Vec::new(), current, out);
            }
            UpdateBody::SessionInfo { title, updated_at } => {
                self.session_info(*title, *updated_at, current, out);
            }
            UpdateBody::Usage(usage) => self.emit_context_usage(usage, current, out),
            UpdateBody::Notice(notice) => self.emit_notice(notice, current, out),
            UpdateBody::Compaction(compaction) => self.emit_compaction(compaction, current, out),
            UpdateBody::CompactionSummaryChunk {
                compaction_id,
                content,
            } => self.summary_chunk(*compaction_id, *content, current, out),
            UpdateBody::PlanRemoved { plan_id } => self.plan_removed(*plan_id, current, out),
            UpdateBody::Subagent(news) => self.start_subagent(news, current, out),
            UpdateBody::SessionMessage(message) => self.session_message(message, current, out),
            UpdateBody::SessionMessageChunk(chunk) => {
                self.session_message_chunk(chunk, current, out);
            }
            UpdateBody::UserMessage(message) => self.user_message(message, current, out),
            UpdateBody::AgentMessage(message) => {
                self.whole_message(TextKind::Text, message, current, out);
            }
            UpdateBody::AgentThought(message) => {
                self.whole_message(TextKind::Thinking, message, current, out);
            }
            UpdateBody::State(state) => self.session_state(state, current, out),
            UpdateBody::ToolCallContentChunk {
                tool_call_id,
                content,
            } => self.content_chunk(*tool_call_id, *content, current, out),
            UpdateBody::Terminal { update } => self.terminal_update(*update, current, out),
            UpdateBody::TerminalOutputChunk { update } => self.terminal_chunk(*update, current),
            UpdateBody::Unknown => current.add_complaint(
                DiagnosticKind::UnknownType,
                match read.kind {
                    Some(kind) => format!("unknown update `{}`", shortened_agent_name(kind)),
                    None => "an update of no kind".to_owned(),
                },
            ),
        }
    }

    fn user_chunk(
        &mut self,
        chunk: &MessageChunk<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(block) = chunk.content else {
            return current.complain_of_missing("content", None);
        };
        let words = content::block_text(block);
        let extra = match words {
            Some(_) => Vec::new(),
            None => vec![("acp.content", current.shared_json(block))],
        };
        let input = UserInput {
            text: words
                .map(|words| current.shared_text(words))
                .unwrap_or_default(),
            images: content::image_block(block).into_iter().collect(),
            is_synthetic: true,
        };
        self.emit_event(Body::UserInput(input), extra, current, out);
    }

    fn emit_plan(
        &mut self,
        entries: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let mut lines = Vec::new();
        for entry in listed(entries) {
            if !lines.is_empty() {
                lines.push(Text::from("\n"));
            }
            lines.push(entry_text(entry, current));
        }
        let list = entries.map(|entries| current.shared_json(entries));
        let list = list.unwrap_or_else(|| Json::array([]));
        let text = Text::concat(&lines);
        self.emit_event(
            plan_text(text),
            vec![("acp.planEntries", list)],
            current,
            out,
        );
    }

    fn plan_update(
        &mut self,
        update: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(update) = update.and_then(|update| update.if_kind(TokenKind::Object)) else {
            return current.complain_of_missing("plan", update);
        };
        let words = ["content", "uri"];
        let words = words
            .iter()
            .find_map(|name| own::string_token(update.get(name)));
        match (update.get("entries"), words) {
            (None, Some(words)) => {
                let extra = vec![("acp.plan", current.shared_json(update))];
                self.emit_event(plan_text(current.shared_text(words)), extra, current, out);
            }
            (entries, _) => self.emit_plan(entries, current, out),
        }
    }

    fn session_info(
        &mut self,
        title: Option<Token<'_>>,
        updated_at: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let body = Body::SessionStatus(SessionStatus {
            status: SessionState::Other("session_info".to_owned()),
            message: own::string_token(title).map(|title| current.shared_text(title)),
        });
        let members = [("acp.title", title), ("acp.updatedAt", updated_at)];
        let present = members.into_iter();
        let extra = present.filter_map(|(key, value)| Some((key, current.shared_json(value?))));
        let extra = extra.collect();
        self.emit_event(body, extra, current, out);
    }

    fn emit_context_usage(
        &mut self,
        report: &ContextUsage<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let counts = [("used", report.used), ("size", report.size)];
        let present = counts.into_iter();
        let window =
            Json::object(present.filter_map(|(key, value)| Some((key, own::owned_json(value?)))));
        let body = usage::step_usage(window.token());
        let mut extra = vec![("acp.contextWindow", window)];
        if let Some(cost) = report.cost {
            extra.push(("acp.cost", current.shared_json(cost)));
            let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
            session.cost = Some(own::owned_json(cost));
        }
        self.emit_event(body, extra, current, out);
    }

    fn emit_notice(
        &mut self,
        notice: &SessionNotice<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let is_error = notice.severity.is_some_and(|word| word.is("error"));
        let words = |token| own::string_token(token).map(|token| current.shared_text(token));
        let message = match (words(notice.title), words(notice.description)) {
            (Some(title), Some(more)) => Some(Text::concat(&[title, Text::from(": "), more])),
            (title, more) => title.or(more),
        };
        let body = Body::SessionStatus(SessionStatus {
            status: if is_error {
                SessionState::Error
            } else {
                SessionState::Other("notice".to_owned())
            },
            message,
        });
        let severity = notice
            .severity
            .map(|word| ("acp.severity", current.shared_json(word)));
        self.emit_event(body, severity.into_iter().collect(), current, out);
    }

    /// A piece of a compaction's summary, which is emitted as a whole when it is done.
    fn summary_chunk(
        &mut self,
        id: Option<Token<'_>>,
        block: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(block) = block else {
            return current.complain_of_missing("content", None);
        };
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        if let Some(words) = content::block_text(block) {
            session.summary.add_words(id, words);
        }
        let text = content::joined_text(&[block], current);
        let body = Body::SessionStatus(SessionStatus {
            status: SessionState::Compacting,
            message: Some(text),
        });
        let id = id.map(|id| ("acp.compactionId", current.shared_json(id)));
        self.emit_event(body, id.into_iter().collect(), current, out);
    }

    fn emit_compaction(
        &mut self,
        news: &CompactionUpdate<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let status = own::string_token(news.status).and_then(Token::string);
        let message = own::string_token(news.error).map(|error| current.shared_text(error));
        match status.as_deref() {
            Some("completed") => {
                let blocks = listed(news.summary);
                let summary = (!blocks.is_empty()).then(|| content::joined_text(&blocks, current));
                let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
                let summary = summary.or_else(|| session.summary.take_summary(news.compaction_id));
                let body = Body::ContextCompaction(ContextCompaction {
                    trigger: CompactionTrigger::Auto,
                    pre_tokens: None,
                    summary,
                });
                self.emit_event(body, Vec::new(), current, out);
            }
            Some("failed") => self.emit_session_state(SessionState::Error, message, current, out),
            Some("cancelled") => {
                self.emit_session_state(SessionState::Interrupted, message, current, out);
            }
            _ => self.emit_session_state(SessionState::Compacting, message, current, out),
        }
    }
}

/// How many bytes of a summary that comes in pieces are joined.
const MOST_SUMMARY: usize = 1024 * 1024;

/// The summary of a compaction under way, piece by piece.
#[derive(Debug, Default)]
pub(super) struct CompactionSummary {
    id: Option<Text>,
    pieces: Vec<Text>,
    bytes: usize,
}

impl CompactionSummary {
    fn add_words(&mut self, id: Option<Token<'_>>, words: Token<'_>) {
        let id = own::string_token(id).map(own::owned_text);
        if self.id != id {
            *self = Self::default();
            self.id = id;
        }
        // The cost of an empty piece beside its text counts too.
        self.bytes += words.as_str().len() + 64;
        if self.bytes <= MOST_SUMMARY {
            self.pieces.push(own::owned_text(words));
        }
    }

    /// All of it, if it is that of this compaction and was not too long.
    fn take_summary(&mut self, id: Option<Token<'_>>) -> Option<Text> {
        let summary = std::mem::take(self);
        let is_this = summary.id == own::string_token(id).map(own::owned_text);
        let is_whole = summary.bytes <= MOST_SUMMARY && !summary.pieces.is_empty();
        (is_this && is_whole).then(|| Text::concat(&summary.pieces))
    }
}

fn plan_text(text: Text) -> Body {
    Body::Text(TextEvent {
        text,
        kind: TextKind::Plan,
        parent_call_id: None,
        model: None,
    })
}

/// An entry's words: the protocol's name for them, then those of others; else the entry as it stands.
fn entry_text(entry: Token<'_>, current: &AcpLine<'_>) -> Text {
    let names = ["content", "text", "title", "description"];
    let words = names
        .iter()
        .find_map(|name| own::string_token(entry.get(name)));
    current.shared_text(words.unwrap_or(entry))
}
