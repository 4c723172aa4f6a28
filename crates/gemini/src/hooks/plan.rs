//! Which hooks run at an event, and how.

use std::collections::HashSet;

use super::{Hook, HookEntry, HookEvent, MatcherKind, matcher};

/// The hooks that run at an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookPlan {
    /// The hooks, the first one first.
    pub hooks: Vec<Hook>,
    /// One after the other, or all at once.
    pub order: RunOrder,
    /// Matchers that could not be decided as Gemini CLI would, in a sentence each.
    pub diagnostics: Vec<String>,
}

/// How hooks of a plan follow one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// All at once.
    #[default]
    Parallel,
    /// One after the other, each with the changes of the one before it.
    Sequential,
}

/// A hook of an event that does not run, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct PassedOver {
    /// The hook.
    pub hook: Hook,
    /// Why, in a few words.
    pub why: String,
}

/// The hooks of an event that [`plan_hooks`] leaves out.
pub(super) fn passed_over<'a>(
    event: HookEvent,
    context: Option<&str>,
    entries: impl Iterator<Item = &'a HookEntry>,
) -> Vec<PassedOver> {
    let mut candidates: Vec<_> = entries.filter(|entry| entry.hook.event == event).collect();
    candidates.sort_by_key(|entry| entry.hook.source.priority());
    let mut seen = HashSet::new();
    let passed_over = candidates.into_iter().filter_map(|entry| {
        let hook = &entry.hook;
        let why = if !entry.enabled {
            let files = entry
                .disabled_by
                .iter()
                .map(|path| path.display().to_string());
            format!("disabled by {}", files.collect::<Vec<_>>().join(", "))
        } else if !matcher::judge_matcher(hook, context).matches {
            let matcher = hook.matcher.as_deref().unwrap_or_default();
            let verb = match event.matching() {
                MatcherKind::ToolName => "does not match",
                MatcherKind::Exact(_) | MatcherKind::Ignored => "is not",
            };
            format!(
                "matcher \"{matcher}\" {verb} \"{}\"",
                context.unwrap_or_default()
            )
        } else if !seen.insert(hook.key()) {
            "the same hook runs already".to_owned()
        } else {
            return None;
        };
        let hook = hook.clone();
        Some(PassedOver { hook, why })
    });
    passed_over.collect()
}

/// Plans hooks that are switched on, in the order in which they were found.
pub(super) fn plan_hooks<'a>(
    event: HookEvent,
    context: Option<&str>,
    hooks: impl Iterator<Item = &'a Hook>,
) -> HookPlan {
    let mut candidates: Vec<&Hook> = hooks.filter(|hook| hook.event == event).collect();
    candidates.sort_by_key(|hook| hook.source.priority());
    let mut plan = HookPlan::default();
    let mut seen = HashSet::new();
    for hook in candidates {
        let judged = matcher::judge_matcher(hook, context);
        plan.diagnostics.extend(judged.doubt);
        if judged.matches && seen.insert(hook.key()) {
            plan.hooks.push(hook.clone());
        }
    }
    if plan.hooks.iter().any(|hook| hook.sequential) {
        plan.order = RunOrder::Sequential;
    }
    plan
}
