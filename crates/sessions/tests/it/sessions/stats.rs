//! The usage of sessions, counted once.

use std::collections::BTreeMap;
use std::fs;

use lapidary_gemini::GeminiHome;
use lapidary_sessions::{PriceTable, SessionStore, StatsRequest, project_hash, stats};
use lapidary_testkit::recorded::{RecordedHome, header, log};
use lapidary_vocab::stats::{Stats, TokenCounts};
use serde_json::{Value, json};

fn counted(home: &RecordedHome, request: &StatsRequest) -> Stats {
    let store = SessionStore::new(GeminiHome::at(home.home()));
    stats(
        &[store.project(&home.project())],
        request,
        &PriceTable::shipped(),
    )
}

fn all(home: &RecordedHome) -> Stats {
    counted(home, &StatsRequest::default())
}

fn lines(lines: &[Value]) -> String {
    lines
        .iter()
        .fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

const TIME: &str = "2026-01-05T10:00:00.000Z";

fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "timestamp": TIME, "type": "user", "content": [{ "text": text }] })
}

fn answer(id: &str, input: u64, model: &str) -> Value {
    json!({ "id": id, "timestamp": TIME, "type": "gemini", "content": "ok", "model": model,
        "tokens": { "input": input, "output": 10, "cached": 0, "thoughts": 0, "tool": 0, "total": input + 10 } })
}

#[test]
fn sessions_turns_and_tokens_are_counted_and_priced() {
    let home = RecordedHome::new();
    home.session("one", "2026-01-05T10:00:00.000Z", &["a", "b"]);
    home.session("two", "2026-01-06T10:00:00.000Z", &["c"]);
    let stats = all(&home);
    assert_eq!(
        (stats.sessions, stats.turns, stats.messages, stats.answers),
        (2, 3, 6, 3)
    );
    assert_eq!(
        stats.tokens,
        TokenCounts {
            input: 300,
            output: 60,
            cached: 30,
            thoughts: 15,
            tool: 0,
            total: 375,
            ..TokenCounts::default()
        }
    );
    // 90 at 0.30, 10 at 0.03, 25 at 2.50 for a million, three times.
    let cost = 3.0 * (90.0 * 0.3 + 10.0 * 0.03 + 25.0 * 2.5) / 1e6;
    assert!(
        (stats.cost.unwrap() - cost).abs() < 1e-12,
        "{:?}",
        stats.cost
    );
    assert_eq!(
        (stats.unpriced_tokens, stats.prices_as_of.as_str()),
        (0, "2026-07-04")
    );
    let days: Vec<_> = stats
        .days
        .iter()
        .map(|day| (day.date.as_str(), day.turns, day.tokens.total))
        .collect();
    assert_eq!(days, [("2026-01-05", 2, 250), ("2026-01-06", 1, 125)]);
    let models: Vec<_> = stats
        .models
        .iter()
        .map(|model| (model.model.as_deref(), model.answers))
        .collect();
    assert_eq!(models, [(Some("gemini-2.5-flash"), 3)]);
}

#[test]
fn an_answer_counts_once_even_if_rewritten_copied_or_rewound() {
    let home = RecordedHome::new();
    let first = answer("g1", 100, "gemini-2.5-flash");
    let mut bare = first.clone();
    bare.as_object_mut().unwrap().remove("tokens");
    let mut without = first.clone();
    without["tokens"] = Value::Null;
    let text = lines(&[
        header("one", TIME, TIME),
        json!({ "$set": { "messages": [user("c", "<session_context>here")] } }),
        user("u1", "hello"),
        bare,
        first.clone(),
        without,
        user("u2", "never mind"),
        answer("g2", 1000, "gemini-2.5-flash"),
        json!({ "$rewindTo": "u2" }),
        json!({ "$set": { "messages": [user("u1", "hello"), first] } }),
        user("u3", "/help"),
        json!({ "id": "u4", "type": "user", "content": [{ "functionResponse": { "name": "x" } }] }),
        header("one", TIME, TIME),
    ]);
    home.chat("session-a.jsonl", &text);
    // The same again, as the CLI copies it when it gives a project a name.
    home.put(
        &format!(
            "tmp/{}/chats/session-a.jsonl",
            project_hash(&home.project())
        ),
        &text,
    );
    home.put(&format!("tmp/{}/chats/session-b.json", project_hash(&home.project())), &json!({
        "sessionId": "one", "projectHash": "x", "messages": [answer("g1", 100, "gemini-2.5-flash"), answer("g3", 5, "gemini-2.5-flash")],
    }).to_string());
    let stats = all(&home);
    assert_eq!((stats.sessions, stats.turns, stats.answers), (1, 2, 3));
    assert_eq!(stats.tokens.input, 1105);
    assert_eq!(stats.messages, 8);
    assert_eq!(stats.answers_without_tokens, 0);
}

#[test]
fn unknown_usage_and_prices_leave_the_cost_unknown() {
    let home = RecordedHome::new();
    let mut silent = answer("g3", 0, "gemini-2.5-pro");
    silent.as_object_mut().unwrap().remove("tokens");
    home.chat("session-a.jsonl", &lines(&[
        header("one", TIME, TIME), user("u", "hi"),
        answer("g1", 100, "someone-elses-model"), silent,
        json!({ "id": "g4", "type": "gemini", "content": "x", "tokens": { "input": 7, "output": "many", "total": null } }),
    ]));
    let stats = all(&home);
    assert_eq!(stats.cost, None, "not nothing: unknown");
    assert_eq!(stats.unpriced_tokens, 117);
    assert_eq!(
        (stats.answers, stats.answers_without_tokens, stats.undated),
        (3, 1, 1)
    );
    let models: BTreeMap<_, _> = stats
        .models
        .iter()
        .map(|model| (model.model.clone(), model.cost))
        .collect();
    assert_eq!(models.len(), 3);
    assert!(models.values().all(Option::is_none), "{models:?}");
    assert_eq!(stats.days.len(), 1);
    assert_eq!(stats.days[0].cost, None);
}

#[test]
fn tools_are_counted_with_their_failures_and_sub_agents_with_their_tokens() {
    let home = RecordedHome::new();
    let calls = |status: &str| {
        json!([
            { "id": "c1", "name": "read_file", "status": "success" },
            { "id": "c2", "name": "read_file", "status": status },
            { "id": "c3", "name": "run_shell_command", "status": "cancelled" },
        ])
    };
    let mut running = answer("g", 10, "gemini-2.5-flash");
    running["toolCalls"] = calls("executing");
    let mut done = running.clone();
    done["toolCalls"] = calls("error");
    home.chat(
        "session-a.jsonl",
        &lines(&[header("one", TIME, TIME), user("u", "hi"), running, done]),
    );
    let agent = log("agent-1", TIME, &["do it"]).replace("\"main\"", "\"subagent\"");
    home.chat("one/agent-1.jsonl", &agent);
    let stats = all(&home);
    let tools: Vec<_> = stats
        .tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.calls, tool.errors, tool.cancelled))
        .collect();
    assert_eq!(
        tools,
        [("read_file", 2, 1, 0), ("run_shell_command", 1, 0, 1)]
    );
    assert_eq!((stats.tool_calls, stats.tool_errors), (3, 1));
    assert_eq!(
        (stats.sessions, stats.subagents, stats.tokens.input),
        (1, 1, 110)
    );
}

#[test]
fn filters_take_what_was_said_then_and_by_whom() {
    let home = RecordedHome::new();
    home.chat(
        "session-a.jsonl",
        &lines(&[
            header("one", TIME, TIME),
            user("u1", "first"),
            answer("g1", 1, "gemini-2.5-flash"),
            user("u2", "second"),
            answer("g2", 2, "gemini-2.5-pro"),
        ]),
    );
    home.session("two", "2026-02-05T10:00:00.000Z", &["later"]);
    let pro = counted(
        &home,
        &StatsRequest {
            model: Some("PRO".to_owned()),
            ..StatsRequest::default()
        },
    );
    assert_eq!((pro.sessions, pro.turns, pro.tokens.input), (1, 1, 2));
    let ms = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let february = counted(
        &home,
        &StatsRequest {
            since: Some(ms("2026-02-01T00:00:00Z")),
            ..StatsRequest::default()
        },
    );
    assert_eq!((february.sessions, february.turns), (1, 1));
    let january = counted(
        &home,
        &StatsRequest {
            until: Some(ms("2026-02-01T00:00:00Z")),
            ..StatsRequest::default()
        },
    );
    assert_eq!(
        (january.sessions, january.turns, january.tokens.input),
        (1, 2, 3)
    );
}

#[test]
fn torn_odd_and_unreadable_files_take_nothing_from_the_others() {
    let home = RecordedHome::new();
    home.session("good", "2026-01-05T10:00:00.000Z", &["hello"]);
    let torn = log("torn", TIME, &["one", "two"]);
    home.chat("session-torn.jsonl", &torn[..torn.len() - 90]);
    home.chat(
        "session-half.jsonl",
        &format!("{{\"sessionId\":\"ha\n{}", log("half", TIME, &["three"])),
    );
    home.chat("session-empty.jsonl", "");
    home.chat(
        "session-odd.jsonl",
        "[1,2]\nnull\n\"x\"\n{\"id\":5}\n{\"$set\":7}\n",
    );
    fs::create_dir(home.folder().join("chats/session-dir.json")).unwrap();
    home.chat("session-pretty.json", &format!("{:#}", json!({
        "sessionId": "pretty", "messages": [user("u", "old"), answer("g", 100, "gemini-2.5-flash"), 5, null, {}],
    })));
    let stats = all(&home);
    assert_eq!(stats.sessions, 4, "{stats:?}");
    assert_eq!(stats.turns, 5);
}

#[test]
fn counting_agrees_with_every_recorded_session_of_the_real_cli() {
    // The captures' own sum, by another way: the last tokens of each answer, by its id.
    let mut checked = 0;
    for version in ["gemini-0.24.0", "gemini-0.61.0"] {
        let folder = lapidary_testkit::captures::fixtures()
            .join(version)
            .join("sessions");
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let home = RecordedHome::new();
            home.chat("session-x.jsonl", &text);
            let stats = all(&home);
            let mut tokens: BTreeMap<String, u64> = BTreeMap::new();
            each_message(&text, &mut |message| {
                if let (Some(id), Some(total)) =
                    (message["id"].as_str(), message["tokens"]["total"].as_u64())
                {
                    tokens.insert(id.to_owned(), total);
                }
            });
            assert_eq!(
                stats.tokens.total,
                tokens.values().sum::<u64>(),
                "{}",
                path.display()
            );
            checked += u64::from(stats.tokens.total > 0);
        }
    }
    assert!(checked > 10, "{checked}");
}

fn each_message(text: &str, take: &mut dyn FnMut(&Value)) {
    let whole: Vec<Value> = match serde_json::from_str(text) {
        Ok(document) => vec![document],
        Err(_) => text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect(),
    };
    for record in &whole {
        take(record);
        for list in [&record["messages"], &record["$set"]["messages"]] {
            list.as_array().into_iter().flatten().for_each(&mut *take);
        }
    }
}
