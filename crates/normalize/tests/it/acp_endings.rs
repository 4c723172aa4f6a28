//! How a run over ACP is judged: by the agent's own word first, and by its process only where there is none.

use lapidary_normalize::acp::{AcpNormalizer, Direction};
use lapidary_normalize::{Ending, Options};
use lapidary_vocab::event::{CommandResult, Provider, RunEnd};
use lapidary_vocab::{Body, Cause, Text};
use lapidary_wire::lines::Line;

use crate::support::{ACP_PROMPT, acp_update, body};

const INITIALIZE: &str = r#">{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
const END_TURN: &str = r#"<{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#;

fn heard(provider: Provider, lines: &[&str]) -> AcpNormalizer {
    let mut normalizer = AcpNormalizer::new(&Options::new("run"), provider);
    for line in lines {
        let direction = match line.as_bytes()[0] {
            b'<' => Direction::FromAgent,
            _ => Direction::FromClient,
        };
        let line = Line::Whole(&line.as_bytes()[1..]);
        normalizer.push(direction, line, None, &mut Vec::new());
    }
    normalizer
}

fn judged(provider: Provider, lines: &[&str], ending: &Ending) -> RunEnd {
    heard(provider, lines).judge(ending)
}

fn says(text: &str) -> String {
    let content = serde_json::json!({"type": "text", "text": text});
    let update = serde_json::json!({"sessionUpdate": "agent_message_chunk", "content": content});
    acp_update(&update.to_string())
}

fn exited(code: i32) -> Ending {
    Ending {
        exit_code: Some(code),
        stderr: "it hurts\n".to_owned(),
        ..Ending::default()
    }
}

fn killed() -> Ending {
    Ending {
        signal: Some("SIGTERM".to_owned()),
        ..Ending::default()
    }
}

#[test]
fn after_the_answer_the_end_of_the_process_is_only_evidence() {
    for ending in [
        exited(0),
        exited(42),
        exited(143),
        killed(),
        Ending::default(),
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
fn before_the_answer_it_is_a_crash_unless_it_was_clean() {
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
fn the_family_is_told_by_the_name_unless_it_was_given() {
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
        let mut normalizer = AcpNormalizer::new(&Options::new("run"), given.clone());
        let client = Line::Whole(&INITIALIZE.as_bytes()[1..]);
        normalizer.push(Direction::FromClient, client, None, &mut events);
        let hello = hello(name);
        let agent = Line::Whole(&hello.as_bytes()[1..]);
        normalizer.push(Direction::FromAgent, agent, None, &mut events);
        let end = normalizer.judge(&exited(52));
        normalizer.finish(&exited(52), &mut events);
        let families: Vec<_> = events.iter().map(|it| it.base.provider.as_str()).collect();
        assert_eq!(families, [given.as_str(), expected, expected], "{name}");
        let is_config = end.cause == Cause::BadConfig;
        assert_eq!(is_config, expected == "gemini", "{name}");
    }
}

#[test]
fn whoever_drives_it_hears_whether_it_spoke_and_how_the_turn_ended() {
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
fn a_turn_without_a_word_or_a_deed_is_no_success() {
    let thought = acp_update(
        r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm"}}"#,
    );
    let call = acp_update(
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed"}"#,
    );
    let commands =
        acp_update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#);
    let reads = r#"<{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/a"}}"#;
    let says = says("Hi");
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
        (&[ACP_PROMPT, &thought, END_TURN], Cause::EndTurn),
        (&[ACP_PROMPT, &call, END_TURN], Cause::EndTurn),
        (&[ACP_PROMPT, reads, END_TURN], Cause::EndTurn),
    ] {
        let mut lines = lines.to_vec();
        lines.insert(0, INITIALIZE);
        let end = judged(Provider::Acp, &lines, &exited(0));
        assert_eq!(end.cause, cause, "{lines:?}");
        if cause == Cause::EmptyResponse {
            let message = end.message.unwrap();
            assert!(message.to_str().contains("said nothing"), "{message}");
            assert_eq!(end.hint.as_deref(), Some("often transient: try again"));
        }
    }
}

#[test]
fn an_event_of_ours_has_its_place() {
    let mut normalizer = heard(Provider::Acp, &[INITIALIZE]);
    let mut events = Vec::new();
    let result = CommandResult {
        command: Text::from("interrupt"),
        ..CommandResult::default()
    };
    let now = "2026-11-15T00:00:00Z";
    let body_of = || Body::CommandResult(Box::new(result.clone()));
    normalizer.say(body_of(), Some(Text::from("other")), now, &mut events);
    normalizer.say(body_of(), None, now, &mut events);
    assert_eq!(body(&events[0])["event"], "command_result");
    assert_eq!(events[0].base.session_id, Some(Text::from("other")));
    assert_eq!(events[1].base.session_id, None);
    assert_eq!(events[0].base.seq, 1);
    assert_eq!(events[0].base.timestamp.as_ref().unwrap(), now);
}
