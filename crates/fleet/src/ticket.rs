//! A ticket in the queue: its submission, its record in the store, and the orders that change it.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::spec::check_size;
use crate::{
    AttemptRecord, AttemptUsage, StoreError, Term, TicketId, TicketSpec, WorkerId, WorkerRecord,
};

/// A ticket to be submitted.
#[derive(Debug, Clone)]
pub struct NewTicket {
    /// Its id, minted by the submitter: a submission that is repeated after a lost answer gives the same ticket.
    pub id: TicketId,
    /// The task: prompt, agent, workspace and limits.
    pub spec: TicketSpec,
    /// The same key with the same content gives the same ticket; with another content it is a conflict.
    pub request_key: Option<String>,
    /// Higher ones first.
    pub priority: i16,
    /// Not claimed before this time, on the store's clock. Not part of the content that a request key stands for.
    pub not_before: Option<Timestamp>,
    /// The lanes in which it runs. All of them must have room.
    pub lanes: Vec<LaneLimit>,
    /// Labels that a worker must have.
    pub needs: Vec<String>,
    /// Tickets that must have ended `completed` before. If one ends otherwise, this one ends with `predecessor_failed`.
    pub after: Vec<TicketId>,
    /// How many attempts there may be; at least one.
    pub max_attempts: u32,
    /// The submitter, for people.
    pub created_by: String,
}

/// A lane, and how many of its tickets run at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLimit {
    /// The name of the lane, such as `repo:website`.
    pub name: String,
    /// The limit, at least one; the limit that the lane has, or none, if absent. The newest submission decides.
    pub limit: Option<u32>,
}

impl NewTicket {
    /// A ticket without wishes for its place in the queue.
    pub fn new(spec: TicketSpec, created_by: &str) -> Self {
        Self {
            id: TicketId::fresh(),
            spec,
            request_key: None,
            priority: 0,
            not_before: None,
            lanes: Vec::new(),
            needs: Vec::new(),
            after: Vec::new(),
            max_attempts: 3,
            created_by: created_by.to_owned(),
        }
    }

    /// The hash of the content that a request key stands for.
    pub fn content_hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        add(&self.spec.to_bytes());
        add(format!("{} {}", self.priority, self.max_attempts).as_bytes());
        let lanes = self.lanes.iter();
        let lanes = lanes.map(|lane| format!("{} {:?}", lane.name, lane.limit));
        for list in [
            sorted(lanes),
            sorted(self.needs.iter().cloned()),
            sorted(self.after.iter().map(ToString::to_string)),
        ] {
            add(&list.len().to_le_bytes());
            for text in &list {
                add(text.as_bytes());
            }
        }
        hash.finalize().into()
    }
}

fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// The answer to a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmissionAnswer {
    /// The ticket is in the store.
    Created(TicketId),
    /// It was there already, under the same request key or id.
    Existing(TicketId),
    /// The request key belongs to a ticket with another content.
    Conflict {
        /// That ticket.
        ticket: TicketId,
    },
    /// A ticket of `after` does not exist.
    UnknownPredecessor {
        /// Its id.
        ticket: TicketId,
    },
}

/// The state of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketState {
    /// It waits for tickets of `after`.
    Blocked,
    /// It waits for a worker.
    Waiting,
    /// A worker has it.
    Running,
    /// It ended, and has an outcome.
    Done,
}

impl TicketState {
    /// All of them, in the order of a ticket's life.
    pub const ALL: [Self; 4] = [Self::Blocked, Self::Waiting, Self::Running, Self::Done];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
        }
    }

    /// The state of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// The state of a word in the store, whose tables have no others.
    pub(crate) fn from_stored(word: &str) -> Self {
        Self::from_word(word).unwrap_or(Self::Done)
    }
}

/// A ticket as the store has it.
#[derive(Debug, Clone)]
pub struct TicketRecord {
    /// Its id.
    pub id: TicketId,
    /// Its state.
    pub state: TicketState,
    /// The spec, as it was submitted. Left out of lists.
    pub spec: Option<Vec<u8>>,
    /// The beginning of the prompt, for lists.
    pub title: String,
    /// The name of the agent, if the ticket has one.
    pub agent: Option<String>,
    /// Its request key.
    pub request_key: Option<String>,
    /// Its priority.
    pub priority: i16,
    /// Not claimed before this time.
    pub not_before: Timestamp,
    /// The names of its lanes.
    pub lanes: Vec<String>,
    /// Labels that a worker must have.
    pub needs: Vec<String>,
    /// Tickets that it still waits for.
    pub waits_for: Vec<TicketId>,
    /// The term of its last claim; 0 if it was never claimed.
    pub term: Term,
    /// How often it was claimed. Never goes down.
    pub attempts: u32,
    /// How many of the attempts lost their worker.
    pub lost: u32,
    /// How many of the attempts were given back before an agent was started.
    pub released: u32,
    /// How many attempts there may be. Attempts that were given back do not count.
    pub max_attempts: u32,
    /// The worker that has it.
    pub worker: Option<WorkerId>,
    /// The end of its lease.
    pub lease_until: Option<Timestamp>,
    /// The cancellation, if one was ordered.
    pub cancel: Option<CancelRequest>,
    /// The outcome of a ticket that ended: `completed`, `refused`, `cancelled` or `failed`.
    pub outcome: Option<String>,
    /// The cause of the outcome: one of `run_end`'s, or `gave_up`, `lease_lost`, `predecessor_failed`.
    pub cause: Option<String>,
    /// The result of the last attempt (`lapidary.result/1`). Left out of lists.
    pub result: Option<Vec<u8>>,
    /// The submitter, for people.
    pub created_by: String,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When its last attempt began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The tokens and cost of its attempts that have ended.
    pub usage: AttemptUsage,
    /// Permission requests that wait for an answer.
    pub open_prompts: u32,
    /// The attempts, oldest first. Left out of lists.
    pub attempt_records: Vec<AttemptRecord>,
}

/// Which tickets a list has.
#[derive(Debug, Clone)]
pub struct TicketFilter {
    /// Only tickets in one of these states; all if empty.
    pub states: Vec<TicketState>,
    /// Only tickets in this lane.
    pub lane: Option<String>,
    /// Only tickets with this cause.
    pub cause: Option<String>,
    /// Only tickets older than this one: the last of the page before.
    pub before: Option<TicketId>,
    /// At most so many, the newest first.
    pub limit: u32,
}

impl Default for TicketFilter {
    fn default() -> Self {
        Self {
            states: Vec::new(),
            lane: None,
            cause: None,
            before: None,
            limit: 50,
        }
    }
}

/// The order to end a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelRequest {
    /// The person or program that gives the order.
    pub by: String,
    /// The reason, for people.
    pub why: Option<String>,
    /// Whether the agent is killed without the time to end by itself.
    pub now: bool,
}

/// The answer to a cancellation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelReply {
    /// The ticket had not begun, and is done.
    Done,
    /// Its worker is told; the ticket ends when the agent has ended.
    Ordered,
    /// It had ended before.
    AlreadyDone {
        /// Its outcome.
        outcome: String,
    },
    /// There is no such ticket.
    Unknown,
}

/// The answer to a repetition by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryReply {
    /// The ticket waits again, with as many attempts as it had at first.
    Waiting,
    /// It has not ended.
    NotDone(TicketState),
    /// There is no such ticket.
    Unknown,
}

/// A lane as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneRecord {
    /// Its name.
    pub name: String,
    /// How many of its tickets run.
    pub running: u32,
    /// How many may run.
    pub limit: Option<u32>,
    /// How many of its tickets wait.
    pub waiting: u32,
}

/// The fleet at a glance.
#[derive(Debug, Clone)]
pub struct FleetOverview {
    /// The store's clock.
    pub now: Timestamp,
    /// How many tickets are in each state. Tickets that ended are counted up to [`Self::COUNTED_DONE`].
    pub counts: Vec<(TicketState, u64)>,
    /// How long the ticket that waits longest has been claimable.
    pub oldest_waiting: Option<Duration>,
    /// Lanes in which a ticket runs or waits.
    pub lanes: Vec<LaneRecord>,
    /// Workers that were seen within the last day.
    pub workers: Vec<WorkerRecord>,
    /// Permission requests that wait for an answer.
    pub open_prompts: u32,
    /// The tokens and cost of ended attempts, for tickets that were submitted within the last day. At most as many attempts are
    /// added up as tickets are counted.
    pub last_day: AttemptUsage,
}

impl FleetOverview {
    /// Counting goes no further: a count of millions takes seconds.
    pub const COUNTED_DONE: u64 = 100_000;
}

/// The longest name of a lane or label, and the longest request key.
const LONGEST_NAME: usize = 200;

/// The most lanes, needs or predecessors of a ticket.
const MOST_NAMES: usize = 64;

/// Characters of a title.
const TITLE_LENGTH: usize = 120;

/// Refuses tickets that no store takes.
pub(crate) fn check_ticket(ticket: &NewTicket) -> Result<(), StoreError> {
    let refuse = |field, problem: String| Err(StoreError::BadRequest { field, problem });
    let checked = ticket.spec.check();
    if let Err(error) = checked.and_then(|()| check_size(&ticket.spec.to_bytes())) {
        return refuse("spec", format!("is refused: {error}"));
    }
    let lanes: Vec<&String> = ticket.lanes.iter().map(|lane| &lane.name).collect();
    let names = [
        ("lane", lanes),
        ("needs", ticket.needs.iter().collect()),
        ("request key", ticket.request_key.iter().collect()),
        ("agent", ticket.spec.agent.iter().collect()),
        ("created by", vec![&ticket.created_by]),
    ];
    for (field, names) in names {
        if names.len() > MOST_NAMES {
            return refuse(
                field,
                format!("has {} names; {MOST_NAMES} are accepted", names.len()),
            );
        }
        if names.iter().any(|name| !is_name(name)) {
            return refuse(
                field,
                format!("must have 1 to {LONGEST_NAME} printable characters"),
            );
        }
    }
    if ticket.after.len() > MOST_NAMES {
        return refuse("after", format!("has more than {MOST_NAMES} tickets"));
    }
    if let Some(lane) = ticket.lanes.iter().find(|lane| lane.limit == Some(0)) {
        return refuse(
            "lane",
            format!("`{}` has the limit 0: no ticket would run", lane.name),
        );
    }
    if ticket.max_attempts == 0 || ticket.max_attempts > 1000 {
        return refuse("max attempts", "must be between 1 and 1000".to_owned());
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let printable = name.chars().all(|letter| !letter.is_control());
    !name.trim().is_empty() && name.len() <= LONGEST_NAME && printable
}

/// The beginning of a prompt on one line.
pub(crate) fn ticket_title(prompt: &str) -> String {
    let words = prompt.split_whitespace();
    let mut title = String::new();
    for word in words {
        if !title.is_empty() {
            title.push(' ');
        }
        // PostgreSQL takes no NUL in a text.
        title.extend(
            word.chars()
                .filter(|letter| !letter.is_control())
                .take(TITLE_LENGTH),
        );
        if title.chars().count() > TITLE_LENGTH {
            return title.chars().take(TITLE_LENGTH).chain(['…']).collect();
        }
    }
    title
}
