//! `--prove`: a scripted model attempts actions that rules deny, and the effect of each attempt shows whether the denial holds.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use lapidary::engine::OnViolation;
use lapidary::engine::agents::AcpAgent;
use lapidary::engine::agents::own_policy::rule_keeping;
use lapidary::engine::config::{PermissionMode, TransportChoice};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::headless::{Job, JobAgent};
use lapidary::engine::policy::{PermissionEffect, Rule, Rules};
use lapidary::vocab::Cause;
use lapidary::vocab::capabilities::RuleKeeping;
use lapidary::vocab::doctor::{
    Check, CheckName, CheckState, DenialHolder, ProvenDenial, ServerReach,
};
use lapidary::vocab::event::ToolKind;
use lapidary_standin::api::{FakeApi, Script};
use lapidary_standin::attempt::{
    AgentTools, AttemptScene, AttemptedAction, VaultRequest, lay_out, trace_of, turns_played,
};
use serde_json::Value;

use super::card::{ProofSurroundings, proof_variables};
use super::observed_run::{ObservedRun, RunCancel};
use super::proof_sandbox::ProofSandbox;
use crate::failure::Failure;

/// The attempts, each with the kind of action that it proves and the rule that denies it. The rule about commands leaves deletions and
/// moves to their own rules, which are about commands that delete or move.
const ATTEMPTS: [(AttemptedAction, ToolKind, &str); 8] = [
    (AttemptedAction::Read, ToolKind::Read, "read"),
    (AttemptedAction::Search, ToolKind::Search, "search"),
    (AttemptedAction::Edit, ToolKind::Edit, "edit"),
    (AttemptedAction::Delete, ToolKind::Delete, "delete"),
    (AttemptedAction::Move, ToolKind::Move, "move"),
    (
        AttemptedAction::ShellRead,
        ToolKind::Execute,
        "execute:cat *",
    ),
    (AttemptedAction::Fetch, ToolKind::Fetch, "fetch"),
    (AttemptedAction::Mcp, ToolKind::Mcp, "mcp"),
];

/// The results of an attempt, worst first, and the words for them.
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

/// The MCP servers that a run gives to its agent, in words.
const SERVERS: &str = "MCP servers of a run (`--with-agents`, `--mcp-config`)";

const UNREACHED_HINT: &str = "add the server to the agent's own settings: see docs/mcp.md";

/// Attempts that are made while these rules deny.
struct Round {
    attempts: Vec<AttemptedAction>,
    rules: Vec<String>,
}

/// The results of all rounds.
#[derive(Default)]
struct Found {
    held: Vec<(AttemptedAction, DenialHolder)>,
    runs: usize,
    took: Duration,
    /// A run that did not start, because the agent cannot be given its rules.
    refusal: Option<ObservedRun>,
    /// A run in which the model was not asked for an attempt.
    silence: Option<ObservedRun>,
    /// Whether the agent listed the tools of the MCP server.
    is_server_listed: bool,
}

/// Denials with one agent over one transport.
pub(super) struct DenialProof<'a> {
    pub(super) world: &'a ProofSandbox<'a>,
    /// An agent over ACP that is not Gemini CLI.
    pub(super) acp: Option<AcpAgent>,
    pub(super) transport: TransportChoice,
    /// The name of the transport.
    pub(super) over: &'static str,
    /// The beginning of the ids of the runs.
    pub(super) id: &'a str,
    pub(super) offer: ServerOffer,
}

/// How the MCP server of the attempts gets to the agent.
pub(super) enum ServerOffer {
    /// By `session/new`.
    Session,
    /// By a settings file of the run, below this directory.
    Layer(PathBuf),
    /// By the settings of the throw-away home: the run cannot be given a server, for this reason.
    Settings(&'static str),
}

/// Proves denials with an agent over ACP, whose program is given if the agent called the mock model before.
pub(super) async fn prove_over_acp(
    agent: &AcpAgent,
    program: Option<PathBuf>,
    around: &ProofSurroundings<'_>,
) -> Result<Vec<Check>, Failure> {
    let Some(program) = program else {
        return Ok(unproven_checks("the mock model was not called"));
    };
    let Some(tools) = AgentTools::for_family(agent.provider.as_str()) else {
        return Ok(unproven_checks(
            "the names of this agent's tools are not known",
        ));
    };
    let root = around.scratch.join("rules");
    let world = ProofSandbox::make_sandbox(&root, &program, around.supervisor, around.environment);
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
        offer: ServerOffer::Session,
    };
    proof.prove_denials(tools).await
}

fn unproven_checks(why: &str) -> Vec<Check> {
    let names = [CheckName::ProveRules, CheckName::ProveServers];
    let checks = names.map(|name| Check::new(name, CheckState::Unproven, why));
    checks.into()
}

impl DenialProof<'_> {
    /// Attempts each kind, and reports the layer that stopped it, if any.
    pub(super) async fn prove_denials(&self, tools: &AgentTools) -> Result<Vec<Check>, Failure> {
        let tools = tools.without_commands();
        let mut found = Found::default();
        for round in self.proof_rounds() {
            self.play_round(&round, &tools, &mut found).await?;
        }
        Ok(vec![self.check(&found), self.servers_check(&found)])
    }

    /// Whether MCP servers of a run reach the agent, and how.
    fn servers_check(&self, found: &Found) -> Check {
        let over = self.over;
        let check = |state, message: String| Check::new(CheckName::ProveServers, state, message);
        let (reach, how) = match &self.offer {
            ServerOffer::Session => (ServerReach::SessionNew, "by session/new"),
            ServerOffer::Layer(_) => (ServerReach::SettingsLayer, "by a settings file of the run"),
            ServerOffer::Settings(why) => {
                let message = format!(
                    "over {over}, {SERVERS} do not reach it, so such a run goes over ACP: {why}"
                );
                return check(CheckState::Ok, message).server_reach(ServerReach::Unreached);
            }
        };
        if found.is_server_listed {
            let message = format!("over {over}, {SERVERS} reach it {how}");
            return check(CheckState::Ok, message).server_reach(reach);
        }
        let has_begun = found
            .held
            .iter()
            .any(|(_, by)| !matches!(by, DenialHolder::NotStarted | DenialHolder::NotAttempted));
        if has_begun {
            let message = format!("over {over}, {SERVERS} do not reach it");
            let check = check(CheckState::Warning, message).remedy(UNREACHED_HINT);
            return check.server_reach(ServerReach::Unreached);
        }
        let message =
            format!("over {over}, no run began in which it could list the tools of a server");
        check(CheckState::Unproven, message)
    }

    /// All attempts together, each denied by its rule. An agent that takes only some rules has a round for each, with that rule
    /// alone: one rule could take the tool away by which another is proven, or keep the run from starting.
    fn proof_rounds(&self) -> Vec<Round> {
        let family = self.acp.as_ref().map(|agent| agent.provider.as_str());
        let keeping = family.map(|family| rule_keeping(family, None));
        if keeping == Some(RuleKeeping::Partly) {
            let alone = ATTEMPTS.iter().map(|(attempt, kind, _)| Round {
                attempts: vec![*attempt],
                rules: vec![kind.to_string()],
            });
            return alone.collect();
        }
        vec![Round {
            attempts: ATTEMPTS.map(|(attempt, ..)| attempt).to_vec(),
            rules: ATTEMPTS.map(|(.., rule)| rule.to_owned()).to_vec(),
        }]
    }

    /// Makes the attempts of a round in one run. If a denial ends the turn, another run makes the remaining attempts.
    async fn play_round(
        &self,
        round: &Round,
        tools: &AgentTools,
        found: &mut Found,
    ) -> Result<(), Failure> {
        let mut left = round.attempts.as_slice();
        while !left.is_empty() {
            let run = format!("{}-rules-{}-{}", self.id, self.over, found.runs);
            let (seen, results) = self.play_attempts(run, tools, (left, &round.rules)).await?;
            let trace = self.world.project_dir().join(trace_of(VaultRequest::List));
            found.is_server_listed |= trace.exists();
            found.runs += 1;
            found.took += seen.took;
            if seen.end_cause() == Some(&Cause::BadConfig) {
                found
                    .held
                    .extend(all_held_by(left, &DenialHolder::NotStarted));
                found.refusal.get_or_insert(seen);
                return Ok(());
            }
            if results.is_empty() {
                found
                    .held
                    .extend(all_held_by(left, &DenialHolder::NotAttempted));
                found.silence.get_or_insert(seen);
                return Ok(());
            }
            left = &left[results.len()..];
            found.held.extend(results);
        }
        Ok(())
    }

    /// One run, and the result of each attempt that the model made in it.
    async fn play_attempts(
        &self,
        run: String,
        tools: &AgentTools,
        (attempts, rules): (&[AttemptedAction], &[String]),
    ) -> Result<(ObservedRun, Vec<(AttemptedAction, DenialHolder)>), Failure> {
        let project = self.world.project_dir();
        lay_out(&project)
            .context("cannot write to the throw-away project")
            .map_err(Failure::internal)?;
        let site = start_fake_api(Script::new()).await?;
        let model = start_fake_api(tools.script(attempts, &project, &site.base_url())).await?;
        let job = self.denial_job(&run, &model.base_url(), rules)?;
        let seen = ObservedRun::follow_run(job.start(), run, &model, RunCancel::Never).await;
        let scene = AttemptScene {
            project: &project,
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

    /// A run with rules that deny. A violation ends it, as it ends a run of the user's.
    fn denial_job(&self, run: &str, url: &str, rules: &[String]) -> Result<Job, Failure> {
        let job = self.world.proof_job(run, self.transport, url);
        let mut job = job
            .context("cannot prepare a run")
            .map_err(Failure::internal)?;
        let rules = rules
            .iter()
            .map(|rule| Rule::parse_flag(PermissionEffect::Deny, rule, &self.world.project_dir()));
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
        match &self.offer {
            ServerOffer::Session => job.speaking.mcp_servers = vec![self.world.acp_server()],
            ServerOffer::Layer(records) => {
                job.speaking.mcp_servers = vec![self.world.acp_server()];
                job.records.root.clone_from(records);
            }
            ServerOffer::Settings(_) => {}
        }
        if let Some(agent) = &self.acp {
            let vars = proof_variables(self.world, agent, url);
            job.environment = SearchEnvironment::from_vars(vars, self.world.project_dir());
            job.config.model = None;
            job.agent = JobAgent::Acp(AcpAgent {
                environment: Vec::new(), // they are among the variables, but for secrets
                ..agent.clone()
            });
        }
        Ok(job)
    }

    fn check(&self, found: &Found) -> Check {
        let held = &found.held;
        let has = |by: &DenialHolder| held.iter().any(|(_, own)| own == by);
        let is_all = |by: &DenialHolder| held.iter().all(|(_, own)| own == by);
        let ran = [DenialHolder::Nothing, DenialHolder::Watch];
        let denials = self.proven_denials(held);
        let check = match (&found.refusal, &found.silence) {
            // An agent that cannot be given a rule is not started with it: nothing is done, and nothing can be proven.
            (Some(seen), _) if is_all(&DenialHolder::NotStarted) => {
                let what = format!("over {}, a run with such rules does not start", self.over);
                seen.failed_check(CheckName::ProveRules, &what)
            }
            (_, Some(seen)) if is_all(&DenialHolder::NotAttempted) => {
                let what = "no call was attempted";
                let check = seen.failed_check(CheckName::ProveRules, what);
                return in_state(check, CheckState::Unproven);
            }
            (Some(seen), _) => {
                seen.failed_check(CheckName::ProveRules, &self.denials_text(&denials))
            }
            _ => Check::new(
                CheckName::ProveRules,
                CheckState::Ok,
                self.denials_text(&denials),
            ),
        };
        let check = check.denials(denials).took(found.took);
        if ran.iter().any(has) {
            in_state(check, CheckState::Problem).remedy(RAN_HINT)
        } else if has(&DenialHolder::NotAttempted) {
            in_state(check, CheckState::Unproven)
        } else if has(&DenialHolder::NotStarted) {
            in_state(check, CheckState::Warning)
        } else {
            check
        }
    }

    /// The results of the attempts, worst first.
    fn denials_text(&self, denials: &[ProvenDenial]) -> String {
        let groups = HOLDERS.iter().filter_map(|(by, words)| {
            let kinds = kinds_held_by(denials, by);
            (!kinds.is_empty()).then(|| format!("{words}: {kinds}"))
        });
        let groups: Vec<_> = groups.collect();
        format!("over {}, {}", self.over, groups.join("; "))
    }

    fn proven_denials(&self, held: &[(AttemptedAction, DenialHolder)]) -> Vec<ProvenDenial> {
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

fn in_state(check: Check, state: CheckState) -> Check {
    Check { state, ..check }
}

fn all_held_by(
    attempts: &[AttemptedAction],
    by: &DenialHolder,
) -> impl Iterator<Item = (AttemptedAction, DenialHolder)> {
    attempts.iter().map(|attempt| (*attempt, by.clone()))
}

fn kinds_held_by(denials: &[ProvenDenial], by: &DenialHolder) -> String {
    let of = denials.iter().filter(|denial| denial.held_by == *by);
    let names: Vec<_> = of.map(|denial| denial.kind.as_str()).collect();
    names.join(", ")
}

/// The effect counts first, then the decisions in the events.
fn held_by(
    attempt: AttemptedAction,
    seen: &ObservedRun,
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
    } else if tools.is_hosted(attempt) && tools.is_offered(attempt, scene.model) {
        DenialHolder::NotAttempted // the mock model runs no tools
    } else if tools.is_offered(attempt, scene.model) {
        DenialHolder::Agent
    } else if attempt == AttemptedAction::Mcp && !scene.has_trace(VaultRequest::List) {
        DenialHolder::NotAttempted // the agent did not look for tools of the server
    } else {
        DenialHolder::NoTool
    }
}

async fn start_fake_api(script: Script) -> Result<FakeApi, Failure> {
    let api = FakeApi::start(script).await;
    api.context("cannot start the mock model")
        .map_err(Failure::internal)
}
