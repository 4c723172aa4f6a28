//! The real Gemini CLI, of two generations, talks to the stand-in.
//!
//! Each run costs seconds of CPU, so each shows several things at once.

use std::time::Duration;

use lapidary_standin::api::{AfterScript, ApiError, FakeApi, Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::{V0_24_0, V0_61_0};
use lapidary_testkit::gemini::{GeminiVersion, GeminiWorld};
use serde_json::json;

use crate::client::start;
use crate::run::Run;

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn text_arrives_in_the_pieces_it_was_sent_in() {
    for version in [V0_24_0, V0_61_0] {
        let turn = Turn::thought("**Greeting** I will greet.")
            .and_text("Hello")
            .and_text(", ")
            .and_text("world.");
        check(
            version,
            Script::new().stream(turn),
            &[
                "init gemini-2.5-flash",
                "user hi",
                "assistant Hello",
                "assistant , ",
                "assistant world.",
                "result success",
            ],
            0,
        );
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_tool_is_called_and_its_output_comes_back_to_the_model() {
    for version in [V0_24_0, V0_61_0] {
        let script = Script::new()
            .stream(Turn::call(
                "run_shell_command",
                json!({ "command": "echo from the tool" }),
            ))
            .stream("Done.");
        let api = check(
            version,
            script,
            &[
                "init gemini-2.5-flash",
                "user hi",
                "tool_use run_shell_command",
                "tool_result success from the tool",
                "assistant Done.",
                "result success",
            ],
            0,
        );
        let requests = api.requests();
        let last = requests.last().unwrap().last_content().unwrap().to_string();
        assert!(
            last.contains("functionResponse") && last.contains("from the tool"),
            "{last}"
        );
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_answer_cut_short_for_safety_looks_like_any_other() {
    check_safety(V0_61_0);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_rate_limit_is_waited_for() {
    let limited = ApiError::rate_limited(Duration::from_secs(1));
    let api = check(
        V0_61_0,
        Script::new().stream(limited).stream("Recovered."),
        &[
            "init gemini-2.5-flash",
            "user hi",
            "assistant Recovered.",
            "result success",
        ],
        0,
    );
    assert_eq!(api.requests().len(), 2);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_exhausted_quota_ends_the_run() {
    let script = Script::new()
        .stream(ApiError::daily_quota_exhausted())
        .after(AfterScript::Repeat);
    let api = check(
        V0_61_0,
        script,
        &[
            "init gemini-2.5-flash",
            "user hi",
            "result error: [API Error: You have exhausted your daily quota on this model.]",
        ],
        173,
    );
    assert_eq!(api.requests().len(), 1);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_invalid_key_ends_the_run() {
    check_invalid_key(V0_61_0);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_connection_that_breaks_off_is_an_error() {
    check_connection(V0_61_0);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_model_that_falls_silent_is_waited_for() {
    check_silence(V0_61_0);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long, and the newer generation is always tried: run `cargo xtask test --full`"
)]
fn the_older_generation_says_the_same_of_failures() {
    for check in [
        check_safety,
        check_invalid_key,
        check_connection,
        check_silence,
    ] {
        check(V0_24_0);
    }
}

fn check_safety(version: GeminiVersion) {
    check(
        version,
        Script::new().stream(Turn::text("First you").finish("SAFETY")),
        &[
            "init gemini-2.5-flash",
            "user hi",
            "assistant First you",
            "result success",
        ],
        0,
    );
}

fn check_invalid_key(version: GeminiVersion) {
    let told = json!({ "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
        }],
    } });
    let result = format!("result error: [API Error: {told}]");
    let script = Script::new()
        .stream(ApiError::invalid_key())
        .after(AfterScript::Repeat);
    check(
        version,
        script,
        &["init gemini-2.5-flash", "user hi", &result],
        144,
    );
}

fn check_connection(version: GeminiVersion) {
    let script = Script::new().stream(Turn::text("I was about to").drop_connection());
    check(
        version,
        script.after(AfterScript::Repeat),
        &[
            "init gemini-2.5-flash",
            "user hi",
            "assistant I was about to",
            "result error: [API Error: terminated]",
        ],
        1,
    );
}

fn check_silence(version: GeminiVersion) {
    let api = start(Script::new().stream(Turn::text("Let me think").hang()));
    let world = GeminiWorld::new();
    let mut run = Run::start(version, &world, &api);
    run.wait_for("Let me think");
    assert_eq!(run.ended(), None, "it is still waiting");
    run.kill();
    assert_eq!(
        run.outline(),
        ["init gemini-2.5-flash", "user hi", "assistant Let me think"]
    );
}

/// Runs the CLI to its end and compares its output and its exit code.
#[track_caller]
fn check(version: GeminiVersion, script: Script, expected: &[&str], code: i32) -> FakeApi {
    let api = start(script);
    let world = GeminiWorld::new();
    let mut run = Run::start(version, &world, &api);
    let status = run.finish();
    assert_eq!(run.outline(), expected, "{version:?}: {}", run.stderr());
    assert_eq!(status.code(), Some(code), "{version:?}: {}", run.stderr());
    api
}
