//! What reading the settings has to say about hooks, unless it is said already.

use std::collections::HashSet;

use super::super::HookRegistry;
use super::super::notices::notices;
use super::{FindingReport, LintSeverity, UnplacedFinding};

pub(super) fn add_remarks(report: &mut FindingReport<'_>, registry: &HookRegistry) {
    let findings = report.findings.iter();
    let told: HashSet<_> = findings.map(|it| (it.path.clone(), it.place)).collect();
    // Gemini CLI does not start with it, and a run with hooks is refused.
    let unusable = registry.unusable(report.setup).map(|it| it.path);
    for notice in notices(report.setup, registry) {
        let is_told = told.contains(&(notice.path.clone(), notice.place));
        if is_told && notice.key.is_some() {
            continue;
        }
        let (code, subject) = match notice.key.as_deref() {
            Some(key) => ("bad_value", key),
            None => ("left_out_file", "hooks"),
        };
        let sentence = match notice.key.as_deref() {
            Some(key) => format!("`{key}` {}", notice.sentence),
            None => notice.sentence.clone(),
        };
        let severity = if notice.key.is_none() && unusable.as_ref() == Some(&notice.path) {
            LintSeverity::Error
        } else {
            LintSeverity::Warning
        };
        let found = UnplacedFinding {
            severity,
            code,
            subject,
            sentence,
            hint: None,
        };
        report.add_at(&notice.path, notice.place, found);
    }
}
