//! Sessions of other agents in the index: lists and searches say the same with and without it, on every capture.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lapidary_sessions::search::{EntryRole, SearchFilters, SearchHits, SearchQuery, SessionSearch};
use lapidary_sessions::{
    ClaudeSessions, CodexSessions, ListedSession, OpencodeSessions, OtherFiles, ProjectReach,
    ProviderScope, QwenSessions, SessionIndex, SessionMemory, SessionProviders,
};
use lapidary_testkit::patience::wait_until;

use super::agent_captures::{children, copy_tree, name, scene, scenes};

/// How many words of the captures are searched for, each by itself.
const WORDS: usize = 400;

/// A home with every capture of every agent.
struct AgentsHome {
    root: tempfile::TempDir,
}

impl AgentsHome {
    fn new() -> Self {
        let home = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for (number, scene) in scenes("claude").into_iter().enumerate() {
            // Scenes share names of directories and ids: a directory for each, and the ids stay as they are.
            copy_projects(
                &scene.join("projects"),
                &home.path("claude/projects"),
                number,
            );
        }
        for scene in scenes("codex") {
            copy_tree(&scene.join("sessions"), &home.path("codex/sessions"));
        }
        for (number, scene) in scenes("qwen").into_iter().enumerate() {
            if scene.join("projects").is_dir() {
                copy_projects(&scene.join("projects"), &home.path("qwen/projects"), number);
            } else {
                copy_tree(&scene.join("tmp"), &home.path("qwen/tmp"));
            }
        }
        home.write_database("opencode-1.18.33/subagent");
        copy_tree(
            &scene("opencode-1.1.65/text/storage"),
            &home.path("opencode/storage"),
        );
        home.compress_a_rollout();
        home.age();
        home
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    fn write_database(&self, of: &str) {
        let sql = fs::read_to_string(scene(of).join("opencode.sql")).unwrap();
        fs::create_dir_all(self.path("opencode")).unwrap();
        let path = self.path("opencode/opencode.db");
        let _ = fs::remove_file(&path); // of the scene before
        let writer = rusqlite::Connection::open(path).unwrap();
        writer.pragma_update(None, "foreign_keys", false).unwrap();
        writer
            .execute_batch(&format!("BEGIN;{sql}COMMIT;"))
            .unwrap();
    }

    fn compress_a_rollout(&self) {
        let rollout = self.files().into_iter().find(|path| {
            let name = name(path);
            name.starts_with("rollout-") && path.extension().is_some_and(|it| it == "jsonl")
        });
        let rollout = rollout.expect("a rollout");
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let packed = ruzstd::encoding::compress_to_vec(&fs::read(&rollout).unwrap()[..], level);
        fs::write(rollout.with_extension("jsonl.zst"), packed).unwrap();
        fs::remove_file(rollout).unwrap();
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for path in children(&folder) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path);
                }
            }
        }
        files
    }

    /// Files that were written just now are left out of an index.
    fn age(&self) {
        for path in self.files() {
            age_file(&path);
        }
    }

    /// A sub-agent's file whose session is in one file only: scenes of other versions have sessions with the same id.
    fn only_subagent(&self) -> PathBuf {
        let is_subagents = |path: &PathBuf| {
            let folder = path.parent().map(name);
            folder.is_some_and(|it| it == "subagents")
                && path.extension().is_some_and(|it| it == "jsonl")
        };
        let subagent = self.files().into_iter().find(is_subagents);
        let subagent = subagent.expect("a file of a sub-agent");
        let folder = subagent.ancestors().nth(2).unwrap();
        let session = folder.with_extension("jsonl");
        for file in self.files() {
            if name(&file) == name(&session) && file != session {
                fs::remove_file(file).unwrap();
            }
        }
        subagent
    }

    fn providers(&self) -> SessionProviders {
        SessionProviders::default()
            .with(Some(ClaudeSessions::new(self.path("claude"))))
            .with(Some(CodexSessions::new(self.path("codex"))))
            .with(Some(QwenSessions::new(self.path("qwen"))))
            .with(Some(OpencodeSessions::new(
                self.path("opencode"),
                self.root.path(),
            )))
    }

    fn index_path(&self) -> PathBuf {
        self.path("index.sqlite")
    }

    fn index(&self) -> SessionIndex {
        SessionIndex::open(&self.index_path(), SystemTime::now())
    }

    /// Makes or updates the index, and returns how many sessions were read. Another test may hold our lock for a moment.
    fn update(&self) -> usize {
        let mut read = None;
        wait_until("the index is free", || {
            let mut index =
                SessionIndex::open_or_make(&self.index_path(), SystemTime::now()).unwrap();
            let providers = self.providers();
            let stores: Vec<_> = providers.stores().collect();
            let updated =
                index.update_from(&[], &stores, &everywhere(), OtherFiles::Gone, &mut |_| {});
            read = updated.ok().map(|updated| updated.read);
            read.is_some()
        });
        read.unwrap()
    }

    fn search(&self, search: &SessionSearch, index: Option<&mut SessionIndex>) -> SearchHits {
        let mut memory = match index {
            Some(index) => SessionMemory::index(index),
            None => SessionMemory::none(),
        };
        let mut providers = self.providers();
        let found = providers.search(search, &everywhere(), &mut memory, &|_| true);
        found.best_hits(search)
    }
}

fn copy_projects(from: &Path, to: &Path, number: usize) {
    for directory in children(from) {
        copy_tree(&directory, &to.join(format!("-scene-{number}")));
    }
}

fn age_file(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let then = SystemTime::now() - Duration::from_hours(1);
    file.set_modified(then).unwrap();
}

fn everywhere() -> ProviderScope<'static> {
    ProviderScope {
        projects: &[],
        reach: ProjectReach::Everywhere,
        now: SystemTime::UNIX_EPOCH,
    }
}

fn words(query: &str) -> SessionSearch {
    SessionSearch {
        query: SearchQuery::words(query).unwrap(),
        filters: SearchFilters::default(),
        limit: 1000,
    }
}

/// Everything that a search says, in order.
fn outcome(found: &SearchHits) -> String {
    let hits = found.hits.iter().map(|hit| {
        let (id, title) = (hit.session.id(), hit.in_title);
        format!("{id} {title} {} {:?}\n", hit.matching_texts, hit.snippets)
    });
    let hits: String = hits.collect();
    format!("{} {:?}\n{hits}", found.total, found.warnings)
}

/// The words in all texts of all sessions, as their events have them.
fn all_words(home: &AgentsHome) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let others = home.providers().list(&everywhere());
    for session in others.iter() {
        session
            .replay(&mut |event| {
                let text = serde_json::to_string(&event).unwrap();
                let letters = |letter: char| !letter.is_alphanumeric();
                words.extend(text.split(letters).map(str::to_lowercase));
            })
            .unwrap();
    }
    words.retain(|word| (3..100).contains(&word.len()));
    words
}

#[test]
fn every_word_of_every_capture_is_found_alike_in_the_bytes_the_events_and_the_index() {
    let home = AgentsHome::new();
    assert!(home.update() > 30, "the captures are indexed");
    let mut index = home.index();
    let words_of_all = all_words(&home);
    let step = words_of_all.len().div_ceil(WORDS).max(1);
    let mut found_any = 0;
    for word in words_of_all.iter().step_by(step) {
        let Ok(query) = SearchQuery::words(word) else {
            continue;
        };
        let search = SessionSearch {
            query,
            ..words("x")
        };
        let others = home.providers().list(&everywhere());
        let by_events = search.of_others(&others);
        let by_bytes = home.search(&search, None);
        let by_index = home.search(&search, Some(&mut index));
        assert_eq!(outcome(&by_bytes), outcome(&by_index), "{word}");
        let ids = |found: &SearchHits| -> BTreeSet<String> {
            let ids = found.hits.iter().map(|hit| hit.session.id().to_owned());
            ids.collect()
        };
        // The bytes leave out no session that reading all of them would find.
        assert_eq!(ids(&by_bytes), ids(&by_events), "{word}");
        found_any += usize::from(by_index.total > 0);
    }
    assert!(found_any > WORDS / 4, "words are found: {found_any}");
    assert!(index.warnings.is_empty(), "{:?}", index.warnings);
}

#[test]
fn phrases_beginnings_and_filters_give_the_same_with_the_index() {
    let home = AgentsHome::new();
    home.update();
    let mut index = home.index();
    let mut total = 0;
    for query in [
        "the notes",
        "\"the notes\"",
        "not*",
        "read file",
        "line changed",
        "project",
    ] {
        for role in EntryRole::ALL.map(Some).into_iter().chain([None]) {
            for (tool, model) in [
                (None, None),
                (Some("read_file"), None),
                (None, Some("qwen")),
            ] {
                let mut search = words(query);
                search.filters.role = role;
                search.filters.tool = tool.map(str::to_owned);
                search.filters.model = model.map(str::to_owned);
                let plain = home.search(&search, None);
                let indexed = home.search(&search, Some(&mut index));
                assert_eq!(
                    outcome(&plain),
                    outcome(&indexed),
                    "{query} {role:?} {tool:?}"
                );
                total += plain.total;
            }
        }
    }
    assert!(total > 50, "{total}");
}

fn rows(home: &AgentsHome, memory: &mut SessionMemory<'_>) -> String {
    let others = home.providers().list_with(&everywhere(), memory);
    let counts = format!("{:?}", others.counts);
    let listing = others.into_listing();
    let infos: Vec<_> = listing.sessions.iter().map(ListedSession::info).collect();
    format!("{counts}\n{infos:#?}\n{:#?}", listing.hidden)
}

#[test]
fn a_list_is_the_same_with_the_index_before_and_after_changes() {
    let home = AgentsHome::new();
    let subagent = &home.only_subagent();
    home.update();
    let check = |what: &str| {
        let mut index = home.index();
        let plain = rows(&home, &mut SessionMemory::none());
        let indexed = rows(&home, &mut SessionMemory::index(&mut index));
        assert_eq!(plain, indexed, "{what}");
        let search = words("zebrafinch");
        let plain = outcome(&home.search(&search, None));
        let indexed = outcome(&home.search(&search, Some(&mut index)));
        assert_eq!(plain, indexed, "{what}");
        plain.lines().next().unwrap().to_owned()
    };
    assert_eq!(check("as made"), "0 []");
    let files = home.files().into_iter();
    let claude: Vec<_> = files
        .filter(|it| it.starts_with(home.path("claude")))
        .collect();
    let session = claude
        .iter()
        .find(|it| it.to_string_lossy().ends_with("000000000001.jsonl"));
    let session = session.expect("a session of Claude Code");
    let said = r#"{"type":"user","uuid":"z1","parentUuid":null,"timestamp":"2026-11-19T00:00:00.000Z","cwd":"/tmp/project","message":{"role":"user","content":"a zebrafinch"}}"#;
    let text = fs::read_to_string(session).unwrap();
    fs::write(session, format!("{text}{said}\n")).unwrap();
    assert_eq!(check("a file that was written just now"), "1 []");
    age_file(session);
    assert_eq!(check("a file that grew"), "1 []");
    assert_eq!(home.update(), 0, "it was read into the index on the way");
    let text = fs::read_to_string(subagent).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    assert!(
        last.contains("\"text\":\""),
        "its last record is a text: {last}"
    );
    fs::write(
        subagent,
        text.replace("\"text\":\"", "\"text\":\"zebrafinch "),
    )
    .unwrap();
    age_file(subagent);
    assert_eq!(check("a file of a sub-agent that changed"), "2 []");
    let writer = rusqlite::Connection::open(home.path("opencode/opencode.db")).unwrap();
    writer
        .execute_batch("UPDATE part SET data = replace(data, '\"text\":\"', '\"text\":\"zebrafinch '), time_updated = time_updated + 1")
        .unwrap();
    drop(writer);
    assert_eq!(check("rows that changed").split(' ').next(), Some("3"));
    fs::remove_file(session).unwrap();
    assert_eq!(check("a file that is gone").split(' ').next(), Some("2"));
}
