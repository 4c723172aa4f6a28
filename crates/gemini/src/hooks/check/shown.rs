//! Hooks that print text for the model where Gemini CLI only shows it to the user. What Claude Code's do is expected of these, too.

use std::path::Path;

use super::super::{HookEntry, HookEvent};
use super::scripts::simple_command;
use super::{FindingReport, LintSeverity, UnplacedFinding};
use crate::file;

/// So much of a file is looked at.
const LOOKED_AT: u64 = 4096;

pub(super) fn check_shown_text(report: &mut FindingReport<'_>, entry: &HookEntry) {
    let hook = &entry.hook;
    let is_asked = matches!(hook.event, HookEvent::BeforeAgent | HookEvent::SessionStart);
    if !is_asked || !prints_text(&hook.command, &report.setup.workspace) {
        return;
    }
    let found = UnplacedFinding {
        severity: LintSeverity::Note,
        code: "shown_only",
        subject: hook.display_name(),
        sentence: format!(
            "at {} Gemini CLI shows its text to you, not to the model",
            hook.event
        ),
        hint: Some(
            r#"for the model print `{"hookSpecificOutput": {"additionalContext": "…"}}`"#
                .to_owned(),
        ),
    };
    report.add_to(entry, "command", found);
}

/// Whether a command certainly prints text that is no JSON: one program, with known output.
fn prints_text(command: &str, workspace: &Path) -> bool {
    let needs_a_shell = command.contains(['|', ';', '&', '<', '>', '\n', '$', '`', '*', '?', '~']);
    if needs_a_shell {
        return false;
    }
    let words = simple_command(command).unwrap_or_default();
    match words.split_first() {
        Some((program, [first, ..])) if program == "echo" || program == "printf" => {
            is_text(first.as_bytes()) && !first.starts_with('-')
        }
        Some((program, [name])) if program == "cat" => {
            let read = file::first_bytes(&workspace.join(name), LOOKED_AT);
            read.is_some_and(|bytes| is_text(&bytes))
        }
        _ => false,
    }
}

fn is_text(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    !bytes.is_empty() && !bytes.starts_with(b"{") && !bytes.starts_with(b"\"")
}
