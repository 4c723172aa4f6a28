//! Agents that never answer, never read and never stop.

use std::time::Duration;

use lapidary::engine::acp::{
    AgentLaunch, ConnectionError, ConnectionLimits, RequestError, RunningAgent,
};
use lapidary::vocab::Json;
use tokio::time::timeout;

use super::stage::{LONG, Stage, ask};

#[tokio::test]
async fn an_agent_that_never_answers_is_not_waited_for() {
    let stage = Stage::with("while read -r line; do :; done");
    let agent = stage.start().await;
    let time = Duration::from_millis(100);
    let late = agent
        .connection
        .request("initialize", None, Some(time))
        .await;
    let method = "initialize".to_owned();
    assert_eq!(late, Err(RequestError::Late { method, time }));
    agent.end(LONG).await;
    let told = String::from_utf8(stage.bytes("stdin")).unwrap();
    let cancel = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}"#;
    assert_eq!(told.lines().nth(1), Some(cancel));
    stage.assert_complete();
}

#[tokio::test]
async fn an_agent_that_never_reads_is_given_up() {
    let stage = Stage::with("sleep 600");
    let mut launch = stage.launch("gemini");
    launch.limits.patience = Duration::from_millis(200);
    let agent = RunningAgent::start(launch).await.unwrap();
    let large = Json::from_value(&"x".repeat(1 << 20));
    let told = agent.connection.request("a", Some(&large), None);
    let told = timeout(LONG, told).await.unwrap();
    let is_unread = matches!(
        told,
        Err(RequestError::Connection(ConnectionError::NotReading { unread })) if unread > 900_000
    );
    assert!(is_unread, "{told:?}");
    agent.kill().await;
    stage.assert_complete();
}

#[tokio::test]
async fn a_flooding_agent_is_read_while_no_client_takes_its_lines() {
    let stage = Stage::with(
        r#"yes '{"jsonrpc":"2.0","method":"session/update"}' | head -n 300000
        read -r line; echo '{"id":0,"result":true}'; read -r end"#,
    );
    let mut launch = stage.launch("gemini");
    launch.limits = ConnectionLimits {
        unseen_bytes: 1 << 20,
        ..ConnectionLimits::default()
    };
    let agent = RunningAgent::start(launch).await.unwrap();
    let answer = ask(&agent, "a").await.unwrap();
    assert!(answer.number >= 300_000, "{answer:?}");
    agent.end(LONG).await;
    assert_eq!(stage.bytes("stdout").len(), 300_000 * 44 + 23);
    stage.assert_complete();
}

#[tokio::test]
async fn an_agent_that_never_stops_is_ended() {
    for script in ["yes", "yes >&2"] {
        let stage = Stage::with(script);
        let limit = 1_000_000;
        let launch = AgentLaunch {
            max_output: limit,
            ..stage.launch("gemini")
        };
        let agent = RunningAgent::start(launch).await.unwrap();
        let told = ask(&agent, "a").await.unwrap_err();
        let too_much = RequestError::Connection(ConnectionError::TooMuch { limit });
        assert_eq!(told, too_much, "{script}");
        timeout(LONG, agent.gone()).await.unwrap();
        stage.world.assert_nothing_is_left();
    }
}
