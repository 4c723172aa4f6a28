//! Messages that stand in several sessions, each counted once.
//!
//! A session of Claude Code that was forked begins with the records of the other, and a side question repeats those of its session
//! under other request ids. ccusage counts them in the same way: one message id with one request id is one response, the record with
//! the most tokens counts, and a record of the session counts before one of a sidechain.

use crate::by_hash::ByHash;
use crate::usage_notes::{NoteKind, NotedMessage, ResponseKey, UsageNotes};

/// The place of a message: its session and its number in it.
type MessagePlace = (usize, usize);

/// The messages that were seen, by their keys.
#[derive(Default)]
struct SeenResponses {
    exact: ByHash<MessagePlace>,
    /// By the id that the model gave, which requests share.
    by_message: ByHash<MessagePlace>,
}

/// Marks messages that another session has, too. They count for the session that ended first.
pub(super) fn mark_repeated(sessions: &mut [UsageNotes]) {
    sessions.sort_by_cached_key(|notes| {
        let ended = notes.messages.iter().filter_map(|it| it.time).max();
        (ended, notes.session.clone())
    });
    let mut seen = SeenResponses::default();
    seen.exact
        .reserve(sessions.iter().map(|notes| notes.messages.len()).sum());
    for session in 0..sessions.len() {
        for place in 0..sessions[session].messages.len() {
            let candidate = sessions[session].messages[place];
            let Some(key) = candidate.response else {
                continue;
            };
            let Some((at, number)) = seen.find(&key, sessions) else {
                seen.insert(&key, (session, place));
                continue;
            };
            seen.exact.insert(key.exact, (at, number));
            let known = &mut sessions[at].messages[number];
            if is_better(&candidate, known) {
                known.tokens = candidate.tokens;
                known.response = candidate.response;
            }
            sessions[session].messages[place].kind = NoteKind::Repeated;
        }
    }
}

impl SeenResponses {
    fn find(&self, key: &ResponseKey, sessions: &[UsageNotes]) -> Option<MessagePlace> {
        if let Some(place) = self.exact.get(&key.exact) {
            return Some(*place);
        }
        let place = *self.by_message.get(&key.message?)?;
        let known = sessions[place.0].messages[place.1].response;
        let is_sidechain = key.is_sidechain || known.is_some_and(|known| known.is_sidechain);
        is_sidechain.then_some(place)
    }

    fn insert(&mut self, key: &ResponseKey, place: MessagePlace) {
        self.exact.insert(key.exact, place);
        if let Some(message) = key.message {
            self.by_message.entry(message).or_insert(place);
        }
    }
}

fn is_better(candidate: &NotedMessage, known: &NotedMessage) -> bool {
    let is_sidechain = |note: &NotedMessage| note.response.is_some_and(|key| key.is_sidechain);
    match (is_sidechain(candidate), is_sidechain(known)) {
        (true, false) => false,
        (false, true) => true,
        _ => total(candidate) > total(known),
    }
}

fn total(note: &NotedMessage) -> u64 {
    note.tokens.map_or(0, |tokens| tokens.total)
}
