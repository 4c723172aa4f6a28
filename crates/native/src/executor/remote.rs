//! Remote agents in the place of local ones: the same activities, the same outcome.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::activity::ActivityKind;
use super::{ActivityListener, AgentActivity, AgentOutcome, TerminateReason};
use crate::a2a::{RemoteAgent, RemoteError, RemotePrompt};

/// A prompt for a remote agent.
#[derive(Debug, Clone)]
pub struct RemoteCall {
    /// The agent.
    pub agent: Arc<RemoteAgent>,
    /// The words.
    pub prompt: String,
    /// The session of the caller: prompts of one session are one conversation.
    pub session: String,
    /// The id of this run of the agent.
    pub agent_id: String,
}

impl RemoteCall {
    /// Asks the agent, and tells its text as it comes. There is always an outcome.
    pub async fn run(
        &self,
        parent_call_id: Option<&Arc<str>>,
        listener: &ActivityListener<'_>,
        cancelled: &CancellationToken,
    ) -> AgentOutcome {
        let started = Instant::now();
        let name: Arc<str> = Arc::from(self.agent.name());
        let tell = |text: &str| {
            listener(AgentActivity {
                agent: Arc::clone(&name),
                parent_call_id: parent_call_id.cloned(),
                kind: ActivityKind::Text(text.to_owned()),
            });
        };
        let prompt = RemotePrompt {
            text: &self.prompt,
            session: &self.session,
        };
        let mut outcome = match self.agent.ask(prompt, &tell, cancelled).await {
            Ok(answer) => AgentOutcome {
                output: Some(answer.text.as_str().into()),
                is_streamed: true,
                ..AgentOutcome::new(TerminateReason::Goal, answer.text)
            },
            Err(error) => failed_outcome(&error),
        };
        outcome.turn_count = 1;
        outcome.duration = started.elapsed();
        outcome
    }
}

fn failed_outcome(error: &RemoteError) -> AgentOutcome {
    let reason = match error {
        RemoteError::Cancelled => TerminateReason::Aborted,
        RemoteError::TimedOut { .. } => TerminateReason::Timeout,
        _ => TerminateReason::Error,
    };
    AgentOutcome {
        remote_error: Some(error.clone()),
        ..AgentOutcome::new(reason, error.to_string())
    }
}
