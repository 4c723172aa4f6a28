//! Generated ways to write a denied file and to run a denied program: each is denied or asked about.

use lapidary_engine::policy::ToolActions;
use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_normalize::{EventBuffer, NormalizeOptions};
use lapidary_testkit::ways::{CallWay, ways};
use lapidary_vocab::Body;
use lapidary_vocab::event::Provider;
use lapidary_wire::lines::RawLine;
use serde_json::{Value, json};

use super::*;

/// The decision about a call that an agent reports over ACP in this way.
fn decided(policy: &Policy, way: &CallWay, number: usize) -> PermissionEffect {
    let mut normalizer = AcpNormalizer::new(&NormalizeOptions::new("r"), Provider::Acp);
    let mut actions = ToolActions::new(ROOT);
    let mut decided = None;
    for line in lines(way, number) {
        let mut events = EventBuffer::new();
        let line = line.to_string().replace("CWD", ROOT);
        let line = RawLine::Whole(line.as_bytes());
        normalizer.push(LineDirection::FromAgent, line, None, &mut events);
        for event in &events {
            let action = actions.note(event);
            if matches!(event.body, Body::PermissionRequest(_)) {
                decided = action.map(|action| policy.decide(&action).effect);
            }
        }
    }
    decided.expect("it was asked")
}

fn lines(way: &CallWay, number: usize) -> Vec<Value> {
    let mut lines = Vec::new();
    for (at, told) in way.told.iter().enumerate() {
        let mut update = told.clone();
        update["sessionUpdate"] = if at == 0 {
            "tool_call"
        } else {
            "tool_call_update"
        }
        .into();
        update["toolCallId"] = format!("c{number}").into();
        lines.push(json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}));
    }
    let mut call = way.asked.clone();
    call["toolCallId"] = format!("c{number}").into();
    lines.push(json!({"jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": call, "options": []}}));
    lines
}

#[test]
fn no_generated_way_to_a_denied_file_or_program_is_allowed() {
    let rules = [
        flag(PermissionEffect::Deny, "edit:secret.txt"),
        flag(PermissionEffect::Deny, "execute:touch *"),
    ];
    let policy = policy(Rules::new(rules), PermissionMode::BypassPermissions);
    let ways = ways(2000, 18);
    let allowed: Vec<_> = ways
        .iter()
        .enumerate()
        .filter(|(number, way)| decided(&policy, way, *number) == PermissionEffect::Allow)
        .map(|(_, way)| format!("{way:?}"))
        .collect();
    let (count, shown) = (
        allowed.len(),
        allowed.iter().take(10).cloned().collect::<Vec<_>>(),
    );
    assert!(allowed.is_empty(), "{count} ways: {}", shown.join("\n"));
}
