//! However and whenever an agent ends, every caller that waits for it learns so, and no process is left.

use std::time::Duration;

use lapidary::engine::acp::{AgentError, ConnectionError, RequestError, RunningAgent};
use lapidary::engine::process::{Exit, StartError, TreeExit};
use tokio::time::timeout;

use super::stage::{LONG, Stage, ask, closed};

#[tokio::test]
async fn open_and_later_requests_fail_with_the_agents_exit_and_stderr() {
    let deaths = [
        ("echo no >&2; exit 3", Exit::Code(3)),
        ("read -r line; echo no >&2; exit 0", Exit::Code(0)),
        ("echo no >&2; read -r line; kill -9 $$", Exit::Signal(9)),
        (
            r#"echo no >&2; read -r line; printf '{"jsonrpc":"2.0","id":0,"resu'; kill -9 $$"#,
            Exit::Signal(9),
        ),
        // The background process of the agent holds the agent's stdout, and ends with the agent.
        ("echo no >&2; sleep 600 & exit 4", Exit::Code(4)),
        (
            "echo no >&2; (trap '' TERM; while :; do sleep 600; done) & exit 5",
            Exit::Code(5),
        ),
    ];
    for (script, exit) in deaths {
        let stage = Stage::with(script);
        let agent = stage.start().await;
        let waiting = ["a", "b"].map(|method| agent.connection.ask(method, None));
        for waiting in waiting {
            // One that is gone already may not even be asked.
            let answer = match waiting {
                Ok(waiting) => timeout(LONG, waiting.answer(None)).await.unwrap(),
                Err(error) => Err(error),
            };
            assert_eq!(answer, Err(closed(exit, "no\n")), "{script}");
        }
        assert_eq!(
            ask(&agent, "c").await,
            Err(closed(exit, "no\n")),
            "{script}"
        );
        assert_eq!(agent.gone().await.unwrap().exit, Some(exit), "{script}");
        stage.assert_complete();
    }
}

#[tokio::test]
async fn an_answer_without_a_newline_counts_if_the_agent_exits() {
    let stage = Stage::with(r#"read -r line; printf '{"id":0,"result":"bye"}'; exit 1"#);
    let agent = stage.start().await;
    let answer = ask(&agent, "a").await.unwrap();
    assert_eq!(answer.result.as_str(), "\"bye\"");
    assert_eq!(ask(&agent, "b").await, Err(closed(Exit::Code(1), "")));
    stage.assert_complete();
}

#[tokio::test]
async fn requests_fail_after_an_agent_closes_its_stdout() {
    let stage = Stage::with("exec 1>&-; echo bye >&2; sleep 600");
    let agent = stage.start().await;
    let closed = ConnectionError::Closed {
        exit: None,
        stderr_tail: String::new(),
    };
    assert_eq!(ask(&agent, "a").await, Err(closed.into()));
    let ended = timeout(LONG, agent.kill()).await.unwrap().unwrap();
    assert_eq!(ended.exit, Some(Exit::Signal(9)));
    stage.assert_complete();
}

#[tokio::test]
async fn a_request_to_an_agent_that_closed_its_stdin_fails() {
    let stage = Stage::with("exec 0<&-; touch ../closed; sleep 600");
    let agent = stage.start().await;
    stage.world.wait_for("closed");
    let deaf = RequestError::Connection(ConnectionError::Deaf);
    assert_eq!(ask(&agent, "a").await, Err(deaf));
    timeout(LONG, agent.kill()).await.unwrap();
    stage.assert_complete();
}

const NOBODY: TreeExit = TreeExit {
    exit: None,
    leftover: 0,
    immortal: 0,
};

#[tokio::test]
async fn an_agent_exits_by_itself_after_its_stdin_is_closed() {
    let stage = Stage::with("while read -r line; do :; done; echo done; exit 7");
    let agent = stage.start().await;
    agent.connection.notify("session/cancel", None).unwrap();
    let ended = timeout(LONG, agent.end(LONG)).await.unwrap();
    let exit = Some(Exit::Code(7));
    assert_eq!(ended, Some(TreeExit { exit, ..NOBODY }));
    assert_eq!(
        String::from_utf8(stage.bytes("stdin")).unwrap(),
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\"}\n"
    );
    assert_eq!(stage.bytes("stdout"), b"done\n");
    stage.assert_complete();
}

#[tokio::test]
async fn an_agent_that_does_not_want_to_end_is_ended() {
    let stubborn = [
        ("while :; do sleep 600; done", Exit::Signal(15)),
        ("trap '' TERM; while :; do sleep 600; done", Exit::Signal(9)),
    ];
    for (script, exit) in stubborn {
        let stage = Stage::with(&format!("{script}; # it is busy"));
        let agent = stage.start().await;
        let waiting = agent.connection.ask("a", None).unwrap();
        let ended = timeout(LONG, agent.end(Duration::from_millis(200))).await;
        assert_eq!(ended.unwrap().unwrap().exit, Some(exit), "{script}");
        assert_eq!(waiting.answer(None).await, Err(closed(exit, "")));
        stage.assert_complete();
    }
}

#[tokio::test]
async fn a_dropped_agent_is_ended_with_everything_it_started() {
    let stage =
        Stage::with("setsid sleep 600 & trap '' TERM; touch ../ready; while :; do sleep 600; done");
    let agent = stage.start().await;
    stage.world.wait_for("ready");
    let waiting = agent.connection.ask("a", None).unwrap();
    drop(agent.connection.clone());
    assert_eq!(agent.connection.ended(), None, "somebody still has it");
    drop(waiting);
    drop(agent);
    tokio::task::spawn_blocking(move || stage.world.assert_nothing_is_left())
        .await
        .unwrap();
}

#[tokio::test]
async fn starting_a_missing_agent_is_a_typed_error() {
    let stage = Stage::with("");
    let error = RunningAgent::start(stage.launch("missing"))
        .await
        .unwrap_err();
    let program = stage.world.path("missing");
    let is_missing = matches!(
        &error,
        AgentError::Start(StartError::Missing { program: named }) if *named == program
    );
    assert!(is_missing, "{error:?}");
    stage.world.assert_nothing_is_left();
}
