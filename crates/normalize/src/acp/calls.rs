//! Tool calls: every message about a call is a patch of its known fields.
//!
//! A call may first be mentioned in a permission request, in an update, or when it is over already. Each message with new fields
//! becomes an event; a message without any does not.

use lapidary_json::Token;
use lapidary_vocab::event::ToolCallStatus;
use lapidary_vocab::{Json, Text};
use lapidary_wire::acp::tool_call::AcpToolCall;

use super::AcpNormalizer;
use super::line::AcpLine;
use super::tracked_call::{CallStage, TrackedCall};
use crate::{EventBuffer, own};

/// How many pieces of content that come one by one are kept until the call is over.
const MOST_CHUNKS: usize = 1024;

/// How many bytes of a terminal's output are kept until the call is over. The rest is in the lines only.
const MOST_PRINTED: usize = 1 << 20;

impl AcpNormalizer {
    /// Adds a message's fields to its call, and emits the new ones. `None` if it does not name a call.
    ///
    /// A call with a permission request is not over, even if its last status says so: all its fields are emitted again. But agents reuse
    /// ids, and no field of an ended call applies to the next: a permission prompt for `rm` would otherwise show the `ls` before
    /// it.
    pub(super) fn update_call(
        &mut self,
        patch: &AcpToolCall<'_>,
        moment: CallStage,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) -> Option<TrackedCall> {
        let announces_name =
            moment == CallStage::Announced && self.stamp.provider.as_str() == "opencode";
        let Some(id) = own::string_token(patch.tool_call_id) else {
            current.complain_of_missing("toolCallId", patch.tool_call_id);
            return None;
        };
        let session = self.stamp.session_id.clone();
        let key = call_key(session.as_ref(), id);
        let mut before = self.calls.close_id(&key);
        let fresh = || TrackedCall::new(id, session.as_ref());
        let mut call = before.clone().unwrap_or_else(fresh);
        call.apply_patch(patch);
        if before
            .as_ref()
            .is_some_and(|ended| call.is_another(ended, patch, moment))
        {
            (call, before) = (fresh(), None);
            call.apply_patch(patch);
        }
        if announces_name && before.is_none() && call.name.is_none() {
            call.name.clone_from(&call.title);
        }
        if moment == CallStage::Asked && call.is_over {
            (call.status, call.is_over, before) = (None, false, None);
        }
        if let Some(chunk) = patch.meta.and_then(printed_chunk) {
            self.add_printed(&key, &chunk);
        }
        if call.is_over
            && let Some(printed) = self.printed.close_id(&key)
        {
            call.printed = printed;
        }
        if call.is_over
            && let Some(logged) = self.logged.take_call(session.as_ref(), &call.id)
        {
            call.add_logged_fields(logged);
        }
        self.emit_call(before.as_ref(), &call, patch.is_nested, current, out);
        self.calls.open(&key, call.clone(), call.memory_size());
        Some(call)
    }

    /// Adds to the output of a terminal, as Codex's adapter (2.6) tells it. Kept apart from the call, which is compared and copied.
    fn add_printed(&mut self, key: &str, chunk: &str) {
        let mut printed = self.printed.close_id(key).unwrap_or_default();
        let room = MOST_PRINTED.saturating_sub(printed.len());
        printed.push_str(&chunk[..chunk.floor_char_boundary(room)]);
        let size = printed.len();
        self.printed.open(key, printed, size);
    }

    /// A piece of a call's content: an event of its own, and part of the completion.
    pub(super) fn content_chunk(
        &mut self,
        id: Option<Token<'_>>,
        item: Option<Token<'_>>,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        let (Some(token), Some(item)) = (own::string_token(id), item) else {
            return current.complain_of_missing("toolCallId", id);
        };
        let session = self.stamp.session_id.clone();
        let key = call_key(session.as_ref(), token);
        let call = self.calls.close_id(&key);
        let mut call = call.unwrap_or_else(|| TrackedCall::new(token, session.as_ref()));
        let (body, mut extra) = call.invocation_body();
        extra.retain(|(key, _)| *key != "acp.toolContent");
        extra.push(("acp.toolContentChunk", current.shared_json(item)));
        self.emit_event(body, extra, current, out);
        if call.content.len() < MOST_CHUNKS {
            call.content.push(own::owned_json(item));
        }
        let size = call.memory_size();
        self.calls.open(&key, call, size);
    }

    fn emit_call(
        &mut self,
        before: Option<&TrackedCall>,
        call: &TrackedCall,
        is_nested: bool,
        current: &mut AcpLine<'_>,
        out: &mut EventBuffer,
    ) {
        if before == Some(call) {
            return;
        }
        let is_new = before.is_none_or(|before| !before.is_invoked_as(call));
        if is_new || !call.is_over {
            let (body, mut extra) = call.invocation_body();
            if is_nested && current.about.contains("tool_call") {
                extra.push(("acp.nonStandardShape", Json::from_value(&true)));
            }
            self.emit_event(body, extra, current, out);
        }
        if let Some(status) = call.final_status() {
            let (body, mut extra) = call.completion_body(status, current);
            let session = self.sessions.session_mut(self.stamp.session_id.as_ref());
            if session.is_cancelled {
                extra.push(("acp.afterCancel", Json::from_value(&true)));
            }
            self.emit_event(body, extra, current, out);
        }
    }

    /// The turn was cancelled: calls that never got an end have it now.
    pub(super) fn give_up_calls(&mut self, current: &mut AcpLine<'_>, out: &mut EventBuffer) {
        let session = self.stamp.session_id.clone();
        let is_open = |call: &TrackedCall| !call.is_over && call.session == session;
        for call in self.calls.close_all(is_open) {
            let (body, mut extra) = call.completion_body(ToolCallStatus::Cancelled, current);
            extra.push(("acp.afterCancel", Json::from_value(&true)));
            self.emit_event(body, extra, current, out);
        }
    }
}

/// The same for each spelling of an id: the key must agree with the ids in events.
fn call_key(session: Option<&Text>, id: Token<'_>) -> String {
    let session = session.map(Text::to_str).unwrap_or_default();
    let id = id.string().unwrap_or_default();
    format!("{} {session} {id}", session.len())
}

/// A piece of a terminal's output.
fn printed_chunk(meta: Token<'_>) -> Option<std::borrow::Cow<'_, str>> {
    let chunk = meta.get("terminal_output_delta")?.get("data");
    own::string_token(chunk).and_then(Token::string)
}
