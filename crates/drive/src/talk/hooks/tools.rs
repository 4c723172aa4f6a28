//! Tools: what hooks say about them.

use lapidary_home::hooks::{Event, Plan};
use lapidary_vocab::event::DecidedBy;
use lapidary_wire::gemini::hooks::Details;

use super::{Finished, Firing, Place};
use crate::hooks::{Effect as Wish, Fired, Wanted, aggregate, once_each};
use crate::policy::{Decision, Effect};

/// What hooks say about something that an agent wants to do.
#[derive(Debug, PartialEq)]
pub(in crate::talk) enum Verdict {
    /// Nothing against it.
    Silent,
    /// Somebody has to be asked.
    Ask(Option<String>),
    /// It may not.
    Denied(Decision),
    /// It may not, and has to stop altogether.
    Stopped(Decision),
}

impl Verdict {
    /// What becomes of a decision.
    pub(in crate::talk) fn over(self, decision: impl FnOnce() -> Decision) -> Decision {
        match self {
            Self::Denied(denied) | Self::Stopped(denied) => denied,
            Self::Silent => decision(),
            Self::Ask(message) => match decision() {
                Decision {
                    effect: Effect::Allow,
                    ..
                } => Decision {
                    effect: Effect::Ask,
                    by: DecidedBy::Hook,
                    rule: None,
                    reason: message.unwrap_or_else(|| "a hook wants it to be asked".to_owned()),
                },
                stricter => stricter,
            },
        }
    }
}

impl Firing {
    /// May it? Hooks for any of the names that its tool goes by are heard. None if they were ended before they could say.
    pub(in crate::talk) async fn before_tool(
        &self,
        wanted: Wanted<'_>,
        place: Place<'_>,
    ) -> Option<Verdict> {
        let mut runs = Vec::new();
        for (name, plan) in self.plans(Event::BeforeTool, wanted, place) {
            let details = Details::BeforeTool(wanted.call(name));
            let fired = self.fire_plan(plan, details, place).await;
            runs.extend(fired.runs);
        }
        let outputs = runs.iter().filter_map(|ran| ran.answer.output.as_ref());
        let fired = Fired {
            event: Event::BeforeTool,
            aggregate: aggregate(Event::BeforeTool, outputs),
            runs,
        };
        (!self.under_way.is_over()).then(|| self.judged(&fired, place))
    }

    /// What a tool has done cannot be undone, but what comes next can be kept from happening. True if everything is to stop.
    pub(in crate::talk) async fn after_tool(&self, done: &Finished) -> bool {
        let place = done.place();
        if !done.is_asked && !done.is_served {
            self.unasked(done, place);
        }
        if done.is_denied {
            return false;
        }
        let mut stops = false;
        for (name, plan) in self.plans(Event::AfterTool, done.wanted(), place) {
            let details = Details::AfterTool(done.wanted().call(name), done.response.clone());
            let fired = self.fire_plan(plan, details, place).await;
            stops |= fired.effects().iter().any(|it| matches!(it, Wish::Stop(_)));
            self.lost_on_results(&fired, place);
        }
        stops
    }

    /// Says how many calls have been left without the hooks that come after them, if there are any such hooks.
    pub(in crate::talk) fn not_after(&self, calls: usize, why: &str) {
        let enabled = self.hooks.registry.hooks.iter().filter(|it| it.enabled);
        let is_any = enabled
            .into_iter()
            .any(|it| it.hook.event == Event::AfterTool);
        if calls > 0 && is_any {
            let message = format!("no `AfterTool` hook was run for {calls} calls: {why}");
            self.note(self.say.latest(), message);
        }
    }

    /// Whether hooks come after this call.
    pub(in crate::talk) fn comes_after(&self, done: &Finished) -> bool {
        let mut names = done.wanted().names().into_iter();
        !done.is_denied && names.any(|name| self.has(Event::AfterTool, Some(&name)))
    }

    /// Somebody is asked.
    pub(in crate::talk) async fn notify(&self, wanted: Wanted<'_>, place: Place<'_>) {
        if !self.has(Event::Notification, None) {
            return;
        }
        self.fire(wanted.notice(), place).await;
    }

    /// What hooks would have held back, had the agent asked.
    fn unasked(&self, done: &Finished, place: Place<'_>) {
        let names = done.wanted().names();
        let Some(name) = names
            .into_iter()
            .find(|name| self.has(Event::BeforeTool, Some(name)))
        else {
            return;
        };
        self.once("unasked", place, || {
            format!(
                "the agent ran `{name}` without asking: `BeforeTool` hooks cannot hold back what it does not ask about"
            )
        });
    }

    /// The plans for each of the names, none of whose hooks is in another.
    fn plans(&self, event: Event, wanted: Wanted<'_>, place: Place<'_>) -> Vec<(String, Plan)> {
        once_each(wanted.names().into_iter().map(|name| {
            let plan = self.plan(event, Some(&name), place);
            (name, plan)
        }))
    }

    async fn fire_plan(&self, plan: Plan, details: Details, place: Place<'_>) -> Fired {
        let around = self.around(place.session);
        let input = around.input(details);
        self.under_way
            .fire(plan, input, around, self.told(place))
            .await
    }

    fn judged(&self, fired: &Fired, place: Place<'_>) -> Verdict {
        let mut verdict = Verdict::Silent;
        for effect in fired.effects() {
            match effect {
                Wish::Stop(reason) => return Verdict::Stopped(denied(&reason)),
                Wish::Block(reason) => return Verdict::Denied(denied(&reason)),
                Wish::Ask(message) => verdict = Verdict::Ask(message),
                Wish::ReplaceToolInput(_) => self.once("tool_input", place, || {
                    "a hook wants other arguments for a tool, which nobody can give an agent over ACP: it runs with its own".to_owned()
                }),
                _ => {}
            }
        }
        verdict
    }

    /// What a hook says about a result does not reach the model over ACP.
    fn lost_on_results(&self, fired: &Fired, place: Place<'_>) {
        for effect in fired.effects() {
            let (key, what) = match effect {
                Wish::Block(_) => ("hidden", "hides a tool's result"),
                Wish::AddContext(_) => ("context", "adds to a tool's result"),
                Wish::RunAnotherTool(_) => ("another", "wants another tool to run"),
                _ => continue,
            };
            self.once(key, place, || {
                format!("an `AfterTool` hook {what}, which nobody can do to an agent over ACP: the agent goes on with what it has")
            });
        }
    }
}

fn denied(reason: &str) -> Decision {
    Decision {
        effect: Effect::Deny,
        by: DecidedBy::Hook,
        rule: None,
        reason: format!("a hook denied it: {reason}"),
    }
}
