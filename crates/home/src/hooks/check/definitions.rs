//! What is no hook: unknown events, odd values, a `type` that is none.

use super::super::names::{claude_event, nearest};
use super::super::{Event, LeftOut, Misfit, Registry};
use super::{Found, Report, Severity};

pub(super) fn look(report: &mut Report<'_>, registry: &Registry) {
    for left in &registry.left_out {
        let found = match left.misfit {
            Misfit::Event => event(left),
            // An extension that is not active has its reasons.
            Misfit::Extension => about(left, Severity::Note, "inactive_extension", None),
            Misfit::File => about(left, Severity::Error, "unusable_file", None),
            Misfit::Type => about(left, Severity::Error, "bad_type", hint(left)),
            Misfit::Shape | Misfit::Command | Misfit::Matcher | Misfit::Trust => {
                about(left, Severity::Error, "bad_definition", hint(left))
            }
        };
        report.add(&left.origin, &left.place, found);
    }
}

fn about<'a>(
    left: &'a LeftOut,
    severity: Severity,
    code: &'static str,
    hint: Option<String>,
) -> Found<'a> {
    Found {
        severity,
        code,
        subject: &left.what,
        sentence: format!("{} is left out: {}", named(left), left.why),
        hint,
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

fn hint(left: &LeftOut) -> Option<String> {
    let shape = r#"{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}"#;
    Some(match left.misfit {
        Misfit::Type => "write `\"type\": \"command\"`; case counts".to_owned(),
        Misfit::Command => "write what the shell is to run as `\"command\": \"…\"`".to_owned(),
        Misfit::Matcher => "write a matcher as one text, such as \"write_file|replace\"".to_owned(),
        Misfit::Shape => format!("a definition looks like {shape}"),
        Misfit::File | Misfit::Event | Misfit::Extension | Misfit::Trust => return None,
    })
}
