//! Answers that an agent hands over through the tool of its session.

use std::io::{BufRead as _, BufReader as LineReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use lapidary_gemini::json_schema::JsonSchema;
use lapidary_vocab::Json;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use super::client::{TestClient, request_to};
use crate::acp::LocalAgent;
use crate::conversation::{self, PromptJob, SessionChoice};
use crate::output_schema::{OutputSchema, SubmissionTool};

/// The texts of the prompts, and the answers to calls of the tool.
#[derive(Debug, Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn add(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// An agent that carries out the lines of each prompt up to the first empty one: `submit JSON` calls the tool of the session, `say TEXT`
/// is a message. A repair prompt is answered with what `later` says.
fn agent(later: &'static str, heard: &Heard) -> LocalAgent {
    let heard = heard.clone();
    LocalAgent::new(move |stream| serve(stream, later, heard.clone()))
}

async fn serve(stream: DuplexStream, later: &'static str, heard: Heard) {
    let (reads, mut writes) = tokio::io::split(stream);
    let mut lines = BufReader::new(reads).lines();
    let mut sockets: Vec<Option<String>> = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let params = &request["params"];
        let mut out = Vec::new();
        let result = match request["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {}}),
            Some("session/new") => {
                sockets.push(socket_in(params));
                json!({"sessionId": format!("s{}", sockets.len())})
            }
            Some("session/prompt") => {
                let session = params["sessionId"].as_str().unwrap();
                let place: usize = session[1..].parse().unwrap();
                let text = params["prompt"][0]["text"].as_str().unwrap();
                heard.add(text.to_owned());
                let steps = if text.starts_with("Your answer") {
                    later
                } else {
                    text
                };
                for step in steps.lines().take_while(|line| !line.is_empty()) {
                    if let Some(arguments) = step.strip_prefix("submit ") {
                        let socket = sockets[place - 1].clone().unwrap();
                        let arguments = arguments.to_owned();
                        let answer =
                            tokio::task::spawn_blocking(move || submit(&socket, &arguments));
                        heard.add(answer.await.unwrap());
                    } else if let Some(text) = step.strip_prefix("say ") {
                        let update = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
                        out.push(json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}));
                    }
                }
                json!({"stopReason": "end_turn"})
            }
            _ => continue,
        };
        out.push(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
        for message in out {
            let message = format!("{message}\n");
            writes.write_all(message.as_bytes()).await.unwrap();
        }
    }
}

/// The socket of the server that a session is opened with.
fn socket_in(params: &Value) -> Option<String> {
    let server = &params["mcpServers"].as_array()?.first()?;
    assert_eq!(server["name"], "lapidary-result");
    assert_eq!(
        (&server["command"], &server["env"]),
        (&json!("/program"), &json!([]))
    );
    Some(server["args"][1].as_str()?.to_owned())
}

/// Hands over a result, and returns the answer.
fn submit(socket: &str, arguments: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    writeln!(stream, "{arguments}").unwrap();
    let mut answer = String::new();
    LineReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

/// The tool, with a server that reads one result and answers with one line.
fn tool() -> SubmissionTool {
    SubmissionTool::new("/program", |stream, inbox| {
        Box::pin(async move {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let arguments: Json = serde_json::from_str(line.trim()).unwrap();
            let answer = match inbox.submit(&arguments) {
                Ok(()) => "taken".to_owned(),
                Err(correction) => correction.replace('\n', " "),
            };
            let answer = format!("{answer}\n");
            stream.get_mut().write_all(answer.as_bytes()).await.unwrap();
        })
    })
}

fn counted(repairs: u32) -> OutputSchema {
    let schema =
        r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#;
    let schema = JsonSchema::parse(schema).unwrap();
    OutputSchema::new(schema)
        .with_repairs(repairs)
        .with_tool(tool())
}

/// The end of a run with this prompt, and all that the agent heard.
fn run(prompt: &str, later: &'static str, repairs: u32) -> (Value, Vec<String>) {
    let home = tempfile::tempdir().unwrap();
    let heard = Heard::default();
    let mut request = request_to(agent(later, &heard), &home);
    request.run.output_schema = Some(counted(repairs));
    let errand = PromptJob {
        opening: SessionChoice::New,
        prompt: vec![Json::from_value(&json!({"type": "text", "text": prompt}))],
    };
    let mut run = conversation::run(request, errand);
    let events = std::iter::from_fn(|| run.blocking_next());
    let last = events.map(|event| event.to_json()).last().unwrap();
    let answers = home.path().join("runs/r.answers");
    assert!(!answers.exists(), "the sockets go with the run");
    (serde_json::from_str(&last).unwrap(), heard.all())
}

#[test]
fn the_last_result_that_fits_counts_and_wrong_ones_are_answered_within_the_turn() {
    let prompt = "submit {\"n\": \"1\"}\nsubmit {\"n\": 1}\nsubmit {\"n\": 9007199254740993}\nsubmit {\"n\": null}\nsay {\"n\": 5}";
    let (end, heard) = run(prompt, "", 2);
    assert_eq!(end["exitCode"], 0, "{end}");
    assert_eq!(end["answer"]["dataSource"], "tool");
    assert!(end.to_string().contains("9007199254740993"), "{end}");
    assert_eq!(heard.len(), 5, "one prompt, no repair: {heard:?}");
    assert!(heard[1].contains("* `/n` must be integer"), "{heard:?}");
    assert!(heard[1].contains("Call `submit_result` again"), "{heard:?}");
    assert_eq!(
        (heard[2].as_str(), heard[3].as_str()),
        ("taken\n", "taken\n")
    );
}

#[test]
fn an_agent_that_does_not_call_the_tool_is_asked_for_text_and_may_call_it_then() {
    let (end, heard) = run("say prose", "say {\"n\": 2}", 2);
    assert_eq!(
        end["answer"],
        json!({"data": {"n": 2}, "dataSource": "text"}),
        "{end}"
    );
    assert_eq!(heard.len(), 2);
    let (end, _) = run("say prose", "submit {\"n\": 3}", 2);
    assert_eq!(
        end["answer"],
        json!({"data": {"n": 3}, "dataSource": "tool"}),
        "{end}"
    );
}

#[test]
fn a_wrong_call_and_no_data_in_text_fail_the_run_with_the_pointers_of_the_call() {
    let (end, heard) = run("submit {\"n\": \"x\"}\nsay I gave it.", "say no", 1);
    assert_eq!(
        (&end["cause"], &end["exitCode"]),
        (&json!("schema_mismatch"), &json!(19)),
        "{end}"
    );
    let repair = heard.last().unwrap();
    assert!(repair.contains("* `/n` must be integer"), "{heard:?}");
    let pointers = &end["answer"]["violations"];
    assert_eq!(
        pointers,
        &json!([{"pointer": "", "message": "has no complete JSON value"}])
    );

    let (end, _) = run("submit {\"n\": \"x\"}\nsay I gave it.", "", 0);
    assert_eq!(end["answer"]["violations"][0]["pointer"], "/n", "{end}");
}

#[test]
fn each_session_of_a_client_has_an_inbox_and_a_prompt_with_its_own_schema_leaves_the_tool_out() {
    let heard = Heard::default();
    let mut client = TestClient::with("", |request| {
        request.local = Some(agent("say no", &heard));
        request.run.output_schema = Some(counted(0));
    });
    let opened: Vec<_> = (0..2)
        .map(|_| client.give("create_session", json!({"cwd": ""})))
        .collect();
    let sessions: Vec<_> = opened
        .iter()
        .map(|id| client.result(id)["result"]["sessionId"].clone())
        .collect();
    assert_eq!(sessions, [json!("s1"), json!("s2")]);
    let asked = |session: &Value, text: &str| json!({"sessionId": session, "text": text});
    let first = client.give("send_message", asked(&sessions[0], "submit {\"n\": 1}"));
    let second = client.give("send_message", asked(&sessions[1], "say nothing"));
    assert_eq!(
        client.result(&first)["answer"],
        json!({"data": {"n": 1}, "dataSource": "tool"})
    );
    assert_eq!(
        client.result(&second)["isError"],
        true,
        "the answer of the other session is not its own"
    );

    let mut own = asked(&sessions[0], "submit {\"n\": 4}\nsay [7]");
    own["outputSchema"] = json!({"type": "array"});
    let third = client.give("send_message", own);
    assert_eq!(
        client.result(&third)["answer"],
        json!({"data": [7], "dataSource": "text"})
    );
    let fourth = client.give("send_message", asked(&sessions[0], "say nothing"));
    assert_eq!(
        client.result(&fourth)["isError"],
        true,
        "an earlier call is not the answer"
    );
    client.finish();
}
