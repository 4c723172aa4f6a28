//! opencode's words in ours.

mod calls;
mod export_document;
pub mod session_events;

pub use export_document::ExportDocument;

use std::error::Error;

/// A message and its parts, each as the JSON text of its row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageRows {
    /// The row of the message; empty if it cannot be read.
    pub message: String,
    /// The rows of its parts, in order.
    pub parts: Vec<String>,
    /// A sentence for each row that cannot be read.
    pub unread: Vec<String>,
}

/// Why rows cannot be read.
pub type RowsError = Box<dyn Error + Send + Sync>;

/// Where the rows of sessions come from.
pub trait OpencodeRows {
    /// The row of a session; none if there is no such session.
    fn session(&self, id: &str) -> Result<Option<String>, RowsError>;

    /// Hands on the messages of a session, in order.
    fn each_message(
        &self,
        session_id: &str,
        take: &mut dyn FnMut(MessageRows),
    ) -> Result<(), RowsError>;
}
