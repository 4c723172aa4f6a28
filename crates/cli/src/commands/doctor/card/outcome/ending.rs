//! The checks of an unknown method, and of the end.

use std::time::Duration;

use lapidary::engine::acp::{RequestAnswer, RequestError, RpcError};
use lapidary::vocab::doctor::{
    Card, CardShutdown, CardUnknownMethod, Check, CheckName, CheckState, ShutdownBy,
};

use super::failed_check;
use crate::commands::doctor::card::acp_probe::{NoiseSeen, ProbeShutdown};
use crate::commands::doctor::card::offer::{clip_text, whole_milliseconds};

/// The check of an unknown method.
pub(in crate::commands::doctor::card) fn unknown_method_check(
    card: &mut Card,
    answer: &Result<RequestAnswer, RequestError>,
    took: Duration,
) -> Check {
    let name = CheckName::AcpUnknown;
    let check = |state, message: String| Check::new(CheckName::AcpUnknown, state, message);
    let ms = whole_milliseconds(took);
    let fact = |answered, code| Some(CardUnknownMethod { answered, code, ms });
    match answer {
        Ok(_) => {
            card.unknown_method = fact(true, None);
            check(
                CheckState::Warning,
                "an unknown method is answered as if it were known".to_owned(),
            )
        }
        Err(RequestError::Refused(refusal)) => {
            card.unknown_method = fact(true, Some(refusal.code));
            let code = refusal.code;
            if code == RpcError::NO_METHOD {
                return check(
                    CheckState::Ok,
                    format!("an unknown method is refused with {code} after {ms} ms"),
                );
            }
            let message = format!(
                "an unknown method is refused, but with {code} and not with -32601: {}",
                clip_text(&refusal.message.to_str())
            );
            check(CheckState::Warning, message)
        }
        Err(RequestError::Late { .. }) => {
            card.unknown_method = fact(false, None);
            check(
                CheckState::Warning,
                format!("an unknown method was not answered within {ms} ms"),
            )
        }
        Err(error) => failed_check(name, "the agent ended at an unknown method", error),
    }
}

/// The checks of the end: the step that ended the agent, the processes that are left, and other text on its stdout.
pub(in crate::commands::doctor::card) fn shutdown_checks(
    card: &mut Card,
    end: &ProbeShutdown,
) -> [Check; 3] {
    card.shutdown = Some(CardShutdown {
        by: end.by.clone(),
        ms: whole_milliseconds(end.took),
    });
    card.noise_lines = end.noise.lines;
    [
        end_check(end),
        leftovers_check(end),
        stdout_check(&end.noise),
    ]
}

fn end_check(end: &ProbeShutdown) -> Check {
    let check =
        |state, message: &str| Check::new(CheckName::AcpShutdown, state, message).took(end.took);
    match end.by {
        ShutdownBy::Eof => check(CheckState::Ok, "it ends when its stdin is closed"),
        ShutdownBy::Term => check(
            CheckState::Warning,
            "it does not end when its stdin is closed, but when it is asked to (SIGTERM)",
        ),
        ShutdownBy::Itself => check(CheckState::Warning, "it exited before it was asked to"),
        _ => check(
            CheckState::Warning,
            "it does not end when its stdin is closed, nor when it is asked to: it was killed",
        ),
    }
}

fn leftovers_check(end: &ProbeShutdown) -> Check {
    let check = |state, message: String| Check::new(CheckName::AcpLeftovers, state, message);
    if !end.left.is_empty() {
        let pids: Vec<_> = end.left.iter().map(i32::to_string).collect();
        return check(
            CheckState::Problem,
            format!("still alive: {}", pids.join(", ")),
        );
    }
    match end.ended.map(|ended| ended.leftover) {
        None | Some(0) => check(CheckState::Ok, "nothing of it is left running".to_owned()),
        Some(count) => check(
            CheckState::Ok,
            format!(
                "nothing of it is left running: {count} of its processes outlived it and were ended"
            ),
        ),
    }
}

fn stdout_check(noise: &NoiseSeen) -> Check {
    let check = |state, message: String| Check::new(CheckName::AcpStdout, state, message);
    match (noise.lines, &noise.first) {
        (0, _) => check(CheckState::Ok, "nothing but messages".to_owned()),
        (lines, first) => {
            let first = first.iter().map(|line| format!("the first: {line}"));
            let message = format!("{lines} lines are not messages of the protocol");
            check(CheckState::Warning, message).details(first)
        }
    }
}
