//! Turns observations into checks for people, and into the facts of the card.

mod conversation;
mod ending;

use std::time::Duration;

use lapidary::engine::acp::{
    ConnectionError, InitializeAnswer, OpenedSession, RequestError, RpcError,
};
use lapidary::vocab::doctor::{Card, CardSession, Check, CheckName, CheckState};

use super::offer::{self, clip_text};
pub(super) use conversation::{SeenConversation, cancel_check, turn_checks};
pub(super) use ending::{shutdown_checks, unknown_method_check};

/// The version of the protocol that we speak.
const OURS: u64 = 1;

pub(super) fn not_started(error: &anyhow::Error) -> Check {
    let message = format!("it cannot be started: {error:#}");
    Check::new(CheckName::AcpStart, CheckState::Problem, message)
}

/// A failed check, with the last lines of the agent's stderr.
pub(super) fn failed_check(name: CheckName, what: &str, error: &RequestError) -> Check {
    const LINES: usize = 3;
    let message = format!("{what}: {}", clip_text(&error.to_string()));
    let check = Check::new(name, CheckState::Problem, message);
    if let RequestError::Connection(ConnectionError::Lost(loss)) = error {
        return match &loss.hint {
            Some(hint) => check.remedy(hint),
            None => check,
        };
    }
    let RequestError::Connection(ConnectionError::Closed { stderr_tail, .. }) = error else {
        return check;
    };
    let lines = stderr_tail.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<_> = lines.collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    check.details(last.iter().map(|line| clip_text(line)))
}

pub(super) fn started_check(card: &Card, took: Duration) -> Check {
    let version = card.protocol_version.unwrap_or_default();
    let message = match (&card.agent_name, &card.agent_version) {
        (Some(name), Some(itself)) => format!("{name} {itself} speaks protocol {version}"),
        (Some(name), None) => format!("{name} speaks protocol {version}"),
        (None, _) => format!("it speaks protocol {version}, and does not say who it is"),
    };
    let check = |state| Check::new(CheckName::AcpStart, state, message.as_str()).took(took);
    if version == OURS {
        check(CheckState::Ok)
    } else {
        check(CheckState::Problem).remedy(format!(
            "we speak protocol {OURS}: look for another version of the agent"
        ))
    }
}

pub(super) fn abilities_check(card: &Card) -> Check {
    let Some(can) = &card.abilities else {
        let message = "it did not say what it can do";
        return Check::new(CheckName::AcpAbilities, CheckState::Skipped, message);
    };
    let all = [
        (can.load, "load"),
        (can.list, "list"),
        (can.resume, "resume"),
        (can.close, "close"),
        (can.delete, "delete"),
        (can.image, "images"),
        (can.audio, "audio"),
        (can.embedded, "embedded resources"),
        (can.mcp_http, "MCP over http"),
        (can.mcp_sse, "MCP over sse"),
    ];
    let of = |wanted: bool| {
        let names = all.iter().filter(|(has, _)| *has == wanted);
        let names: Vec<_> = names.map(|(_, name)| *name).collect();
        names.join(", ")
    };
    let message = match of(true).as_str() {
        "" => "nothing beyond what all can".to_owned(),
        names => names.to_owned(),
    };
    let cannot = Some(of(false)).filter(|names| !names.is_empty());
    let ways = Some(card.auth_methods.join(", ")).filter(|ways| !ways.is_empty());
    Check::new(CheckName::AcpAbilities, CheckState::Ok, message)
        .details(cannot.map(|names| format!("not: {names}")))
        .details(ways.map(|ways| format!("ways to log in: {ways}")))
}

/// The check of opening a session.
pub(super) fn session_check(
    card: &mut Card,
    theirs: &InitializeAnswer,
    answer: Result<OpenedSession, RequestError>,
) -> (Check, Option<OpenedSession>) {
    let name = CheckName::AcpSession;
    match answer {
        Ok(opened) if opened.id.is_empty() => {
            let message = "a session was opened, but it has no id";
            (Check::new(name, CheckState::Problem, message), None)
        }
        Ok(opened) => {
            card.session = Some(offer::card_session(&opened));
            let message = "a session is opened without an account";
            (Check::new(name, CheckState::Ok, message), Some(opened))
        }
        Err(error) => {
            let RequestError::Refused(refusal) = &error else {
                return (failed_check(name, "no session was opened", &error), None);
            };
            card.session = Some(CardSession {
                error_code: Some(refusal.code),
                ..CardSession::default()
            });
            (refused_session_check(theirs, refusal, &error), None)
        }
    }
}

fn refused_session_check(
    theirs: &InitializeAnswer,
    refusal: &RpcError,
    error: &RequestError,
) -> Check {
    let name = CheckName::AcpSession;
    if refusal.code != RpcError::LOG_IN {
        return failed_check(name, "no session was opened", error);
    }
    let said = clip_text(&refusal.message.to_str());
    let message = format!(
        "the agent needs a login, which is not possible here: {said} ({})",
        refusal.code
    );
    let ways = theirs.auth_methods.iter();
    let ways = ways.map(|way| clip_text(&format!("{}: {} ({})", way.id, way.name, way.kind)));
    Check::new(name, CheckState::Unproven, message).details(ways)
}

pub(super) fn modes_check(card: &Card) -> Check {
    let session = card.session.clone().unwrap_or_default();
    let message = match (session.modes.as_slice(), &session.mode) {
        ([], _) => "it offers none".to_owned(),
        (modes, Some(mode)) => format!("{}; now {mode}", first_names(modes)),
        (modes, None) => first_names(modes),
    };
    Check::new(CheckName::AcpModes, CheckState::Ok, message)
}

pub(super) fn options_check(card: &Card) -> Check {
    let session = card.session.clone().unwrap_or_default();
    let message = match session.options.as_slice() {
        [] => "it offers none".to_owned(),
        options => first_names(options),
    };
    let models = Some(first_names(&session.models)).filter(|models| !models.is_empty());
    Check::new(CheckName::AcpOptions, CheckState::Ok, message)
        .details(models.map(|models| format!("models: {models}")))
}

/// The first few of many.
fn first_names(names: &[String]) -> String {
    const SHOWN: usize = 12;
    match names.get(SHOWN..) {
        None | Some([]) => names.join(", "),
        Some(more) => format!("{} and {} more", names[..SHOWN].join(", "), more.len()),
    }
}
