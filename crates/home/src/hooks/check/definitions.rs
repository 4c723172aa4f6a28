//! What is no hook: unknown events, odd values, a `type` that is none.

use super::super::names::{claude_event, nearest};
use super::super::{Event, LeftOut, Registry};
use super::{Found, Report, Severity};

pub(super) fn look(report: &mut Report<'_>, registry: &Registry) {
    for left in &registry.left_out {
        let is_event = left.place.len() == 2 && left.why == "there is no such event";
        let found = if is_event {
            event(left)
        } else {
            Found {
                severity: severity(left),
                code: code(left),
                subject: &left.what,
                sentence: format!("{} is left out: {}", named(left), left.why),
                hint: hint(left),
            }
        };
        report.add(&left.origin, &left.place, found);
    }
}

/// An extension that is not active has its reasons.
fn severity(left: &LeftOut) -> Severity {
    if left.why.starts_with("it is not active") {
        Severity::Note
    } else {
        Severity::Error
    }
}

fn named(left: &LeftOut) -> String {
    match left.place.len() {
        0 => left.what.clone(),
        _ => format!("`{}`", left.what),
    }
}

fn event(left: &LeftOut) -> Found<'_> {
    let name = &left.what;
    let events = || Event::ALL.into_iter().map(Event::as_str);
    let hint = match claude_event(name) {
        Ok(Some(event)) => format!(
            "that is Claude Code's name; here it is `{event}`: `lapidary hooks migrate --from-claude` translates hooks"
        ),
        Ok(None) => "that is an event of Claude Code's; Gemini CLI has nothing like it".to_owned(),
        Err(()) => match nearest(name, events()) {
            Some(event) => format!("did you mean `{event}`?"),
            None => format!("there are {}", events().collect::<Vec<_>>().join(", ")),
        },
    };
    Found {
        severity: Severity::Error,
        code: "unknown_event",
        subject: name,
        sentence: format!("there is no event `{name}`, so none of its hooks run"),
        hint: Some(hint),
    }
}

fn code(left: &LeftOut) -> &'static str {
    if left.place.is_empty() {
        "unusable_file"
    } else if left.why.contains("`type`") {
        "bad_type"
    } else {
        "bad_definition"
    }
}

fn hint(left: &LeftOut) -> Option<String> {
    let shape = r#"{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}"#;
    if left.place.is_empty() {
        return None;
    }
    Some(if left.why.contains("`type`") {
        "write `\"type\": \"command\"`; case counts".to_owned()
    } else if left.why.contains("`command`") {
        "write what the shell is to run as `\"command\": \"…\"`".to_owned()
    } else if left.why.contains("`matcher`") {
        "write a matcher as one text, such as \"write_file|replace\"".to_owned()
    } else {
        format!("a definition looks like {shape}")
    })
}
