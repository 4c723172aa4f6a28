//! The state that every fault of the chaos must leave.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;

use lapidary_fleet::{AttemptRecord, CancelReply, TicketRecord, TicketState};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::{FleetChaos, in_states};

/// A cancel that was ordered.
#[derive(Debug)]
pub(super) struct OrderedCancel {
    pub(super) reply: CancelReply,
    /// How many attempts the ticket had then: no other may begin.
    pub(super) attempts: u32,
}

/// The journal of the agents.
#[derive(Debug, Default)]
struct AgentJournal {
    /// How often each attempt began.
    begun: HashMap<String, usize>,
    /// The SHA-256 of the bytes of each attempt that came to its end, by the agent's own account.
    sums: HashMap<String, String>,
}

impl AgentJournal {
    fn parse(text: &str) -> Self {
        let mut journal = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["begin", attempt] => *journal.begun.entry(attempt.to_owned()).or_default() += 1,
                ["end", attempt, sum] => {
                    let before = journal.sums.insert(attempt.to_owned(), sum.to_owned());
                    assert_eq!(before, None, "{attempt} ended twice");
                }
                ["grandchild", _] => {}
                _ => panic!("a line of the journal: {line}"),
            }
        }
        journal
    }
}

/// The sums of the checks, for people.
#[derive(Debug, Default)]
struct CheckTally {
    outcomes: BTreeMap<String, usize>,
    attempts: usize,
    bytes: usize,
    /// Attempts whose SHA-256 is the agent's own.
    equal_sums: usize,
}

impl FleetChaos {
    /// Checks all tickets, attempts and processes. Returns the figures.
    pub(super) async fn check(&self) -> String {
        self.fleet.world.assert_nothing_is_left();
        let read = |name| fs::read_to_string(self.fleet.world.path(name)).unwrap_or_default();
        let violations = read("violations");
        assert!(
            violations.is_empty(),
            "two trees of one ticket at a time: {violations}{}",
            self.evidence(&violations).await
        );
        let journal = AgentJournal::parse(&read("journal"));
        for (attempt, count) in &journal.begun {
            assert_eq!(*count, 1, "{attempt} began so often");
        }
        let mut tally = CheckTally::default();
        let tickets = self.fleet.store.list(&in_states(&[])).await.unwrap();
        assert_eq!(tickets.len(), self.submitted, "tickets are lost");
        for ticket in tickets {
            let ticket = self.fleet.ticket(&ticket.id).await;
            self.check_ticket(&ticket);
            let word = |it: &Option<String>| it.clone().unwrap_or_default();
            let verdict = format!("{}/{}", word(&ticket.outcome), word(&ticket.cause));
            *tally.outcomes.entry(verdict).or_default() += 1;
            for attempt in &ticket.attempt_records {
                self.check_attempt(attempt, &journal, &mut tally).await;
            }
        }
        let (faults, ended) = (&self.faults, &self.ended_workers);
        let cancels = self.cancels.len();
        format!("{tally:?}, {cancels} cancels; faults: {faults:?}; workers that ended: {ended:?}")
    }

    /// The attempts of the tickets that a text names, and the faults.
    async fn evidence(&self, text: &str) -> String {
        let mut evidence = String::new();
        for ticket in self.fleet.store.list(&in_states(&[])).await.unwrap() {
            if text.contains(ticket.id.as_str()) {
                for attempt in self.fleet.ticket(&ticket.id).await.attempt_records {
                    let AttemptRecord {
                        run, worker, cause, ..
                    } = &attempt;
                    let (from, to) = (attempt.started_at, attempt.ended_at);
                    let _ = writeln!(evidence, "{run} of {worker}: {from} to {to:?}, {cause:?}"); // a string takes all
                }
            }
        }
        evidence + &self.history.join("\n")
    }

    fn check_ticket(&self, ticket: &TicketRecord) {
        assert_eq!(ticket.state, TicketState::Done);
        let completed = ticket.attempt_records.iter();
        let completed = completed.filter(|it| it.outcome.as_deref() == Some("completed"));
        assert!(completed.count() <= 1, "completed twice: {ticket:?}");
        let Some(cancel) = self.cancels.get(&ticket.id) else {
            return;
        };
        assert_eq!(ticket.attempts, cancel.attempts, "claimed after its cancel");
        let outcome = ticket.outcome.as_deref();
        match &cancel.reply {
            CancelReply::Done => assert_eq!(outcome, Some("cancelled"), "{ticket:?}"),
            // An agent may come to its end before the order reaches it.
            CancelReply::Ordered => assert!(
                matches!(outcome, Some("cancelled" | "completed")),
                "{ticket:?}"
            ),
            CancelReply::AlreadyDone { .. } | CancelReply::Unknown => {}
        }
    }

    /// The store has every line that the agent wrote, once.
    async fn check_attempt(
        &self,
        attempt: &AttemptRecord,
        journal: &AgentJournal,
        tally: &mut CheckTally,
    ) {
        let run = attempt.run.as_str();
        let own = fs::read_to_string(self.fleet.world.path("bytes").join(run)).unwrap_or_default();
        let events = self.fleet.events(&attempt.run).await;
        let ends = events.iter().filter(|it| it["event"] == "run_end").count();
        assert!(ends <= 1, "{run} ended {ends} times");
        for (seq, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], seq, "{run}");
        }
        let stored = raw_lines(&self.fleet.log(&attempt.run).await).concat();
        // The agent writes a line to stdout first: when it is killed, its own file may lack the last one.
        assert!(
            stored.starts_with(&own) && stored.len() - own.len() < 400,
            "{run}: the store has {} bytes, the agent wrote {}: {attempt:?}, {events:?}, {:?}",
            stored.len(),
            own.len(),
            self.disk.files_of(run)
        );
        if let Some(sum) = journal.sums.get(run) {
            let mut digest = String::new();
            for byte in Sha256::digest(stored.as_bytes()) {
                let _ = write!(digest, "{byte:02x}"); // a string takes all
            }
            assert_eq!(&digest, sum, "{run}: SHA-256 of the log and of the agent");
            tally.equal_sums += 1;
        }
        tally.attempts += 1;
        tally.bytes += stored.len();
    }
}

/// The agent's own lines in a log: each event carries its line once.
fn raw_lines(log: &[u8]) -> Vec<String> {
    let lines = log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let raw = lines.filter_map(|line| {
        let mut event: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(line).unwrap();
        event.remove("raw")
    });
    raw.map(|raw| format!("{}\n", raw.get())).collect()
}
