//! Updates that are in no version of the protocol yet, or only in the draft of the next: messages as a whole, states of a session,
//! sub-agents, messages between sessions.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{
    SessionState, SessionStatus, SubagentComplete, SubagentSpawn, TextEvent, TextKind, UserInput,
};
use lapidary_vocab::{Body, Json, Text};
use lapidary_wire::acp::results::PromptResult;
use lapidary_wire::acp::tool_call::listed;
use lapidary_wire::acp::update::{
    MessageChunk, SessionMessage, SessionPhase, SubagentStart, WholeMessage,
};

use super::line::{AcpLine, LineExtras};
use super::{AcpNormalizer, content};
use crate::{EventBuffer, own};

impl AcpNormalizer {
    /// A message as a whole. One that was streamed before is only repeated by it.
    pub(super) fn whole_message(
        &mut self,
        kind: TextKind,
        message: &WholeMessage<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some((text, extra)) = message_parts(message, current) else {
            return;
        };
        if self.speech.has_streamed(message.message_id) {
            "a message that was streamed is repeated as a whole".clone_into(&mut current.about);
            return;
        }
        self.end_message(out);
        let body = Body::Text(TextEvent {
            text,
            kind,
            parent_call_id: None,
            model: None,
        });
        self.emit_event(body, extra, current, out);
    }

    /// The user's message, as the agent repeats it.
    pub(super) fn user_message(
        &mut self,
        message: &WholeMessage<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some((text, extra)) = message_parts(message, current) else {
            return;
        };
        let blocks = listed(message.content);
        let input = UserInput {
            text,
            images: blocks
                .iter()
                .filter_map(|it| content::image_block(*it))
                .collect(),
            is_synthetic: true,
        };
        self.emit_event(Body::UserInput(input), extra, current, out);
    }

    /// The session is at work, or at rest: in the next protocol a turn ends here and not with the answer to its prompt.
    pub(super) fn session_state(
        &mut self,
        state: &SessionPhase<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(word) = own::string_token(state.state) else {
            return current.complain_of_missing("state", state.state);
        };
        let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
        let is_in_turn = session.prompts > 0 || !self.sees_client;
        let ends = self.handshake.is_of_drafts && is_in_turn && word.is("idle");
        if ends && state.stop_reason.is_some() {
            self.end_message(out);
            if let Some(error) = state
                .error
                .and_then(|error| error.if_kind(TokenKind::Object))
            {
                return self.fail_turn(error, true, current, out);
            }
            let prompted = PromptResult {
                stop_reason: state.stop_reason,
                usage: state.usage,
                meta: state.meta,
            };
            return self.end_turn(&prompted, None, true, current, out);
        }
        let status = SessionState::from(word.string().unwrap_or_default().as_ref());
        self.emit_session_state(status, None, current, out);
    }

    /// A sub-agent starts. The id of its session names it.
    pub(super) fn start_subagent(
        &mut self,
        news: &SubagentStart<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(id) = own::string_token(news.session_id) else {
            return current.complain_of_missing("sessionId", news.session_id);
        };
        let key = id.string().unwrap_or_default().into_owned();
        let id = current.shared_text(id);
        let state = news
            .state
            .and_then(|state| own::string_token(state.get("state")));
        let rests = state.is_some_and(|state| state.is("idle"));
        let before = self.subagents.close_id(&key);
        let works = state.map_or(before.unwrap_or(true), |_| !rests);
        self.subagents.open(&key, works, 0);
        let extra = vec![("acp.subagent", current.shared_json(news.whole))];
        if before.is_none() || (works && before == Some(false)) {
            let called = [news.title, news.description];
            let called = called.into_iter().find_map(own::string_token);
            let body = Body::SubagentSpawn(SubagentSpawn {
                call_id: id.clone(),
                agent_type: None,
                description: called.map(|called| current.shared_text(called)),
                is_resume: before.is_some(),
                resume_agent_id: before.is_some().then(|| id.clone()),
            });
            self.emit_event(body, extra.clone(), current, out);
        }
        if rests && before != Some(false) {
            let reason = news
                .state
                .and_then(|it| own::string_token(it.get("stopReason")));
            let body = Body::SubagentComplete(SubagentComplete {
                call_id: id.clone(),
                agent_id: Some(id),
                status: reason.or(state).map(|word| current.shared_text(word)),
                summary: None,
            });
            self.emit_event(body, extra, current, out);
        }
    }

    /// A message between sessions. An incoming one is like a prompt that no user typed; an outgoing one is no answer to the user.
    pub(super) fn session_message(
        &mut self,
        message: &SessionMessage<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let extra = vec![("acp.sessionMessage", current.shared_json(message.whole))];
        let text = content::joined_text(&listed(message.content), current);
        let here = self.stamp.session_id.as_ref();
        let comes_in = own::string_token(message.recipient_session_id)
            .is_some_and(|to| here.is_some_and(|here| to.is(&here.to_str())));
        if comes_in {
            let input = UserInput {
                text,
                images: Vec::new(),
                is_synthetic: true,
            };
            return self.emit_event(Body::UserInput(input), extra, current, out);
        }
        self.emit_event(between_sessions(text), extra, current, out);
    }

    pub(super) fn session_message_chunk(
        &mut self,
        chunk: &MessageChunk<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let Some(block) = chunk.content else {
            return current.complain_of_missing("content", None);
        };
        let text = content::joined_text(&[block], current);
        let id = chunk
            .message_id
            .map(|id| ("acp.messageId", current.shared_json(id)));
        self.emit_event(
            between_sessions(text),
            id.into_iter().collect(),
            current,
            out,
        );
    }

    /// A plan is no more.
    pub(super) fn plan_removed(
        &mut self,
        id: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let mut extra = vec![("acp.planEntries", Json::array([]))];
        extra.extend(id.map(|id| ("acp.planRemoved", current.shared_json(id))));
        let body = Body::Text(TextEvent {
            text: Text::default(),
            kind: TextKind::Plan,
            parent_call_id: None,
            model: None,
        });
        self.emit_event(body, extra, current, out);
    }
}

/// The words of a message and its other fields. `None` if only other fields are new.
fn message_parts(message: &WholeMessage<'_>, current: &AcpLine<'_>) -> Option<(Text, LineExtras)> {
    let blocks = listed(message.content);
    if blocks.is_empty() {
        return None;
    }
    let mut extra = Vec::new();
    extra.extend(
        message
            .message_id
            .map(|id| ("acp.messageId", current.shared_json(id))),
    );
    if !blocks
        .iter()
        .all(|block| content::block_text(*block).is_some())
    {
        let list = message
            .content
            .filter(|list| list.kind() == TokenKind::Array);
        extra.extend(list.map(|list| ("acp.content", current.shared_json(list))));
    }
    Some((content::joined_text(&blocks, current), extra))
}

fn between_sessions(text: Text) -> Body {
    Body::SessionStatus(SessionStatus {
        status: SessionState::Other("session_message".to_owned()),
        message: Some(text),
    })
}
