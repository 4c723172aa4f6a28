//! Tickets and workers as the published vocabulary has them.

use std::io::Write as _;

use jiff::Timestamp;
use lapidary::render::plain::one_line;
use lapidary::vocab::fleet::{
    FLEET_CHANGE_SCHEMA, FleetArtifact, FleetAttempt, FleetChange, FleetLane, FleetOverviewReport,
    FleetPrompt, FleetTicket, FleetTicketState, FleetUsage, FleetWorker,
};
use lapidary::vocab::{Cause, Outcome, line};
use lapidary_fleet::{
    ArtifactRecord, AttemptRecord, FleetOverview, FleetStore, PromptRecord, TicketRecord,
    TicketState, WorkerRecord,
};
use serde_json::Value;

use super::super::sessions::SessionsFormat;
use crate::failure::Failure;
use crate::printer::Printer;

/// A time as JSON has it: milliseconds suffice for people.
pub(super) fn time_text(time: Timestamp) -> String {
    format!("{time:.3}")
}

pub(super) fn ticket_report(record: &TicketRecord) -> FleetTicket {
    FleetTicket {
        ticket: record.id.to_string(),
        state: match record.state {
            TicketState::Blocked => FleetTicketState::Blocked,
            TicketState::Waiting => FleetTicketState::Waiting,
            TicketState::Running => FleetTicketState::Running,
            TicketState::Done => FleetTicketState::Done,
        },
        title: record.title.clone(),
        agent: record.agent.clone(),
        request_key: record.request_key.clone(),
        priority: record.priority,
        lanes: record.lanes.clone(),
        needs: record.needs.clone(),
        waits_for: record.waits_for.iter().map(ToString::to_string).collect(),
        not_before: time_text(record.not_before),
        attempts: record.attempts,
        max_attempts: record.max_attempts,
        lost: record.lost,
        term: record.term,
        worker: record.worker.as_ref().map(ToString::to_string),
        lease_until: record.lease_until.map(time_text),
        open_prompts: record.open_prompts,
        cancelled_by: record.cancel.as_ref().map(|cancel| cancel.by.clone()),
        cancel_reason: record.cancel.as_ref().and_then(|cancel| cancel.why.clone()),
        outcome: record.outcome.as_deref().map(Outcome::from),
        cause: record.cause.as_deref().map(Cause::from),
        total_tokens: record.usage.tokens,
        cost_usd: record.usage.cost_usd,
        created_by: record.created_by.clone(),
        created_at: time_text(record.created_at),
        started_at: record.started_at.map(time_text),
        ended_at: record.ended_at.map(time_text),
    }
}

pub(super) fn attempt_report(record: &AttemptRecord, artifacts: &[ArtifactRecord]) -> FleetAttempt {
    FleetAttempt {
        attempt: record.number,
        term: record.term,
        run: record.run.to_string(),
        worker: record.worker.to_string(),
        events: record.next_seq,
        touched: record.touched,
        started_at: time_text(record.started_at),
        ended_at: record.ended_at.map(time_text),
        outcome: record.outcome.as_deref().map(Outcome::from),
        cause: record.cause.as_deref().map(Cause::from),
        total_tokens: record.usage.tokens,
        cost_usd: record.usage.cost_usd,
        evidence: record.evidence.as_deref().map(json_or_text),
        artifacts: artifacts.iter().map(artifact_report).collect(),
    }
}

fn artifact_report(record: &ArtifactRecord) -> FleetArtifact {
    let digits = record.sha256.iter().map(|byte| format!("{byte:02x}"));
    FleetArtifact {
        name: record.name.clone(),
        media_type: record.media_type.clone(),
        bytes: record.bytes,
        sha256: digits.collect(),
    }
}

pub(super) fn prompt_report(record: &PromptRecord) -> FleetPrompt {
    FleetPrompt {
        run: record.run.to_string(),
        request_id: record.request.clone(),
        event: json_or_text(&record.body),
        asked_at: time_text(record.asked_at),
    }
}

/// JSON as it is, and all other bytes as a text.
pub(super) fn json_or_text(bytes: &[u8]) -> Value {
    let text = || Value::String(String::from_utf8_lossy(bytes).into_owned());
    serde_json::from_slice(bytes).unwrap_or_else(|_| text())
}

/// Permission requests of an overview.
const SHOWN_PROMPTS: usize = 100;

pub(super) fn overview_report(
    store: &dyn FleetStore,
    overview: &FleetOverview,
    prompts: &[PromptRecord],
) -> FleetOverviewReport {
    let count = |state| {
        let found = overview.counts.iter().find(|(known, _)| *known == state);
        found.map_or(0, |(_, count)| *count)
    };
    let lanes = overview.lanes.iter().map(|lane| FleetLane {
        name: lane.name.clone(),
        running: lane.running,
        limit: lane.limit,
        waiting: lane.waiting,
    });
    FleetOverviewReport {
        schema: lapidary::vocab::fleet::FLEET_OVERVIEW_SCHEMA.to_owned(),
        store: store.address().to_owned(),
        now: time_text(overview.now),
        blocked: count(TicketState::Blocked),
        waiting: count(TicketState::Waiting),
        running: count(TicketState::Running),
        done: count(TicketState::Done),
        oldest_waiting_ms: overview
            .oldest_waiting
            .map(|waited| u64::try_from(waited.as_millis()).unwrap_or(u64::MAX)),
        open_prompts: overview.open_prompts,
        prompts: prompts
            .iter()
            .take(SHOWN_PROMPTS)
            .map(prompt_report)
            .collect(),
        last_day: FleetUsage {
            total_tokens: overview.last_day.tokens,
            cost_usd: overview.last_day.cost_usd,
        },
        lanes: lanes.collect(),
        workers: overview.workers.iter().map(worker_report).collect(),
    }
}

fn worker_report(record: &WorkerRecord) -> FleetWorker {
    FleetWorker {
        id: record.start.id.to_string(),
        name: record.start.name.clone(),
        host: record.start.host.clone(),
        version: record.start.version.clone(),
        labels: record.start.labels.clone(),
        running: record.running,
        slots: record.start.slots,
        started_at: time_text(record.started_at),
        seen_at: time_text(record.seen_at),
        draining: record.draining,
        left: record.left_at.is_some(),
    }
}

/// A change without versions and without a directory.
pub(super) fn change(store: &str, ticket: Option<String>, what: &str) -> FleetChange {
    FleetChange {
        schema: FLEET_CHANGE_SCHEMA.to_owned(),
        store: store.to_owned(),
        ticket,
        change: what.to_owned(),
        versions: Vec::new(),
        directory: None,
    }
}

/// Prints a change: a sentence for people, an object for programs.
pub(super) fn print_change(
    change: &FleetChange,
    sentence: &str,
    format: Option<SessionsFormat>,
    out: &mut Printer,
) -> Result<(), Failure> {
    match SessionsFormat::or_usual(format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, change)?,
        SessionsFormat::Text => writeln!(out, "{}", one_line(sentence))?,
    }
    Ok(())
}
