//! `--prove` for an agent elsewhere: connects, and asks for what it can do. No turn is taken: its model is its own, and costs.

use lapidary::engine::acp::AgentSource;
use lapidary::engine::headless::RemoteAgent;
use lapidary::vocab::doctor::{Card, CardShutdown, Check, CheckName, CheckState, ShutdownBy};
use tokio::time::Instant;

use super::acp_probe::AcpProbe;
use super::{ProofSurroundings, UNKNOWN, offer, outcome};
use crate::commands::doctor::report::DoctorReport;

/// Makes the card of an agent elsewhere.
pub(in crate::commands::doctor) async fn prove_remote(
    agent: &RemoteAgent,
    around: &ProofSurroundings<'_>,
    report: &mut DoctorReport<'_>,
) {
    let mut card = Card {
        command: vec![agent.url.shown()],
        ..Card::default()
    };
    let started = Instant::now();
    let source = AgentSource::Local(agent.agent.clone());
    match AcpProbe::connect(source, &around.scratch.join("acp")).await {
        Err(error) => report.tell(outcome::not_started(&error)),
        Ok(probe) => ask(probe, started, around, &mut card, report).await,
    }
    report.card(card);
}

async fn ask_remote_agent(
    probe: AcpProbe,
    started: Instant,
    around: &ProofSurroundings<'_>,
    card: &mut Card,
    report: &mut DoctorReport<'_>,
) {
    match probe.initialize(around.patience).await {
        Ok(theirs) => {
            offer::introduced(card, &theirs, started.elapsed());
            report.tell(outcome::started(card, started.elapsed()));
            report.tell(outcome::abilities(card));
            let asked = Instant::now();
            let answer = probe.unknown(UNKNOWN.min(around.patience)).await;
            report.tell(outcome::unknown(card, &answer, asked.elapsed()));
            let message = "no turn was taken: the agent's model is its own";
            report.tell(Check::new(CheckName::AcpTurn, CheckState::Skipped, message));
        }
        Err(error) => {
            let check = outcome::failed(CheckName::AcpStart, "it cannot be reached", &error);
            report.tell(check.took(started.elapsed()));
        }
    }
    let was_there = probe.agent.connection.ended().is_none();
    let end = probe.end().await;
    card.noise_lines = end.noise.lines;
    if was_there && end.by == ShutdownBy::Eof {
        let ms = u64::try_from(end.took.as_millis()).unwrap_or(u64::MAX);
        card.shutdown = Some(CardShutdown { by: end.by, ms });
        let message = "the connection ends when we hang up";
        report.tell(Check::new(CheckName::AcpShutdown, CheckState::Ok, message));
    }
}
