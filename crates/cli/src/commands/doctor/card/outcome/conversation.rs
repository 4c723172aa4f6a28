//! The checks of prompts.

use lapidary::engine::acp::{PromptAnswer, RequestError};
use lapidary::vocab::doctor::{Card, CardCancel, CardTurn, Check, CheckName, CheckState};

use super::failed_check;
use crate::commands::doctor::card::model::SAID;
use crate::commands::doctor::card::offer::{clip_text, whole_milliseconds};
use crate::commands::doctor::card::turn::ObservedTurn;

/// Observations of a turn outside the connection.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands::doctor::card) struct SeenConversation {
    /// The mock model got the prompt.
    pub(in crate::commands::doctor::card) is_model_asked: bool,
    /// A request offers the model a shell.
    pub(in crate::commands::doctor::card) has_shell: bool,
    /// The command was run.
    pub(in crate::commands::doctor::card) was_run: bool,
}

/// The turn itself, permission and usage.
pub(in crate::commands::doctor::card) fn turn_checks(
    card: &mut Card,
    turn: &ObservedTurn,
    seen: SeenConversation,
) -> [Check; 3] {
    let prompted = match &turn.outcome {
        Ok(prompted) => prompted,
        Err(error) => {
            let check = failed_check(CheckName::AcpTurn, "a turn did not end as it should", error);
            let names = [CheckName::AcpPermission, CheckName::AcpUsage];
            let [permission, usage] =
                names.map(|name| Check::new(name, CheckState::Skipped, "no turn was completed"));
            return [check.took(turn.took), permission, usage];
        }
    };
    let facts = CardTurn {
        stop_reason: clip_text(&prompted.stop_reason.to_str()),
        model_asked: seen.is_model_asked,
        text_arrived: turn.text.contains(SAID),
        asks_before_shell: seen.has_shell.then_some(turn.asked),
        asks_before_read_only_shell: seen.has_shell.then_some(turn.asked_to_look),
        usage_in: turn.usage_in.iter().map(ToString::to_string).collect(),
    };
    let checks = [
        played_check(&facts, turn),
        permission_check(turn, seen),
        usage_check(&facts),
    ];
    card.turn = Some(facts);
    checks
}

fn played_check(facts: &CardTurn, turn: &ObservedTurn) -> Check {
    let check =
        |state, message: String| Check::new(CheckName::AcpTurn, state, message).took(turn.took);
    let reason = &facts.stop_reason;
    match (facts.model_asked, facts.text_arrived) {
        (true, true) if reason == "end_turn" => {
            let message = "a turn on the mock model ends with end_turn, and its text was received";
            check(CheckState::Ok, message.to_owned())
        }
        (true, true) => {
            let message =
                format!("the model's text came through, but the turn ended with {reason:?}");
            check(CheckState::Warning, message)
        }
        (true, false) => {
            let message =
                format!("what the model said did not come through; the turn ended with {reason:?}");
            check(CheckState::Problem, message).details([turn_summary(turn)])
        }
        (false, _) => {
            let message = format!(
                "a turn ends with {reason:?}, but the mock model was not called: how to point this agent at a model is not known"
            );
            check(CheckState::Unproven, message).details([turn_summary(turn)])
        }
    }
}

fn turn_summary(turn: &ObservedTurn) -> String {
    match turn.text.as_str() {
        "" => "it said nothing".to_owned(),
        text => format!("it said: {}", clip_text(text)),
    }
}

fn permission_check(turn: &ObservedTurn, seen: SeenConversation) -> Check {
    let check = |state, message: &str| Check::new(CheckName::AcpPermission, state, message);
    match (seen.has_shell, turn.asked, seen.was_run) {
        (true, true, true) if turn.asked_to_look => check(
            CheckState::Ok,
            "it asks before it runs a shell command, also one that only reads",
        ),
        (true, true, true) => check(
            CheckState::Warning,
            "it asks before a shell command, but not before one that only reads: rules see that one only once it runs",
        ),
        (true, true, false) => check(
            CheckState::Warning,
            "it asked before a shell command and was allowed, but did not run it",
        ),
        (true, false, true) => check(
            CheckState::Warning,
            "it runs shell commands without asking: a run with a rule against it is stopped once the command runs",
        )
        .remedy("give it a mode or a configuration in which it asks"),
        (true, false, false) => check(
            CheckState::Warning,
            "its model called for a shell command; it neither asked nor ran it",
        ),
        (false, ..) => {
            let message = match turn.permissions {
                0 => "the agent offered its model no shell tool that Lapidary knows".to_owned(),
                count => format!(
                    "the agent offered its model no shell tool that Lapidary knows; it asked for other permissions ({count}) and got none"
                ),
            };
            check(CheckState::Unproven, &message)
        }
    }
}

fn usage_check(facts: &CardTurn) -> Check {
    let check = |state, message: String| Check::new(CheckName::AcpUsage, state, message);
    match facts.usage_in.as_slice() {
        [] if facts.model_asked => check(
            CheckState::Warning,
            "it does not report how many tokens were used: budgets cannot limit it".to_owned(),
        ),
        [] => check(
            CheckState::Unproven,
            "it reported no tokens, and sent no request to a model".to_owned(),
        ),
        places => check(CheckState::Ok, format!("reported in {}", places.join(", "))),
    }
}

/// The check of cancelling.
pub(in crate::commands::doctor::card) fn cancel_check(
    card: &mut Card,
    turn: &ObservedTurn,
) -> Check {
    let name = CheckName::AcpCancel;
    let Some(took) = turn.since_cancel else {
        return uncancelled_check(turn);
    };
    let check =
        |state, message: String| Check::new(CheckName::AcpCancel, state, message).took(took);
    let ms = whole_milliseconds(took);
    match &turn.outcome {
        Ok(prompted) => {
            let reason = clip_text(&prompted.stop_reason.to_str());
            let state = if reason == "cancelled" {
                CheckState::Ok
            } else {
                CheckState::Warning
            };
            let message = format!("a cancelled turn ends with {reason:?} after {ms} ms");
            card.cancel = Some(CardCancel {
                ms,
                stop_reason: Some(reason),
            });
            check(state, message)
        }
        Err(RequestError::Refused(refusal)) => {
            card.cancel = Some(CardCancel {
                ms,
                stop_reason: None,
            });
            let message = format!(
                "a cancelled turn ends with an error after {ms} ms: {}",
                clip_text(&refusal.to_string())
            );
            check(CheckState::Warning, message)
        }
        Err(RequestError::Late { .. }) => check(
            CheckState::Problem,
            format!("a cancelled turn was not ended within {ms} ms"),
        ),
        Err(error) => failed_check(name, "a turn could not be cancelled", error),
    }
}

fn uncancelled_check(turn: &ObservedTurn) -> Check {
    match &turn.outcome {
        Ok(PromptAnswer { .. }) => {
            let message = "the turn was over before it could be cancelled";
            Check::new(CheckName::AcpCancel, CheckState::Unproven, message)
        }
        Err(error) => failed_check(
            CheckName::AcpCancel,
            "no turn could be started to cancel it",
            error,
        ),
    }
}
