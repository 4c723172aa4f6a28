//! The tree of a session's records: which of them belong to the conversation as it stands.
//!
//! The conversation is the path from the last record back to the first. Records beside that path are not all abandoned: the
//! results of parallel calls each hang from their own call, and only one of them is on the path (2.1.312). So a record is
//! abandoned only if a prompt is between it and the path: the user took that prompt back and wrote another. A branch that
//! does not lead to the path at all, because a parent is missing or parents form a circle, is kept.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use lapidary_json::Token;

use super::ClaudeRecord;

/// What becomes of a record in the conversation as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFate {
    /// It belongs to the conversation, or is no part of one.
    Kept,
    /// It follows a prompt that the user took back.
    Abandoned,
    /// The same record stands in the file before.
    Repeated,
}

/// The links of a session's records. Records are added in their order, and known by their number from 0.
#[derive(Debug, Default)]
pub struct SessionTree {
    nodes: Vec<TreeNode>,
    places: HashMap<Box<str>, usize>,
    last: Option<usize>,
}

#[derive(Debug)]
struct TreeNode {
    parent: Option<Box<str>>,
    is_prompt: bool,
    is_repeated: bool,
    fingerprint: u64,
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

impl SessionTree {
    /// Adds the next record, with the line that it stands in.
    pub fn add(&mut self, record: &ClaudeRecord<'_>, line: &str) {
        let mut node = TreeNode {
            parent: text(record.parent_uuid.or(record.logical_parent_uuid)),
            is_prompt: record.is_prompt(),
            is_repeated: false,
            fingerprint: fingerprint(line),
        };
        let place = self.nodes.len();
        if let Some(uuid) = text(record.uuid) {
            let known = self.places.get(&uuid).map(|at| &self.nodes[*at]);
            node.is_repeated = known.is_some_and(|known| known.fingerprint == node.fingerprint);
            if !node.is_repeated {
                self.places.insert(uuid, place);
                self.last = (!record.is_sidechain).then_some(place).or(self.last);
            }
        }
        self.nodes.push(node);
    }

    /// What becomes of each record.
    pub fn fates(self) -> Vec<RecordFate> {
        let mut ends = vec![None; self.nodes.len()];
        let mut at = self.last;
        while let Some(place) = at.filter(|place| ends[*place].is_none()) {
            ends[place] = Some(BranchEnd::OnPath);
            at = self.parent(place);
        }
        for place in 0..self.nodes.len() {
            self.follow(place, &mut ends);
        }
        let nodes = self.nodes.iter().zip(ends);
        nodes.map(|(node, end)| fate(node, end)).collect()
    }

    /// Walks up from a record until an end is known, and notes the end of each record on the way.
    fn follow(&self, from: usize, ends: &mut [Option<BranchEnd>]) {
        let mut way = Vec::new();
        let mut at = Some(from);
        while let Some(place) = at.filter(|place| ends[*place].is_none()) {
            // Noted before the end is known: a circle leads here again, and nowhere else.
            ends[place] = Some(BranchEnd::Apart);
            way.push(place);
            at = self.parent(place);
        }
        let mut end = at.and_then(|place| ends[place]).unwrap_or(BranchEnd::Apart);
        while let Some(place) = way.pop() {
            if self.nodes[place].is_prompt && end == BranchEnd::OnPath {
                end = BranchEnd::Abandoned;
            }
            ends[place] = Some(end);
        }
    }

    fn parent(&self, place: usize) -> Option<usize> {
        let parent = self.nodes[place].parent.as_ref()?;
        self.places.get(parent).copied()
    }
}

fn fate(node: &TreeNode, end: Option<BranchEnd>) -> RecordFate {
    match end {
        _ if node.is_repeated => RecordFate::Repeated,
        Some(BranchEnd::Abandoned) => RecordFate::Abandoned,
        _ => RecordFate::Kept,
    }
}

fn text(token: Option<Token<'_>>) -> Option<Box<str>> {
    token
        .and_then(Token::string)
        .map(|text| text.as_ref().into())
}

fn fingerprint(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}
