//! The layers that stop a call with an agent: its own policy, our answer, the watch on its calls, the kernel.

use lapidary::engine::agents::own_policy::{AskAbility, denial_layers, rule_keeping};
use lapidary::engine::policy::{
    AgentTool, PermissionEffect, Policy, PolicyEvaluation, ToolCoverage,
};
use lapidary::vocab::capabilities::RuleKeeping;
use lapidary::vocab::event::ToolKind;
use lapidary::vocab::policy_report::StoppedBy;

use super::past::PastCall;

/// The layers that would stop a call that is not allowed, in the order of time.
pub(super) fn stopping_layers(
    agent: &str,
    policy: &Policy,
    call: &PastCall,
    judgement: &PolicyEvaluation,
) -> Vec<StoppedBy> {
    if judgement.decision.effect == PermissionEffect::Allow {
        return Vec::new();
    }
    let action = &call.action;
    let name = call.tool.to_str();
    let tool = AgentTool {
        name: &name,
        kind: &action.kind,
        server: action.mcp_server.as_deref(),
    };
    let has_asked = call.answer.is_some();
    let first = match rule_keeping(agent, None) {
        RuleKeeping::Enforced => StoppedBy::AgentPolicy,
        RuleKeeping::Partly if !has_asked => partial_layer(agent, &action.kind),
        RuleKeeping::Asked if policy.coverage(tool) >= ToolCoverage::Asked => StoppedBy::Asked,
        _ if has_asked => StoppedBy::Asked,
        _ => StoppedBy::Watched,
    };
    let confined = writes_outside(call).then_some(StoppedBy::Confinement);
    [first].into_iter().chain(confined).collect()
}

/// The layer that holds a denial of this kind with an agent that takes only some rules.
fn partial_layer(agent: &str, kind: &ToolKind) -> StoppedBy {
    let layers = denial_layers(agent, None, AskAbility::Possible);
    let rows = layers.rows();
    let own = rows.iter().find(|(name, _)| *name == kind.as_str());
    match own.map(|(_, layer)| *layer) {
        Some(RuleKeeping::Enforced) => StoppedBy::AgentPolicy,
        Some(RuleKeeping::Asked) => StoppedBy::Asked,
        _ => StoppedBy::Watched,
    }
}

/// Whether it changes a file outside the directory in which the agent works.
fn writes_outside(call: &PastCall) -> bool {
    let action = &call.action;
    let writes = action.shows_diff
        || matches!(
            action.kind,
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move
        );
    writes && action.paths.iter().any(|path| !path.starts_with(&call.dir))
}
