//! Messages, tool calls and tokens of sessions, and their cost.
//!
//! Tokens are used when a model answers, even if the answer is discarded later. So every answer in a file counts, rewound ones
//! and those before a checkpoint included, and each counts once, however often it was written and in however many copies of the
//! file: a session that was forked or resumed begins with the responses of another ([`repeats`]).

mod event_notes;
mod fold;
mod repeats;

use std::collections::HashMap;
use std::path::Path;

use lapidary_vocab::event::Provider;
use lapidary_vocab::stats::Stats;

use super::candidates::{candidates, subagent_candidates};
use super::listing::each_file;
use super::prices::PriceTable;
use super::projects::SessionProject;
use crate::provider::{OtherSession, OtherSessions, UsageFile, UsageReader};
use crate::replay_error::ReplaySessionError;

use crate::usage_notes::{NotesReader, UsageNotes};
use event_notes::EventNotes;
use fold::StatsFold;

/// The range and the models to count.
#[derive(Debug, Clone, Default)]
pub struct StatsRequest {
    /// Only messages from then on, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only messages before then, likewise.
    pub until: Option<i64>,
    /// Only models whose names contain this.
    pub model: Option<String>,
}

/// Counts the session files of these projects.
pub fn stats(projects: &[SessionProject], request: &StatsRequest, prices: &PriceTable) -> Stats {
    count_usage(projects, None, request, prices)
}

/// The same, with sessions of other providers. One that is also in a file counts once, as the file has it.
pub fn stats_with(
    projects: &[SessionProject],
    others: &OtherSessions,
    request: &StatsRequest,
    prices: &PriceTable,
) -> Stats {
    count_usage(projects, Some(others), request, prices)
}

fn count_usage(
    projects: &[SessionProject],
    others: Option<&OtherSessions>,
    request: &StatsRequest,
    prices: &PriceTable,
) -> Stats {
    let (mut files, warnings) = candidates(projects);
    files.extend(subagent_candidates(projects));
    let mut fold = StatsFold::new(request, prices);
    fold.warnings = warnings;
    let readable: Vec<_> = files.iter().filter(|file| file.refused.is_none()).collect();
    let read = each_file(&readable, NotesReader::default, |reader, file| {
        reader.read_file(&file.path, Provider::Gemini)
    });
    let mut sessions: HashMap<String, UsageNotes> = HashMap::new();
    for (file, notes) in readable.iter().zip(read) {
        match notes {
            Ok(Some(mut notes)) => {
                let project = projects.get(file.project);
                let root = project.and_then(|project| project.root.as_deref());
                notes.project = root.map(|root| root.to_string_lossy().into_owned());
                merge_notes(&mut sessions, notes);
            }
            // A file that names no session has no messages to count.
            Ok(None) => {}
            Err(error) => fold.warnings.push(uncounted_warning(&file.path, &error)),
        }
    }
    if let Some(others) = others {
        add_others(others, &mut sessions, &mut fold.warnings);
    }
    let mut sessions: Vec<UsageNotes> = sessions.into_values().collect();
    repeats::mark_repeated(&mut sessions);
    for notes in &sessions {
        fold.add_session(notes);
    }
    fold.finish()
}

fn add_others(
    others: &OtherSessions,
    sessions: &mut HashMap<String, UsageNotes>,
    warnings: &mut Vec<String>,
) {
    add_usage_files(others, sessions, warnings);
    let is_new = |session: &OtherSession<'_>| !sessions.contains_key(session.listed.id());
    let new: Vec<OtherSession<'_>> = others.iter().filter(is_new).collect();
    let new: Vec<_> = new.iter().collect();
    let read = each_file(&new, || (), |(), session| replayed_notes(session));
    for notes in read {
        match notes {
            Ok(notes) => merge_notes(sessions, notes),
            Err(error) => {
                let reason = &error.source;
                warnings.push(format!("{error}, so it is not counted: {reason}"));
            }
        }
    }
}

fn add_usage_files(
    others: &OtherSessions,
    sessions: &mut HashMap<String, UsageNotes>,
    warnings: &mut Vec<String>,
) {
    let files: Vec<(&dyn UsageReader, &UsageFile)> = others.usage_files().collect();
    let each: Vec<_> = files.iter().collect();
    let read = each_file(
        &each,
        || (),
        |(), (reader, file)| {
            let mut noted = Vec::new();
            let read = reader.read_usage(file, &others.wanted, &mut |notes| noted.push(notes));
            (noted, read)
        },
    );
    for ((_, file), (noted, read)) in files.iter().zip(read) {
        for notes in noted {
            merge_notes(sessions, notes);
        }
        if let Err(error) = read {
            warnings.push(uncounted_warning(&file.path, &error));
        }
    }
}

fn replayed_notes(session: &OtherSession<'_>) -> Result<UsageNotes, ReplaySessionError> {
    let mut notes = EventNotes::new(session.listed);
    session.replay(&mut |event| notes.read_event(&event))?;
    Ok(notes.finish())
}

/// Merges the notes of several files of one session: a message that is in more than one of them counts once.
fn merge_notes(sessions: &mut HashMap<String, UsageNotes>, notes: UsageNotes) {
    match sessions.get_mut(&notes.session) {
        Some(known) => known.merge(notes),
        None => {
            sessions.insert(notes.session.clone(), notes);
        }
    }
}

fn uncounted_warning(path: &Path, error: &std::io::Error) -> String {
    format!("`{}` is not counted: {error}", path.display())
}
