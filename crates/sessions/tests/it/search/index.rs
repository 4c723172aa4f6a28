//! The index: the same results as without it, in any state of its file.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use lapidary_sessions::search::{EntryRole, SearchFilters, SearchQuery, SessionSearch};
use lapidary_sessions::{IndexError, SessionIndex, SessionListing, UpdateResult, candidates};
use lapidary_testkit::patience::wait_until;

use super::corpus::Home;
use super::properties::outcome;
use super::{search, three};

/// Builds the index. A process that another test starts at this moment holds our lock until it has executed its program: that is waited for.
pub(super) fn build(path: &Path, home: &Home) -> UpdateResult {
    let (files, _) = candidates(&home.projects());
    let mut built = None;
    wait_until("the index is free", || {
        let index = SessionIndex::open_or_make(path, SystemTime::now());
        match index.and_then(|mut index| index.update_all(&files, &mut |_| {})) {
            Err(IndexError::Busy) => false,
            done => {
                built = Some(done.unwrap());
                true
            }
        }
    });
    built.expect("it was waited for")
}

/// Asserts that a list and some searches return the same with the index as without. Returns the warnings.
fn same(path: &Path, home: &Home) -> Vec<String> {
    let projects = home.projects();
    let now = SystemTime::UNIX_EPOCH;
    let mut index = SessionIndex::open(path, SystemTime::now());
    let plain = SessionListing::read(&projects, now);
    let indexed = SessionListing::with(&projects, now, &mut index);
    let infos = |listing: &SessionListing| -> Vec<_> {
        listing
            .sessions
            .iter()
            .map(|session| session.info().clone())
            .collect()
    };
    assert_eq!(infos(&indexed), infos(&plain));
    assert_eq!(indexed.hidden, plain.hidden);
    let mut warnings = std::mem::take(&mut index.warnings);
    for filters in filters() {
        for query in [
            "zebra",
            "zebra giraffe",
            "\"the zebra\"",
            "z*",
            "nowhere",
            "okapi",
        ] {
            let search = SessionSearch {
                filters: filters.clone(),
                ..search(query)
            };
            let plain = search.run(&projects, now);
            let mut indexed = search.with(&mut index, &projects, now);
            warnings.append(&mut indexed.warnings);
            assert_eq!(outcome(&indexed), outcome(&plain), "{query} {filters:?}");
            let snippets = |found: &lapidary_sessions::search::SearchHits| -> Vec<_> {
                found.hits.iter().map(|hit| hit.snippets.clone()).collect()
            };
            assert_eq!(snippets(&indexed), snippets(&plain), "{query} {filters:?}");
        }
    }
    let expression = SessionSearch {
        query: SearchQuery::regex("zebra.and|the").unwrap(),
        ..search("x")
    };
    let indexed = expression.with(&mut index, &projects, now);
    assert_eq!(outcome(&indexed), outcome(&expression.run(&projects, now)));
    warnings
}

fn filters() -> Vec<SearchFilters> {
    let none = SearchFilters::default;
    vec![
        none(),
        SearchFilters {
            role: Some(EntryRole::User),
            ..none()
        },
        SearchFilters {
            role: Some(EntryRole::Title),
            ..none()
        },
        SearchFilters {
            tool: Some("read_file".to_owned()),
            ..none()
        },
        SearchFilters {
            model: Some("flash".to_owned()),
            ..none()
        },
        SearchFilters {
            since_ms: Some(1_767_225_600_000 + 86_400_000),
            ..none()
        },
    ]
}

#[test]
fn an_index_update_reads_only_changed_files() {
    let home = three();
    let path = home.path().join("cache/deep/index.sqlite");
    assert_eq!(
        build(&path, &home),
        UpdateResult {
            read: 3,
            ..UpdateResult::default()
        }
    );
    assert_eq!(
        build(&path, &home),
        UpdateResult {
            known: 3,
            ..UpdateResult::default()
        }
    );
    assert_eq!(same(&path, &home), Vec::<String>::new());
    let gone = home.session("two", "2026-01-02T10:00:00.000Z", &[]);
    home.session(
        "new",
        "2026-01-09T10:00:00.000Z",
        &[r#"{"id":"1","type":"user","content":"zebra giraffe"}"#],
    );
    assert_eq!(same(&path, &home), Vec::<String>::new());
    // Using it was enough.
    assert_eq!(
        build(&path, &home),
        UpdateResult {
            known: 4,
            ..UpdateResult::default()
        }
    );
    fs::remove_file(gone).unwrap();
    assert_eq!(same(&path, &home), Vec::<String>::new());
    assert_eq!(
        build(&path, &home),
        UpdateResult {
            known: 3,
            gone: 1,
            ..UpdateResult::default()
        }
    );
}

#[test]
fn the_index_is_really_asked() {
    let home = three();
    let path = home.path().join("index.sqlite");
    build(&path, &home);
    // The files differ from the index now, but have the same size and time.
    for entry in fs::read_dir(home.chats()).unwrap() {
        let file = entry.unwrap().path();
        let time = file.metadata().unwrap().modified().unwrap();
        let text = fs::read_to_string(&file)
            .unwrap()
            .replace("giraffe", "gorilla");
        fs::write(&file, text).unwrap();
        File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let mut index = SessionIndex::open(&path, SystemTime::now());
    let found = search("giraffe").with(&mut index, &home.projects(), SystemTime::now());
    assert_eq!(found.total, 2);
}

#[test]
fn a_file_that_is_being_written_is_read_every_time() {
    let home = three();
    let path = home.path().join("index.sqlite");
    let fresh = home.session(
        "fresh",
        "2026-01-09T10:00:00.000Z",
        &[r#"{"id":"1","type":"user","content":"zebra"}"#],
    );
    File::options()
        .write(true)
        .open(&fresh)
        .unwrap()
        .set_modified(SystemTime::now())
        .unwrap();
    assert_eq!(
        build(&path, &home),
        UpdateResult {
            read: 3,
            left: 1,
            ..UpdateResult::default()
        }
    );
    assert_eq!(same(&path, &home), Vec::<String>::new());
}

#[test]
fn an_index_that_is_none_is_made_anew_and_the_results_stay() {
    let home = three();
    let path = home.path().join("index.sqlite");
    build(&path, &home);
    let good = fs::read(&path).unwrap();
    let mut garbled = good.clone();
    garbled[4096..].fill(0xa5);
    let mut of_another_version = good.clone();
    of_another_version[60..64].copy_from_slice(&99u32.to_be_bytes());
    for bytes in [
        &b"no database at all, but long enough to be looked at as if it were one"[..],
        &good[..5000],
        &garbled,
        &of_another_version,
    ] {
        fs::write(&path, bytes).unwrap();
        let warnings = same(&path, &home);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("a new one is being made"),
            "{warnings:?}"
        );
        // It healed: nothing to complain about any more, and everything is known.
        assert_eq!(same(&path, &home), Vec::<String>::new());
        assert_eq!(build(&path, &home).known, 3);
    }
}

#[test]
fn an_index_of_an_older_version_is_made_anew_without_a_word() {
    let home = three();
    let path = home.path().join("index.sqlite");
    build(&path, &home);
    let mut older = fs::read(&path).unwrap();
    older[60..64].copy_from_slice(&2u32.to_be_bytes());
    fs::write(&path, &older).unwrap();
    assert_eq!(same(&path, &home), Vec::<String>::new());
    assert_eq!(build(&path, &home).known, 3, "it filled by itself");
}

#[test]
fn an_empty_file_is_an_index_to_be() {
    let home = three();
    let path = home.path().join("index.sqlite");
    fs::write(&path, b"").unwrap();
    let warnings = same(&path, &home);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(same(&path, &home), Vec::<String>::new());
}

#[test]
fn an_index_that_cannot_be_opened_is_a_warning() {
    let home = three();
    let path = home.path().join("index.sqlite");
    fs::create_dir(&path).unwrap();
    let warnings = same(&path, &home);
    assert!(
        warnings.len() == 1 && warnings[0].contains("the files are read instead"),
        "{warnings:?}"
    );
}

#[test]
fn a_search_reads_session_files_if_the_index_is_locked() {
    let home = three();
    let path = home.path().join("index.sqlite");
    build(&path, &home);
    let lock = File::options()
        .write(true)
        .open(home.path().join("index.sqlite.lock"))
        .unwrap();
    lock.lock().unwrap();
    home.session(
        "new",
        "2026-01-09T10:00:00.000Z",
        &[r#"{"id":"1","type":"user","content":"zebra giraffe"}"#],
    );
    assert_eq!(same(&path, &home), Vec::<String>::new());
    lock.unlock().unwrap();
    assert_eq!(
        build(&path, &home),
        UpdateResult {
            known: 3,
            read: 1,
            ..UpdateResult::default()
        }
    );
}

#[test]
fn a_search_without_a_dropped_index_finds_the_same() {
    let home = three();
    let path = home.path().join("index.sqlite");
    assert!(!SessionIndex::delete(&path).unwrap());
    build(&path, &home);
    assert!(SessionIndex::delete(&path).unwrap());
    assert!(!path.exists());
    assert_eq!(same(&path, &home), Vec::<String>::new());
    assert!(!path.exists(), "nobody asked for a new one");
}

#[test]
fn a_watched_search_reports_every_session_unless_it_is_cancelled() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let home = three();
    let path = home.path().join("index.sqlite");
    let now = SystemTime::UNIX_EPOCH;
    let search = SessionSearch {
        limit: 1,
        ..search("zebra")
    };
    let all = SessionSearch {
        limit: usize::MAX,
        ..search.clone()
    };
    for is_indexed in [false, true] {
        if is_indexed {
            build(&path, &home);
        }
        let mut index = SessionIndex::open(&path, SystemTime::now());
        assert_eq!(index.is_open(), is_indexed);
        let projects = home.projects();
        let watched = search.watched(&mut index, &projects, now, &|_, _| true);
        let watched = watched.unwrap();
        assert_eq!(outcome(&watched), outcome(&all.run(&projects, now)));
        assert!(watched.hits.len() > 1);
        assert!(!watched.hits[0].snippets.is_empty());
        let asked = AtomicUsize::new(0);
        let given_up = search.watched(&mut index, &projects, now, &|_, _| {
            asked.fetch_add(1, Ordering::Relaxed);
            false
        });
        assert!(given_up.is_none());
        assert!(asked.into_inner() <= 8, "each thread asks once at most");
    }
}
