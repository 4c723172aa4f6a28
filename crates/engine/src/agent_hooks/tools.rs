//! Hooks around tool calls, and their verdicts.

use std::path::Path;

use lapidary_gemini::hooks::{HookEvent, HookPlan};
use lapidary_vocab::event::DecidedBy;
use lapidary_wire::gemini::hooks::{EventDetails, HookToolCall};

use super::calls::FinishedCall;
use super::hook_messages::{MOST_WORDS, cut_message};
use super::{HookPlace, HookRunner, stop_message};
use crate::hooks::{
    AppliedEffect as Wish, HookResult, HookResults, MOST_FILES, WantedCall, once_each,
};
use crate::policy::{Decision, PermissionEffect};

/// The prefix of a hook's reason.
const DENIED: &str = "a hook denied it: ";

/// Hooks that run for a call at the same time: under one of its names, about one of its files.
#[derive(Debug)]
struct HookRound<'a> {
    name: String,
    plan: HookPlan,
    file: Option<&'a Path>,
}

/// The verdict of hooks about an action of the agent.
#[derive(Debug, PartialEq)]
pub(crate) enum HookVerdict {
    /// Nothing against it.
    Silent,
    /// It needs a prompt.
    Ask(Option<String>),
    /// It may not.
    Denied(Decision),
    /// It may not, and the turn has to stop, with this message.
    Stopped(Decision, String),
}

impl HookVerdict {
    /// The decision after this verdict. `decision` supplies the decision of rules and mode.
    pub(crate) fn decide_over(self, decision: impl FnOnce() -> Decision) -> Decision {
        match self {
            Self::Denied(denied) | Self::Stopped(denied, _) => denied,
            Self::Silent => decision(),
            Self::Ask(message) => {
                let decision = decision();
                if decision.effect == PermissionEffect::Deny {
                    return decision;
                }
                // Where a prompt is needed anyway, it still has to show the hook's reason.
                let reason = message.as_deref().unwrap_or("a hook wants it to be asked");
                Decision::new(PermissionEffect::Ask, DecidedBy::Hook, reason)
            }
        }
    }

    /// Joins two verdicts: the stricter one holds, and reasons add up, as far as there is room.
    fn join_stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Stopped(one, _), Self::Stopped(other, newer)) => {
                Self::Stopped(with_both_reasons(one, &other), newer)
            }
            (Self::Denied(one), Self::Denied(other)) => {
                Self::Denied(with_both_reasons(one, &other))
            }
            (stopped @ Self::Stopped(..), _) | (_, stopped @ Self::Stopped(..)) => stopped,
            (denied @ Self::Denied(_), _) | (_, denied @ Self::Denied(_)) => denied,
            (Self::Ask(Some(one)), Self::Ask(Some(other))) => {
                Self::Ask(Some(joined_reasons(one, &other)))
            }
            (Self::Ask(one), Self::Ask(other)) => Self::Ask(one.or(other)),
            (ask @ Self::Ask(_), Self::Silent) | (Self::Silent, ask) => ask,
        }
    }
}

impl HookRunner {
    /// The verdict of hooks about a call. Hooks for any name of its tool run. None if they were ended before they answered.
    pub(crate) async fn before_tool(
        &self,
        wanted: WantedCall<'_>,
        place: HookPlace<'_>,
    ) -> Option<HookVerdict> {
        let rounds = self.hook_rounds(HookEvent::BeforeTool, wanted, place);
        if rounds.is_empty() {
            return (!self.running.is_over()).then_some(HookVerdict::Silent);
        }
        let _turn = self.turns.acquire().await;
        let mut verdict = HookVerdict::Silent;
        for round in &rounds {
            let fired = self.fire_round(round, wanted, place, EventDetails::BeforeTool);
            let fired = fired.await;
            verdict = verdict.join_stricter(self.judge_results(&fired, place));
            if let Some(unheard) = fired.runs.iter().find_map(HookResult::unheard) {
                verdict = verdict.join_stricter(HookVerdict::Denied(refused_decision(unheard)));
            }
        }
        if self.are_left_out(wanted, place) {
            verdict = verdict.join_stricter(HookVerdict::Denied(too_many()));
        }
        if let Some(reason) = wanted.incomplete_reason() {
            verdict = verdict.join_stricter(HookVerdict::Denied(refused_decision(reason)));
        }
        (!self.running.is_over()).then_some(verdict)
    }

    /// Runs `AfterTool` hooks. They cannot undo the tool call, but they can stop the turn: the message then.
    pub(super) async fn after_tool(&self, done: &FinishedCall) -> Option<String> {
        let place = done.hook_place();
        if !done.is_asked && !done.is_served {
            self.note_unasked_call(done, place);
        }
        if done.is_denied {
            return None;
        }
        let details = |call| EventDetails::AfterTool(call, done.response.clone());
        let rounds = self.hook_rounds(HookEvent::AfterTool, done.wanted_call(), place);
        let mut stopped = None;
        for round in &rounds {
            let fired = self.fire_round(round, done.wanted_call(), place, details);
            let fired = fired.await;
            if fired.effects().iter().any(|it| matches!(it, Wish::Stop(_))) {
                stopped = Some(stop_message(&fired));
            }
            self.lost_on_results(&fired, place);
        }
        if !rounds.is_empty() {
            self.are_left_out(done.wanted_call(), place);
        }
        stopped
    }

    /// Notes how many calls had no `AfterTool` hooks, if there are any such hooks.
    pub(super) fn not_after(&self, calls: usize, why: &str) {
        if calls > 0 && self.is_enabled(HookEvent::AfterTool) {
            let message = format!("no `AfterTool` hook was run for {calls} calls: {why}");
            self.send_notice(self.say.latest_line(), message);
        }
    }

    /// Whether hooks come after this call.
    pub(super) fn comes_after(&self, done: &FinishedCall) -> bool {
        !done.is_denied && self.hooked_name(HookEvent::AfterTool, done).is_some()
    }

    /// The first name of a call for which there are hooks.
    fn hooked_name(&self, event: HookEvent, done: &FinishedCall) -> Option<String> {
        let sides = done.wanted_call().sides();
        let mut names = sides.into_iter().flat_map(|side| side.names);
        names.find(|name| self.has_hooks(event, Some(name)))
    }

    /// A prompt is about to be put.
    pub(crate) async fn notify_of_prompt(&self, wanted: WantedCall<'_>, place: HookPlace<'_>) {
        if !self.has_hooks(HookEvent::Notification, None) {
            return;
        }
        let _turn = self.turns.acquire().await;
        self.fire_hooks(wanted.notice(), place).await;
    }

    /// Notes that the agent did not ask about a call that hooks could have held back.
    fn note_unasked_call(&self, done: &FinishedCall, place: HookPlace<'_>) {
        let Some(name) = self.hooked_name(HookEvent::BeforeTool, done) else {
            return;
        };
        self.notice_once("unasked", place, || {
            format!(
                "the agent ran `{name}` without asking: `BeforeTool` hooks cannot hold back what it does not ask about"
            )
        });
    }

    /// The hooks that match a call: per side and per file, the hooks for any of its names.
    fn hook_rounds<'a>(
        &self,
        event: HookEvent,
        wanted: WantedCall<'a>,
        place: HookPlace<'_>,
    ) -> Vec<HookRound<'a>> {
        let mut all = Vec::new();
        for side in wanted.sides() {
            let names = side.names.into_iter();
            let plans = once_each(names.map(|name| {
                let plan = self.hook_plan(event, Some(&name), place);
                (name, plan)
            }));
            for file in side.files {
                let plans = plans.iter().cloned();
                all.extend(plans.map(|(name, plan)| HookRound { name, plan, file }));
            }
        }
        all
    }

    /// Runs the hooks of one round. Their output is dropped once it is reported.
    async fn fire_round(
        &self,
        round: &HookRound<'_>,
        wanted: WantedCall<'_>,
        place: HookPlace<'_>,
        details: impl Fn(HookToolCall) -> EventDetails,
    ) -> HookResults {
        let around = self.hook_context(place.session);
        let input = around.input(details(wanted.call(&round.name, round.file)));
        let plan = round.plan.clone();
        self.fire_plan(plan, input, around, place).await
    }

    /// Whether hooks do not get all files of a call, which is noted.
    fn are_left_out(&self, wanted: WantedCall<'_>, place: HookPlace<'_>) -> bool {
        let count = wanted.files_left_out();
        if count > 0 {
            let message = format!(
                "a call has more than {MOST_FILES} files: hooks did not get {count} of them"
            );
            self.send_notice(place.after, message);
        }
        count > 0
    }

    fn judge_results(&self, fired: &HookResults, place: HookPlace<'_>) -> HookVerdict {
        let mut verdict = HookVerdict::Silent;
        for effect in fired.effects() {
            match effect {
                Wish::Stop(reason) => {
                    return HookVerdict::Stopped(denied_decision(&reason), stop_message(fired));
                }
                Wish::Block(reason) => return HookVerdict::Denied(denied_decision(&reason)),
                Wish::Ask(message) => verdict = HookVerdict::Ask(message.map(|it| cut_message(&it))),
                Wish::ReplaceToolInput(_) => self.notice_once("tool_input", place, || {
                    "a hook changes the arguments of a tool, which ACP has no request for: the tool runs with its own".to_owned()
                }),
                _ => {}
            }
        }
        verdict
    }

    /// Notes that a hook's effect on a result does not reach the model over ACP.
    fn lost_on_results(&self, fired: &HookResults, place: HookPlace<'_>) {
        for effect in fired.effects() {
            let (key, what) = match effect {
                Wish::Block(_) => ("hidden", "hides a tool's result"),
                Wish::AddContext(_) => ("context", "adds to a tool's result"),
                Wish::RunAnotherTool(_) => ("another", "asks to run another tool"),
                _ => continue,
            };
            self.notice_once(key, place, || {
                format!("an `AfterTool` hook {what}, which ACP has no request for: the agent goes on unchanged")
            });
        }
    }
}

fn denied_decision(reason: &str) -> Decision {
    refused_decision(format!("{DENIED}{}", cut_message(reason)))
}

/// The first decision, with both reasons.
fn with_both_reasons(one: Decision, other: &Decision) -> Decision {
    let more = other.reason.strip_prefix(DENIED).unwrap_or(&other.reason);
    Decision {
        reason: joined_reasons(one.reason, more),
        ..one
    }
}

/// Both texts, if there is room for them and the first does not contain the second.
fn joined_reasons(mut one: String, other: &str) -> String {
    let says = |line: &str| line.strip_prefix(DENIED).unwrap_or(line) == other;
    if !one.lines().any(says) && one.len() + other.len() <= MOST_WORDS {
        one.push('\n');
        one.push_str(other);
    }
    one
}

/// Hooks cannot judge the rest.
fn too_many() -> Decision {
    refused_decision(format!(
        "hooks get at most {MOST_FILES} files, and there are more"
    ))
}

fn refused_decision(reason: String) -> Decision {
    Decision::new(PermissionEffect::Deny, DecidedBy::Hook, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(effect: PermissionEffect) -> Decision {
        Decision::new(effect, DecidedBy::Rule, "a rule says so")
    }

    #[test]
    fn an_asking_hook_does_not_soften_a_denial() {
        let over =
            |effect| HookVerdict::Ask(Some("really?".to_owned())).decide_over(|| decided(effect));
        assert_eq!(
            over(PermissionEffect::Deny),
            decided(PermissionEffect::Deny)
        );
        for effect in [PermissionEffect::Allow, PermissionEffect::Ask] {
            let asks = over(effect);
            assert_eq!(
                (asks.effect, asks.by),
                (PermissionEffect::Ask, DecidedBy::Hook)
            );
            assert_eq!(
                asks.reason, "really?",
                "it is the hook's reason that is said"
            );
        }
    }

    #[test]
    fn a_denying_hook_overrides_an_allow() {
        let no = || denied_decision("no");
        for refuses in [
            HookVerdict::Denied(no()),
            HookVerdict::Stopped(no(), String::new()),
        ] {
            let over = refuses.decide_over(|| decided(PermissionEffect::Allow));
            assert_eq!(
                (over.effect, over.by),
                (PermissionEffect::Deny, DecidedBy::Hook)
            );
        }
    }
}
