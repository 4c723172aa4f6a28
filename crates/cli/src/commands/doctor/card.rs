//! `--prove` for an agent that speaks ACP: starts it, sends it prompts and requests, and notes its behaviour on its capability
//! card.
//!
//! Every step has a deadline, and all of them together have one. The agent lives in a throw-away home, and may run only the
//! command that our mock model asks for.

mod acp_probe;
mod model;
mod offer;
mod outcome;
mod remote;
mod rules;
mod turn;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use lapidary::engine::acp::{InitializeAnswer, OpenedSession};
use lapidary::engine::agents::{AcpAgent, model_variables};
use lapidary::engine::detect::SearchEnvironment;
use lapidary::engine::process::{Command, Supervisor};
use lapidary::vocab::Json;
use lapidary::vocab::doctor::{Card, Check, CheckName, CheckState};
use lapidary_standin::api::FakeApi;
use tokio::time::Instant;

use super::proof_sandbox::ProofSandbox;
use super::report::DoctorReport;
use crate::failure::Failure;
use acp_probe::AcpProbe;
pub(super) use remote::prove_remote;
use rules::AskRules;
use turn::TurnCancel;

/// How long an agent may take over an unknown method.
const UNKNOWN: Duration = Duration::from_secs(2);

/// All steps together may take this many times the limit of one.
const STEPS: u32 = 3;

/// The environment, supervisor and directory with which the agent is started.
pub(super) struct ProofSurroundings<'a> {
    pub(super) environment: &'a SearchEnvironment,
    pub(super) supervisor: &'a Supervisor,
    pub(super) scratch: &'a Path,
    /// How long it may take over each step.
    pub(super) patience: Duration,
}

/// Makes an agent's card. Returns the agent's program if the agent called the mock model.
pub(super) async fn prove_agent(
    agent: &AcpAgent,
    around: &ProofSurroundings<'_>,
    report: &mut DoctorReport<'_>,
) -> Result<Option<PathBuf>, Failure> {
    let Some(program) = agent.locate(around.environment) else {
        let message = "no agent is installed to test";
        report.add_check(Check::new(
            CheckName::AcpStart,
            CheckState::Skipped,
            message,
        ));
        return Ok(None);
    };
    let api = FakeApi::start(model::card_script()).await;
    let api = api
        .context("cannot play a model")
        .map_err(Failure::internal)?;
    let root = around.scratch.join("acp");
    let world = ProofSandbox::make_sandbox(&root, &program, around.supervisor, around.environment);
    let world = world
        .context("cannot make a throw-away home")
        .map_err(Failure::internal)?;
    let mut command = Command::new(&program, world.project_dir());
    command.args(agent.args.iter().cloned());
    command.envs(proof_variables(&world, agent, &api.base_url()));
    let rules = rules::write_ask_rules(agent, &program, &world, &mut command);
    let rules = rules
        .context("cannot write the agent's policy")
        .map_err(Failure::internal)?;
    let card = speak_acp(command, around, (&api, &world), rules, report).await;
    let is_model_asked = card.turn.as_ref().is_some_and(|turn| turn.model_asked);
    report.add_card(card);
    api.stop().await;
    Ok(is_model_asked.then_some(program))
}

async fn speak_acp(
    command: Command,
    around: &ProofSurroundings<'_>,
    (api, world): (&FakeApi, &ProofSandbox<'_>),
    rules: AskRules,
    report: &mut DoctorReport<'_>,
) -> Card {
    let mut card = Card {
        command: command.argv(),
        rules: Some(rules.keeping),
        ..Card::default()
    };
    let started = Instant::now();
    match AcpProbe::start_agent(command, around.supervisor, world.root_dir()).await {
        Err(error) => report.add_check(outcome::not_started(&error)),
        Ok(spoken) => {
            let proof = CardProof {
                spoken,
                api,
                project: world.project_dir(),
                session_meta: rules.session_meta,
                patience: around.patience,
                last: started + around.patience * STEPS,
                card: &mut card,
                report,
            };
            proof.make_card(started).await;
        }
    }
    card
}

/// The whole environment. It leads to the mock model and to no other host.
pub(super) fn proof_variables(
    world: &ProofSandbox<'_>,
    agent: &AcpAgent,
    url: &str,
) -> Vec<(OsString, OsString)> {
    let nobody = "http://127.0.0.1:9";
    let nowhere = [
        ("HTTP_PROXY", nobody),
        ("HTTPS_PROXY", nobody),
        ("npm_config_offline", "true"),
    ];
    let name = agent.name.as_str();
    let model = model_variables(name, url);
    let own = nowhere
        .into_iter()
        .map(|(name, value)| (name, value.to_owned()))
        .chain(model)
        .map(|(name, value)| (name.into(), value.into()));
    let world = world
        .sandbox_variables()
        .filter(|(name, _)| *name != "GEMINI_API_KEY");
    let configured = agent.environment.iter().cloned();
    let configured = configured.filter(|(name, _)| !is_secret(name));
    configured.chain(world).chain(own).collect()
}

/// Whether a variable may hold a credential.
fn is_secret(name: &OsStr) -> bool {
    const WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
    let name = name.to_string_lossy().to_uppercase();
    WORDS.iter().any(|word| name.contains(word))
}

struct CardProof<'a, 'r> {
    spoken: AcpProbe,
    api: &'a FakeApi,
    project: PathBuf,
    session_meta: Option<Json>,
    patience: Duration,
    /// When all steps have to be over.
    last: Instant,
    card: &'a mut Card,
    report: &'a mut DoctorReport<'r>,
}

impl CardProof<'_, '_> {
    async fn make_card(mut self, started: Instant) {
        if let Some(theirs) = self.initialize_agent(started).await {
            if let Some(session) = self.open_session(&theirs).await {
                self.play_turn(&session.id).await;
                self.cancel_turn(&session.id).await;
            }
            self.send_unknown_method().await;
        }
        self.shut_down_agent().await;
    }

    /// The rest of the time, at most `most`.
    fn time_within(&self, most: Duration) -> Duration {
        most.min(self.last.saturating_duration_since(Instant::now()))
    }

    async fn initialize_agent(&mut self, started: Instant) -> Option<InitializeAnswer> {
        let answer = self
            .spoken
            .initialize_agent(self.time_within(self.patience))
            .await;
        let took = started.elapsed();
        match answer {
            Ok(theirs) => {
                offer::note_initialize(self.card, &theirs, took);
                self.report
                    .add_check(outcome::started_check(self.card, took));
                self.report.add_check(outcome::abilities_check(self.card));
                Some(theirs)
            }
            Err(error) => {
                let check = outcome::failed_check(CheckName::AcpStart, "it did not begin", &error)
                    .took(took);
                self.report.add_check(check);
                None
            }
        }
    }

    async fn open_session(&mut self, theirs: &InitializeAnswer) -> Option<OpenedSession> {
        let began = Instant::now();
        let time = self.time_within(self.patience);
        let meta = self.session_meta.as_ref();
        let answer = self.spoken.new_session(&self.project, meta, time).await;
        let (check, session) = outcome::session_check(self.card, theirs, answer);
        self.report.add_check(check.took(began.elapsed()));
        if session.is_some() {
            self.report.add_check(outcome::modes_check(self.card));
            self.report.add_check(outcome::options_check(self.card));
        }
        session
    }

    async fn play_turn(&mut self, session: &str) {
        let time = self.time_within(self.patience);
        let prompt = model::CALL_PROMPT;
        let turn = self
            .spoken
            .send_prompt(session, prompt, TurnCancel::Never, time);
        let turn = turn.await;
        let was_run = self.project.join(model::MADE).exists();
        let seen = outcome::SeenConversation {
            is_model_asked: model::was_asked(self.api),
            has_shell: model::has_shell(self.api),
            was_run,
        };
        for check in outcome::turn_checks(self.card, &turn, seen) {
            self.report.add_check(check);
        }
    }

    async fn cancel_turn(&mut self, session: &str) {
        let time = self.time_within(self.patience);
        let prompt = model::WAIT_PROMPT;
        let turn = self
            .spoken
            .send_prompt(session, prompt, TurnCancel::AtFirstSign, time);
        let turn = turn.await;
        self.report
            .add_check(outcome::cancel_check(self.card, &turn));
    }

    async fn send_unknown_method(&mut self) {
        let began = Instant::now();
        let time = self.time_within(UNKNOWN);
        let answer = self.spoken.send_unknown_method(time).await;
        let check = outcome::unknown_method_check(self.card, &answer, began.elapsed());
        self.report.add_check(check);
    }

    async fn shut_down_agent(self) {
        let ended = self.spoken.end_agent().await;
        for check in outcome::shutdown_checks(self.card, &ended) {
            self.report.add_check(check);
        }
    }
}
