//! Closing and deleting sessions. A running turn is ended first.

use lapidary_vocab::Text;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use super::executor::CommandExecutor;
use super::results::{CommandOutcome, answered_outcome, require_offered};

impl CommandExecutor {
    pub(super) async fn close_session(&self, id: &Text) -> CommandOutcome {
        let id = self.note_session(id);
        require_offered(self.terms.agent.offered.close, "session/close")?;
        let _turn = self.end_turn(&id).await;
        let closed = answered_outcome(self.state.client.close_session(&id).await)?;
        self.forget_session(&id).await;
        Ok(closed)
    }

    pub(super) async fn delete_session(&self, id: &Text) -> CommandOutcome {
        let id = self.note_session(id);
        require_offered(self.terms.agent.offered.delete, "session/delete")?;
        let _turn = self.end_turn(&id).await;
        let deleted = answered_outcome(self.state.client.delete_session(&id).await)?;
        self.forget_session(&id).await;
        Ok(deleted)
    }

    /// Asks the agent to end the turn, and gives it a grace period. No other turn begins while the returned guard is held. `None`
    /// if the session is unknown, or if the agent did not end its turn in time: its prompt fails when the session is forgotten.
    async fn end_turn(&self, session: &str) -> Option<OwnedMutexGuard<()>> {
        self.state.lock_table().get(session)?;
        self.cancel_turn(session);
        let queue = self.queues.queue_for(session);
        timeout(self.grace, queue.wait_until_free()).await.ok()
    }

    /// Forgets a session. Commands that still wait for it have failed.
    pub(super) async fn forget_session(&self, session: &str) {
        if let Some(hooks) = &self.state.hooks {
            hooks.session_ends(session).await;
        }
        self.state.lock_table().forget_session(session);
        self.queues.forget_session(session);
        self.state.workspace.close_session(session).await;
    }
}
