//! How a run ended.

use crate::open_enum::open_enum;

open_enum! {
    /// How a run ended, in one word.
    pub enum Outcome {
        /// The agent did its turn and said so.
        Completed = "completed",
        /// The model or a policy refused.
        Refused = "refused",
        /// The run was stopped.
        Cancelled = "cancelled",
        /// Any other failure: see the cause.
        Failed = "failed",
    }
}

open_enum! {
    /// Why a run ended as it did.
    pub enum Cause {
        /// The turn came to its end.
        EndTurn = "end_turn",
        /// The model refused.
        Refusal = "refusal",
        /// A policy denied an action that the run needed.
        PermissionDenied = "permission_denied",
        /// The client cancelled.
        CancelledByClient = "cancelled_by_client",
        /// The limit of turns was reached.
        MaxTurns = "max_turns",
        /// The limit of tokens was reached.
        MaxTokens = "max_tokens",
        /// The agent noticed that it went in circles.
        LoopDetected = "loop_detected",
        /// A budget of ours was used up, or could not be checked.
        Budget = "budget",
        /// The answer does not fit the schema that the caller gave.
        SchemaMismatch = "schema_mismatch",
        /// The API's rate limit; trying again later helps.
        QuotaRetryable = "quota_retryable",
        /// The account's quota is used up.
        QuotaTerminal = "quota_terminal",
        /// The agent's process died.
        AgentCrashed = "agent_crashed",
        /// The stream ended without a result.
        NoResult = "no_result",
        /// The model returned nothing.
        EmptyResponse = "empty_response",
        /// The agent broke its protocol.
        ProtocolError = "protocol_error",
        /// The lease on the run ended, as in a fleet whose database was out of reach: another worker may have the ticket.
        LeaseLost = "lease_lost",
        /// No first line in time.
        TimeoutStart = "timeout_start",
        /// No line for too long.
        TimeoutIdle = "timeout_idle",
        /// The run as a whole took too long.
        TimeoutTotal = "timeout_total",
        /// The input was refused.
        BadInput = "bad_input",
        /// The configuration was refused.
        BadConfig = "bad_config",
        /// The sandbox could not be set up.
        Sandbox = "sandbox",
        /// The folder is not trusted.
        UntrustedFolder = "untrusted_folder",
        /// No account is signed in, or the key is wrong.
        AuthRequired = "auth_required",
        /// The agent is not installed.
        AgentMissing = "agent_missing",
        /// The agent could not be started.
        SpawnFailed = "spawn_failed",
        /// The model's API failed.
        ApiError = "api_error",
        /// A tool failed so badly that the agent gave up.
        ToolFatal = "tool_fatal",
        /// A fault of ours.
        Internal = "internal",
    }
}

impl Cause {
    /// The outcome that goes with this cause.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::EndTurn => Outcome::Completed,
            Self::Refusal | Self::PermissionDenied => Outcome::Refused,
            Self::CancelledByClient => Outcome::Cancelled,
            _ => Outcome::Failed,
        }
    }

    /// What `lapidary run` exits with. The one table: `exitCode` of `run_end`, of the result and of `run.json` comes from here, too.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::EndTurn => 0,
            Self::AgentMissing | Self::SpawnFailed => 10,
            Self::AuthRequired => 11,
            Self::UntrustedFolder => 12,
            Self::BadInput | Self::BadConfig | Self::Sandbox => 13,
            Self::TimeoutStart | Self::TimeoutIdle | Self::TimeoutTotal => 14,
            Self::AgentCrashed
            | Self::NoResult
            | Self::EmptyResponse
            | Self::ProtocolError
            | Self::LeaseLost => 15,
            Self::QuotaRetryable | Self::QuotaTerminal => 16,
            Self::MaxTurns | Self::MaxTokens | Self::LoopDetected | Self::Budget => 17,
            Self::Refusal | Self::PermissionDenied => 18,
            Self::SchemaMismatch => 19,
            Self::CancelledByClient => 130,
            Self::ApiError | Self::ToolFatal | Self::Internal | Self::Other(_) => 1,
        }
    }

    /// The cause in words, for when nothing better is known.
    pub fn described(&self) -> &str {
        match self {
            Self::EndTurn => "the turn came to its end",
            Self::Refusal => "the model refused",
            Self::PermissionDenied => "a policy denied what the run needed",
            Self::CancelledByClient => "the run was cancelled",
            Self::MaxTurns => "the limit of turns was reached",
            Self::MaxTokens => "the limit of tokens was reached",
            Self::LoopDetected => "the agent went in circles and was stopped",
            Self::Budget => "the budget ended the run",
            Self::SchemaMismatch => "the answer does not fit the output schema",
            Self::QuotaRetryable => "the API's rate limit was hit",
            Self::QuotaTerminal => "the account's quota is used up",
            Self::AgentCrashed => "the agent died",
            Self::NoResult => "the stream ended without a result",
            Self::EmptyResponse => "the model returned an empty response",
            Self::ProtocolError => "the agent broke its protocol",
            Self::LeaseLost => "the lease of the run ended",
            Self::TimeoutStart => "the agent said nothing in time",
            Self::TimeoutIdle => "the agent fell silent for too long",
            Self::TimeoutTotal => "the run took too long",
            Self::BadInput => "the input was refused",
            Self::BadConfig => "the configuration was refused",
            Self::Sandbox => "the sandbox could not be set up",
            Self::UntrustedFolder => "the folder is not trusted",
            Self::AuthRequired => "the agent is not signed in",
            Self::AgentMissing => "the agent is not installed",
            Self::SpawnFailed => "the agent could not be started",
            Self::ApiError => "the model's API failed",
            Self::ToolFatal => "a tool failed and the agent gave up",
            Self::Internal => "an internal error",
            Self::Other(word) => word,
        }
    }

    /// The user's next step, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AuthRequired => "run `gemini` once and sign in, or set GEMINI_API_KEY",
            Self::UntrustedFolder => {
                "trust the folder in `gemini`, or pass `--trust-workspace` for this run only"
            }
            Self::MaxTurns => "raise `model.maxSessionTurns` in settings.json",
            Self::QuotaRetryable => "wait a little and try again",
            Self::QuotaTerminal => "wait for the quota to reset, or use another account or model",
            Self::BadConfig => "check settings.json: the agent's own message names the place",
            Self::Sandbox => {
                "is the sandbox image there? GEMINI_SANDBOX_IMAGE names another; without --sandbox none is needed"
            }
            Self::LoopDetected => {
                "say more exactly what is wanted, or set `model.disableLoopDetection` in settings.json"
            }
            Self::SchemaMismatch => {
                "let it try again with `--schema-repairs N`, use a stronger model, or a simpler schema"
            }
            Self::Refusal => "the model would not answer: rephrase the prompt",
            Self::AgentMissing => "install it with `npm install -g @google/gemini-cli`",
            Self::EmptyResponse => "often transient: try again",
            Self::NoResult => {
                "it was interrupted, or its output was cut: nothing it reported is certain to be complete"
            }
            _ => return None,
        })
    }
}
