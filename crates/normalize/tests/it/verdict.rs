//! How a run ended: every exit code, every word, and what happens when the two disagree.

use lapidary_normalize::{AgentReport, AgentStall, OutcomeJudge, ProcessEnd, StopCause};
use lapidary_vocab::event::RunEnd;
use lapidary_vocab::{Cause, Text};
use serde_json::{Value, json};

use crate::support::{INIT, SUCCESS, body, capture, exit, json_output, options, translate};

/// The `run_end` of these lines and this exit code.
fn end(lines: &[&str], ending: &ProcessEnd) -> Value {
    let events = translate(lines.join("\n").as_bytes(), &options(), ending);
    body(events.last().unwrap())
}

#[track_caller]
fn check(lines: &[&str], ending: &ProcessEnd, outcome: &str, cause: &str) {
    let end = end(lines, ending);
    let found = (end["outcome"].as_str(), end["cause"].as_str());
    assert_eq!(found, (Some(outcome), Some(cause)), "{lines:?} {ending:?}");
}

fn error(error_type: &str, message: &str) -> String {
    let message = serde_json::to_string(message).unwrap();
    format!(
        r#"{{"type":"result","status":"error","error":{{"type":"{error_type}","message":{message}}}}}"#
    )
}

fn notice(severity: &str, message: &str) -> String {
    format!(r#"{{"type":"error","severity":"{severity}","message":"{message}"}}"#)
}

#[test]
fn success_needs_the_agents_word_and_a_clean_exit() {
    check(&[SUCCESS], &exit(0), "completed", "end_turn");
    check(&[SUCCESS], &ProcessEnd::default(), "completed", "end_turn");
    check(&[SUCCESS], &exit(1), "failed", "agent_crashed");
    check(&[INIT], &exit(0), "failed", "no_result");
    check(&[INIT], &ProcessEnd::default(), "failed", "no_result");
    check(&[INIT], &exit(1), "failed", "agent_crashed");
    check(&[], &exit(0), "failed", "no_result");
}

#[test]
fn the_last_of_several_results_counts_and_an_error_before_it_is_a_warning() {
    let failed = error("FatalTurnLimitedError", "Reached max session turns");
    check(&[INIT, SUCCESS, &failed], &exit(0), "failed", "max_turns");
    let later = end(&[INIT, &failed, SUCCESS], &exit(0));
    assert_eq!(later["cause"], "end_turn");
    let warning = "an earlier turn of the agent's stream ended with an error";
    assert_eq!(later["warnings"], json!([warning]));
    let twice = end(&[INIT, SUCCESS, SUCCESS], &exit(0));
    assert_eq!(twice["warnings"], Value::Null);
}

#[test]
fn a_success_says_only_how_it_knows() {
    assert_eq!(
        end(&[SUCCESS], &exit(0)),
        json!({
            "event": "run_end", "outcome": "completed", "cause": "end_turn", "exitCode": 0, "agentExitCode": 0,
            "evidence": ["the agent exited with code 0", "its result says `success`"],
        })
    );
}

#[test]
fn geminis_exit_codes_are_looked_at_first() {
    for (code, outcome, cause) in [
        (41, "failed", "auth_required"),
        (42, "failed", "bad_input"),
        (44, "failed", "sandbox"),
        (52, "failed", "bad_config"),
        (53, "failed", "max_turns"),
        (54, "failed", "tool_fatal"),
        (55, "failed", "untrusted_folder"),
        (127, "failed", "agent_missing"),
        (130, "cancelled", "cancelled_by_client"),
        (145, "failed", "auth_required"),
        (147, "failed", "auth_required"),
    ] {
        check(&[], &exit(code), outcome, cause);
        check(
            &[INIT, &error("Error", "whatever")],
            &exit(code),
            outcome,
            cause,
        );
        check(&[INIT, SUCCESS], &exit(code), outcome, cause);
    }
}

#[test]
fn http_statuses_modulo_256_are_judged_by_their_words_if_there_are_any() {
    check(&[], &exit(144), "failed", "api_error");
    check(&[], &exit(173), "failed", "quota_retryable");
    check(
        &[&error("Error", "bad request")],
        &exit(144),
        "failed",
        "api_error",
    );
    check(
        &[&error("Error", "API key not valid. Please")],
        &exit(144),
        "failed",
        "auth_required",
    );
    check(
        &[&error("Error", "exhausted your daily quota on")],
        &exit(173),
        "failed",
        "quota_terminal",
    );
    check(
        &[&error("Error", "RESOURCE_EXHAUSTED")],
        &exit(173),
        "failed",
        "quota_retryable",
    );
}

#[test]
fn other_codes_say_only_that_it_failed() {
    for code in [1, 2, 43, 126, 128, 137, 148, 255, -1] {
        check(&[], &exit(code), "failed", "agent_crashed");
        check(&[&error("Error", "m")], &exit(code), "failed", "api_error");
    }
}

#[test]
fn a_signal_is_a_crash_even_after_a_success_result() {
    let killed = ProcessEnd {
        exit_code: None,
        signal: Some("SIGKILL".to_owned()),
        ..ProcessEnd::default()
    };
    for lines in [&[][..], &[SUCCESS], &[&error("FatalInputError", "m")]] {
        check(lines, &killed, "failed", "agent_crashed");
    }
    let end = end(&[], &killed);
    assert_eq!(end["signal"], "SIGKILL");
    assert_eq!(
        end["evidence"],
        json!(["the agent was ended by SIGKILL", "it gave no result"])
    );
    assert_eq!(end["exitCode"], 15);
    assert!(end.get("agentExitCode").is_none());
}

#[test]
fn an_error_result_with_exit_0_is_judged_by_the_type_of_its_error() {
    for (error_type, outcome, cause) in [
        ("FatalAuthenticationError", "failed", "auth_required"),
        ("FatalInputError", "failed", "bad_input"),
        ("FatalSandboxError", "failed", "sandbox"),
        ("FatalConfigError", "failed", "bad_config"),
        ("FatalTurnLimitedError", "failed", "max_turns"),
        ("FatalToolExecutionError", "failed", "tool_fatal"),
        ("FatalUntrustedWorkspaceError", "failed", "untrusted_folder"),
        ("FatalCancellationError", "cancelled", "cancelled_by_client"),
        ("INVALID_STREAM", "failed", "empty_response"),
        ("Error", "failed", "api_error"),
        ("fatalinputerror", "failed", "api_error"),
    ] {
        check(&[&error(error_type, "m")], &exit(0), outcome, cause);
        check(
            &[&error(error_type, "m")],
            &ProcessEnd::default(),
            outcome,
            cause,
        );
    }
}

#[test]
fn without_a_known_exit_code_whole_words_of_the_message_decide_the_cause() {
    for (message, cause) in [
        (
            "[API Error: API key not valid. Please pass a valid API key.]",
            "auth_required",
        ),
        ("reason: API_KEY_INVALID", "auth_required"),
        ("status: UNAUTHENTICATED", "auth_required"),
        ("PERMISSION_DENIED: no", "auth_required"),
        (
            "You have exhausted your daily quota on this model.",
            "quota_terminal",
        ),
        (
            "You have exhausted your capacity on this model.",
            "quota_terminal",
        ),
        ("RESOURCE_EXHAUSTED", "quota_retryable"),
        ("Rate limit reached", "quota_retryable"),
        ("Quota exceeded for metric", "quota_retryable"),
        ("got status 429, again", "quota_retryable"),
        (
            "Model stream ended with empty response text.",
            "empty_response",
        ),
        // Parts of words do not count.
        (
            "the author of this logging blog is unauthenticatedly happy",
            "api_error",
        ),
        ("author", "api_error"),
        ("see issue 14290", "api_error"),
        ("pirate limits", "api_error"),
        ("quota exceededly", "api_error"),
        ("NOT_PERMISSION_DENIED", "api_error"),
        ("", "api_error"),
    ] {
        check(&[&error("Error", message)], &exit(0), "failed", cause);
    }
}

#[test]
fn a_warning_can_take_a_success_back() {
    for (message, outcome, cause) in [
        (
            "Loop detected, stopping execution",
            "failed",
            "loop_detected",
        ),
        ("Maximum session turns exceeded", "failed", "max_turns"),
        (
            "Agent execution blocked: no",
            "refused",
            "permission_denied",
        ),
        ("something else", "completed", "end_turn"),
        ("No Loop detected", "completed", "end_turn"),
    ] {
        for severity in ["warning", "error"] {
            check(
                &[&notice(severity, message), SUCCESS],
                &exit(0),
                outcome,
                cause,
            );
        }
    }
    let end = end(
        &[
            &notice("warning", "Loop detected, stopping execution"),
            SUCCESS,
        ],
        &exit(0),
    );
    assert_eq!(end["message"], "Loop detected, stopping execution");
    assert_eq!(
        end["evidence"],
        json!([
            "the agent exited with code 0",
            "its result says `success`",
            "it warned: Loop detected, stopping execution"
        ])
    );
}

#[test]
fn an_error_on_the_way_does_not_fail_a_turn_by_itself() {
    check(
        &[&notice("error", "a hook failed"), SUCCESS],
        &exit(0),
        "completed",
        "end_turn",
    );
}

#[test]
fn the_text_is_the_results_message_else_its_type_else_the_last_error_else_the_cause() {
    let (first, last) = (notice("error", "first"), notice("error", "last"));
    let warning = notice("warning", "warned");
    for (lines, message) in [
        (vec![last.clone(), error("T", "said")], "said"),
        (vec![last.clone(), error("T", "")], "T"),
        (
            vec![
                first,
                last,
                warning.clone(),
                r#"{"type":"result","status":"error"}"#.to_owned(),
            ],
            "last",
        ),
        (
            vec![warning, r#"{"type":"result","status":"error"}"#.to_owned()],
            "the model's API failed",
        ),
        (vec![], "the stream ended without a result"),
    ] {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(end(&lines, &exit(0))["message"], message, "{lines:?}");
    }
}

#[test]
fn an_empty_response_without_an_error_object_is_known_by_the_error_before_it() {
    let lines = [
        notice("error", "Model stream ended with empty response text."),
        r#"{"type":"result","status":"error","stats":{}}"#.to_owned(),
    ];
    check(
        &[&lines[0], &lines[1]],
        &exit(0),
        "failed",
        "empty_response",
    );
}

#[test]
fn a_failure_that_can_be_mended_says_how() {
    for (code, hint) in [
        (
            41,
            Some("run `gemini` once and sign in, or set GEMINI_API_KEY"),
        ),
        (53, Some("raise `model.maxSessionTurns` in settings.json")),
        (
            44,
            Some(
                "is the sandbox image there? GEMINI_SANDBOX_IMAGE names another; without --sandbox none is needed",
            ),
        ),
        (
            127,
            Some("install it with `npm install -g @google/gemini-cli`"),
        ),
        (54, None),
    ] {
        let end = end(&[], &exit(code));
        assert_eq!(end.get("hint").and_then(Value::as_str), hint, "{code}");
    }
}

#[test]
fn a_verdict_can_be_asked_for_without_a_stream() {
    let mut verdict = OutcomeJudge::default();
    verdict.notice(true, &Text::from("half way"));
    verdict.result(AgentReport {
        status: "error".to_owned(),
        ..AgentReport::default()
    });
    let expected = RunEnd {
        outcome: lapidary_vocab::Outcome::Failed,
        cause: lapidary_vocab::Cause::ApiError,
        exit_code: 1,
        agent_exit_code: Some(1),
        signal: None,
        duration_ms: None,
        message: Some("half way".into()),
        evidence: vec![
            "the agent exited with code 1".to_owned(),
            "its result says `error`".to_owned(),
            "it reported: half way".to_owned(),
        ],
        hint: None,
        warnings: Vec::new(),
        violations: Vec::new(),
        answer: None,
    };
    assert_eq!(verdict.judge(&exit(1)), expected);
}

/// How a capture's process ended, as its `meta.json` says.
fn ending(name: &str) -> ProcessEnd {
    let meta: Value = serde_json::from_slice(&capture(&format!("{name}.meta.json"))).unwrap();
    ProcessEnd {
        exit_code: meta["exit_code"]
            .as_i64()
            .map(|code| i32::try_from(code).unwrap()),
        signal: meta["exit_signal"].as_str().map(str::to_owned),
        ..ProcessEnd::default()
    }
}

#[test]
fn real_runs_are_judged_rightly() {
    for (name, cause) in [
        ("gemini-0.24.0/text-simple", "end_turn"),
        ("gemini-0.24.0/api-400", "api_error"),
        ("gemini-0.24.0/loop-detected", "loop_detected"),
        ("gemini-0.24.0/max-turns", "max_turns"),
        ("gemini-0.24.0/resume-bad", "bad_input"),
        ("gemini-0.61.0/api-400-bad-key", "auth_required"),
        ("gemini-0.61.0/api-401", "auth_required"),
        ("gemini-0.61.0/api-429-quota-terminal", "quota_terminal"),
        ("gemini-0.61.0/api-500-then-ok", "end_turn"),
        ("gemini-0.61.0/bad-settings-json", "bad_config"),
        ("gemini-0.61.0/empty-prompt", "bad_input"),
        ("gemini-0.61.0/empty-response", "empty_response"),
        ("gemini-0.61.0/hook-afteragent-deny", "agent_crashed"),
        ("gemini-0.61.0/hook-beforeagent-deny", "permission_denied"),
        ("gemini-0.61.0/loop-detected", "loop_detected"),
        ("gemini-0.61.0/max-turns", "max_turns"),
        ("gemini-0.61.0/no-auth-stream-json", "auth_required"),
        ("gemini-0.61.0/signal-sigint-group-midstream", "no_result"),
        ("gemini-0.61.0/untrusted-folder", "untrusted_folder"),
    ] {
        let events = translate(
            &capture(&format!("{name}.stdout.jsonl")),
            &options(),
            &ending(name),
        );
        assert_eq!(body(events.last().unwrap())["cause"], cause, "{name}");
    }
}

#[test]
fn real_documents_are_judged_rightly() {
    for (name, stream, cause) in [
        ("gemini-0.24.0/json-simple", "stdout.json", "end_turn"),
        ("gemini-0.24.0/json-api-400", "stderr.txt", "api_error"),
        ("gemini-0.24.0/json-max-turns", "stderr.txt", "max_turns"),
        ("gemini-0.61.0/json-tools", "stdout.json", "end_turn"),
        ("gemini-0.61.0/json-max-turns", "stderr.txt", "max_turns"),
        ("gemini-0.61.0/json-no-auth", "stderr.txt", "auth_required"),
    ] {
        let events = json_output(&capture(&format!("{name}.{stream}")), &ending(name));
        assert_eq!(body(events.last().unwrap())["cause"], cause, "{name}");
    }
}

#[test]
fn a_document_that_names_a_code_needs_no_exit_code() {
    for (name, cause) in [
        ("gemini-0.61.0/json-no-auth", "auth_required"),
        ("gemini-0.61.0/json-max-turns", "max_turns"),
        ("gemini-0.61.0/json-api-400", "api_error"),
    ] {
        let events = json_output(
            &capture(&format!("{name}.stderr.txt")),
            &ProcessEnd::default(),
        );
        assert_eq!(body(events.last().unwrap())["cause"], cause, "{name}");
    }
}

#[test]
fn a_rate_limit_is_recognised_with_any_result() {
    let error =
        r#"{"type":"result","status":"error","error":{"type":"unknown","message":"too much"}}"#;
    assert_eq!(end(&[error], &exit(173))["cause"], "quota_retryable");
    assert_eq!(end(&[], &exit(173))["cause"], "quota_retryable");
    assert_eq!(end(&[error], &exit(144))["cause"], "api_error");
}

#[test]
fn a_line_number_is_no_rate_limit() {
    for (stderr, cause) in [
        (
            "TypeError: x is undefined\n    at foo (/x/b.js:429:13)",
            "agent_crashed",
        ),
        ("429 files were read, then it broke", "agent_crashed"),
        ("got status 429", "quota_retryable"),
        ("GaxiosError: {\n  status: 429,\n", "quota_retryable"),
        (r#"{"error":{"code":429}}"#, "quota_retryable"),
        ("[API Error: 429]", "quota_retryable"),
        ("HTTP 429", "quota_retryable"),
        ("Too Many Requests", "quota_retryable"),
    ] {
        let ending = ProcessEnd {
            stderr: stderr.to_owned(),
            ..exit(1)
        };
        check(&[INIT], &ending, "failed", cause);
    }
    let message = error("Error", "Cannot read b.js:429");
    check(&[&message], &exit(0), "failed", "api_error");
}

#[test]
fn a_success_that_asked_no_model_and_said_nothing_is_none() {
    let hollow = r#"{"type":"result","status":"success","stats":{"total_tokens":0,"input_tokens":0,"output_tokens":0,"models":{}}}"#;
    let said = r#"{"type":"message","role":"assistant","content":"Hi","delta":true}"#;
    let called = r#"{"type":"tool_use","tool_name":"glob","tool_id":"1","parameters":{}}"#;
    check(&[hollow], &exit(0), "failed", "empty_response");
    check(&[said, hollow], &exit(0), "completed", "end_turn");
    check(&[called, hollow], &exit(0), "completed", "end_turn");
    let end = end(&[hollow], &exit(0));
    assert_eq!(
        end["message"],
        "the agent reported success, but asked no model and said nothing"
    );
    assert!(
        end["hint"]
            .as_str()
            .unwrap()
            .contains("larger than the model can take")
    );
}

#[test]
fn a_process_that_dies_of_a_missing_sign_in_says_so_in_many_words() {
    for (stderr, cause) in [
        ("OAuth token expired", "auth_required"),
        ("Please authenticate first", "auth_required"),
        ("You are not authenticated.", "auth_required"),
        ("Error authenticating: invalid_grant", "auth_required"),
        ("auth_error: bad", "auth_required"),
        ("re-login needed", "auth_required"),
        ("FatalAuthenticationError: no", "auth_required"),
        ("no auth", "auth_required"),
        ("the author is unknown", "agent_crashed"),
        ("authored by the authority", "agent_crashed"),
        ("at /src/auth/login.js:3", "agent_crashed"),
        ("blogin", "agent_crashed"),
    ] {
        let ending = ProcessEnd {
            stderr: stderr.to_owned(),
            ..exit(1)
        };
        check(&[INIT], &ending, "failed", cause);
    }
}

#[test]
fn a_sign_in_is_named_by_what_is_there() {
    let mut ending = ProcessEnd {
        stderr: "Please authenticate first".to_owned(),
        ..exit(1)
    };
    let told = end(&[], &ending);
    assert_eq!(
        told["message"],
        "Gemini CLI authentication error.\nPlease authenticate first"
    );
    let hint = "run `gemini` once and sign in, or set GEMINI_API_KEY";
    assert_eq!(told["hint"], hint);
    ending.setup.sign_in_hint = Some("a key is set".to_owned());
    assert_eq!(end(&[], &ending)["hint"], "a key is set");
}

#[test]
fn a_sandbox_that_fails_is_known_by_the_name_of_the_error() {
    let ending = ProcessEnd {
        stderr: "Fatal error: Failed to relaunch the CLI process.\nFatalSandboxError: Sandbox image 'x' is missing.\n    at y".to_owned(),
        ..exit(1)
    };
    let told = end(&[], &ending);
    assert_eq!(told["cause"], "sandbox");
    assert_eq!(told["message"], "Sandbox image 'x' is missing.");
}

/// The sentences of Gemini CLI 0.61 for answers that it cannot use.
#[test]
fn an_answer_that_was_blocked_is_a_refusal_and_others_are_empty_or_cut() {
    let failed = r#"{"type":"result","status":"error","stats":{}}"#;
    for (message, outcome, cause) in [
        (
            "The model response was blocked due to safety settings.",
            "refused",
            "refusal",
        ),
        (
            "The model response was blocked due to recitation/copyright filters.",
            "refused",
            "refusal",
        ),
        (
            "The model response was blocked due to other policy settings.",
            "refused",
            "refusal",
        ),
        (
            "The model returned an empty text response. If your context window is near capacity, try using /compress.",
            "failed",
            "empty_response",
        ),
        (
            "The model returned reasoning thoughts but no final response text. If your context window is near capacity, try using /compress.",
            "failed",
            "empty_response",
        ),
        (
            "The model returned an empty response with no text or thoughts. This may be a transient API issue; please try again.",
            "failed",
            "empty_response",
        ),
        (
            "Model response was truncated because it exceeded the token limit. Try using /compress to free up context space.",
            "failed",
            "max_tokens",
        ),
    ] {
        check(
            &[&notice("error", message), failed],
            &exit(0),
            outcome,
            cause,
        );
        check(
            &[&error("INVALID_STREAM", message)],
            &exit(0),
            outcome,
            cause,
        );
    }
}

#[test]
fn an_error_of_the_api_says_what_helps() {
    for (message, hint) in [
        (
            "[API Error: models/no-such-model is not found for API version v1beta, or is not supported for generateContent.]",
            "name of the model",
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "shorten the prompt",
        ),
        (
            "exception TypeError: fetch failed sending request",
            "network",
        ),
        ("got status 503", "try again later"),
    ] {
        let told = end(&[&error("unknown", message)], &exit(1));
        assert_eq!(told["cause"], "api_error", "{message}");
        let said = told["hint"].as_str().unwrap_or_default();
        assert!(said.contains(hint), "{message}: {said}");
    }
    let told = end(&[&error("unknown", "terminated")], &exit(1));
    assert!(told.get("hint").is_none());
}

#[test]
fn a_timeout_while_the_agent_retries_has_the_cause_of_the_retry() {
    let stopped = |cause| StopCause {
        cause,
        message: "the run took longer than 60 s, and was waiting for the model".to_owned(),
        hint: Some("`timeout` (--timeout) gives it more time".to_owned()),
    };
    let stall = AgentStall {
        stderr: "Attempt 4 failed: Slow down.. Retrying after 30428ms...".to_owned(),
        ..AgentStall::default()
    };
    let late = ProcessEnd {
        stopped: Some(stopped(Cause::TimeoutTotal)),
        stall: Some(stall.clone()),
        ..exit(0)
    };
    let told = end(&[INIT], &late);
    assert_eq!(told["cause"], "quota_retryable");
    assert_eq!(
        told["message"],
        "the run took longer than 60 s, and was waiting for the model: the model's API answered 429 (rate limit), and the agent kept trying (attempt 4)"
    );
    assert!(told["hint"].as_str().unwrap().contains("try again"));
    let evidence = told["evidence"].to_string();
    assert!(
        evidence.contains("Attempt 4 failed: Slow down."),
        "{evidence}"
    );
    assert!(evidence.contains("timeout_total"), "{evidence}");
    // A run that the user cancels is cancelled, even if the agent was stalled.
    let cancelled = ProcessEnd {
        stopped: Some(stopped(Cause::CancelledByClient)),
        stall: Some(stall),
        ..exit(0)
    };
    assert_eq!(end(&[INIT], &cancelled)["cause"], "cancelled_by_client");
}
