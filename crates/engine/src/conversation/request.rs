//! The request for a conversation: agent, workspace, policy and prompts.

use std::ffi::OsString;
use std::path::PathBuf;

use lapidary_vocab::Json;
use lapidary_vocab::event::Provider;

use crate::acp::LocalAgent;
use crate::agent_hooks::ConversationHooks;
use crate::agents::ModeWords;
use crate::client::PromptAttendant;
use crate::policy::Policy;
use crate::run;

/// An agent to talk to.
#[derive(Debug, Clone)]
pub struct ConversationRequest {
    /// How it is started, recorded and limited. Its `input` and its dialect are not used over ACP.
    pub run: run::RunRequest,
    /// The agent, if it runs in this process. Then the command of `run` is not started: it only describes the agent in the recording.
    pub local: Option<LocalAgent>,
    /// Its family.
    pub provider: Provider,
    /// The directories of its workspace, absolute. It works in the first.
    pub roots: Vec<PathBuf>,
    /// The variables of the terminals that it opens.
    pub environment: Vec<(OsString, OsString)>,
    /// MCP servers that it is to use, each as the protocol's schema has it.
    pub mcp_servers: Vec<Json>,
    /// Parameters for the agent when a session is opened, as its own extension of the protocol (`_meta`).
    pub session_meta: Option<Json>,
    /// The rules and the mode that decide its requests.
    pub policy: Policy,
    /// The person or client that answers where the policy asks.
    pub attendant: PromptAttendant,
    /// The hooks that are fired around it, if any.
    pub hooks: Option<ConversationHooks>,
    /// The method by which to log in, should that be needed.
    pub auth_method: Option<String>,
    /// The agent's names for our permission modes.
    pub modes: ModeWords,
    /// The model.
    pub model: Option<String>,
    /// Sent before the first prompt of each session that a client opens. The prompt of a [`PromptJob`] contains it already.
    pub system_prompt: Option<String>,
}

impl ConversationRequest {
    /// Whether the agent is one of our own that has an output schema as the schema of its result.
    pub(crate) fn takes_output_schema(&self) -> bool {
        let local = self.local.as_ref();
        local.is_some_and(LocalAgent::takes_output_schema)
    }

    /// Whether sessions are opened with the output schema: an agent of our own needs no instructions then.
    pub(crate) fn has_schema_in_session(&self) -> bool {
        let meta = self.session_meta.as_ref();
        let own = meta.and_then(|meta| meta.token().get("lapidary")?.get("outputSchema"));
        own.is_some() && self.takes_output_schema()
    }
}

/// One prompt in one session.
#[derive(Debug, Clone)]
pub struct PromptJob {
    /// Which session.
    pub opening: SessionChoice,
    /// The prompt: content blocks as the protocol's schema has them.
    pub prompt: Vec<Json>,
}

/// Which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new one.
    New,
    /// An earlier one, by its id: loaded or resumed, as the agent can.
    Again(String),
    /// The session that the agent lists as used last.
    Latest,
}
