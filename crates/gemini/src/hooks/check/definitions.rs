//! Entries that are no hooks: unknown events, invalid values, an unknown `type`.

use super::super::names::{claude_event, other_event};
use super::super::{HookProblem, HookRegistry, LeftOut};
use super::{FindingReport, LintSeverity, UnplacedFinding};
use crate::file;

pub(super) fn check_definitions(report: &mut FindingReport<'_>, registry: &HookRegistry) {
    for left in &registry.left_out {
        if left.misfit == HookProblem::File {
            report_unusable(report, left);
            continue;
        }
        let found = match left.misfit {
            HookProblem::Event => unknown_event_finding(left),
            // An extension that is not active has its reasons.
            HookProblem::Extension => {
                skipped_finding(left, LintSeverity::Note, "inactive_extension", None)
            }
            HookProblem::Type => {
                skipped_finding(left, LintSeverity::Error, "bad_type", repair_hint(left))
            }
            HookProblem::Shape
            | HookProblem::Command
            | HookProblem::Matcher
            | HookProblem::Trust
            | HookProblem::File => skipped_finding(
                left,
                LintSeverity::Error,
                "bad_definition",
                repair_hint(left),
            ),
        };
        report.add_finding(&left.origin, &left.place, found);
    }
}

/// A file that cannot be used, with the place of the mistake if it has one.
fn report_unusable(report: &mut FindingReport<'_>, left: &LeftOut) {
    let path = &left.origin;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut settings = report.setup.settings.files.iter();
    let settings = settings.find(|file| file.path == *path);
    let (place, why) = match settings.map(|file| &file.content) {
        Some(Err(error)) => {
            let why = format!("{}; {}", error.problem_text(), error.verdict(path));
            (error.place(), why)
        }
        _ => match file::strict_object(path) {
            Err(error) => (
                error.place(),
                format!("{}, so {} do not run", error.problem_text(), left.what),
            ),
            Ok(_) => (None, format!("is skipped: {}", left.why)),
        },
    };
    let found = UnplacedFinding {
        severity: LintSeverity::Error,
        code: "unusable_file",
        subject: &name,
        sentence: format!("`{name}` {why}"),
        hint: Some("correct the file there, or move it away".to_owned()),
    };
    report.add_at(path, place, found);
}

fn skipped_finding<'a>(
    left: &'a LeftOut,
    severity: LintSeverity,
    code: &'static str,
    hint: Option<String>,
) -> UnplacedFinding<'a> {
    UnplacedFinding {
        severity,
        code,
        subject: &left.what,
        sentence: format!("{} is skipped: {}", subject_label(left), left.why),
        hint,
    }
}

fn subject_label(left: &LeftOut) -> String {
    match left.place.len() {
        0 => left.what.clone(),
        _ => format!("`{}`", left.what),
    }
}

fn unknown_event_finding(left: &LeftOut) -> UnplacedFinding<'_> {
    let name = &left.what;
    let hint = match claude_event(name) {
        Ok(Some(event)) => format!(
            "that is Claude Code's name: rename it to `{event}`; names of tools in matchers and the unit of timeouts differ too"
        ),
        Ok(None) => "that is an event of Claude Code's; Gemini CLI has nothing like it".to_owned(),
        Err(()) => other_event(name),
    };
    UnplacedFinding {
        severity: LintSeverity::Error,
        code: "unknown_event",
        subject: name,
        sentence: format!("unknown hook event `{name}`, so none of its hooks run"),
        hint: Some(hint),
    }
}

fn repair_hint(left: &LeftOut) -> Option<String> {
    let shape = r#"{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}"#;
    Some(match left.misfit {
        HookProblem::Type => "write `\"type\": \"command\"`; case counts".to_owned(),
        HookProblem::Command => "write what the shell is to run as `\"command\": \"…\"`".to_owned(),
        HookProblem::Matcher => {
            "write a matcher as one text, such as \"write_file|replace\"".to_owned()
        }
        HookProblem::Shape => format!("a definition looks like {shape}"),
        HookProblem::File | HookProblem::Event | HookProblem::Extension | HookProblem::Trust => {
            return None;
        }
    })
}
