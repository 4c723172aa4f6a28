//! The tree of a session's records: which of them belong to the conversation as it stands. Claude Code and Qwen Code write such
//! records: each has a `uuid`, and `parentUuid` names the one before it.
//!
//! The conversation is the path from the last record back to the first. Records beside that path are not all abandoned: the
//! results of parallel calls each hang from their own call, and only one of them is on the path (2.1.312). So a record is
//! abandoned only if a prompt is between it and the path: the user took that prompt back and wrote another. A branch that
//! does not lead to the path at all, because a parent is missing or parents form a circle, is kept.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lapidary_json::Token;

/// The fate of a record in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFate {
    /// It belongs to the conversation, or is no part of one.
    Kept,
    /// Kept, though its parents lead back to itself: nothing shows whether it was taken back.
    InCircle,
    /// It follows a prompt that the user took back.
    Abandoned,
    /// The same record stands in the file before.
    Repeated,
}

/// The members of a record that make the tree.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecordLink<'a> {
    /// The record's id. A record without one stands outside of the tree.
    pub uuid: Option<Token<'a>>,
    /// The record before it.
    pub parent: Option<Token<'a>>,
    /// True for words of the user.
    pub is_prompt: bool,
    /// True for a record of a sub-agent, with which no conversation ends.
    pub is_sidechain: bool,
}

/// The links of a session's records. Records are added in their order, and known by their number from 0.
///
/// Ids are kept as fingerprints: a session file of a gigabyte has a million of them.
#[derive(Debug, Default)]
pub struct RecordTree {
    nodes: Vec<TreeNode>,
    places: HashMap<u64, u32>,
    last: Option<usize>,
}

#[derive(Debug)]
struct TreeNode {
    parent: Option<u64>,
    fingerprint: u64,
    is_prompt: bool,
    is_repeated: bool,
}

/// Where the branch of a record leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchEnd {
    /// To the path, without a prompt in between.
    OnPath,
    /// To the path, by a prompt that is not on it.
    Abandoned,
    /// To no record of the path.
    Apart,
}

impl RecordTree {
    /// Adds the next record, with its text. Returns whether it is a new one, and not the same once more.
    pub fn add(&mut self, link: &RecordLink<'_>, text: &str) -> bool {
        let mut node = TreeNode {
            parent: id_fingerprint(link.parent),
            fingerprint: fingerprint(text),
            is_prompt: link.is_prompt,
            is_repeated: false,
        };
        let place = self.nodes.len();
        if let Some(uuid) = id_fingerprint(link.uuid) {
            let known = self.places.get(&uuid).map(|at| &self.nodes[*at as usize]);
            node.is_repeated = known.is_some_and(|known| known.fingerprint == node.fingerprint);
            if !node.is_repeated {
                // A file of four thousand million records is not read to its end in any case.
                self.places
                    .insert(uuid, u32::try_from(place).unwrap_or(u32::MAX));
                self.last = (!link.is_sidechain).then_some(place).or(self.last);
            }
        }
        let is_new = !node.is_repeated;
        self.nodes.push(node);
        is_new
    }

    /// The fate of each record.
    pub fn fates(self) -> Vec<RecordFate> {
        let mut ends = vec![None; self.nodes.len()];
        let mut at = self.last;
        while let Some(place) = at.filter(|place| ends[*place].is_none()) {
            ends[place] = Some(BranchEnd::OnPath);
            at = self.parent(place);
        }
        let mut in_circle = vec![false; self.nodes.len()];
        self.mark_circle(at, &mut in_circle);
        for place in 0..self.nodes.len() {
            self.follow(place, &mut ends, &mut in_circle);
        }
        let nodes = self.nodes.iter().zip(ends).zip(in_circle);
        let fates = nodes.map(|((node, end), in_circle)| fate(node, end, in_circle));
        fates.collect()
    }

    /// Marks the records of the circle that a record is in.
    fn mark_circle(&self, from: Option<usize>, in_circle: &mut [bool]) {
        let mut at = from;
        while let Some(place) = at.filter(|place| !in_circle[*place]) {
            in_circle[place] = true;
            at = self.parent(place);
        }
    }

    /// Walks up from a record until an end is known, and notes the end of each record on the way.
    fn follow(&self, from: usize, ends: &mut [Option<BranchEnd>], in_circle: &mut [bool]) {
        let mut way = Vec::new();
        let mut at = Some(from);
        while let Some(place) = at.filter(|place| ends[*place].is_none()) {
            // Noted before the end is known: a circle leads here again, and nowhere else.
            ends[place] = Some(BranchEnd::Apart);
            way.push(place);
            at = self.parent(place);
        }
        self.mark_circle(at.filter(|place| way.contains(place)), in_circle);
        let mut end = at.and_then(|place| ends[place]).unwrap_or(BranchEnd::Apart);
        while let Some(place) = way.pop() {
            if self.nodes[place].is_prompt && end == BranchEnd::OnPath {
                end = BranchEnd::Abandoned;
            }
            ends[place] = Some(end);
        }
    }

    fn parent(&self, place: usize) -> Option<usize> {
        let parent = self.nodes[place].parent?;
        self.places.get(&parent).map(|place| *place as usize)
    }
}

fn fate(node: &TreeNode, end: Option<BranchEnd>, in_circle: bool) -> RecordFate {
    match end {
        _ if node.is_repeated => RecordFate::Repeated,
        _ if in_circle => RecordFate::InCircle,
        Some(BranchEnd::Abandoned) => RecordFate::Abandoned,
        _ => RecordFate::Kept,
    }
}

fn id_fingerprint(id: Option<Token<'_>>) -> Option<u64> {
    id.and_then(Token::string).map(|id| fingerprint(&id))
}

fn fingerprint(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}
