//! How a run over ACP is judged: by the agent's own word first, and by its process only where there is none.

use lapidary_normalize::Normalizer as _;
use lapidary_normalize::acp::{AcpNormalizer, LineDirection};
use lapidary_normalize::{ExitInitiator, NormalizeOptions, ProcessEnd, TurnLimit};
use lapidary_vocab::event::{CommandResult, Provider, RunEnd};
use lapidary_vocab::{Body, Cause, Text};
use lapidary_wire::lines::RawLine;

use crate::support::{ACP_PROMPT, acp_update, body};

const INITIALIZE: &str = r#">{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
const END_TURN: &str = r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;

fn heard(provider: Provider, lines: &[&str]) -> AcpNormalizer {
    let mut normalizer = AcpNormalizer::new(&NormalizeOptions::new("run"), provider);
    for line in lines {
        let direction = match line.as_bytes()[0] {
            b'<' => LineDirection::FromAgent,
            _ => LineDirection::FromClient,
        };
        let line = RawLine::Whole(&line.as_bytes()[1..]);
        normalizer.push(direction, line, None, &mut Vec::new());
    }
    normalizer
}

fn judged(provider: Provider, lines: &[&str], ending: &ProcessEnd) -> RunEnd {
    heard(provider, lines).judge(ending)
}

fn says(text: &str) -> String {
    let content = serde_json::json!({"type": "text", "text": text});
    let update = serde_json::json!({"sessionUpdate": "agent_message_chunk", "content": content});
    acp_update(&update.to_string())
}

fn exited(code: i32) -> ProcessEnd {
    ProcessEnd {
        exit_code: Some(code),
        stderr: "it hurts\n".to_owned(),
        ..ProcessEnd::default()
    }
}

fn killed() -> ProcessEnd {
    ProcessEnd {
        signal: Some("SIGTERM".to_owned()),
        ..ProcessEnd::default()
    }
}

#[test]
fn after_the_answer_the_end_of_the_process_is_only_evidence() {
    for ending in [
        exited(0),
        exited(42),
        exited(143),
        killed(),
        ProcessEnd::default(),
    ] {
        let end = judged(Provider::Acp, &[ACP_PROMPT, &says("Hi"), END_TURN], &ending);
        assert_eq!(end.cause, Cause::EndTurn, "{ending:?}");
        assert!(
            end.evidence
                .contains(&"its result says `end_turn`".to_owned())
        );
    }
    let end = judged(
        Provider::Gemini,
        &[ACP_PROMPT, &says("Hi"), END_TURN],
        &exited(42),
    );
    assert_eq!(end.cause, Cause::EndTurn);
    assert_eq!(end.evidence[0], "the agent exited with code 42");
}

#[test]
fn an_exit_before_the_answer_is_a_crash_unless_its_code_is_zero() {
    for lines in [&[][..], &[INITIALIZE], &[ACP_PROMPT, END_TURN, ACP_PROMPT]] {
        for (ending, cause) in [
            (exited(0), Cause::NoResult),
            (exited(1), Cause::AgentCrashed),
            (exited(42), Cause::AgentCrashed),
            (exited(127), Cause::AgentCrashed),
            (killed(), Cause::AgentCrashed),
        ] {
            let end = judged(Provider::Acp, lines, &ending);
            assert_eq!(end.cause, cause, "{lines:?} {ending:?}");
        }
    }
    let end = judged(Provider::Acp, &[INITIALIZE], &exited(3));
    assert_eq!(
        end.message.unwrap().to_str(),
        "the agent exited with code 3 before it answered: it hurts"
    );
    let end = judged(Provider::Acp, &[INITIALIZE], &killed());
    assert_eq!(
        end.message.unwrap().to_str(),
        "the agent was ended by SIGTERM before it answered"
    );
}

#[test]
fn only_geminis_exit_codes_mean_what_geminis_mean() {
    let end = judged(Provider::Gemini, &[INITIALIZE], &exited(41));
    assert_eq!(end.cause, Cause::AuthRequired);
    assert!(end.hint.unwrap().contains("gemini"));
    let end = judged(Provider::Claude, &[INITIALIZE], &exited(41));
    assert_eq!(end.cause, Cause::AgentCrashed);
}

#[test]
fn errors_of_the_protocol_and_of_geminis_api_have_their_causes() {
    for (code, cause) in [
        ("-32000", Cause::AuthRequired),
        ("-32002", Cause::BadInput),
        ("-32602", Cause::BadInput),
        ("-32601", Cause::ProtocolError),
        ("-32603", Cause::ApiError),
        ("-32800", Cause::CancelledByClient),
        ("400", Cause::ApiError),
        ("401", Cause::AuthRequired),
        ("403", Cause::AuthRequired),
        ("429", Cause::QuotaRetryable),
        ("500", Cause::ApiError),
        ("42", Cause::ApiError),
    ] {
        let error =
            format!(r#"<{{"jsonrpc":"2.0","id":3,"error":{{"code":{code},"message":"no"}}}}"#);
        let end = judged(Provider::Acp, &[ACP_PROMPT, &error], &exited(0));
        assert_eq!(end.cause, cause, "{code}");
        assert!(
            !end.hint.unwrap_or_default().contains("gemini"),
            "{code}: nobody else is told to start Gemini"
        );
    }
}

#[test]
fn the_family_is_inferred_from_the_name_unless_it_was_given() {
    let hello = |name: &str| {
        format!(
            r#"<{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":1,"agentInfo":{{"name":"{name}"}}}}}}"#
        )
    };
    for (given, name, expected) in [
        (Provider::Acp, "gemini-cli", "gemini"),
        (
            Provider::Acp,
            "@agentclientprotocol/claude-agent-acp",
            "claude",
        ),
        (Provider::Acp, "example-agent", "acp"),
        (Provider::Codex, "gemini-cli", "codex"),
    ] {
        let mut events = Vec::new();
        let mut normalizer = AcpNormalizer::new(&NormalizeOptions::new("run"), given.clone());
        let client = RawLine::Whole(&INITIALIZE.as_bytes()[1..]);
        normalizer.push(LineDirection::FromClient, client, None, &mut events);
        let hello = hello(name);
        let agent = RawLine::Whole(&hello.as_bytes()[1..]);
        normalizer.push(LineDirection::FromAgent, agent, None, &mut events);
        let end = normalizer.judge(&exited(52));
        normalizer.finish(&exited(52), &mut events);
        let families: Vec<_> = events.iter().map(|it| it.base.provider.as_str()).collect();
        assert_eq!(families, [given.as_str(), expected, expected], "{name}");
        let is_config = end.cause == Cause::BadConfig;
        assert_eq!(is_config, expected == "gemini", "{name}");
    }
}

#[test]
fn the_normalizer_knows_whether_the_agent_spoke_and_how_the_turn_ended() {
    let chunk = acp_update(
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi"}}"#,
    );
    let commands =
        acp_update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#);
    for (lines, has_spoken, stop_reason) in [
        (&[chunk.as_str()][..], false, None), // outside of a turn
        (&[ACP_PROMPT, &commands], false, None),
        (&[ACP_PROMPT, &chunk], true, None),
        (&[ACP_PROMPT, &chunk, END_TURN], true, Some("end_turn")),
        (&[ACP_PROMPT, &chunk, END_TURN, ACP_PROMPT], false, None),
    ] {
        let mut lines = lines.to_vec();
        lines.insert(0, INITIALIZE);
        let normalizer = heard(Provider::Acp, &lines);
        assert_eq!(normalizer.has_spoken(), has_spoken, "{lines:?}");
        let turn = normalizer.last_turn();
        assert_eq!(turn.map(|turn| turn.stop_reason.as_str()), stop_reason);
        assert_eq!(normalizer.has_result(), stop_reason.is_some());
    }
}

/// Gemini CLI 0.61 ends the turn well when the model gave no usable answer: `safety` in the capture `cancel-and-api-errors`.
#[test]
fn a_turn_without_text_or_a_tool_call_is_no_success() {
    let thought = acp_update(
        r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm"}}"#,
    );
    let call = acp_update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed"}"#,
    );
    let commands =
        acp_update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#);
    let reads = r#"<{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}"#;
    let (says, silence) = (says("Hi"), says(""));
    for (lines, cause) in [
        (&[ACP_PROMPT, END_TURN][..], Cause::EmptyResponse),
        (&[ACP_PROMPT, &commands, END_TURN], Cause::EmptyResponse),
        (&[&says, ACP_PROMPT, END_TURN], Cause::EmptyResponse),
        (
            &[ACP_PROMPT, &says, END_TURN, ACP_PROMPT, END_TURN],
            Cause::EmptyResponse,
        ),
        (&[ACP_PROMPT, &says, END_TURN], Cause::EndTurn),
        (&[ACP_PROMPT, END_TURN, &says], Cause::EndTurn), // some speak late
        (&[ACP_PROMPT, &thought, END_TURN], Cause::EmptyResponse),
        (&[ACP_PROMPT, &silence, END_TURN], Cause::EmptyResponse),
        (&[ACP_PROMPT, &silence, &says, END_TURN], Cause::EndTurn),
        (&[ACP_PROMPT, &call, END_TURN], Cause::EndTurn),
        (&[ACP_PROMPT, reads, END_TURN], Cause::EndTurn),
    ] {
        let mut lines = lines.to_vec();
        lines.insert(0, INITIALIZE);
        let end = judged(Provider::Acp, &lines, &exited(0));
        assert_eq!(end.cause, cause, "{lines:?}");
        if cause == Cause::EmptyResponse {
            let message = end.message.unwrap();
            let words = if lines.contains(&thought.as_str()) {
                "only thought"
            } else {
                "said nothing"
            };
            assert!(message.to_str().contains(words), "{message}");
            assert_eq!(end.hint.as_deref(), Some("often transient: try again"));
        }
    }
}

#[test]
fn an_inserted_event_has_its_sequence_number() {
    let mut normalizer = heard(Provider::Acp, &[INITIALIZE]);
    let mut events = Vec::new();
    let result = CommandResult {
        command: Text::from("interrupt"),
        ..CommandResult::default()
    };
    let now = "2026-11-15T00:00:00Z";
    let body_of = || Body::CommandResult(Box::new(result.clone()));
    let other = Some(Text::from("other"));
    normalizer.insert(body_of(), other, Some(now), &mut events);
    normalizer.insert(body_of(), None, Some(now), &mut events);
    assert_eq!(body(&events[0])["event"], "command_result");
    assert_eq!(events[0].base.session_id, Some(Text::from("other")));
    assert_eq!(events[1].base.session_id, None);
    assert_eq!(events[0].base.seq, 1);
    assert_eq!(events[0].base.timestamp.as_ref().unwrap(), now);
}

#[test]
fn a_turn_that_ends_in_a_call_is_completed_with_a_warning() {
    let call = acp_update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed"}"#,
    );
    let says = says("Hi");
    for (lines, warns) in [
        (&[ACP_PROMPT, &call, END_TURN][..], true),
        (&[ACP_PROMPT, &says, &call, END_TURN], true),
        (&[ACP_PROMPT, &call, &says, END_TURN], false),
        (&[ACP_PROMPT, &call, END_TURN, &says], false), // some speak late
        (&[ACP_PROMPT, &says, END_TURN], false),
    ] {
        let end = judged(Provider::Acp, lines, &exited(0));
        assert_eq!(end.cause, Cause::EndTurn, "{lines:?}");
        assert_eq!(!end.warnings.is_empty(), warns, "{lines:?}");
    }
}

#[test]
fn an_agent_that_dies_by_itself_after_its_turn_has_crashed() {
    let says = says("Hi");
    let lines = [ACP_PROMPT, &says, END_TURN];
    let alone = |ending: ProcessEnd| ProcessEnd {
        departure: ExitInitiator::OwnAccord,
        ..ending
    };
    let killed = ProcessEnd {
        signal: Some("SIGSEGV".to_owned()),
        ..ProcessEnd::default()
    };
    for (ending, cause) in [
        (exited(3), Cause::EndTurn), // it may be how it answers a hang-up
        (alone(exited(3)), Cause::AgentCrashed),
        (alone(exited(0)), Cause::EndTurn),
        (alone(killed.clone()), Cause::AgentCrashed),
        (killed, Cause::EndTurn),
    ] {
        let end = judged(Provider::Acp, &lines, &ending);
        assert_eq!(end.cause, cause, "{ending:?}");
    }
    let end = judged(Provider::Acp, &lines, &alone(exited(3)));
    let message = "the agent exited with code 3 after it had ended its turn";
    assert_eq!(end.message.unwrap().to_str(), message);
}

#[test]
fn one_stop_reason_of_gemini_means_two_things() {
    let says = says("Hi");
    let ended = r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"max_turn_requests"}}"#;
    let lines = [ACP_PROMPT, &says, ended];
    for (family, turn_limit, cause) in [
        (Provider::Gemini, TurnLimit::Unlimited, Cause::LoopDetected),
        (Provider::Gemini, TurnLimit::Turns(5), Cause::MaxTurns),
        (Provider::Gemini, TurnLimit::Unknown, Cause::MaxTurns),
        (Provider::Acp, TurnLimit::Unlimited, Cause::MaxTurns),
    ] {
        let mut ending = exited(0);
        ending.setup.turn_limit = turn_limit;
        let end = judged(family.clone(), &lines, &ending);
        assert_eq!(end.cause, cause, "{family:?} {turn_limit:?}");
    }
}

#[test]
fn a_program_that_does_not_speak_acp_ends_with_a_protocol_error() {
    let echo = ["<hello", "<there"];
    let cat = [
        INITIALIZE,
        r#"<{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#,
        r#">{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"method not found"}}"#,
        r#"<{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"method not found"}}"#,
    ];
    for (lines, message) in [
        (
            &echo[..],
            "the agent does not speak ACP: it printed `hello`",
        ),
        (
            &cat,
            "the agent does not speak ACP: it sends our own lines back",
        ),
    ] {
        let end = judged(Provider::Acp, lines, &exited(0));
        assert_eq!(end.cause, Cause::ProtocolError, "{lines:?}");
        assert_eq!(end.message.unwrap().to_str(), message);
        assert!(end.hint.unwrap().contains("--acp"));
    }
    // `echo` prints nothing but the end of a line.
    let end = judged(Provider::Acp, &[INITIALIZE, "< "], &exited(0));
    assert_eq!(end.cause, Cause::NoResult);
    assert!(end.hint.unwrap().contains("--acp"));
    // An agent that answers `initialize` may print any text.
    let greeted = [
        INITIALIZE,
        r#"<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#,
        "<hello",
    ];
    let end = judged(Provider::Acp, &greeted, &exited(0));
    assert_eq!(end.cause, Cause::NoResult);
}

#[test]
fn an_error_that_answers_the_greeting_is_not_the_models() {
    let refused = |error: &str| {
        let lines = [
            INITIALIZE.to_owned(),
            format!(r#"<{{"jsonrpc":"2.0","id":0,"error":{error}}}"#),
        ];
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        judged(Provider::Acp, &lines, &exited(0)).cause
    };
    for (error, cause) in [
        (
            r#"{"code":-32603,"message":"Internal error"}"#,
            Cause::ProtocolError,
        ),
        (
            r#"{"code":-32603,"message":"Please authenticate first"}"#,
            Cause::AuthRequired,
        ),
        (r#"{"code":-32000,"message":"no"}"#, Cause::AuthRequired),
    ] {
        assert_eq!(refused(error), cause, "{error}");
    }
}

#[test]
fn a_cancellation_without_a_request_is_the_agents() {
    let cancelled = r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#;
    let cancel = r#">{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
    let alone = judged(Provider::Acp, &[ACP_PROMPT, cancelled], &exited(0));
    assert_eq!(alone.cause, Cause::CancelledByClient);
    let words = alone.message.unwrap();
    assert!(
        words.to_str().contains("without a request to cancel"),
        "{words}"
    );
    let asked = judged(Provider::Acp, &[ACP_PROMPT, cancel, cancelled], &exited(0));
    assert_eq!(asked.message.unwrap().to_str(), "the run was cancelled");
}

/// Gemini CLI 0.61, given a prompt of 9 MB.
#[test]
fn a_limit_of_tokens_before_any_model_was_asked_is_the_prompts() {
    let ended = r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"max_tokens","_meta":{"quota":{"token_count":{"input_tokens":0,"output_tokens":0},"model_usage":[]}}}}"#;
    let end = judged(Provider::Gemini, &[ACP_PROMPT, ended], &exited(0));
    assert_eq!(end.cause, Cause::MaxTokens);
    let words = end.message.unwrap();
    assert!(words.to_str().contains("no model was asked"), "{words}");
}
