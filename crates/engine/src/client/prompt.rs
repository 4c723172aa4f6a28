//! Permission prompts: the questions to a person or a client program, and their answers.

use lapidary_vocab::event::{DecidedBy, PermissionRequest};
use lapidary_vocab::{Json, Text};
use tokio::sync::{mpsc, oneshot};

use crate::policy::{Decision, PermissionEffect, StandingAnswer, ToolAction};

/// The attendant that answers permission prompts.
#[derive(Debug, Clone, Default)]
pub enum PromptAttendant {
    /// No attendant: an action that needs a prompt is denied, with a reason.
    #[default]
    Nobody,
    /// A person, through the reader of this channel.
    Somebody(mpsc::UnboundedSender<PermissionPrompt>),
    /// The program that gives the commands.
    Peer,
}

/// A request of the agent that a person or a client has to decide.
#[derive(Debug)]
pub struct PermissionPrompt {
    /// The agent's request, as its event reports it.
    pub request: PermissionRequest,
    /// The session that it is about.
    pub session_id: Text,
    /// The effect that the call would have, as it was judged.
    pub action: ToolAction,
    /// The options that the agent offers: an array, or nothing.
    pub options: Option<Json>,
    /// Why it is asked.
    pub reason: String,
    /// Where the answer goes. If it is dropped, that is a no.
    pub reply: oneshot::Sender<PermissionAnswer>,
}

/// The answer to a permission prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionAnswer {
    /// Whether it may.
    pub allowed: bool,
    /// The agent's option, if the answer names one.
    pub option_id: Option<String>,
    /// Whether the answer holds for the rest of the run, where a [`StandingAnswer`] can express its scope.
    pub is_for_run: bool,
    /// The reason, for the agent.
    pub reason: Option<String>,
    /// The source of the answer.
    pub by: DecidedBy,
}

impl PermissionAnswer {
    /// The program that runs the agent allows the request, this once.
    pub fn allow() -> Self {
        Self {
            allowed: true,
            option_id: None,
            is_for_run: false,
            reason: None,
            by: DecidedBy::Peer,
        }
    }

    /// The program that runs the agent denies the request. The agent gets the reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            allowed: false,
            reason: Some(reason.into()),
            ..Self::allow()
        }
    }

    /// The actions that the answer allows for the rest of the run.
    pub(crate) fn standing_answer(&self, action: &ToolAction) -> Option<StandingAnswer> {
        let is_meant = self.allowed && self.is_for_run;
        is_meant
            .then(|| StandingAnswer::from_policy(action))
            .flatten()
    }

    /// The answer as a decision.
    pub(crate) fn to_decision(&self, standing: Option<&StandingAnswer>) -> Decision {
        if let Some(standing) = standing {
            let reason = format!("the user allowed {standing} for this run");
            return Decision {
                is_for_run: true,
                ..Decision::new(PermissionEffect::Allow, self.by.clone(), reason)
            };
        }
        let (effect, usual) = if self.allowed {
            (PermissionEffect::Allow, "the user allowed it")
        } else {
            (PermissionEffect::Deny, "the user denied it")
        };
        let reason = self.reason.as_deref().unwrap_or(usual);
        Decision::new(effect, self.by.clone(), reason)
    }
}
