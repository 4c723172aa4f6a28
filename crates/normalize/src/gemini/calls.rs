//! The calls that have not been answered yet.

use lapidary_json::Token;
use lapidary_vocab::Text;

/// How many calls may be open at once. Real runs have a handful; an agent that opens more without ever answering does not get
/// more of our memory, and the oldest is forgotten.
const MOST_OPEN: usize = 1024;

/// A call that was announced.
#[derive(Debug)]
pub(crate) struct OpenCall {
    id: String,
    pub(crate) locations: Vec<Text>,
}

/// The open calls, oldest first.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(Vec<OpenCall>);

impl OpenCalls {
    /// Remembers a call: only what its result will need, never the line it stood on.
    pub(crate) fn open(&mut self, id: Token<'_>, locations: &[Text]) {
        if self.0.len() == MOST_OPEN {
            self.0.remove(0);
        }
        self.0.push(OpenCall {
            id: id.as_str().to_owned(),
            locations: locations.to_vec(),
        });
    }

    pub(crate) fn close(&mut self, id: Token<'_>) -> Option<OpenCall> {
        let place = self.0.iter().rposition(|call| call.id == id.as_str())?;
        Some(self.0.remove(place))
    }
}
