//! `--prove`: a scripted model attempts what rules deny, and the effect of each attempt shows whether the denial holds.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use lapidary::engine::OnViolation;
use lapidary::engine::agents::AcpAgent;
use lapidary::engine::config::{PermissionMode, TransportChoice};
use lapidary::engine::detect::Environment;
use lapidary::engine::headless::{Agent, Job};
use lapidary::engine::policy::{Effect, Rule, Rules};
use lapidary::vocab::Cause;
use lapidary::vocab::doctor::{Check, CheckName, CheckState, DenialHolder, ProvenDenial};
use lapidary::vocab::event::ToolKind;
use lapidary_standin::api::{FakeApi, Script};
use lapidary_standin::attempt::{AgentTools, Attempt, AttemptScene, lay_out, turns_played};
use serde_json::Value;

use super::card::{Surroundings, variables};
use super::seen::{Cancel, Seen};
use super::world::World;
use crate::failure::Failure;

/// The attempts, each with the kind of action that it proves and the rule that denies it. The rule about commands leaves the deletion
/// to its own rule, which is about commands that delete.
const ATTEMPTS: [(Attempt, ToolKind, &str); 6] = [
    (Attempt::Read, ToolKind::Read, "read"),
    (Attempt::Search, ToolKind::Search, "search"),
    (Attempt::Edit, ToolKind::Edit, "edit"),
    (Attempt::Delete, ToolKind::Delete, "delete"),
    (Attempt::ShellRead, ToolKind::Execute, "execute:cat *"),
    (Attempt::Fetch, ToolKind::Fetch, "fetch"),
];

/// What held attempts, worst first, and the words for it.
const HOLDERS: [(DenialHolder, &str); 7] = [
    (DenialHolder::Nothing, "ran in spite of the rule, unseen"),
    (DenialHolder::Watch, "ran in spite of the rule"),
    (DenialHolder::Question, "asked and denied"),
    (DenialHolder::Agent, "refused by the agent"),
    (DenialHolder::NoTool, "not offered to the model"),
    (DenialHolder::NotStarted, "not started"),
    (DenialHolder::NotAttempted, "not attempted"),
];

const RAN_HINT: &str = "a run with such a rule is stopped only once the call runs; `--confine read-only` keeps files from being changed";

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
        let by_commands = [Attempt::ShellRead, Attempt::Delete];
        let is_tried = |attempt| by_commands.contains(&attempt) || !tools.is_command(attempt);
        let attempts = ATTEMPTS.map(|(attempt, ..)| attempt);
        let mut left: Vec<_> = attempts.into_iter().filter(|it| is_tried(*it)).collect();
        let mut held = Vec::new();
        let mut took = Duration::ZERO;
        while !left.is_empty() {
            let run = format!("{}-rules-{}-{}", self.id, self.over, left.len());
            let (seen, results) = self.play(run, tools, &left).await?;
            took += seen.took;
            if seen.cause() == Some(&Cause::BadConfig) {
                return Ok(self.not_started(&seen, &left));
            }
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
        held.extend(left.into_iter().map(|it| (it, DenialHolder::NotAttempted)));
        Ok(self.check(&held).took(took))
    }

    /// One run, and what held each attempt that the model made in it.
    async fn play(
        &self,
        run: String,
        tools: &AgentTools,
        attempts: &[Attempt],
    ) -> Result<(Seen, Vec<(Attempt, DenialHolder)>), Failure> {
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
        let mut held: Vec<_> = held.collect();
        // A violation ends the run: the model may have begun another attempt, of which nothing is known.
        let violation = held.iter().position(|(_, by)| *by == DenialHolder::Watch);
        held.truncate(violation.map_or(held.len(), |at| at + 1));
        model.stop().await;
        site.stop().await;
        Ok((seen, held))
    }

    /// A run in which each attempt is denied by a rule. A violation ends it, as it ends a run of the user's.
    fn job(&self, run: &str, url: &str) -> Result<Job, Failure> {
        let job = self.world.job(run, self.transport, url);
        let mut job = job
            .context("cannot prepare a run")
            .map_err(Failure::internal)?;
        let rules = ATTEMPTS
            .iter()
            .map(|(.., rule)| Rule::parse_flag(Effect::Deny, rule, &self.world.project()));
        let rules: Vec<_> = rules
            .collect::<Result<_, _>>()
            .context("cannot write a rule")
            .map_err(Failure::internal)?;
        job.config.rules = Rules::new(rules);
        // Without ACP, no rule can narrow a wider mode.
        let mode = match self.transport {
            TransportChoice::Acp => PermissionMode::BypassPermissions,
            _ => PermissionMode::Default,
        };
        job.config.permission_mode = Some(mode);
        job.config.on_violation = Some(OnViolation::Stop);
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

    /// An agent that cannot be told of rules is not started with any: nothing is done, and nothing can be proven.
    fn not_started(&self, seen: &Seen, attempts: &[Attempt]) -> Check {
        let held = attempts.iter().map(|it| (*it, DenialHolder::NotStarted));
        let what = format!("over {}, a run with such rules does not start", self.over);
        let check = seen.failure(CheckName::ProveRules, &what);
        Check {
            state: CheckState::Warning,
            ..check.denials(self.denials(&held.collect::<Vec<_>>()))
        }
    }

    fn check(&self, held: &[(Attempt, DenialHolder)]) -> Check {
        let has = |by: &DenialHolder| held.iter().any(|(_, own)| own == by);
        let ran = [DenialHolder::Nothing, DenialHolder::Watch];
        let has_run = ran.iter().any(has);
        let state = if has_run {
            CheckState::Problem
        } else if has(&DenialHolder::NotAttempted) {
            CheckState::Unproven
        } else {
            CheckState::Ok
        };
        let denials = self.denials(held);
        let groups = HOLDERS.iter().filter(|(by, _)| has(by));
        let groups: Vec<_> = groups
            .map(|(by, words)| format!("{words}: {}", kinds(&denials, by)))
            .collect();
        let message = format!("over {}, {}", self.over, groups.join("; "));
        let check = Check::new(CheckName::ProveRules, state, message).denials(denials);
        if has_run {
            check.remedy(RAN_HINT)
        } else {
            check
        }
    }

    fn denials(&self, held: &[(Attempt, DenialHolder)]) -> Vec<ProvenDenial> {
        let kind_of = |attempt| {
            let mut rows = ATTEMPTS.iter();
            rows.find_map(|(own, kind, _)| (*own == attempt).then(|| kind.clone()))
        };
        let denials = held.iter().filter_map(|(attempt, by)| {
            Some(ProvenDenial {
                kind: kind_of(*attempt)?,
                transport: self.over.to_owned(),
                held_by: by.clone(),
            })
        });
        denials.collect()
    }
}

fn kinds(denials: &[ProvenDenial], by: &DenialHolder) -> String {
    let of = denials.iter().filter(|denial| denial.held_by == *by);
    let names: Vec<_> = of.map(|denial| denial.kind.as_str()).collect();
    names.join(", ")
}

/// The effect counts first, then what the events say.
fn held_by(
    attempt: Attempt,
    seen: &Seen,
    tools: &AgentTools,
    scene: &AttemptScene<'_>,
) -> DenialHolder {
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
    if is_violated {
        DenialHolder::Watch
    } else if scene.is_done(attempt) {
        DenialHolder::Nothing
    } else if is_denied {
        DenialHolder::Question
    } else if tools.is_offered(attempt, scene.model) {
        DenialHolder::Agent
    } else {
        DenialHolder::NoTool
    }
}

async fn start(script: Script) -> Result<FakeApi, Failure> {
    let api = FakeApi::start(script).await;
    api.context("cannot start the mock model")
        .map_err(Failure::internal)
}
