//! The output of `sessions recover`, for people and for programs.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::anyhow;
use lapidary::render::plain::{one_line, sanitize};
use lapidary::sessions::vault::VaultError;
use lapidary::sessions::vault::recover::{
    HiddenCause, ProjectSurvey, RecoveryPlan, RecoveryResult,
};
use lapidary::vocab::vault::{
    FoundMessage, RECOVER_SCHEMA, RecoverReport, RecoveredSession, VaultSession,
};

use super::super::vault::counted_noun;
use crate::printer::Printer;

/// How many messages of a session are shown to people.
const SHOWN: usize = 6;

/// The sessions that can be recovered, and the results.
#[derive(Default)]
pub(super) struct RecoverOutput {
    looked: usize,
    sessions: Vec<RecoveredSession>,
    dangers: Vec<String>,
    warnings: Vec<String>,
    pub(super) only_in_vault: Vec<VaultSession>,
    pub(super) actions: Vec<String>,
    pub(super) failures: Vec<String>,
}

impl RecoverOutput {
    pub(super) fn take_survey(&mut self, survey: &ProjectSurvey) {
        self.looked = survey.looked;
        self.sessions = survey.plans.iter().map(recovered_session).collect();
        let dangers = survey.dangers.iter();
        self.dangers = dangers.map(|danger| path_text(&danger.path)).collect();
        self.warnings = survey.flaws.iter().map(ToString::to_string).collect();
    }

    pub(super) fn note_applied(
        &mut self,
        plan: &RecoveryPlan,
        done: Result<RecoveryResult, VaultError>,
    ) {
        match done {
            Ok(done) => {
                let path = path_text(&plan.path);
                let mut sessions = self.sessions.iter_mut();
                if let Some(session) = sessions.find(|session| session.path == path) {
                    session.recovered_path = Some(path_text(&done.path));
                }
                let sentences = done.actions.into_iter().map(|action| action.sentence);
                self.actions.extend(sentences);
            }
            Err(error) => self.failures.push(format!("{:#}", anyhow!(error))),
        }
    }

    pub(super) fn recover_report(&self, applied: bool) -> RecoverReport {
        let warnings = self.failures.iter().chain(&self.warnings);
        RecoverReport {
            schema: RECOVER_SCHEMA.to_owned(),
            applied,
            looked: self.looked as u64,
            sessions: self.sessions.clone(),
            dangers: self.dangers.clone(),
            actions: self.actions.clone(),
            only_in_vault: self.only_in_vault.clone(),
            warnings: warnings.cloned().collect(),
        }
    }

    pub(super) fn print_text(&self, applied: bool, out: &mut Printer) -> io::Result<()> {
        for warning in &self.warnings {
            out.print_message(&format!("warning: {warning}"));
        }
        for session in &self.sessions {
            print_session(session, out)?;
        }
        if !applied {
            for path in &self.dangers {
                let path = sanitize(path);
                writeln!(
                    out,
                    "{path}\n  has no content, and Gemini CLI's next start would delete a conversation with it"
                )?;
            }
        }
        self.print_conclusion(applied, out)
    }

    fn print_conclusion(&self, applied: bool, out: &mut Printer) -> io::Result<()> {
        if self.sessions.is_empty() && self.dangers.is_empty() {
            let files = counted_noun(self.looked, "file");
            writeln!(out, "nothing is hidden in {files}")?;
        }
        for action in &self.actions {
            out.print_note(action)?;
        }
        out.flush()?;
        for failure in &self.failures {
            out.print_message(&format!("error: {failure}"));
        }
        self.print_vault_only(out)?;
        let is_something = !self.sessions.is_empty() || !self.dangers.is_empty();
        if !applied && is_something {
            out.print_note(
                "nothing was written; --apply writes it, and keeps what is there now in the vault",
            )?;
        }
        Ok(())
    }

    /// Deleted or lost: the vault cannot tell.
    fn print_vault_only(&self, out: &mut Printer) -> io::Result<()> {
        for session in &self.only_in_vault {
            let (id, title) = (&session.session_id, &session.display_name);
            let title = one_line(title);
            writeln!(
                out,
                "session {}\n  in the vault only: {title}",
                sanitize(id)
            )?;
        }
        if !self.only_in_vault.is_empty() {
            out.print_note("`lapidary sessions recover ID --apply` brings back a session that is in the vault only")?;
        }
        Ok(())
    }
}

fn recovered_session(plan: &RecoveryPlan) -> RecoveredSession {
    let found = plan.found.iter().map(|message| FoundMessage {
        kind: message.kind.clone(),
        timestamp: message.timestamp.clone(),
        words: message.words.clone(),
    });
    RecoveredSession {
        session_id: plan.session_id.clone(),
        path: path_text(&plan.path),
        recovered_path: None,
        from_vault: plan.from_vault,
        shown: plan.shown as u64,
        total: plan.total as u64,
        poorer: plan.poorer as u64,
        causes: plan
            .causes
            .iter()
            .map(|cause| cause_words(*cause).0.to_owned())
            .collect(),
        found: found.collect(),
    }
}

/// A cause for programs, and for people.
fn cause_words(cause: HiddenCause) -> (&'static str, &'static str) {
    match cause {
        HiddenCause::Clobbered => (
            "clobbered",
            "it was loaded in the minute in which it was made",
        ),
        HiddenCause::UnknownRewind => (
            "unknown_rewind",
            "it was rewound to a message that is not there",
        ),
        HiddenCause::TornLine => ("torn_line", "a write was cut short"),
        HiddenCause::Compressed => ("compressed", "it was compressed"),
        HiddenCause::Interleaved => ("interleaved", "two processes wrote to it at the same time"),
        HiddenCause::RolledBack => (
            "rolled_back",
            "a turn was cancelled or failed, and rolled back",
        ),
        HiddenCause::Rewound => ("rewound", "it was rewound"),
        HiddenCause::NoHeader => ("no_header", "its first line, which names it, is gone"),
    }
}

fn cause_sentence(cause: &str) -> &str {
    let all = [
        HiddenCause::Clobbered,
        HiddenCause::UnknownRewind,
        HiddenCause::TornLine,
        HiddenCause::Compressed,
        HiddenCause::Interleaved,
        HiddenCause::RolledBack,
        HiddenCause::Rewound,
        HiddenCause::NoHeader,
    ];
    let found = all
        .into_iter()
        .map(cause_words)
        .find(|word| word.0 == cause);
    found.map_or(cause, |word| word.1)
}

fn print_session(session: &RecoveredSession, out: &mut Printer) -> io::Result<()> {
    writeln!(out, "session {}", sanitize(&session.session_id))?;
    let place = if session.from_vault {
        "in the vault only".to_owned()
    } else {
        format!("in {}", sanitize(&session.path))
    };
    writeln!(out, "  {place}")?;
    let causes = session.causes.iter().map(|cause| cause_sentence(cause));
    let causes = causes.collect::<Vec<_>>().join("; ");
    let because = if causes.is_empty() {
        String::new()
    } else {
        format!(": {causes}")
    };
    let (shown, total) = (session.shown, session.total);
    writeln!(out, "  shows {shown} of {total} messages{because}")?;
    for message in session.found.iter().take(SHOWN) {
        let (kind, words) = (sanitize(&message.kind), sanitize(&message.words));
        writeln!(out, "    {kind:<7} {words}")?;
    }
    if let Some(more) = session.found.len().checked_sub(SHOWN + 1) {
        writeln!(out, "    and {} more", more + 1)?;
    }
    if session.poorer > 0 {
        let poorer = session.poorer;
        writeln!(
            out,
            "    and tokens, thoughts or tool calls of {poorer} others"
        )?;
    }
    if let Some(path) = &session.recovered_path {
        writeln!(out, "  is back, in {}", sanitize(path))?;
    }
    Ok(())
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
