//! A document that `opencode export` printed, as rows.

use lapidary_json::{Token, compact};
use lapidary_wire::opencode::is_export;

use super::{MessageRows, OpencodeRows, RowsError};

/// A document that `opencode export` printed. It has one session, without those of sub-agents.
#[derive(Debug, Clone)]
pub struct ExportDocument {
    id: String,
    session: String,
    messages: Vec<MessageRows>,
}

impl ExportDocument {
    /// Reads a document; none if the text is another one.
    pub fn parse(text: &str) -> Option<Self> {
        let document = Token::parse(text).ok()?;
        if !is_export(document) {
            return None;
        }
        let info = document.get("info")?;
        let messages = document.get("messages")?.elements().map(|message| {
            let parts = message.get("parts").into_iter().flat_map(Token::elements);
            MessageRows {
                message: compact(message.get("info").unwrap_or(message)).into_owned(),
                parts: parts.map(|part| compact(part).into_owned()).collect(),
                unread: Vec::new(),
            }
        });
        Some(Self {
            id: info.get("id")?.string()?.into_owned(),
            session: compact(info).into_owned(),
            messages: messages.collect(),
        })
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl OpencodeRows for ExportDocument {
    fn session(&self, id: &str) -> Result<Option<String>, RowsError> {
        Ok((id == self.id).then(|| self.session.clone()))
    }

    fn each_message(
        &self,
        session_id: &str,
        take: &mut dyn FnMut(MessageRows),
    ) -> Result<(), RowsError> {
        if session_id == self.id {
            self.messages.iter().cloned().for_each(take);
        }
        Ok(())
    }
}
