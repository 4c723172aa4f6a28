//! Records of sub-agents in the session's own file, as versions before 2.0 write them.
//!
//! Nothing in them names the call. The first record of a sub-agent has the prompt of its call and no parent; the others lead back
//! to it.

use std::collections::HashMap;

use lapidary_json::Token;
use lapidary_vocab::Text;
use lapidary_wire::claude::session::ClaudeRecord;

/// The sub-agents of a file and the calls that started them.
#[derive(Debug, Default)]
pub(super) struct SidechainIndex {
    /// Calls that start a sub-agent, with its prompt.
    calls: Vec<(Text, String)>,
    /// The call of each record of a sub-agent.
    records: HashMap<String, Text>,
}

/// A record of a sub-agent in the session's file.
#[derive(Debug, PartialEq)]
pub(super) enum SidechainRecord {
    /// The first one, which repeats the prompt of this call.
    First(Text),
    /// One that belongs to this call.
    Later(Text),
    /// A record whose call is unknown.
    Unclear,
}

impl SidechainIndex {
    /// Notes a call that starts a sub-agent.
    pub(super) fn note_call(&mut self, id: &Text, prompt: Option<Token<'_>>) {
        let prompt = prompt.and_then(Token::string).unwrap_or_default();
        self.calls.push((id.clone(), prompt.into_owned()));
    }

    /// The call of a record. `said` is its text.
    pub(super) fn place_record(
        &mut self,
        record: &ClaudeRecord<'_>,
        said: &str,
    ) -> SidechainRecord {
        let parent = record.parent_uuid.and_then(Token::string);
        let found = if let Some(parent) = parent {
            let call = self.records.get(&*parent).cloned();
            call.map(SidechainRecord::Later)
        } else {
            let known = self.calls.iter().rposition(|(_, prompt)| prompt == said);
            // One call starts one sub-agent.
            known.map(|at| SidechainRecord::First(self.calls.remove(at).0))
        };
        let uuid = record.uuid.and_then(Token::string);
        if let Some(SidechainRecord::First(call) | SidechainRecord::Later(call)) = &found
            && let Some(uuid) = uuid
        {
            self.records.insert(uuid.into_owned(), call.clone());
        }
        found.unwrap_or(SidechainRecord::Unclear)
    }
}
