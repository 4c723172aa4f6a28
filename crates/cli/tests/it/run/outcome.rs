//! How a run ended, from everything that is known about it.

use super::world::{Told, World};

#[test]
fn exit_codes_have_meanings() {
    let cases = [
        (1, "agent_crashed", 15),
        (41, "auth_required", 11),
        (42, "bad_input", 13),
        (44, "sandbox", 13),
        (52, "bad_config", 13),
        (53, "max_turns", 17),
        (54, "tool_fatal", 1),
        (55, "untrusted_folder", 12),
        (127, "agent_missing", 10),
        (130, "cancelled_by_client", 130),
        (144, "api_error", 1),
        (145, "auth_required", 11),
        (147, "auth_required", 11),
        (173, "quota_retryable", 16),
    ];
    for (code, cause, ours) in cases {
        let told = World::with_agent(&format!("init; exit {code}")).run(&["go"]);
        assert_eq!(told.verdict(), (cause, Some(ours)), "exit {code}");
        assert_eq!(told.end()["exitCode"], ours, "exit {code}");
        assert_eq!(told.end()["agentExitCode"], code);
    }
}

#[test] // P41, U38, O23
fn the_agents_stderr_is_the_message_of_its_failure() {
    let told = World::with_agent("echo 'something broke' >&2; exit 3").run(&["go"]);
    assert_eq!(
        told.message(),
        "Gemini CLI failed (exit 3): something broke"
    );
    assert!(
        told.stderr
            .contains("error: Gemini CLI failed (exit 3): something broke")
    );
}

#[test] // P42, P63
fn an_authentication_error_says_how_to_sign_in() {
    let told = World::with_agent("echo 'Please configure auth first.' >&2; exit 1").run(&["go"]);
    assert_eq!(told.verdict(), ("auth_required", Some(11)));
    let words = "Gemini CLI authentication error.\nPlease configure auth first.";
    assert_eq!(told.message(), words);
    assert!(told.end()["hint"].as_str().unwrap().contains("sign in"));
    let told = World::with_agent("exit 41").run(&["go"]);
    assert_eq!(told.message(), "Gemini CLI authentication error.");
}

#[test]
fn only_whole_words_are_about_authentication() {
    for words in ["the author is unknown", "at /src/auth/login.js:3", "blogin"] {
        let told = World::with_agent(&format!("echo '{words}' >&2; exit 1")).run(&["go"]);
        assert_eq!(told.verdict(), ("agent_crashed", Some(15)), "{words}");
    }
}

#[test] // P44
fn a_shell_that_finds_no_agent_means_that_it_is_missing() {
    let told = World::with_agent("exec no-such-program").run(&["go"]);
    assert_eq!(told.verdict(), ("agent_missing", Some(10)));
    assert!(
        told.message()
            .contains("Install from: https://github.com/google-gemini/gemini-cli")
    );
}

#[test] // O21
fn the_agents_own_words_come_before_what_it_complained_about() {
    let told =
        World::with_agent("init; echo noise >&2; failure ApiError 'it broke'; exit 1").run(&["go"]);
    assert_eq!(
        (told.verdict().0, told.message()),
        ("api_error", "it broke")
    );
    let told = World::with_agent("init; failure ApiError ''; exit 1").run(&["go"]);
    assert_eq!(told.message(), "ApiError");
}

#[test]
fn a_start_that_failed_is_tried_again_if_that_was_asked_for() {
    let script = "if [ ! -e ../tried ]; then touch ../tried; exit 9; fi; init; say a; success";
    let world = World::with_agent(script);
    let told = world.run(&["--retries", "2", "--run-id", "again", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    let retry = told
        .events
        .iter()
        .find(|event| event["kind"] == "retry")
        .unwrap();
    let words = "attempt 1 of 3 failed (agent_crashed): Gemini CLI failed (exit 9); the next one starts in 0.5 s";
    assert_eq!(retry["message"], words);
    let numbers: Vec<_> = told
        .events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..told.events.len() as u64).collect::<Vec<_>>());
    assert!(world.path("state/runs/again").is_dir());
    let last = world.path("state/runs/again.2");
    assert_eq!(
        told.end()["extensions"]["lapidary.recording"],
        last.to_str().unwrap()
    );
    assert_eq!(
        World::with_agent(script).run(&["go"]).verdict(),
        ("agent_crashed", Some(15))
    );
}

#[test]
fn a_prompt_that_is_tried_again_has_one_end() {
    let quota = "failure ApiError 'Quota exceeded. Please retry in 0.01s.'; exit 173";
    let again =
        format!("init; if [ ! -e ../tried ]; then touch ../tried; {quota}; fi; say a; success");
    let told = World::with_agent(&again).run(&["--retries", "1", "go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
    assert_eq!(told.count("turn_complete"), 1);
    let retry = told
        .events
        .iter()
        .find(|event| event["kind"] == "retry")
        .unwrap();
    let message = retry["message"].as_str().unwrap();
    assert!(
        message.ends_with("the next one starts in 0.01 s"),
        "{message}"
    );
    assert_eq!(retry["raw"]["type"], "result", "its line is not lost");
    // The last attempt's end is the prompt's.
    let told = World::with_agent(&format!("init; {quota}")).run(&["--retries", "1", "go"]);
    assert_eq!(told.verdict(), ("quota_retryable", Some(16)), "{told:?}");
    assert_eq!(told.count("turn_complete"), 1);
    let numbers = told
        .events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap());
    assert!(numbers.eq(0..told.events.len() as u64));
}

#[test]
fn a_run_is_not_retried_after_the_agent_has_acted() {
    let cases: [(&str, &[&str]); 6] = [
        ("call c1 write_file", &[]),
        ("say a", &[]),
        ("say a", &["--deltas", "final"]),
        (
            r#"echo '{"type":"tool_use","tool_name":"write_file","parameters":{}}'"#,
            &[],
        ),
        (r#"echo '{"type":"tool_start","name":"write_file"}'"#, &[]),
        ("echo x >> ../written", &["--transport", "json"]),
    ];
    for (done, args) in cases {
        let world = World::with_agent(&format!("echo x >> ../tried; {done}; exit 173"));
        let told = world.run(&[args, &["--retries", "3", "go"]].concat());
        assert_eq!(told.verdict(), ("quota_retryable", Some(16)), "{done}");
        let tried = std::fs::read_to_string(world.path("tried")).unwrap();
        assert_eq!(tried.lines().count(), 1, "{done}");
    }
}

#[test]
fn a_run_that_fails_after_its_retries_has_the_cause_of_the_last_attempt() {
    let told = World::with_agent("exit 9").run(&["--retries", "1", "go"]);
    assert_eq!(told.verdict(), ("agent_crashed", Some(15)));
    assert_eq!(
        told.events
            .iter()
            .filter(|event| event["kind"] == "retry")
            .count(),
        1
    );
}

#[test] // O22
fn a_stream_without_a_result_is_an_error() {
    let told = World::with_agent("init; say a; exit 0").run(&["--format", "result", "go"]);
    let result: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        result["error"]["message"],
        "the stream ended without a result"
    );
    assert_eq!((told.code, &result["success"]), (Some(15), &false.into()));
}

#[test] // O24
fn the_agents_input_has_an_end() {
    let world = World::with_agent("cat > /dev/null; init; say a; success");
    assert_eq!(world.run(&["go"]).verdict(), ("end_turn", Some(0)));
}

#[test]
fn a_timeout_names_what_the_agent_was_retrying() {
    for (stderr, verdict, words) in [
        (
            "Attempt 3 failed with status 503. Retrying with backoff...",
            ("api_error", Some(1)),
            "the model's API answered 503",
        ),
        (
            "Attempt 2 failed: Slow down.. Retrying after 32857ms...",
            ("quota_retryable", Some(16)),
            "the model's API answered 429",
        ),
        (
            "something else",
            ("timeout_total", Some(14)),
            "was waiting for the model",
        ),
    ] {
        let script = format!("init; echo '{stderr}' >&2; exec sleep 600");
        let told = World::with_agent(&script).run(&["--timeout", "1", "--grace", "0.3", "go"]);
        assert_eq!(told.verdict(), verdict, "{stderr}");
        assert!(told.message().contains(words), "{}", told.message());
    }
}

#[test]
fn a_hint_about_signing_in_names_what_is_set() {
    let key = ("GEMINI_API_KEY", "not-a-key");
    let address = ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9");
    let selected = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#;
    for (vars, settings, words) in [
        (&[][..], "{}", "run `gemini` once and sign in"),
        (&[key], "{}", "a key or an account is set"),
        (&[key, address], "{}", "wants a gateway"),
        (
            &[key, address],
            selected,
            "GOOGLE_GEMINI_BASE_URL is the address",
        ),
    ] {
        let world = World::with_agent("exit 41");
        let file = world.path("home/.gemini/settings.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, settings).unwrap();
        let mut command = world.lapidary(&["run", "go"]);
        command.envs(vars.iter().copied());
        let told = Told::by(command);
        assert_eq!(told.verdict(), ("auth_required", Some(11)), "{vars:?}");
        let hint = told.end()["hint"].as_str().unwrap();
        assert!(hint.contains(words), "{vars:?}: {hint}");
    }
}
