//! Requests of the agent to the client.

use lapidary_engine::acp::{ConnectionLimits, IncomingRequest, IncomingRequests, RpcError};
use lapidary_vocab::Json;
use tokio::time::timeout;

use super::peer::{LONG, connected};

async fn next(requests: &mut IncomingRequests) -> IncomingRequest {
    timeout(LONG, requests.next()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_request_without_a_handler_is_refused_at_once() {
    let (_connected, mut agent) = connected(&["known"], ConnectionLimits::default());
    for id in ["0", "\"0\"", "null", "1.5e3", "\"\\ud800\""] {
        agent
            .says(format!("{{\"id\":{id},\"method\":\"craft/other\"}}\n"))
            .await;
        let error = r#"{"code":-32601,"message":"method not found"}"#;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        assert_eq!(agent.hears().await, Some(expected));
    }
}

#[tokio::test]
async fn each_request_is_answered_once_even_if_its_handler_drops_it() {
    let (mut connected, mut agent) = connected(&["ask"], ConnectionLimits::default());
    for id in 0..4 {
        agent
            .says(format!(
                "{{\"id\":{id},\"method\":\"ask\",\"params\":[{id}]}}\n"
            ))
            .await;
    }
    let mut came = Vec::new();
    for _ in 0..4 {
        came.push(next(&mut connected.requests).await);
    }
    let order = came.iter().map(|one| (one.number, one.id.number()));
    let expected = (0..4).map(|id| (id, Some(id)));
    assert!(order.eq(expected), "in the order in which they came");
    let [first, second, third, fourth] = <[IncomingRequest; 4]>::try_from(came).unwrap();
    third.respond.answer(&Json::empty_object());
    let no = RpcError::new(RpcError::BAD_PARAMS, "no");
    second.respond.refuse(&no);
    drop(fourth);
    drop(first);
    let dropped = r#""error":{"code":-32603,"message":"the client did not answer"}"#;
    let expected = [
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":3,{dropped}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":0,{dropped}}}"#),
    ];
    for line in expected {
        assert_eq!(agent.hears().await, Some(line));
    }
    drop(connected.requests);
    agent.says("{\"id\":9,\"method\":\"ask\"}\n").await;
    let nobody = format!(r#"{{"jsonrpc":"2.0","id":9,{dropped}}}"#);
    assert_eq!(agent.hears().await, Some(nobody), "nobody listens any more");
}

#[tokio::test]
async fn ids_of_one_side_mean_nothing_to_the_other() {
    let (mut connected, mut agent) = connected(&["ask"], ConnectionLimits::default());
    let asked = connected.connection.ask("ours", None).unwrap();
    agent.hears().await;
    agent
        .says("{\"id\":0,\"method\":\"ask\"}\n{\"id\":0,\"method\":\"ask\"}\n")
        .await;
    let first = next(&mut connected.requests).await;
    let second = next(&mut connected.requests).await;
    second.respond.answer(&Json::from_value(&"second"));
    agent.says("{\"id\":0,\"result\":\"theirs\"}\n").await;
    let answer = asked.answer(Some(LONG)).await.unwrap();
    assert_eq!(answer.result.as_str(), "\"theirs\"");
    first.respond.answer(&Json::from_value(&"first"));
    for result in ["second", "first"] {
        let expected = format!(r#"{{"jsonrpc":"2.0","id":0,"result":"{result}"}}"#);
        assert_eq!(agent.hears().await, Some(expected));
    }
}

#[tokio::test]
async fn an_agent_can_take_a_question_back() {
    let (mut connected, mut agent) = connected(&["ask"], ConnectionLimits::default());
    agent
        .says("{\"id\":\"a\",\"method\":\"ask\"}\n{\"id\":1,\"method\":\"ask\"}\n")
        .await;
    let first = next(&mut connected.requests).await;
    let second = next(&mut connected.requests).await;
    let cancel = r#"{"method":"$/cancel_request","params":{"requestId":"a"}}"#;
    agent.says(format!("{cancel}\n")).await;
    timeout(LONG, first.respond.cancelled()).await.unwrap();
    assert!(!second.respond.is_cancelled());
    let cancelled = RpcError::new(RpcError::CANCELLED, "cancelled");
    first.respond.refuse(&cancelled);
    let expected = r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32800,"message":"cancelled"}}"#;
    assert_eq!(agent.hears().await.as_deref(), Some(expected));
    drop(agent);
    timeout(LONG, second.respond.cancelled()).await.unwrap();
}
