//! Limits of a connection: no buffer grows without end, and no caller waits without end.

use std::time::Duration;

use lapidary_engine::acp::{ConnectionError, ConnectionLimits, RequestError, TrafficLine};
use lapidary_vocab::Json;
use tokio::time::timeout;

use super::peer::{LONG, connected, next};

#[tokio::test]
async fn only_so_many_requests_wait_at_a_time() {
    let limits = ConnectionLimits {
        pending: 2,
        ..ConnectionLimits::default()
    };
    let (connected, _agent) = connected(&[], limits);
    let waiting = ["a", "b"].map(|method| connected.connection.ask(method, None).unwrap());
    let more = connected.connection.ask("c", None);
    assert_eq!(more.unwrap_err(), RequestError::TooMany { waiting: 2 });
    drop(waiting);
    connected.connection.ask("d", None).unwrap();
}

#[tokio::test]
async fn only_so_many_questions_are_open_at_a_time() {
    let by_count = ConnectionLimits {
        open: 1,
        ..ConnectionLimits::default()
    };
    let by_size = ConnectionLimits {
        open_bytes: 600,
        ..ConnectionLimits::default()
    };
    for limits in [by_count, by_size] {
        let (mut connected, mut agent) = connected(&["ask"], limits);
        agent
            .says("{\"id\":1,\"method\":\"ask\"}\n{\"id\":2,\"method\":\"ask\"}\n")
            .await;
        let refused = agent.hears().await.unwrap();
        let error = r#""error":{"code":-32603,"message":"too many requests are unanswered"}"#;
        assert_eq!(refused, format!(r#"{{"jsonrpc":"2.0","id":2,{error}}}"#));
        drop(connected.requests.next().await);
        agent.hears().await;
        agent.says("{\"id\":3,\"method\":\"ask\"}\n").await;
        let third = connected.requests.next().await.unwrap();
        assert_eq!(third.id.number(), Some(3));
    }
}

/// A value that does not fit into the pipe between us and the agent.
fn large() -> Json {
    Json::from_value(&"x".repeat(100_000))
}

#[tokio::test]
async fn an_agent_that_never_reads_is_given_up() {
    let limits = ConnectionLimits {
        patience: Duration::from_millis(50),
        ..ConnectionLimits::default()
    };
    let (connected, _agent) = connected(&[], limits);
    let large = large();
    let told = connected.connection.request("a", Some(&large), None);
    let told = timeout(LONG, told).await.unwrap().unwrap_err();
    let RequestError::Connection(ConnectionError::NotReading { unread }) = told else {
        panic!("{told:?}");
    };
    assert!((30_000..40_000).contains(&unread), "{unread}");
}

#[tokio::test]
async fn a_message_is_refused_if_too_many_bytes_are_unread() {
    let limits = ConnectionLimits {
        unread_bytes: 250_000,
        ..ConnectionLimits::default()
    };
    let (connected, _agent) = connected(&[], limits);
    let asked = connected.connection.ask("a", None).unwrap();
    let large = large();
    let refused = (0..5).find_map(|_| connected.connection.notify("b", Some(&large)).err());
    assert!(matches!(refused, Some(ConnectionError::NotReading { .. })));
    let failed = asked.answer(Some(LONG)).await;
    assert_eq!(failed, Err(refused.unwrap().into()));
}

#[tokio::test]
async fn an_agent_that_floods_is_never_made_to_wait() {
    let limits = ConnectionLimits {
        unseen_bytes: 100_000,
        ..ConnectionLimits::default()
    };
    let (mut connected, mut agent) = connected(&[], limits);
    let asked = connected.connection.ask("a", None).unwrap();
    agent.hears().await;
    let line = format!("{{\"method\":\"m\",\"params\":\"{}\"}}\n", "x".repeat(70));
    let flood = async {
        for _ in 0..10_000 {
            agent.says(&line).await;
        }
        agent.says("{\"id\":0,\"result\":1}\n").await;
    };
    timeout(LONG, flood)
        .await
        .expect("nobody looks, and still it can write");
    let answer = asked.answer(Some(LONG)).await.unwrap();
    assert_eq!(answer.number, 10_001);
    drop(agent);
    let (mut seen, mut skipped) = (0, 0);
    while let Some(observed) = next(&mut connected.observer).await {
        match observed.traffic {
            TrafficLine::Skipped { lines, .. } => skipped += lines,
            TrafficLine::Sent(_) | TrafficLine::Received(_) => seen += 1,
        }
    }
    assert_eq!(seen + skipped, 10_002, "every line is accounted for");
    assert!(seen < 400, "{seen}");
}

#[tokio::test]
async fn an_agent_that_reads_late_gets_every_answer() {
    let (_connected, mut agent) = connected(&[], ConnectionLimits::default());
    // The agent reads nothing before it has sent all requests: a connection that waited for it to read would wait for ever.
    for id in 0..5_000 {
        let request = format!("{{\"id\":{id},\"method\":\"unknown\"}}\n");
        timeout(LONG, agent.says(request)).await.unwrap();
    }
    for id in 0..5_000 {
        let answer = agent.hears().await.unwrap();
        assert!(answer.contains(&format!("\"id\":{id},")), "{answer}");
    }
}

#[tokio::test]
async fn lines_of_many_speakers_stay_whole() {
    let (connected, mut agent) = connected(&[], ConnectionLimits::default());
    let mut speakers = Vec::new();
    for speaker in 0..4 {
        let connection = connected.connection.clone();
        speakers.push(std::thread::spawn(move || {
            let text = Json::from_value(&speaker.to_string().repeat(10_000));
            for _ in 0..20 {
                connection.notify("m", Some(&text)).unwrap();
            }
        }));
    }
    for _ in 0..80 {
        let line = agent.hears().await.unwrap();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let text = value["params"].as_str().unwrap();
        assert_eq!(text.matches(&text[..1]).count(), 10_000);
    }
    for speaker in speakers {
        speaker.join().unwrap();
    }
}

/// A message over the limit leaves neither side waiting: the agent is answered, we are told, or the connection ends.
#[tokio::test]
async fn an_overlong_message_is_answered_or_ends_the_connection() {
    let limits = ConnectionLimits {
        line: 2000,
        ..ConnectionLimits::default()
    };
    let long = "x".repeat(3000);
    let (connected, mut agent) = connected(&["fs/write_text_file"], limits);
    agent
        .says(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"w\",\"method\":\"fs/write_text_file\",\"params\":{{\"content\":\"{long}\"}}}}\n"
        ))
        .await;
    let told = agent.hears().await.unwrap();
    assert!(
        told.starts_with(r#"{"jsonrpc":"2.0","id":"w","error":{"code":-32600,"#),
        "{told}"
    );
    assert!(told.contains("at most 2000 are read"), "{told}");
    agent
        .says(&format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":[\"{long}\"]}}\n"
        ))
        .await;
    let asked = connected.connection.ask("hello", None).unwrap();
    agent.hears().await.unwrap();
    agent
        .says(&format!("{{\"id\":0,\"result\":\"{long}\"}}\n"))
        .await;
    let refused = asked.answer(Some(LONG)).await.unwrap_err();
    assert!(matches!(refused, RequestError::Refused(_)), "{refused}");
    let asked = connected.connection.ask("hello", None).unwrap();
    agent.hears().await.unwrap();
    agent
        .says(&format!(
            "{{\"method\":\"fs/write_text_file\",\"params\":[\"{long}\"],\"id\":3}}\n"
        ))
        .await;
    let told = agent.hears().await.unwrap();
    assert!(
        told.starts_with(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"#),
        "{told}"
    );
    agent
        .says(&format!(
            "{{\"method\":\"fs/write_text_file\",\"params\":[\"{long}\"],\"id\":4,\"_meta\":{{}}}}\n"
        ))
        .await;
    let ended = asked.answer(Some(LONG)).await.unwrap_err();
    let length = 3000 + 63;
    let why = ConnectionError::TooLong {
        length,
        limit: 2000,
    };
    assert_eq!(ended, RequestError::Connection(why));
}
