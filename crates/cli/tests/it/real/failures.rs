//! Failures of the real CLI, and the outcome of a run with each.

use std::time::Duration;

use lapidary_standin::api::{AfterScript, ApiError, Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::{V0_24_0, V0_61_0};
use serde_json::{Value, json};

use super::world::Real;
use crate::run::world::Told;

fn check(told: &Told, cause: &str, code: i32, hint: &str) {
    assert_eq!(told.verdict(), (cause, Some(code)), "{told:?}");
    let said = told.end()["hint"].as_str().unwrap_or_default();
    assert!(said.contains(hint), "{said}");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_rate_limit_that_passes_is_no_failure() {
    let script = Script::new()
        .stream(ApiError::rate_limited(Duration::from_secs(1)))
        .stream("At last.");
    let told = Real::new(V0_61_0, script).run(&["go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_exhausted_quota_has_its_own_cause() {
    let script = Script::new()
        .stream(ApiError::daily_quota_exhausted())
        .after(AfterScript::Repeat);
    let told = Real::new(V0_61_0, script.clone()).run(&["go"]);
    check(&told, "quota_terminal", 16, "quota");
    assert_eq!(told.end()["agentExitCode"], 173);
    // The document of a failure is on stderr, among much else.
    let told = Real::new(V0_61_0, script).run(&["--transport", "json", "go"]);
    check(&told, "quota_terminal", 16, "quota");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_key_that_is_not_valid_and_no_way_to_sign_in() {
    let told = Real::new(V0_61_0, Script::new().stream(ApiError::invalid_key())).run(&["go"]);
    check(&told, "auth_required", 11, "a key is set");
    assert_eq!(told.end()["agentExitCode"], 144);

    let nobody = json!({"security": {"auth": {"selectedType": Value::Null}}});
    let real = Real::with_settings(V0_61_0, Script::new(), &nobody);
    let mut command = real.lapidary(&["go"]);
    command
        .env_remove("GEMINI_API_KEY")
        .env_remove("GOOGLE_GEMINI_BASE_URL");
    let told = Told::started_by(command);
    check(&told, "auth_required", 11, "sign in");
    assert!(
        told.message()
            .starts_with("Gemini CLI authentication error.\n"),
        "{}",
        told.message()
    );
    assert_eq!(told.end()["agentExitCode"], 41);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_untrusted_folder_and_trust_for_one_run() {
    let untrusted = json!({"security": {"folderTrust": {"enabled": true}}});
    let real = Real::with_settings(V0_61_0, Script::new().stream("Hello."), &untrusted);
    check(&real.run(&["go"]), "untrusted_folder", 12, "trust");
    assert_eq!(
        real.run(&["--trust-workspace", "go"]).verdict(),
        ("end_turn", Some(0))
    );
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_limit_of_turns() {
    let limit = json!({"model": {"maxSessionTurns": 1}});
    let call = Turn::call("list_directory", json!({"dir_path": "."}));
    let script = Script::new().stream(call).after(AfterScript::Repeat);
    for version in [V0_24_0, V0_61_0] {
        let told = Real::with_settings(version, script.clone(), &limit).run(&["--yolo", "go"]);
        check(&told, "max_turns", 17, "maxSessionTurns");
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_connection_that_drops_and_an_answer_that_is_empty() {
    let script = Script::new().stream(Turn::text("Half a").drop_connection());
    let told = Real::new(V0_61_0, script).run(&["go"]);
    assert_eq!(told.verdict(), ("api_error", Some(1)), "{told:?}");
    assert!(
        told.stdout.contains("Half a"),
        "what was said before is there"
    );

    let script = Script::new()
        .stream(Turn::text(""))
        .after(AfterScript::Repeat);
    let told = Real::new(V0_61_0, script).run(&["go"]);
    assert_eq!(told.verdict(), ("empty_response", Some(15)), "{told:?}");
    assert_eq!(told.end()["agentExitCode"], 0);
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn settings_and_flags_that_cannot_be_read() {
    let real = Real::new(V0_61_0, Script::new());
    std::fs::write(
        real.world.home().join(".gemini/settings.json"),
        "{ not json",
    )
    .unwrap();
    check(
        &real.run(&["--trust-workspace", "go"]),
        "bad_config",
        13,
        "settings.json",
    );

    let told = Real::new(V0_61_0, Script::new()).run(&["--agent-arg=--nonsense", "go"]);
    assert_eq!(told.verdict(), ("agent_crashed", Some(15)), "{told:?}");
    assert!(told.message().contains("nonsense"), "{}", told.message());
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_loop_is_no_success() {
    let call = Turn::call("list_directory", json!({"dir_path": "."}));
    let script = Script::new().stream(call).after(AfterScript::Repeat);
    let told = Real::new(V0_61_0, script).run(&["--yolo", "go"]);
    assert_eq!(told.verdict(), ("loop_detected", Some(17)), "{told:?}");
    assert_eq!(told.end()["agentExitCode"], 0);
}

const ACP: &[&str] = &["--transport", "acp"];
const STREAM: &[&str] = &["--transport", "stream-json"];

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_loop_over_acp_and_a_limit_of_turns_have_different_causes() {
    let call = Turn::call("list_directory", json!({"dir_path": "."}));
    let script = Script::new().stream(call).after(AfterScript::Repeat);
    let told = Real::new(V0_61_0, script.clone()).run(&[ACP, &["--yolo", "go"]].concat());
    check(&told, "loop_detected", 17, "disableLoopDetection");
    let limit = json!({"model": {"maxSessionTurns": 1}});
    let real = Real::with_settings(V0_61_0, script, &limit);
    let told = real.run(&[ACP, &["--yolo", "go"]].concat());
    check(&told, "max_turns", 17, "`model.maxSessionTurns` (1)");
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_rate_limit_that_lasts_is_one_when_our_time_is_up() {
    let script = Script::new()
        .stream(ApiError::rate_limited(Duration::from_mins(1)))
        .after(AfterScript::Repeat);
    for transport in [ACP, STREAM] {
        let real = Real::new(V0_61_0, script.clone());
        let told = real.run(&[transport, &["--timeout", "12", "go"]].concat());
        check(&told, "quota_retryable", 16, "try again");
        let evidence = told.end()["evidence"].to_string();
        assert!(evidence.contains("Attempt 1 failed"), "{evidence}");
    }
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn an_answer_that_was_blocked_and_a_sandbox_that_is_not_there() {
    let blocked = Script::new()
        .stream(Turn::text("").finish("SAFETY"))
        .after(AfterScript::Repeat);
    let told = Real::new(V0_61_0, blocked).run(&[STREAM, &["go"]].concat());
    check(&told, "refusal", 18, "rephrase");

    let real = Real::new(V0_61_0, Script::new());
    let mut command = real.lapidary(&[STREAM, &["go"]].concat());
    command.env("GEMINI_SANDBOX", "lxc"); // it is not installed, and nothing is pulled for it
    let told = Told::started_by(command);
    check(&told, "sandbox", 13, "sandbox");
    assert!(told.message().contains("lxc"), "{}", told.message());
}
