//! Our requests and what becomes of them.

use std::time::Duration;

use lapidary_engine::acp::{ConnectionError, ConnectionLimits, RequestError, RpcError};
use lapidary_vocab::Json;

use super::peer::{LONG, connected, outline};

#[tokio::test]
async fn answers_find_their_requests_in_any_order() {
    let (connected, mut agent) = connected(&[], ConnectionLimits::default());
    let params = Json::from_value(&serde_json::json!({"a": [1, "ü\n"]}));
    let first = connected.connection.ask("one/é", Some(&params)).unwrap();
    let second = connected.connection.ask("two", None).unwrap();
    connected.connection.notify("three", Some(&params)).unwrap();
    let told = [
        agent.hears().await,
        agent.hears().await,
        agent.hears().await,
    ];
    assert_eq!(
        told.map(Option::unwrap),
        [
            r#"{"jsonrpc":"2.0","id":0,"method":"one/é","params":{"a":[1,"ü\n"]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"two"}"#,
            r#"{"jsonrpc":"2.0","method":"three","params":{"a":[1,"ü\n"]}}"#,
        ]
    );
    agent
        .says("{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"log in\",\"data\":7}}\n")
        .await;
    agent
        .says("{\"result\": 9007199254740993.10 ,\"id\":0}\n")
        .await;
    let refusal = RpcError {
        data: Some(Json::from_value(&7)),
        number: Some(3),
        ..RpcError::new(RpcError::LOG_IN, "log in")
    };
    let second = second.answer(Some(LONG)).await;
    assert_eq!(second, Err(RequestError::Refused(refusal)));
    let first = first.answer(Some(LONG)).await.unwrap();
    assert_eq!((first.id.number(), first.number), (Some(0), 4));
    assert_eq!(first.result.as_str(), "9007199254740993.10");
}

#[tokio::test]
async fn only_the_first_answer_counts() {
    let (mut connected, mut agent) = connected(&[], ConnectionLimits::default());
    let asked = connected.connection.ask("once", None).unwrap();
    agent.hears().await;
    agent
        .says("{\"id\":0,\"result\":1}\n{\"id\":0,\"result\":2}\n{\"id\":1,\"result\":3}\n")
        .await;
    assert_eq!(asked.answer(None).await.unwrap().result.as_str(), "1");
    drop(agent);
    let said = outline(&mut connected.observer).await;
    let expected = ["< answer 0 1", "< late answer 0 2", "< stray answer 1 3"];
    assert_eq!(said[1..], expected);
}

#[tokio::test]
async fn a_request_that_times_out_or_is_dropped_is_cancelled() {
    let (mut connected, mut agent) = connected(&[], ConnectionLimits::default());
    let time = Duration::from_millis(20);
    let late = connected.connection.request("slow", None, Some(time)).await;
    let method = "slow".to_owned();
    assert_eq!(late, Err(RequestError::Late { method, time }));
    let dropped = connected.connection.ask("dropped", None).unwrap();
    drop(dropped);
    let cancel = |id| {
        format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#)
    };
    let asked = |id, method| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
    let expected = [asked(0, "slow"), cancel(0), asked(1, "dropped"), cancel(1)];
    for line in expected {
        assert_eq!(agent.hears().await, Some(line));
    }
    agent.says("{\"id\":0,\"result\":1}\n").await;
    drop(agent);
    let said = outline(&mut connected.observer).await;
    assert_eq!(said[4..], ["< late answer 0 1"]);
}

#[tokio::test]
async fn an_answered_request_sends_no_cancellation() {
    let (connected, mut agent) = connected(&[], ConnectionLimits::default());
    let asked = connected.connection.ask("a", None).unwrap();
    agent.says("{\"id\":0,\"result\":1}\n").await;
    asked.answer(Some(LONG)).await.unwrap();
    connected.connection.notify("b", None).unwrap();
    connected.connection.hang_up();
    agent.hears().await;
    let last = r#"{"jsonrpc":"2.0","method":"b"}"#.to_owned();
    assert_eq!(agent.hears().await, Some(last));
    assert_eq!(agent.hears().await, None, "and then its stdin is closed");
    let released = Err(ConnectionError::Released);
    assert_eq!(connected.connection.notify("c", None), released);
}

#[tokio::test]
async fn requests_fail_at_once_after_the_agent_is_gone() {
    let (mut connected, agent) = connected(&["x"], ConnectionLimits::default());
    let asked = ["a", "b"].map(|method| connected.connection.ask(method, None).unwrap());
    drop(agent);
    let closed = ConnectionError::Closed {
        exit: None,
        stderr_tail: String::new(),
    };
    for asked in asked {
        let answer = asked.answer(None).await;
        assert_eq!(answer, Err(closed.clone().into()));
    }
    let later = connected.connection.request("c", None, None).await;
    assert_eq!(later, Err(closed.clone().into()));
    assert!(connected.requests.next().await.is_none());
    assert_eq!(connected.connection.ended(), Some(closed));
}

#[tokio::test]
async fn a_dropped_connection_lets_the_agent_go() {
    let (mut connected, mut agent) = connected(&[], ConnectionLimits::default());
    drop(connected.connection);
    assert_eq!(agent.hears().await, None);
    assert_eq!(outline(&mut connected.observer).await, [""; 0]);
    assert!(connected.requests.next().await.is_none());
}
