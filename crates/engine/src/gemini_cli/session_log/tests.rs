//! Reading a session log while Gemini CLI writes it.

use std::fs::{self, File};
use std::io::Write as _;

use lapidary_gemini::GeminiHome;

use super::*;

const ID: &str = "12345678-aaaa-bbbb-cccc-000000000000";

/// A home with an empty log of a session.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let world = Self { root };
        fs::create_dir_all(world.chats()).unwrap();
        fs::create_dir_all(world.project()).unwrap();
        let project = world.project().canonicalize().unwrap();
        let names = serde_json::json!({"projects": {project.to_str().unwrap(): "project"}});
        let gemini = world.root.path().join("home/.gemini");
        fs::write(gemini.join("projects.json"), names.to_string()).unwrap();
        world
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn chats(&self) -> PathBuf {
        self.root.path().join("home/.gemini/tmp/project/chats")
    }

    fn log(&self) -> PathBuf {
        self.chats().join("session-2026-01-01T00-00-12345678.jsonl")
    }

    fn write(&self, text: &str) {
        let mut file = File::options();
        let mut file = file.append(true).create(true).open(self.log()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn logs(&self) -> SessionLogs {
        let vars = [("HOME".into(), self.root.path().join("home").into())];
        let vars: std::collections::BTreeMap<_, _> = vars.into();
        let home = self.root.path().join("home");
        let home = GeminiHome::from_vars(lapidary_gemini::Vars::new(&vars), Some(&home));
        SessionLogs::new(LogPlace {
            store: SessionStore::new(home.unwrap()),
            directory: self.project(),
        })
    }
}

fn header(id: &str) -> String {
    format!("{{\"sessionId\":\"{id}\",\"kind\":\"main\"}}\n")
}

const PROMPT: &str = "{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"text\":\"go\"}]}\n";

fn call(id: &str) -> String {
    format!(
        "{{\"id\":\"g\",\"type\":\"gemini\",\"content\":\"\",\"toolCalls\":[{{\"id\":\"{id}\",\"name\":\"glob\",\"args\":{{}},\"result\":[]}}]}}\n"
    )
}

#[tokio::test]
async fn a_call_is_waited_for_and_given_once() {
    let world = World::new();
    world.write(&header(ID));
    world.write(PROMPT);
    let mut logs = world.logs();
    let line = call("c-1");
    let (half, rest) = line.split_at(20);
    world.write(half);
    let writing = async {
        sleep(POLL * 3).await;
        world.write(rest);
    };
    let (found, ()) = tokio::join!(logs.call_record(ID, "c-1"), writing);
    let CallRecord::Entry(entry) = found else {
        panic!("{found:?}");
    };
    assert!(entry.contains("\"toolCall\":{\"id\":\"c-1\""), "{entry}");
    // The record is written again with the next call.
    world.write(&call("c-1"));
    assert_eq!(logs.call_record(ID, "c-1").await, CallRecord::Missing);
    // The next one is waited for less.
    assert_eq!(logs.patience, IMPATIENCE);
    assert_eq!(logs.call_record(ID, "c-2").await, CallRecord::Missing);
}

#[tokio::test]
async fn only_a_regular_file_of_this_session_is_read() {
    let world = World::new();
    let mut logs = world.logs();
    assert_eq!(logs.call_record(ID, "c").await, CallRecord::NoLog);
    assert_eq!(logs.call_record("../../x", "c").await, CallRecord::NoLog);
    // Of another session with the same beginning.
    world.write(&header("12345678-other"));
    world.write(&call("c"));
    assert_eq!(logs.call_record(ID, "c").await, CallRecord::NoLog);
    // Behind a link.
    let elsewhere = world.root.path().join("elsewhere.jsonl");
    fs::rename(world.log(), &elsewhere).unwrap();
    fs::write(&elsewhere, header(ID) + PROMPT + &call("c")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&elsewhere, world.log()).unwrap();
    assert_eq!(logs.call_record(ID, "c").await, CallRecord::NoLog);
    fs::remove_file(world.log()).unwrap();
    fs::rename(&elsewhere, world.log()).unwrap();
    assert!(matches!(
        logs.call_record(ID, "c").await,
        CallRecord::Entry(_)
    ));
}

#[tokio::test]
async fn an_absent_log_is_looked_for_ever_more_seldom_and_found_when_it_is_there() {
    let world = World::new();
    let mut logs = world.logs();
    let looks: Vec<_> = (1..=2_000).filter(|_| logs.count_look(ID)).collect();
    let seldom = [16, 32, 64, 128, 256, 512, 1_024];
    let expected: Vec<_> = (1..=8).chain(seldom).collect();
    assert_eq!(looks, expected);
    assert!(logs.count_look("another"));
    world.write(&(header(ID) + PROMPT + &call("c-1")));
    assert!(matches!(
        logs.call_record(ID, "c-1").await,
        CallRecord::Entry(_)
    ));
    assert!((0..20).all(|_| logs.count_look(ID)));
}

#[tokio::test]
async fn a_call_before_the_prompt_is_recorded_is_not_the_models_and_not_waited_for() {
    let world = World::new();
    world.write(&header(ID));
    let mut logs = world.logs();
    assert_eq!(logs.call_record(ID, "read-1").await, CallRecord::NotLogged);
    assert_eq!(logs.waits, 0);
}

#[tokio::test]
async fn a_turn_that_the_model_has_not_answered_is_known() {
    let answer = "{\"id\":\"g\",\"type\":\"gemini\",\"content\":\"hi\",\"tokens\":{\"cached\":1,\"total\":9}}\n";
    let results = "{\"id\":\"r\",\"type\":\"user\",\"content\":[{\"functionResponse\":{}}]}\n";
    let rolled_back =
        "{\"$set\":{\"messages\":[{\"id\":\"x\",\"type\":\"user\",\"content\":\"c\"}]}}\n";
    let unanswered = Some(true);
    for (records, expected) in [
        (vec![PROMPT, answer], None),
        (vec![PROMPT], unanswered),
        (vec![PROMPT, answer, results], unanswered),
        (vec![PROMPT, answer, results, answer], None),
        (vec![PROMPT, rolled_back], unanswered),
        // A command of the CLI's own, such as `/memory show`, is no prompt.
        (vec![], None),
    ] {
        let world = World::new();
        world.write(&header(ID));
        world.write(&records.concat());
        let mut logs = world.logs();
        logs.patience = POLL;
        let entry = logs.turn_ended(ID, "7").await.unwrap();
        let is_unanswered = entry.contains("\"isUnanswered\":true").then_some(true);
        assert_eq!(is_unanswered, expected, "{records:?} {entry}");
        assert!(entry.contains("\"request\":\"7\""), "{entry}");
    }
}

#[tokio::test]
async fn tokens_of_earlier_turns_are_not_counted() {
    let answer = |id: &str, total: u32| {
        format!(
            "{{\"id\":\"{id}\",\"type\":\"gemini\",\"content\":\"hi\",\"tokens\":{{\"total\":{total}}}}}\n"
        )
    };
    let world = World::new();
    world.write(&header(ID));
    world.write(&[PROMPT, &answer("g", 110), PROMPT, &answer("h", 7)].concat());
    let mut logs = world.logs();
    logs.patience = POLL;
    let entry = logs.turn_ended(ID, "7").await.unwrap();
    assert!(entry.contains("\"total\":7"), "{entry}");
}

/// 0.61 begins another file with the same id, and writes no turn into it.
#[tokio::test]
async fn a_resumed_session_has_a_second_file_that_answers_nothing() {
    let world = World::new();
    let answer = "{\"id\":\"g\",\"type\":\"gemini\",\"content\":\"hi\"}\n";
    world.write(&(header(ID) + PROMPT + answer));
    let context =
        "{\"$set\":{\"messages\":[{\"id\":\"x\",\"type\":\"user\",\"content\":\"c\"}]}}\n";
    let stub = world
        .chats()
        .join("session-2026-02-02T00-00-12345678.jsonl");
    fs::write(stub, header(ID) + context).unwrap();
    let mut logs = world.logs();
    logs.patience = POLL;
    let entry = logs.turn_ended(ID, "7").await.unwrap();
    assert!(!entry.contains("isUnanswered"), "{entry}");
}
