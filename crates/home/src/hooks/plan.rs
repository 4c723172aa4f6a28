//! Which hooks run at an event, and how.

use std::collections::HashSet;

use super::{Event, Hook, matcher};

/// The hooks that run at an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The hooks, the first one first.
    pub hooks: Vec<Hook>,
    /// One after the other, or all at once.
    pub order: Order,
    /// What could not be decided as Gemini CLI would, in a sentence each.
    pub diagnostics: Vec<String>,
}

/// How hooks of a plan follow one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// All at once.
    #[default]
    Parallel,
    /// One after the other, each told what the one before it changed.
    Sequential,
}

/// Plans hooks that are switched on, in the order in which they were found.
pub(super) fn plan<'a>(
    event: Event,
    context: Option<&str>,
    hooks: impl Iterator<Item = &'a Hook>,
) -> Plan {
    let mut candidates: Vec<&Hook> = hooks.filter(|hook| hook.event == event).collect();
    candidates.sort_by_key(|hook| hook.source.priority());
    let mut plan = Plan::default();
    let mut seen = HashSet::new();
    for hook in candidates {
        let judged = matcher::judge(hook, context);
        plan.diagnostics.extend(judged.doubt);
        if judged.matches && seen.insert(hook.key()) {
            plan.hooks.push(hook.clone());
        }
    }
    if plan.hooks.iter().any(|hook| hook.sequential) {
        plan.order = Order::Sequential;
    }
    plan
}
