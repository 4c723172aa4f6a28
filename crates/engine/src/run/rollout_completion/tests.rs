//! Completing Codex's stream from its rollout.

use std::fs;

use lapidary_normalize::codex::exec::ExecNormalizer;
use lapidary_normalize::codex::rollout::RolloutNormalizer;
use lapidary_normalize::views::messages::MessageFold;
use lapidary_normalize::{LineDirection, NormalizeOptions, Normalizer as _, ProcessEnd};
use lapidary_testkit::captures::fixtures;
use lapidary_vocab::Event;
use lapidary_vocab::message::{Content, Message, MessageBlock};
use lapidary_wire::lines::RawLine;
use serde_json::Value;

use super::*;

const THREAD: &str = "01a1ee4b-c0ce-77c0-ad94-d0fd65c0eb2c";

/// A home with a rollout of a run that begins at noon.
struct World {
    home: tempfile::TempDir,
}

impl World {
    fn with_rollout(records: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let day = home.path().join("sessions/2026/11/18");
        fs::create_dir_all(&day).unwrap();
        let lines = records.iter().map(|(time, payload)| {
            format!(
                "{{\"timestamp\":\"2026-11-18T{time}.000Z\",\"type\":\"x\",\"payload\":{payload}}}\n"
            )
        });
        let name = format!("rollout-2026-11-18T12-00-00-{THREAD}.jsonl");
        fs::write(day.join(name), lines.collect::<String>()).unwrap();
        Self { home }
    }

    fn completion(&self) -> RolloutCompletion {
        let since = "2026-11-18T12:00:00Z".parse().unwrap();
        RolloutCompletion::new(self.home.path(), since)
    }
}

fn call(id: &str, name: &str) -> String {
    format!(r#"{{"type":"function_call","call_id":"{id}","name":"{name}","arguments":"{{}}"}}"#)
}

fn output(id: &str, said: &str) -> String {
    format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{said}"}}"#)
}

fn item(id: &str, kind: &str) -> String {
    format!(r#"{{"type":"item_completed","item":{{"type":"{kind}","id":"{id}"}}}}"#)
}

const OVER: &str = r#"{"type":"task_complete"}"#;

/// The entries of a stream: their places, and the ids of the calls.
async fn entries(world: &World, lines: &[&str]) -> Vec<((u64, u64), String)> {
    let mut completion = world.completion();
    let started = format!(r#"{{"type":"thread.started","thread_id":"{THREAD}"}}"#);
    let mut found = Vec::new();
    for line in std::iter::once(started.as_str()).chain(lines.iter().copied()) {
        for entry in completion.entries_before_line(line.as_bytes()).await {
            let entry = Token::parse(&entry).unwrap();
            if entry.get("call").is_none() {
                continue;
            }
            let count = |name| entry.get(name).and_then(Token::u64).unwrap();
            let place = (count("words"), count("actions"));
            let id = entry.get("call").and_then(|call| call.get("call_id"));
            found.push((place, id.and_then(Token::string).unwrap().into_owned()));
        }
    }
    found
}

const SAID: &str = r#"{"type":"item.completed","item":{"type":"agent_message","text":"x"}}"#;
const DONE: &str = r#"{"type":"item.completed","item":{"type":"command_execution"}}"#;
const END: &str = r#"{"type":"turn.completed"}"#;

#[tokio::test(start_paused = true)]
async fn a_call_without_an_item_has_its_place_among_the_items() {
    let (refused, ran, late) = (call("a", "exec"), call("b", "exec"), call("c", "exec"));
    let world = World::with_rollout(&[
        ("12:00:01", &item("m", "AgentMessage")),
        ("12:00:01", &refused),
        ("12:00:01", &output("a", "approval policy is Never")),
        ("12:00:02", &ran),
        ("12:00:02", &item("b", "CommandExecution")),
        ("12:00:02", &output("b", "fine")),
        ("12:00:03", &late),
        ("12:00:03", &output("c", "patch rejected: no")),
        ("12:00:03", OVER),
    ]);
    let found = entries(&world, &[SAID, DONE, END]).await;
    let expected = [((1, 0), "a".to_owned()), ((1, 1), "c".to_owned())];
    assert_eq!(found, expected);
}

#[tokio::test(start_paused = true)]
async fn calls_of_earlier_turns_and_plans_complete_nothing() {
    let world = World::with_rollout(&[
        ("11:59:59", &call("old", "exec")),
        ("11:59:59", &output("old", "patch rejected: no")),
        ("11:59:59", OVER),
        ("12:00:01", &call("plan", "update_plan")),
        ("12:00:01", &output("plan", "Plan updated")),
        ("12:00:01", OVER),
    ]);
    assert_eq!(entries(&world, &[END]).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_rollout_is_waited_for_once() {
    let home = tempfile::tempdir().unwrap();
    let world = World { home };
    let began = Instant::now();
    assert_eq!(entries(&world, &[SAID, DONE, END]).await, []);
    assert!(began.elapsed() < PATIENCE + IMPATIENCE, "a paused clock");
}

#[tokio::test(start_paused = true)]
async fn a_thread_whose_id_is_a_path_has_no_rollout() {
    let world = World::with_rollout(&[("12:00:01", OVER)]);
    let mut completion = world.completion();
    let line = br#"{"type":"thread.started","thread_id":"../../x"}"#;
    completion.entries_before_line(line).await;
    completion.entries_before_line(END.as_bytes()).await;
    assert!(completion.file.is_none());
    assert!(completion.is_absent);
}

/// The messages of a run and of its rollout, without ids, times, tokens, models and originals.
fn plain(events: &[Event]) -> Vec<Value> {
    let mut fold = MessageFold::new("run");
    let mut messages: Vec<Message> = events.iter().flat_map(|event| fold.push(event)).collect();
    messages.extend(fold.finish());
    let plain = messages.into_iter().map(|mut message| {
        if let Content::Blocks(blocks) = &mut message.content {
            for block in blocks {
                match block {
                    MessageBlock::ToolUse(call) => call.id = "id".into(),
                    MessageBlock::ToolResult(result) => result.tool_use_id = "id".into(),
                    _ => {}
                }
            }
        }
        serde_json::json!({"role": message.role, "content": message.content})
    });
    plain.collect()
}

/// A capture of a real run and its rollout: a patch and a command that Codex refused, and a command that its sandbox denied and that
/// the stream does not have, beside one that was done in the same response.
#[tokio::test(start_paused = true)]
async fn a_stream_completed_from_its_rollout_has_the_messages_of_the_rollout() {
    let home = fixtures().join("sessions/codex-0.166.0/refused");
    let stream = fs::read(fixtures().join("codex-0.166.0/refused.stdout.jsonl")).unwrap();
    let mut completion = RolloutCompletion::new(&home, Timestamp::UNIX_EPOCH);
    let options = NormalizeOptions::new("run");
    let mut normalizer = ExecNormalizer::new(&options);
    let mut events = Vec::new();
    for line in stream
        .split(|byte| *byte == b'\n')
        .filter(|it| !it.is_empty())
    {
        for entry in completion.entries_before_line(line).await {
            normalizer.session_log(&entry);
        }
        let line = RawLine::Whole(line);
        normalizer.push_line(LineDirection::FromAgent, line, None, &mut events);
    }
    let ending = ProcessEnd {
        exit_code: Some(0),
        ..ProcessEnd::default()
    };
    normalizer.finish(&ending, &mut events);

    let day = home.join("sessions/2026/11/18");
    let rollout = fs::read_dir(day).unwrap().next().unwrap().unwrap();
    let mut normalizer = RolloutNormalizer::new(&options);
    let mut recorded = Vec::new();
    for line in fs::read(rollout.path())
        .unwrap()
        .split(|byte| *byte == b'\n')
    {
        normalizer.push(RawLine::Whole(line), &mut recorded);
    }
    assert_eq!(plain(&events), plain(&recorded));

    let end = serde_json::to_value(events.last().unwrap()).unwrap();
    assert_eq!(end["cause"], "permission_denied", "{end}");
    let turn = &events[events.len() - 2];
    let turn = serde_json::to_value(turn).unwrap();
    let denials = turn["permissionDenials"].as_array().unwrap().iter();
    let reasons: Vec<_> = denials.map(|it| it["reason"].as_str().unwrap()).collect();
    let expected = [
        "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings",
        "the read-only sandbox of Codex: touch: cannot touch 'other.txt': Read-only file system",
        "approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never",
    ];
    assert_eq!(reasons, expected);
}
