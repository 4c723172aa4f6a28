//! The agent's list of sessions: which of them was used last.

use std::path::Path;

use lapidary_json::Token;
use lapidary_vocab::Json;

use super::AcpClient;
use crate::error::RequestError;

/// How many pages of a list of sessions are read.
const MOST_PAGES: usize = 50;

impl AcpClient {
    /// The id of the session that was used last in a directory. Lists are read page by page, to the end or as far as is
    /// reasonable.
    pub async fn latest_session(&self, cwd: &Path) -> Result<Option<String>, RequestError> {
        let mut newest: Option<DatedSession> = None;
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page = self.list_sessions(Some(cwd), cursor.as_deref());
            let page = page.await?.result;
            let found = newest_of(&page);
            // Of two at the same time, the first in the list counts.
            if newest.is_none() || found.as_ref().map(|it| &it.0) > newest.as_ref().map(|it| &it.0)
            {
                newest = found;
            }
            let next = next_page(&page);
            if next.is_none() || next == cursor {
                break;
            }
            cursor = next;
        }
        Ok(newest.map(|(_, id)| id))
    }
}

/// When a session was last used, and its id.
type DatedSession = (String, String);

/// The session with the greatest time. Times of one agent are written alike.
fn newest_of(listed: &Json) -> Option<DatedSession> {
    let sessions = listed.token().get("sessions")?.elements();
    let text = |session: Token<'_>, name| Some(session.get(name)?.string()?.into_owned());
    let dated = sessions.filter_map(|session| {
        let id = text(session, "sessionId")?;
        Some((text(session, "updatedAt").unwrap_or_default(), id))
    });
    dated.max_by(|one, other| one.0.cmp(&other.0))
}

fn next_page(listed: &Json) -> Option<String> {
    let cursor = listed.token().get("nextCursor")?.string()?;
    Some(cursor.into_owned()).filter(|cursor| !cursor.is_empty())
}
