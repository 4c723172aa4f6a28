//! Suspicious timeouts: the unit is the millisecond, and Claude Code's is the second.

use std::time::Duration;

use super::super::HookEntry;
use super::{FindingReport, LintSeverity, UnplacedFinding};

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn check_timeout(report: &mut FindingReport<'_>, entry: &HookEntry) {
    let hook = &entry.hook;
    let Some(timeout) = hook.timeout.filter(|timeout| *timeout < SECOND) else {
        return;
    };
    let milliseconds = timeout.as_millis();
    let name = hook.display_name();
    let found = if milliseconds <= 1 {
        UnplacedFinding {
            severity: LintSeverity::Error,
            code: "no_timeout",
            subject: name,
            sentence: "its `timeout` is one millisecond for Gemini CLI: what is not a number from 1 to 2147483647 ends a hook at once, and Gemini CLI then lets everything pass".to_owned(),
            hint: Some("write milliseconds, such as `\"timeout\": 10000`, or leave it out for 60000".to_owned()),
        }
    } else {
        UnplacedFinding {
            severity: LintSeverity::Warning,
            code: "short_timeout",
            subject: name,
            sentence: format!(
                "its `timeout` is {milliseconds} milliseconds, which looks like seconds; if the hook takes longer, Gemini CLI lets everything pass"
            ),
            hint: Some(format!(
                "for {milliseconds} seconds write `\"timeout\": {}`",
                milliseconds * 1000
            )),
        }
    };
    report.add_to(entry, "timeout", found);
}
