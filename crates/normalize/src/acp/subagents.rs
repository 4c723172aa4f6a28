//! Sub-agents that work within a call of the agent: which call an update belongs to, and that one begins or has ended.
//!
//! ACP 1 has no word for them. Our own agents say it in `_meta.lapidary`, the adapter of Claude in `_meta.claudeCode.parentToolUseId`.

use lapidary_json::{Token, TokenKind};
use lapidary_vocab::event::{SubagentComplete, SubagentSpawn};
use lapidary_vocab::{Body, Text};
use lapidary_wire::acp::tool_call::AcpToolCall;
use lapidary_wire::acp::update::UpdateBody;

use super::AcpNormalizer;
use super::line::AcpLine;
use crate::{EventBuffer, own};

/// The call that an update of a sub-agent belongs to.
pub(super) fn parent_of(update: &UpdateBody<'_>) -> Option<Text> {
    match update {
        UpdateBody::AgentMessageChunk(chunk) | UpdateBody::AgentThoughtChunk(chunk) => {
            parent_in(chunk.meta?)
        }
        UpdateBody::ToolCall(call) | UpdateBody::ToolCallUpdate(call) => parent_in(call.meta?),
        _ => None,
    }
}

/// The parent that `_meta` names.
pub(super) fn parent_in(meta: Token<'_>) -> Option<Text> {
    let ours = || meta.get("lapidary")?.get("parentCallId");
    let claudes = || meta.get("claudeCode")?.get("parentToolUseId");
    own::string_token(ours().or_else(claudes)).map(own::owned_text)
}

impl AcpNormalizer {
    /// Tells that a sub-agent begins or has ended, if that is all that an update of a call is about.
    pub(super) fn subagent_news(
        &mut self,
        call: &AcpToolCall<'_>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) -> bool {
        let news = call
            .meta
            .and_then(|meta| meta.get("lapidary")?.get("subagent"));
        let news = news.and_then(|news| news.if_kind(TokenKind::Object));
        let (Some(news), Some(id)) = (news, own::string_token(call.tool_call_id)) else {
            return false;
        };
        let call_id = current.shared_text(id);
        let text = |key| own::string_token(news.get(key)).map(|token| current.shared_text(token));
        let Some(status) = text("terminateReason") else {
            let body = Body::SubagentSpawn(SubagentSpawn {
                call_id,
                agent_type: text("agentName"),
                description: text("prompt"),
                is_resume: false,
                resume_agent_id: None,
            });
            self.emit_event(body, Vec::new(), current, out);
            return true;
        };
        let body = Body::SubagentComplete(SubagentComplete {
            call_id,
            agent_id: text("agentId"),
            status: Some(status),
            summary: text("result"),
        });
        let recovered = news.get("recoveredFrom");
        let recovered = recovered.map(|from| ("lapidary.recoveredFrom", current.shared_json(from)));
        self.emit_event(body, recovered.into_iter().collect(), current, out);
        true
    }
}
