//! A prompt in, an answer out.

use std::time::Duration;

use lapidary_standin::api::{Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::{V0_24_0, V0_61_0};
use serde_json::{Value, json};

use super::world::{Real, outline};
use crate::run::world::Told;

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn text_and_thoughts_of_both_generations() {
    for version in [V0_24_0, V0_61_0] {
        let turn = Turn::thought("**Greeting** I will greet.")
            .and_text("Hello")
            .and_text(", world.");
        let real = Real::new(version, Script::new().stream(turn));
        let told = real.run(&["--", "-x marks the spot"]);
        let expected = [
            "session_init gemini-2.5-flash",
            "user_input -x marks the spot",
            "stream_delta Hello",
            "stream_delta , world.",
            "turn_complete success",
            "run_end end_turn",
        ];
        assert_eq!(outline(&told), expected);
        assert_eq!(told.code, Some(0));
        let stderr = std::fs::read_to_string(recording(&told).join("stderr")).unwrap();
        assert!(!stderr.contains("relaunch"), "{stderr}");
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn every_view_of_one_answer() {
    let script = Script::new().stream("{\"answer\": 42}");
    let real = Real::new(V0_61_0, script.clone());
    let told = real.run(&["--format", "result", "--extract-data", "go"]);
    let result: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&result["success"], &result["data"]),
        (&json!(true), &json!({"answer": 42}))
    );
    assert!(result["usage"]["totalTokens"].as_u64().unwrap() > 0);

    let told = Real::new(V0_61_0, script.clone()).run(&["--format", "text", "go"]);
    assert!(
        told.stdout.contains("{\"answer\": 42}") && told.stdout.contains("completed"),
        "{}",
        told.stdout
    );

    let told = Real::new(V0_61_0, script).run(&["--transport", "json", "go"]);
    let last = outline(&told).pop().unwrap();
    assert_eq!(last, "run_end end_turn");
    assert!(
        told.stdout.contains("{\\\"answer\\\": 42}"),
        "{}",
        told.stdout
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_answer_is_repaired_in_its_session_over_both_transports() {
    let script = Script::new()
        .stream("I would say three.")
        .stream("```json\n{\"n\": 3}\n```");
    for transport in ["acp", "stream-json"] {
        let real = Real::new(V0_61_0, script.clone());
        let schema =
            json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        std::fs::write(real.world.project().join("s.json"), schema.to_string()).unwrap();
        let args = [
            "--transport",
            transport,
            "--format",
            "result",
            "--output-schema",
            "s.json",
            "count",
        ];
        let told = real.run(&args);
        let result: Value = serde_json::from_str(&told.stdout).unwrap();
        assert_eq!(told.code, Some(0), "{transport}: {result}");
        assert_eq!(
            (&result["data"], &result["dataSource"]),
            (&json!({"n": 3}), &json!("text")),
            "{transport}"
        );
        let asked = format!("{:?}", real.api.requests().last().unwrap());
        for words in ["count", "I would say three.", "has no complete JSON value"] {
            assert!(
                asked.contains(words),
                "{transport}: the session has {words}: {asked}"
            );
        }
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_prompt_of_seven_megabytes_reaches_the_agent_whole() {
    let real = Real::new(V0_61_0, Script::new().stream("Read."));
    let prompt = format!("{} THE END", "0123456789abcde ".repeat(7 << 16));
    let mut command = real.lapidary(&["-"]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), prompt.as_bytes()).unwrap();
    let output = crate::support::ended(child);
    let told = Told::of(output, Duration::ZERO);
    let user = told
        .events
        .iter()
        .find(|event| event["event"] == "user_input")
        .unwrap();
    assert!(user["text"] == prompt, "it got it whole");
    // The prompt is longer than the model accepts. The CLI does not say so: it reports success, and sends no request.
    assert_eq!(told.verdict(), ("empty_response", Some(15)));
    assert_eq!(real.api.requests().len(), 0);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_file_is_read_by_the_agent_itself() {
    let real = Real::new(V0_61_0, Script::new().stream("Done."));
    std::fs::write(real.world.project().join("task.md"), "the task").unwrap();
    let told = real.run(&["--prompt-file", "task.md", "--system-prompt", "Be brief."]);
    let user = outline(&told)
        .into_iter()
        .find(|line| line.starts_with("user_input"))
        .unwrap();
    assert!(
        user.starts_with("user_input Be brief.\n\nProcess the prompt in "),
        "{user}"
    );
    assert!(user.ends_with("/task.md"), "{user}");
}

fn recording(told: &Told) -> std::path::PathBuf {
    told.end()["extensions"]["lapidary.recording"]
        .as_str()
        .unwrap()
        .into()
}
