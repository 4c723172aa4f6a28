//! Agents that print lines outside the protocol.

use lapidary::engine::acp::{
    LineNoise, MessageContent, ReceivedMessage, RunningAgent, TrafficLine,
};
use lapidary::vocab::Json;
use tokio::time::timeout;

use super::stage::{LONG, Stage, ask};

/// Lines of an agent that a typed client drops, changes or fails on.
const UNUSUAL: [&str; 14] = [
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"telepathy","x":1.10}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"smell"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call"}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","kind":"browse","status":"weird","locations":["/a"],"content":{"text":"t"},"extra":true}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"text":"a"},7]}}}"#,
    r#"{"jsonrpc":"2.0","method":"_vendor/thing"}"#,
    r#"{"method":"no/version"}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#,
    r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":"0","result":{}}"#,
    "",
    "[]",
    "17",
    "  Loading credentials...",
];

fn script(lines: &[&str], then: &str) -> String {
    let lines = lines.join("\n");
    format!("cat <<'END'\n{lines}\nEND\n{then}")
}

/// All that the agent said, once it has ended.
async fn heard(agent: &mut RunningAgent) -> Vec<ReceivedMessage> {
    let mut heard = Vec::new();
    while let Some(observed) = timeout(LONG, agent.observer.next()).await.unwrap() {
        if let TrafficLine::Received(received) = observed.traffic {
            heard.push(received);
        }
    }
    heard
}

#[tokio::test]
async fn a_connection_survives_malformed_lines_and_records_all_of_them() {
    let answers = r#"
        read -r line
        printf '{"jsonrpc":"2.0","id":0,"result":{"stopReason":"exhausted","n":1e400}}\n'
        printf '{"jsonrpc":"2.0","id":0,"result":{"stopReason":"end_turn"}}\n'
        printf 'bad \377\376 bytes\n'
        read -r line; echo "$line" >&2"#;
    let stage = Stage::with(&script(&UNUSUAL, answers));
    let mut agent = stage.start().await;
    let answer = ask(&agent, "session/prompt").await.unwrap();
    assert_eq!(
        answer.result.as_str(),
        r#"{"stopReason":"exhausted","n":1e400}"#
    );
    agent.connection.notify("still/there", None).unwrap();
    agent.gone().await;
    let heard = heard(&mut agent).await;
    let lines = heard.iter().map(|received| received.line.bytes());
    let first: Vec<&[u8]> = lines.take(UNUSUAL.len()).collect();
    assert_eq!(first, UNUSUAL.map(str::as_bytes));
    assert_eq!(heard.len(), UNUSUAL.len() + 3);
    assert_eq!(heard.last().unwrap().line.bytes(), b"bad \xff\xfe bytes");
    let told = String::from_utf8(stage.bytes("stdin")).unwrap();
    assert_eq!(
        told.lines().collect::<Vec<_>>(),
        [
            r#"{"jsonrpc":"2.0","id":0,"method":"session/prompt"}"#,
            r#"{"jsonrpc":"2.0","method":"still/there"}"#
        ],
        "it was told nothing about its bad lines"
    );
    stage.assert_complete();
}

#[tokio::test]
async fn every_agent_request_is_answered_even_with_an_unknown_method() {
    let permission = r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"options":[{"kind":"allow_for_a_while"}]}}"#;
    let unknown = r#"{"jsonrpc":"2.0","id":0,"method":"craft/drainMidTurnQueue"}"#;
    let stage = Stage::with(&script(
        &[permission, unknown],
        r#"read -r first; read -r second; read -r third; echo "$first|$second|$third" > ../answers
        echo '{"id":0,"result":null}'; read -r end"#,
    ));
    let mut agent = stage.start().await;
    let prompt = agent.connection.ask("session/prompt", None).unwrap();
    let asked = timeout(LONG, agent.requests.next()).await.unwrap().unwrap();
    assert_eq!(
        asked.params.unwrap().as_str(),
        r#"{"options":[{"kind":"allow_for_a_while"}]}"#,
        "the user is asked"
    );
    let outcome = serde_json::json!({"outcome": {"outcome": "cancelled"}});
    asked.respond.answer(&Json::from_value(&outcome));
    let answer = prompt.answer(Some(LONG)).await.unwrap();
    assert_eq!(answer.result.as_str(), "null");
    let told = std::fs::read_to_string(stage.world.path("answers")).unwrap();
    let mut told: Vec<_> = told.trim().split('|').collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"method not found"}}"#,
            r#"{"jsonrpc":"2.0","id":0,"method":"session/prompt"}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}"#,
        ]
    );
    agent.end(LONG).await;
    stage.assert_complete();
}

#[tokio::test]
async fn a_line_without_end_is_not_the_end() {
    let stage = Stage::with(
        r#"head -c 70000000 /dev/zero | tr '\0' x; echo
        read -r line; echo '{"id":0,"result":true}'"#,
    );
    let mut agent = stage.start().await;
    let answer = ask(&agent, "a").await.unwrap();
    assert_eq!(answer.result.as_str(), "true");
    agent.gone().await;
    let heard = heard(&mut agent).await;
    assert_eq!(
        heard[0].what,
        MessageContent::Noise(LineNoise::TooLong(70_000_000))
    );
    assert_eq!(heard[0].line.bytes(), [b'x'; 1024]);
    assert_eq!(stage.bytes("stdout").len(), 70_000_001 + 23);
    stage.assert_complete();
}
