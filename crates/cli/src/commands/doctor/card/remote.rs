//! `--prove` for a remote agent: connects, and asks for its capabilities. It takes no turn: the agent's model costs money.

use lapidary::engine::acp::AgentSource;
use lapidary::engine::headless::RemoteAgent;
use lapidary::vocab::doctor::{Card, CardShutdown, Check, CheckName, CheckState, ShutdownBy};
use tokio::time::Instant;

use super::acp_probe::AcpProbe;
use super::{ProofSurroundings, UNKNOWN, offer, outcome};
use crate::commands::doctor::report::DoctorReport;

/// Makes the card of a remote agent.
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
    match AcpProbe::connect_agent(source, &around.scratch.join("acp")).await {
        Err(error) => report.add_check(outcome::not_started(&error)),
        Ok(probe) => ask_remote_agent(probe, started, around, &mut card, report).await,
    }
    report.add_card(card);
}

async fn ask_remote_agent(
    probe: AcpProbe,
    started: Instant,
    around: &ProofSurroundings<'_>,
    card: &mut Card,
    report: &mut DoctorReport<'_>,
) {
    match probe.initialize_agent(around.patience).await {
        Ok(theirs) => {
            offer::note_initialize(card, &theirs, started.elapsed());
            report.add_check(outcome::started_check(card, started.elapsed()));
            report.add_check(outcome::abilities_check(card));
            let asked = Instant::now();
            let answer = probe
                .send_unknown_method(UNKNOWN.min(around.patience))
                .await;
            report.add_check(outcome::unknown_method_check(
                card,
                &answer,
                asked.elapsed(),
            ));
            let message = "no turn was taken: the agent's model is its own";
            report.add_check(Check::new(CheckName::AcpTurn, CheckState::Skipped, message));
        }
        Err(error) => {
            let check = outcome::failed_check(CheckName::AcpStart, "it cannot be reached", &error);
            report.add_check(check.took(started.elapsed()));
        }
    }
    let was_there = probe.agent.connection.ended().is_none();
    let end = probe.end_agent().await;
    card.noise_lines = end.noise.lines;
    if was_there && end.by == ShutdownBy::Eof {
        let ms = u64::try_from(end.took.as_millis()).unwrap_or(u64::MAX);
        card.shutdown = Some(CardShutdown { by: end.by, ms });
        let message = "the connection ends when we hang up";
        report.add_check(Check::new(CheckName::AcpShutdown, CheckState::Ok, message));
    }
}
