//! The agent asks whether it may.

use lapidary_json::{Kind, Token};
use lapidary_vocab::event::{PermissionRequest, ToolKind};
use lapidary_vocab::{Body, Json};
use lapidary_wire::acp::results::PermissionAsked;
use lapidary_wire::acp::tool_call::listed;

use super::AcpNormalizer;
use super::calls::{Call, Moment};
use super::decision::Choice;
use super::line::Current;
use super::peers::Wish;
use crate::Events;

impl AcpNormalizer {
    /// A permission request. The call in it may be heard of for the first time, or be known better than it says.
    pub(super) fn permission(
        &mut self,
        wish: &mut Wish,
        params: Option<Token<'_>>,
        current: &mut Current<'_>,
        out: &mut Events,
    ) {
        let Some(params) = params.and_then(|params| params.of(Kind::Object)) else {
            return current.lacks("session/request_permission.params", params);
        };
        let asked = PermissionAsked::of(params);
        let call = asked
            .call
            .tool_call_id
            .and_then(|_| self.call(&asked.call, Moment::Asked, current, out));
        let nameless = call.is_none();
        let call = call.unwrap_or_else(|| Call::nameless(&asked.call));
        let names = [call.title.as_ref(), call.kind.as_ref()];
        let tool_name = names.into_iter().flatten().find(|name| !name.is_empty());
        wish.tool_name = tool_name.cloned().unwrap_or_else(|| call.tool_name());
        wish.tool_use_id = Some(call.id.clone()).filter(|id| !id.is_empty());
        wish.options = listed(asked.options)
            .into_iter()
            .filter_map(Choice::of)
            .collect();
        wish.request_id = self.request_ids.unique(&wish.request_id);
        let body = Body::PermissionRequest(Box::new(PermissionRequest {
            request_id: wish.request_id.clone(),
            tool_name: wish.tool_name.clone(),
            tool_kind: match call.tool_kind() {
                ToolKind::Other(_) => ToolKind::Unclassified,
                kind => kind,
            },
            tool_input: call.arguments(),
            tool_use_id: wish.tool_use_id.clone(),
            reason: None,
            blocked_path: None,
            suggestions: Vec::new(),
        }));
        let options = asked.options.map(|options| current.json(options));
        let options = options.unwrap_or_else(|| Json::array([]));
        let mut extra = vec![("acp.options", options)];
        extra.extend(call.odd_input());
        if nameless {
            extra.extend(call.shown());
        }
        self.tell(body, extra, current, out);
    }
}
