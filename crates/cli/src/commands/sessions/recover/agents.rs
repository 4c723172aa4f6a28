//! `sessions recover --agent`: sessions that an agent other than Gemini CLI has deleted.
//!
//! The vault may have their files. Of a session of Claude Code that was never copied, `history.jsonl` still has the prompts: they are
//! shown, and no session file is made of them.

use std::collections::BTreeSet;
use std::io::Write as _;

use anyhow::anyhow;
use jiff::Timestamp;
use lapidary::engine::session_guard::agent_home;
use lapidary::render::plain::{one_line, sanitize};
use lapidary::sessions::vault::{RestoreTarget, Vault};
use lapidary::sessions::{ClaudeSessions, ForgottenSession, WantedDirectories, age};
use lapidary::vocab::event::Provider;
use lapidary::vocab::line;
use lapidary::vocab::vault::{FoundMessage, RECOVER_SCHEMA, RecoverReport, RecoveredSession};

use super::super::common::{SessionsContext, SessionsFormat};
use super::super::identify::beginning_with;
use super::super::list::shorten_to_width;
use super::super::vault::agents::{NamedAgents, deleted_sessions, unreadable_directories};
use super::super::vault::vault_failure;
use super::Args;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::printer::Printer;

/// How many prompts of a session are shown on a screen.
const SHOWN_PROMPTS: usize = 5;

pub(super) fn recover_agents(
    agents: &NamedAgents,
    args: &Args,
    vault: &Vault,
    place: &SessionsContext,
    out: &mut Printer,
) -> Result<CommandExit, Failure> {
    let mut report = lost_sessions(agents, vault, place)?;
    if let Some(id) = &args.what {
        choose_session(id, &mut report)?;
    }
    if args.apply {
        restore_sessions(&mut report, vault, place)?;
    }
    report.applied = args.apply;
    match SessionsFormat::or_usual(args.format, out.is_terminal) {
        SessionsFormat::Json => line::write(out, &report)?,
        SessionsFormat::Text => print_report(&report, place, out)?,
    }
    Ok(CommandExit::Success)
}

/// Sessions whose files are gone, and prompts that are left of others.
fn lost_sessions(
    agents: &NamedAgents,
    vault: &Vault,
    place: &SessionsContext,
) -> Result<RecoverReport, Failure> {
    let only_in_vault = deleted_sessions(agents, vault, place)?;
    let mut report = RecoverReport {
        schema: RECOVER_SCHEMA.to_owned(),
        applied: false,
        looked: 0,
        sessions: Vec::new(),
        dangers: Vec::new(),
        only_in_vault,
        actions: Vec::new(),
        warnings: unreadable_directories(agents, place)?,
    };
    let home = agent_home(&place.environment, "CLAUDE_CONFIG_DIR", ".claude");
    if let Some(home) = home.filter(|_| agents.has(&Provider::Claude)) {
        let history = home.join("history.jsonl").to_string_lossy().into_owned();
        let forgotten = ClaudeSessions::new(home).forgotten_sessions(&WantedDirectories::Every);
        match forgotten {
            Ok(forgotten) => {
                let is_kept = |id: &str| report.only_in_vault.iter().any(|it| it.session_id == id);
                let forgotten = forgotten.into_iter().filter(|it| !is_kept(&it.id));
                report.sessions = forgotten.map(|it| prompts_left(it, &history)).collect();
            }
            Err(error) => {
                let warning = format!("`{history}` cannot be read: {error}");
                report.warnings.push(warning);
            }
        }
    }
    Ok(report)
}

fn prompts_left(session: ForgottenSession, history: &str) -> RecoveredSession {
    let found = session.prompts.into_iter().map(|prompt| FoundMessage {
        kind: "user".to_owned(),
        timestamp: prompt
            .time
            .and_then(|time| Timestamp::from_millisecond(time).ok())
            .map(|time| format!("{time:.3}")),
        words: prompt.text,
    });
    let found: Vec<FoundMessage> = found.collect();
    RecoveredSession {
        session_id: session.id,
        path: history.to_owned(),
        recovered_path: None,
        from_vault: false,
        shown: 0,
        total: found.len() as u64,
        poorer: 0,
        causes: vec!["deleted".to_owned()],
        found,
    }
}

fn choose_session(named: &str, report: &mut RecoverReport) -> Result<(), Failure> {
    let deleted = report.only_in_vault.iter().map(|it| &it.session_id);
    let forgotten = report.sessions.iter().map(|it| &it.session_id);
    let ids: BTreeSet<String> = deleted.chain(forgotten).cloned().collect();
    let ids: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    let id = match ids.get(named) {
        Some(id) => *id,
        None => *beginning_with(named, &ids)?.first().ok_or_else(|| {
            let error = anyhow!("no session that was deleted begins with `{named}`");
            let hint = "`lapidary sessions recover --agent all` lists them";
            Failure::bad_input(error).with_hint(hint)
        })?,
    };
    report.only_in_vault.retain(|it| it.session_id == id);
    report.sessions.retain(|it| it.session_id == id);
    Ok(())
}

/// Puts the files of the vault back where they were. Nothing is overwritten.
fn restore_sessions(
    report: &mut RecoverReport,
    vault: &Vault,
    place: &SessionsContext,
) -> Result<(), Failure> {
    for session in &report.only_in_vault {
        let target = RestoreTarget::Session(&session.session_id);
        let chosen = vault.choose(target).map_err(vault_failure)?;
        let restored = vault.put_back(&chosen, &chosen.project, place.now);
        for file in restored.map_err(vault_failure)? {
            let action = format!("`{}` is back", file.path.display());
            report.actions.push(action);
        }
    }
    Ok(())
}

fn print_report(
    report: &RecoverReport,
    place: &SessionsContext,
    out: &mut Printer,
) -> Result<(), Failure> {
    for warning in &report.warnings {
        out.print_message(&format!("warning: {}", sanitize(warning)));
    }
    for session in &report.only_in_vault {
        let provider = session.provider.as_ref().map_or("", |it| it.as_str());
        let title = shorten_to_width(&one_line(&session.display_name), 80);
        writeln!(
            out,
            "session {} ({provider})",
            sanitize(&session.session_id)
        )?;
        let seen = session.last_seen.as_deref().unwrap_or_default();
        let seen = seen.parse::<Timestamp>().ok();
        let seen = age(seen.map(Timestamp::as_millisecond), place.now).to_lowercase();
        writeln!(out, "  in the vault, last seen {seen}: {title}")?;
    }
    for session in &report.sessions {
        writeln!(out, "session {} (claude)", sanitize(&session.session_id))?;
        let history = sanitize(&session.path);
        writeln!(out, "  only its prompts are left, in {history}")?;
        for prompt in session.found.iter().take(SHOWN_PROMPTS) {
            let words = shorten_to_width(&one_line(&prompt.words), 90);
            writeln!(out, "    user    {words}")?;
        }
        let more = session.found.len().saturating_sub(SHOWN_PROMPTS);
        if more > 0 {
            writeln!(out, "    and {more} more")?;
        }
    }
    for action in &report.actions {
        writeln!(out, "{}", sanitize(action))?;
    }
    let is_empty = report.only_in_vault.is_empty() && report.sessions.is_empty();
    if is_empty {
        out.print_note("no session is known that the agent has deleted")?;
    } else if !report.applied && !report.only_in_vault.is_empty() {
        out.print_note("nothing was written; --apply brings back the sessions in the vault")?;
    }
    Ok(())
}
