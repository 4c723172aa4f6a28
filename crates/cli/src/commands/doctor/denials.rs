//! `--prove`: a scripted model attempts what rules deny, and the effect of each attempt shows whether the denial holds.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use lapidary::drive::OnViolation;
use lapidary::drive::agents::AcpAgent;
use lapidary::drive::config::{PermissionMode, TransportChoice};
use lapidary::drive::detect::Environment;
use lapidary::drive::headless::{Agent, Job};
use lapidary::drive::policy::{Effect, Rule, Rules};
use lapidary::vocab::doctor::{Check, CheckName, CheckState};
use lapidary_standin::api::{FakeApi, Script};
use lapidary_standin::attempt::{AgentTools, Attempt, AttemptScene, lay_out, turns_played};
use serde_json::Value;

use super::card::{Surroundings, variables};
use super::seen::{Cancel, Seen};
use super::world::World;
use crate::failure::Failure;

/// The attempts, each with the kind of action that a rule denies.
const ATTEMPTS: [(Attempt, &str); 4] = [
    (Attempt::Read, "read"),
    (Attempt::Edit, "edit"),
    (Attempt::ShellRead, "execute"),
    (Attempt::Fetch, "fetch"),
];

const RAN_HINT: &str = "a run with such a rule is stopped only once the call runs; `--confine read-only` keeps files from being changed";

/// What held an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldBy {
    /// The agent asked, and the rule denied.
    Question,
    /// The agent had offered the tool, and refused the call.
    Refusal,
    /// The agent did not offer its model the tool.
    NoOffer,
    /// Nothing held it.
    Nothing,
    /// The turn ended before the model made the attempt.
    NotAttempted,
}

impl HeldBy {
    const ALL: [Self; 5] = [
        Self::Nothing,
        Self::Question,
        Self::Refusal,
        Self::NoOffer,
        Self::NotAttempted,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::Question => "asked and denied",
            Self::Refusal => "refused by the agent",
            Self::NoOffer => "not offered to the model",
            Self::Nothing => "ran in spite of the rule",
            Self::NotAttempted => "not attempted",
        }
    }
}

/// Denials with one agent over one transport.
pub(super) struct DenialProof<'a> {
    pub(super) world: &'a World<'a>,
    /// An agent over ACP that is not Gemini CLI.
    pub(super) acp: Option<AcpAgent>,
    pub(super) transport: TransportChoice,
    /// What the transport is called.
    pub(super) over: &'static str,
    /// The beginning of the ids of the runs.
    pub(super) id: &'a str,
}

/// Proves denials with an agent over ACP, whose program is given if the agent called the mock model before.
pub(super) async fn prove_over_acp(
    agent: &AcpAgent,
    program: Option<PathBuf>,
    around: &Surroundings<'_>,
) -> Result<Check, Failure> {
    let Some(program) = program else {
        return Ok(unproven("the mock model was not called"));
    };
    let Some(tools) = AgentTools::of(agent.provider.as_str()) else {
        return Ok(unproven("the names of this agent's tools are not known"));
    };
    let root = around.scratch.join("rules");
    let world = World::make(&root, &program, around.supervisor, around.environment);
    let world = world
        .context("cannot make a throw-away home")
        .map_err(Failure::internal)?;
    let scratch = around.scratch.file_name().unwrap_or_default();
    let proof = DenialProof {
        world: &world,
        acp: Some(AcpAgent {
            program,
            ..agent.clone()
        }),
        transport: TransportChoice::Acp,
        over: "acp",
        id: &scratch.to_string_lossy(),
    };
    proof.prove(tools).await
}

fn unproven(why: &str) -> Check {
    Check::new(CheckName::ProveRules, CheckState::Unproven, why)
}

impl DenialProof<'_> {
    /// Attempts everything in one run, and in another what is left if a denial ended the turn.
    pub(super) async fn prove(&self, tools: &AgentTools) -> Result<Check, Failure> {
        let is_tried = |attempt| attempt == Attempt::ShellRead || !tools.is_command(attempt);
        let attempts = ATTEMPTS.map(|(attempt, _)| attempt);
        let mut left: Vec<_> = attempts.into_iter().filter(|it| is_tried(*it)).collect();
        let mut held = Vec::new();
        let mut took = Duration::ZERO;
        while !left.is_empty() {
            let run = format!("{}-rules-{}-{}", self.id, self.over, left.len());
            let (seen, results) = self.play(run, tools, &left).await?;
            took += seen.took;
            if results.is_empty() && held.is_empty() {
                let check = seen.failure(CheckName::ProveRules, "no call was attempted");
                return Ok(Check {
                    state: CheckState::Unproven,
                    ..check
                });
            }
            if results.is_empty() {
                break;
            }
            left.drain(..results.len());
            held.extend(results);
        }
        held.extend(left.into_iter().map(|it| (it, HeldBy::NotAttempted)));
        Ok(self.check(&held).took(took))
    }

    /// One run, and what held each attempt that the model made in it.
    async fn play(
        &self,
        run: String,
        tools: &AgentTools,
        attempts: &[Attempt],
    ) -> Result<(Seen, Vec<(Attempt, HeldBy)>), Failure> {
        let project = self.world.project();
        lay_out(&project)
            .context("cannot write to the throw-away project")
            .map_err(Failure::internal)?;
        let site = start(Script::new()).await?;
        let model = start(tools.script(attempts, &project, &site.base_url())).await?;
        let job = self.job(&run, &model.base_url())?;
        let seen = Seen::follow(job.start(), run, &model, Cancel::Never).await;
        let scene = AttemptScene {
            project: &project,
            mcp_call: &self.world.root().join("called"),
            model: &model,
            site: &site,
        };
        let made = attempts.iter().take(turns_played(&model));
        let held = made.map(|attempt| (*attempt, held_by(*attempt, &seen, tools, &scene)));
        let held = held.collect();
        model.stop().await;
        site.stop().await;
        Ok((seen, held))
    }

    /// A run in the default mode, whose rules deny each attempt. Violations are reported, so that one does not hide the next.
    fn job(&self, run: &str, url: &str) -> Result<Job, Failure> {
        let job = self.world.job(run, self.transport, url);
        let mut job = job
            .context("cannot prepare a run")
            .map_err(Failure::internal)?;
        let rules = ATTEMPTS
            .iter()
            .map(|(_, kind)| Rule::parse_flag(Effect::Deny, kind, &self.world.project()));
        let rules: Vec<_> = rules
            .collect::<Result<_, _>>()
            .context("cannot write a rule")
            .map_err(Failure::internal)?;
        job.config.rules = Rules::new(rules);
        job.config.permission_mode = Some(PermissionMode::Default);
        job.config.on_violation = Some(OnViolation::Report);
        if let Some(agent) = &self.acp {
            let vars = variables(self.world, agent, url);
            job.environment = Environment::from_vars(vars, self.world.project());
            job.config.model = None;
            job.agent = Agent::Acp(AcpAgent {
                environment: Vec::new(), // they are among the variables, but for secrets
                ..agent.clone()
            });
        }
        Ok(job)
    }

    fn check(&self, held: &[(Attempt, HeldBy)]) -> Check {
        let has = |by: HeldBy| held.iter().any(|(_, own)| *own == by);
        let state = if has(HeldBy::Nothing) {
            CheckState::Problem
        } else if has(HeldBy::NotAttempted) {
            CheckState::Unproven
        } else {
            CheckState::Ok
        };
        let groups = HeldBy::ALL.into_iter().filter(|by| has(*by));
        let groups: Vec<_> = groups
            .map(|by| format!("{}: {}", by.words(), kinds(held, by)))
            .collect();
        let message = format!("over {}, {}", self.over, groups.join("; "));
        let check = Check::new(CheckName::ProveRules, state, message);
        if has(HeldBy::Nothing) {
            check.remedy(RAN_HINT)
        } else {
            check
        }
    }
}

fn kinds(held: &[(Attempt, HeldBy)], by: HeldBy) -> String {
    let of = held.iter().filter(|(_, own)| *own == by);
    let names = of.flat_map(|(attempt, _)| ATTEMPTS.iter().filter(move |row| row.0 == *attempt));
    let names: Vec<_> = names.map(|(_, kind)| *kind).collect();
    names.join(", ")
}

/// The effect counts first, then what the events say.
fn held_by(attempt: Attempt, seen: &Seen, tools: &AgentTools, scene: &AttemptScene<'_>) -> HeldBy {
    let events = seen.events.iter();
    let events = events.filter_map(|(_, event)| serde_json::to_value(event).ok());
    let events: Vec<Value> = events.collect();
    let is_violated = events
        .iter()
        .filter_map(|event| event["violations"].as_array())
        .flatten()
        .any(|violation| attempt.is_about(violation));
    let is_denied = events
        .iter()
        .any(|event| event["decision"] == "denied" && attempt.is_about(event));
    if is_violated || scene.is_done(attempt) {
        HeldBy::Nothing
    } else if is_denied {
        HeldBy::Question
    } else if tools.is_offered(attempt, scene.model) {
        HeldBy::Refusal
    } else {
        HeldBy::NoOffer
    }
}

async fn start(script: Script) -> Result<FakeApi, Failure> {
    let api = FakeApi::start(script).await;
    api.context("cannot start the mock model")
        .map_err(Failure::internal)
}
