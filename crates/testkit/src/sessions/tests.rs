//! Generated sessions are what they claim to be.

use std::collections::HashSet;

use lapidary_wire::gemini::session::{MessageRecord, ReplayedLog};
use serde_json::Value;

use super::*;

const SMALL: SessionCorpus = SessionCorpus {
    seed: 7,
    sessions: 60,
    bytes_each: 20_000,
    format: SessionFormat::Jsonl,
    projects: 4,
    variety: WordVariety::Usual,
};

fn both() -> [SessionCorpus; 2] {
    let json = SessionCorpus {
        format: SessionFormat::Json,
        ..SMALL
    };
    [SMALL, json]
}

/// The sessions of a corpus, with their expected counts and the text of their files.
fn files(corpus: &SessionCorpus) -> Vec<(CorpusSession, SessionCounts, String)> {
    let home = tempfile::tempdir().unwrap();
    let counts = corpus.write(home.path()).unwrap();
    let read =
        |session: &CorpusSession| fs::read_to_string(home.path().join(&session.file)).unwrap();
    let files = corpus.list().zip(counts);
    files
        .map(|(session, counts)| (session.clone(), counts, read(&session)))
        .collect()
}

#[test]
fn every_file_reads_as_the_session_it_should_be() {
    for corpus in both() {
        for (session, expected, text) in files(&corpus) {
            let log = ReplayedLog::read(text.as_bytes());
            let calls = log
                .messages()
                .map(|message| MessageRecord::from_token(message).tool_calls().len() as u64);
            let counts = SessionCounts {
                messages: log.messages().count() as u64,
                superseded: log.skipped.superseded,
                calls: calls.sum(),
            };
            assert_eq!(counts, expected, "{}", session.file.display());
            assert_eq!((log.skipped.unreadable, log.skipped.unknown), (0, 0));
            let id = log.get("sessionId").unwrap();
            assert_eq!(id.string().as_deref(), Some(&*session.id));
            assert_eq!(log.get("summary").is_some(), session.has_summary);
            let flaws: Vec<_> = log
                .messages()
                .flat_map(|message| MessageRecord::from_token(message).flaws())
                .collect();
            assert!(flaws.is_empty(), "{flaws:?}");
        }
    }
}

#[test]
fn the_needle_is_where_the_corpus_says_and_nowhere_else() {
    for corpus in both() {
        let files = files(&corpus);
        for (session, _, text) in &files {
            assert_eq!(text.contains(NEEDLE), session.has_needle);
        }
        let with = files.iter().filter(|(session, ..)| session.has_needle);
        assert_eq!(with.count(), 3);
    }
}

#[test]
fn a_corpus_is_as_large_as_it_says_and_its_ids_are_all_different() {
    for corpus in both() {
        let files = files(&corpus);
        let bytes: usize = files.iter().map(|(.., text)| text.len()).sum();
        let wanted = 60 * 20_000;
        assert!(
            (wanted * 9 / 10..wanted * 11 / 10).contains(&bytes),
            "{bytes}"
        );
        let ids: HashSet<_> = files.iter().map(|(session, ..)| &session.id[..8]).collect();
        assert_eq!(ids.len(), files.len());
    }
}

#[test]
fn a_document_is_indented_as_javascript_does_it() {
    let (_, _, text) = files(&both()[1]).remove(1);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert!(serde_json::to_string_pretty(&value).unwrap() == text);
    let updated = value["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(value["lastUpdated"], updated["timestamp"]);
}

#[test]
fn records_of_a_log_are_as_javascript_writes_them() {
    let (_, _, text) = files(&SMALL).remove(1);
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value.to_string(), line);
    }
}

#[test]
fn a_kept_corpus_is_not_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let home = SMALL.kept_in(folder.path()).unwrap();
    let first = SMALL.list().next().unwrap().file;
    fs::write(home.join(&first), "changed").unwrap();
    assert_eq!(SMALL.kept_in(folder.path()).unwrap(), home);
    assert_eq!(fs::read(home.join(&first)).unwrap(), b"changed");
    fs::remove_file(home.join(STAMP)).unwrap();
    SMALL.kept_in(folder.path()).unwrap();
    assert_ne!(fs::read(home.join(&first)).unwrap(), b"changed");
}

#[test]
fn projects_are_registered_and_marked_as_their_generation_does_it() {
    let home = tempfile::tempdir().unwrap();
    SMALL.write(home.path()).unwrap();
    let registry = fs::read(home.path().join(".gemini/projects.json")).unwrap();
    let registry: Value = serde_json::from_slice(&registry).unwrap();
    assert_eq!(registry["projects"].as_object().unwrap().len(), 4);
    for session in SMALL.list() {
        let folder = session.file.ancestors().nth(2).unwrap();
        let marker = fs::read_to_string(home.path().join(folder).join(".project_root"));
        assert_eq!(marker.unwrap(), session.project);
        let slug = registry["projects"][&session.project].as_str().unwrap();
        assert!(folder.ends_with(slug));
    }
}
