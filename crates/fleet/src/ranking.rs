//! The order in which kinds of tickets are served: the same for each store.
//!
//! Tickets with the same lanes and the same needs are of one *kind*. The head of each kind is one probe of an index, so a claim costs
//! by the number of kinds that wait, not by the number of tickets: a full lane with a million tickets is one kind to skip.

use std::cmp::Reverse;

use crate::NewTicket;

/// The first ticket of a kind that could be claimed.
#[derive(Debug, Clone)]
pub(crate) struct KindHead {
    /// The kind.
    pub(crate) kind: i64,
    pub(crate) lanes: Vec<String>,
    pub(crate) needs: Vec<String>,
    /// When a ticket of this kind was claimed last; any unit, 0 if never.
    pub(crate) last_claim: i64,
    pub(crate) priority: i16,
    /// When the ticket was claimable first; the same unit.
    pub(crate) not_before: i64,
    pub(crate) ticket: String,
}

/// The kinds that a worker with these labels may serve, in the order in which it tries them: priority, then the kind that was served
/// longest ago, then age.
pub(crate) fn rank_kinds(mut heads: Vec<KindHead>, labels: &[String]) -> Vec<KindHead> {
    heads.retain(|head| head.needs.iter().all(|need| labels.contains(need)));
    heads.sort_by(|one, other| {
        let key = |head: &KindHead| (Reverse(head.priority), head.last_claim, head.not_before);
        (key(one), &one.ticket).cmp(&(key(other), &other.ticket))
    });
    heads
}

/// The lanes of a ticket, sorted: locks are taken in this order.
pub(crate) fn lane_names(ticket: &NewTicket) -> Vec<String> {
    let names = ticket.lanes.iter().map(|lane| lane.name.clone());
    sorted_set(names)
}

/// The needs of a ticket, sorted.
pub(crate) fn need_names(ticket: &NewTicket) -> Vec<String> {
    sorted_set(ticket.needs.iter().cloned())
}

fn sorted_set(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The key of a kind: its lanes and needs as JSON.
pub(crate) fn kind_key(lanes: &[String], needs: &[String]) -> String {
    serde_json::to_string(&(lanes, needs)).expect("lists of texts are JSON")
}

/// How many tickets may be taken from the first kind at once: all, unless another kind of the same priority waits as well.
pub(crate) fn batch_size(ranked: &[KindHead], wanted: u32) -> u32 {
    match ranked {
        [first, second, ..] if first.priority == second.priority => 1,
        _ => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: i64, priority: i16, last_claim: i64, needs: &[&str]) -> KindHead {
        KindHead {
            kind,
            lanes: Vec::new(),
            needs: needs.iter().map(ToString::to_string).collect(),
            last_claim,
            priority,
            not_before: 0,
            ticket: String::new(),
        }
    }

    #[test]
    fn priority_comes_first_then_the_kind_that_waited_longest() {
        let heads = vec![
            head(1, 0, 5, &[]),
            head(2, 0, 3, &["gpu"]),
            head(3, 0, 9, &[]),
            head(4, 1, 8, &[]),
        ];
        let kinds = |labels: &[&str]| {
            let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
            let ranked = rank_kinds(heads.clone(), &labels);
            ranked.iter().map(|head| head.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&[]), [4, 1, 3]);
        assert_eq!(kinds(&["gpu", "os:linux"]), [4, 2, 1, 3]);
    }
}
