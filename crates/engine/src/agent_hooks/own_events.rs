//! Hooks that the agent runs itself. Each event is fired once: by the agent where it does, else by us where we can.

use std::time::Duration;

use lapidary_gemini::hooks::{HookEntry, HookEvent};
use lapidary_vocab::event::Provider;

use super::HookRunner;
use crate::acp::InitializeAnswer;
use crate::detect::AgentVersion;

/// The events whose hooks Gemini CLI runs itself over ACP (measured with 0.61). Of the others it runs none there, not even a
/// `BeforeTool` hook that denies.
const GEMINI: [HookEvent; 7] = [
    HookEvent::BeforeAgent,
    HookEvent::AfterAgent,
    HookEvent::SessionEnd,
    HookEvent::BeforeModel,
    HookEvent::AfterModel,
    HookEvent::BeforeToolSelection,
    HookEvent::PreCompress,
];

/// The first version of which that is known. Of an older one we run all that we can: twice is better than never.
const GEMINI_SINCE: (u64, u64) = (0, 61);

/// Between an agent and its model there is no place for us.
pub(crate) const OUT_OF_REACH: [HookEvent; 4] = [
    HookEvent::PreCompress,
    HookEvent::BeforeModel,
    HookEvent::AfterModel,
    HookEvent::BeforeToolSelection,
];

/// Whether the requests of an agent to its model come by here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelReach {
    /// The agent has us run the hooks around them: it is one of this process.
    Reported,
    /// They are between the agent and its model.
    Hidden,
}

impl HookRunner {
    /// Takes the agent's answer to `initialize`, and reports the hooks that we do not run for this agent.
    pub(crate) fn meet_agent(
        &self,
        provider: &Provider,
        agent: &InitializeAnswer,
        reach: ModelReach,
    ) {
        let own = own_events(provider, agent);
        let is_out_of_reach = own.is_empty() && reach == ModelReach::Hidden;
        let _ = self.own.set(own); // an agent says hello once
        let names = |events: &[HookEvent]| {
            let events = events.iter().filter(|event| self.is_enabled(**event));
            let names: Vec<_> = events.map(|event| format!("`{event}`")).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        if let Some(names) = names(own) {
            self.send_notice(None, format!("Gemini CLI runs hooks of {names} itself"));
        } else if let Some(names) = names(&OUT_OF_REACH).filter(|_| is_out_of_reach) {
            let why = "what an agent says to its model does not come by here";
            self.send_notice(None, format!("hooks of {names} do not run: {why}"));
        }
    }

    /// Whether hooks of this event are ours to run.
    pub(super) fn is_ours(&self, event: HookEvent) -> bool {
        self.own.get().is_none_or(|own| !own.contains(&event))
    }

    /// How long the agent may need for hooks that it runs when it ends.
    pub(crate) fn own_ending(&self) -> Option<Duration> {
        if self.is_ours(HookEvent::SessionEnd) {
            return None;
        }
        let last = self.enabled_hooks(HookEvent::SessionEnd);
        last.map(|entry| entry.hook.deadline()).max()
    }

    /// An agent that runs `BeforeAgent` hooks itself does not say that one has blocked the prompt.
    pub(super) fn may_be_blocked(&self) -> bool {
        !self.is_ours(HookEvent::BeforeAgent) && self.is_enabled(HookEvent::BeforeAgent)
    }

    pub(super) fn is_enabled(&self, event: HookEvent) -> bool {
        self.enabled_hooks(event).next().is_some()
    }

    fn enabled_hooks(&self, event: HookEvent) -> impl Iterator<Item = &HookEntry> {
        let hooks = self.hooks.registry.hooks.iter();
        hooks.filter(move |entry| entry.enabled && entry.hook.event == event)
    }
}

/// An agent that we did not start as Gemini CLI may say that it is, and run nothing.
fn own_events(provider: &Provider, agent: &InitializeAnswer) -> &'static [HookEvent] {
    let is_named = agent.agent_name().as_deref() == Some("gemini-cli");
    let is_gemini = is_named && *provider == Provider::Gemini;
    let version = agent.agent_version();
    let version = version.and_then(|version| AgentVersion::parse(&version));
    if is_gemini && version.is_some_and(|version| version.has(GEMINI_SINCE)) {
        &GEMINI
    } else {
        &[]
    }
}
