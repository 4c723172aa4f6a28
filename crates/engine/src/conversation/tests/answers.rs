//! Answers that must fit a schema: found in messages, repaired in the same session, or the reason why the run fails.

use std::sync::{Arc, Mutex};

use lapidary_gemini::json_schema::JsonSchema;
use lapidary_vocab::Json;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use super::client::{TestClient, request_to};
use crate::acp::LocalAgent;
use crate::conversation::{self, PromptJob, SessionChoice};
use crate::output_schema::OutputSchema;
use crate::replay::{PastAttempts, PastReading, RecordingReader, ReplayError};
use crate::run::recorded_events::PastFormat;

/// The prompts that an agent got.
type Prompts = Arc<Mutex<Vec<String>>>;

/// An agent that answers its first prompt with the first of these answers, and so on; the last one again and again. `CALL` in an
/// answer is a tool call, `REFUSE` refuses the prompt.
fn answering(answers: &[&str]) -> (LocalAgent, Prompts) {
    let answers: Vec<_> = answers.iter().map(|&it| it.to_owned()).collect();
    let prompts = Prompts::default();
    let kept = Arc::clone(&prompts);
    let agent = LocalAgent::new(move |stream| serve(stream, answers.clone(), Arc::clone(&kept)));
    (agent, prompts)
}

async fn serve(stream: DuplexStream, answers: Vec<String>, prompts: Prompts) {
    let (reads, mut writes) = tokio::io::split(stream);
    let mut lines = BufReader::new(reads).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let mut out = Vec::new();
        let result = match request["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {}}),
            Some("session/new") => json!({"sessionId": "s"}),
            Some("session/prompt") => {
                let place = prompts.lock().unwrap().len().min(answers.len() - 1);
                let blocks = request["params"]["prompt"].as_array().unwrap().iter();
                let texts = blocks.map(|block| block["text"].as_str().unwrap());
                prompts
                    .lock()
                    .unwrap()
                    .push(texts.collect::<Vec<_>>().join("\n"));
                updates(&answers[place], &mut out)
            }
            _ => continue,
        };
        out.push(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
        for message in out {
            writes
                .write_all(format!("{message}\n").as_bytes())
                .await
                .unwrap();
        }
    }
}

/// The updates of a turn, each message in chunks of two characters, and the answer to its prompt.
fn updates(answer: &str, out: &mut Vec<Value>) -> Value {
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}});
    if answer == "REFUSE" {
        return json!({"stopReason": "refusal"});
    }
    for (number, message) in answer.split("CALL").enumerate() {
        if number > 0 {
            let id = format!("c{number}");
            out.push(update(json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "read", "kind": "read", "status": "completed"})));
        }
        let letters: Vec<char> = message.chars().collect();
        for piece in letters.chunks(2) {
            let text: String = piece.iter().collect();
            out.push(update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})));
        }
    }
    json!({"stopReason": "end_turn"})
}

struct JudgedRun {
    events: Vec<Value>,
    prompts: Vec<String>,
}

impl JudgedRun {
    fn new(schema: &Value, repairs: u32, answers: &[&str]) -> Self {
        let (agent, prompts) = answering(answers);
        let home = tempfile::tempdir().unwrap();
        let mut request = request_to(agent, &home);
        let schema = JsonSchema::from_value(schema.clone()).unwrap();
        request.run.output_schema = Some(OutputSchema::new(schema).with_repairs(repairs));
        let errand = PromptJob {
            opening: SessionChoice::New,
            prompt: vec![Json::from_value(&json!({"type": "text", "text": "go"}))],
        };
        let mut run = conversation::run(request, errand);
        let events: Vec<Value> = std::iter::from_fn(|| run.blocking_next())
            .map(|event| serde_json::from_str(&event.to_json()).unwrap())
            .collect();
        let recorded = recorded_end(&home.path().join("runs/r"));
        assert_eq!(recorded["answer"], events.last().unwrap()["answer"]);
        let prompts = prompts.lock().unwrap().clone();
        Self { events, prompts }
    }

    fn end(&self) -> &Value {
        let end = self.events.last().unwrap();
        assert_eq!(end["event"], "run_end");
        end
    }

    fn notices(&self) -> usize {
        let events = self.events.iter();
        let notices = events.filter(|event| {
            let message = event["message"].as_str().unwrap_or_default();
            event["event"] == "diagnostic" && message.contains("follows")
        });
        notices.count()
    }
}

/// The `run_end` as a reader of the recording gets it.
fn recorded_end(recording: &std::path::Path) -> Value {
    let past = RecordingReader::open(recording).unwrap();
    let reading = PastReading {
        options: past.options(lapidary_normalize::NormalizeOptions::new("r")),
        max_line: 1 << 20,
        exit_code: None,
        attempts: PastAttempts::AllThatFollow,
    };
    let mut last = Value::Null;
    past.each_event(PastFormat::Acp, &reading, &mut |events, _| {
        if let Some(event) = events.last() {
            last = serde_json::from_str(&event.to_json()).unwrap();
        }
        events.clear();
        Ok::<(), ReplayError>(())
    })
    .unwrap();
    last
}

fn review() -> Value {
    json!({
        "type": "object", "required": ["title", "lines"], "additionalProperties": false,
        "properties": {"title": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
    })
}

#[test]
fn twenty_schemas_are_answered_at_once_or_after_one_repair() {
    let table = include_str!("../../../../../fixtures/json-schema/answers.json");
    let table: Vec<Value> = serde_json::from_str(table).unwrap();
    assert_eq!(table.len(), 20);
    for case in table {
        let name = case["name"].as_str().unwrap();
        let [fits, fails] = ["fits", "fails"].map(|key| case[key].to_string());
        let run = JudgedRun::new(&case["schema"], 2, &[&fails, &fits]);
        let end = run.end();
        assert_eq!(end["cause"], "end_turn", "{name}: {end}");
        assert_eq!(
            end["answer"],
            json!({"data": case["fits"], "dataSource": "text"}),
            "{name}"
        );
        assert_eq!(run.prompts.len(), 2, "{name}");

        let run = JudgedRun::new(&case["schema"], 0, &[&fails, &fits]);
        let end = run.end();
        assert_eq!(
            (&end["cause"], &end["exitCode"]),
            (&json!("schema_mismatch"), &json!(19))
        );
        let pointers: Vec<_> = end["answer"]["violations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["pointer"].clone())
            .collect();
        assert!(pointers.contains(&case["pointer"]), "{name}: {end}");
        assert_eq!(run.prompts.len(), 1, "{name}");
    }
}

#[test]
fn an_agent_that_refuses_twice_and_then_answers_has_completed_its_run() {
    let refusals = [
        "I would rather not.",
        "{\"title\": 1}",
        "```json\n{\"title\": \"x\", \"lines\": [9007199254740993, 1e2]}\n```",
    ];
    let run = JudgedRun::new(&review(), 2, &refusals);
    let end = run.end();
    assert_eq!(
        (&end["outcome"], &end["exitCode"]),
        (&json!("completed"), &json!(0))
    );
    let raw = run.events.last().unwrap().to_string();
    assert!(raw.contains("9007199254740993"), "digits are kept: {raw}");
    assert_eq!((run.prompts.len(), run.notices()), (3, 2));
    assert!(
        run.prompts[1].contains("the answer has no complete JSON value"),
        "{}",
        run.prompts[1]
    );
    assert!(
        run.prompts[2].contains("`/title` must be string"),
        "{}",
        run.prompts[2]
    );
    assert!(run.prompts[2].contains("must have required property 'lines'"));
}

#[test]
fn an_answer_that_never_fits_fails_the_run_and_repeats_what_was_said() {
    let run = JudgedRun::new(&review(), 2, &["Just prose."]);
    let end = run.end();
    assert_eq!(
        (&end["outcome"], &end["cause"], &end["exitCode"]),
        (&json!("failed"), &json!("schema_mismatch"), &json!(19))
    );
    assert_eq!(
        end["message"],
        "the answer does not fit the output schema after 2 repairs: the answer has no complete JSON value; the agent said: Just prose."
    );
    assert_eq!(
        end["answer"],
        json!({"violations": [{"pointer": "", "message": "has no complete JSON value"}]})
    );
    assert_eq!(run.prompts.len(), 3);
}

#[test]
fn data_is_found_where_agents_put_it_and_half_a_value_is_none() {
    let good = r#"{"title": "x", "lines": [1]}"#;
    let other = r#"{"title": "y", "lines": [2]}"#;
    for (answer, title) in [
        (
            format!("Here it is:\n```json\n{good}\n```\nDone."),
            Some("x"),
        ),
        (format!("{good}\n{good}"), Some("x")),
        (format!("First I had {other}, but it is {good}."), Some("x")),
        (format!("{good} and a note {{\"title\": 1}}"), Some("x")),
        (format!("{good}CALLAll done."), Some("x")),
        (format!("{other}CALL{good}"), Some("x")),
        (r#"{"title": "x", "lines": [1"#.to_owned(), None),
        (format!("{{\"whole\": {good}, \"lines\": [1"), None),
        (format!("```json\n{}", &good[..20]), None),
        (
            r#"{"title": "x", "title": "y", "lines": []}"#.to_owned(),
            None,
        ),
        (String::new(), None),
    ] {
        let run = JudgedRun::new(&review(), 0, &[&answer]);
        let end = run.end();
        let data = &end["answer"]["data"];
        assert_eq!(data["title"].as_str(), title, "{answer}: {end}");
        assert_eq!(end["exitCode"] == 0, title.is_some(), "{answer}: {end}");
    }
}

#[test]
fn a_turn_that_the_agent_does_not_complete_ends_as_it_does_without_a_schema() {
    let run = JudgedRun::new(&review(), 2, &["REFUSE"]);
    assert_eq!(
        (&run.end()["cause"], run.prompts.len()),
        (&json!("refusal"), 1)
    );
    let run = JudgedRun::new(&review(), 2, &["prose", "REFUSE"]);
    assert_eq!(
        (&run.end()["cause"], run.prompts.len()),
        (&json!("refusal"), 2)
    );
}

#[test]
fn a_client_gives_a_schema_with_a_prompt_and_gets_data_with_the_result() {
    let (agent, prompts) =
        answering(&["no", r#"{"title": "x", "lines": []}"#, "free text", "prose"]);
    let mut client = TestClient::with("", |request| request.local = Some(agent));
    let asked = json!({"text": "go", "outputSchema": review()});
    let first = client.give("send_message", asked.clone());
    let result = client.result(&first);
    assert_eq!(
        result["answer"],
        json!({"data": {"title": "x", "lines": []}, "dataSource": "text"})
    );
    assert!(prompts.lock().unwrap()[0].contains("JSON Schema"));

    let second = client.give("send_message", json!({"text": "and?"}));
    assert!(
        client.result(&second).get("answer").is_none(),
        "the schema is for one prompt"
    );

    let third = client.give(
        "send_message",
        json!({"text": "go", "outputSchema": review(), "schemaRepairs": 0}),
    );
    let result = client.result(&third);
    assert_eq!(result["isError"], true);
    assert_eq!(
        result["answer"]["violations"][0]["message"],
        "has no complete JSON value"
    );

    let fourth = client.give(
        "send_message",
        json!({"text": "go", "outputSchema": {"type": "thing"}}),
    );
    let message = client.result(&fourth)["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.starts_with("`outputSchema` cannot be used: `/type` is not a valid `type`"),
        "{message}"
    );
    assert_eq!(prompts.lock().unwrap().len(), 4);
    client.finish();
}
