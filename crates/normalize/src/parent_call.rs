//! The mark of events that a sub-agent caused.

use lapidary_vocab::{Body, Text};

/// Marks a sub-agent's event with the call in which it worked.
pub(crate) fn set_parent(body: &mut Body, parent: Option<&Text>) {
    let field = match body {
        Body::Text(text) => &mut text.parent_call_id,
        Body::ToolInvocation(call) => &mut call.parent_call_id,
        Body::ToolCompletion(done) => &mut done.parent_call_id,
        Body::UsageUpdate(usage) => &mut usage.parent_call_id,
        _ => return,
    };
    *field = parent.cloned();
}
