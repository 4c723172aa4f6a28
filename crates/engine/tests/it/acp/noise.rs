//! Odd output of an agent: the connection goes on, accounts for every line, and does not tell the agent.

use lapidary_engine::acp::{ConnectionLimits, TrafficLine};

use super::peer::{LONG, connected, next, outline};

const SMALL: ConnectionLimits = ConnectionLimits {
    line: 100,
    pending: 4,
    open: 4,
    open_bytes: 4096,
    unread_bytes: 4096,
    patience: LONG,
    unseen_bytes: 1 << 20,
};

#[tokio::test]
async fn no_line_ends_the_connection_and_none_is_lost() {
    let (mut connected, mut agent) = connected(&[], SMALL);
    agent.says("\u{feff}Welcome to the agent!\n").await;
    agent.says("\n \r\n17\n[]\nnull\n\"text\"\n{}\n").await;
    agent.says("{\"id\":3,\"level\":\"info\"}\n").await;
    agent
        .says("[{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":1}]\n")
        .await;
    agent.says("{\"jsonrpc\":\"2.0\",\"id\":0,\"resu\n").await;
    agent.says(b"\xff\xfe\n").await;
    agent.says(format!("{}\n", "x".repeat(101))).await;
    agent
        .says("{\"method\":\"made/up\",\"params\":{\"a\":1.10}}\r\n")
        .await;
    agent
        .says(b"{\"method\":\"raw\",\"params\":[\"\xff\"]}\n")
        .await;
    agent
        .says("{\"id\":7,\"result\":1}\n{\"id\":\"0\",\"result\":2}\n")
        .await;
    agent
        .says("{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"what?\"}}\n")
        .await;
    agent
        .says("{\"method\":\"u\",\"params\":[\"a\u{2028}b\"]}\n")
        .await;
    let asked = connected.connection.ask("hello", None).unwrap();
    assert_eq!(
        agent.hears().await.unwrap(),
        r#"{"jsonrpc":"2.0","id":0,"method":"hello"}"#,
        "the first thing it hears: nobody complained about the rest"
    );
    agent.says("{\"id\":0,\"result\":{\"n\":1e2}}\nhalf").await;
    drop(agent);
    let answer = asked.answer(Some(LONG)).await.unwrap();
    assert_eq!(answer.result.as_str(), r#"{"n":1e2}"#);
    let all = outline(&mut connected.observer).await;
    let expected = [
        "< NotJson Welcome to the agent!",
        "< Blank ",
        "< Blank  ",
        "< NotAnObject 17",
        "< NotAnObject []",
        "< NotAnObject null",
        "< NotAnObject \\\"text\\\"",
        "< NotAMessage {}",
        "< NotAMessage {\\\"id\\\":3,\\\"level\\\":\\\"info\\\"}",
        "< NotAnObject [{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":0,\\\"result\\\":1}]",
        "< NotJson {\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":0,\\\"resu",
        "< NotJson \\xff\\xfe",
        &format!("< TooLong(101) {}", "x".repeat(101)),
        "< notification made/up Some({\"a\":1.10})",
        "< notification raw Some([\"\u{fffd}\"])",
        "< stray answer 7 1",
        "< stray answer \"0\" 2",
        "< stray answer null what? (-32700)",
        "< notification u Some([\"a\u{2028}b\"])",
        "> {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\"}",
        "< answer 0 {\"n\":1e2}",
        "< NotJson half",
    ];
    // The connection may read an earlier line of the agent after it sends the request: the two directions have no common order.
    let (sent, received): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|line| line.starts_with('>'));
    assert_eq!(sent, expected[19..20]);
    assert_eq!(received[..19], expected[..19]);
    assert_eq!(received[19..], expected[20..]);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_kept() {
    let (mut connected, mut agent) = connected(&[], ConnectionLimits::default());
    agent
        .says(b"{\"method\":\"raw\",\"params\":[\"\xff\"]}\r\n")
        .await;
    let observed = next(&mut connected.observer).await.unwrap();
    let TrafficLine::Received(received) = observed.traffic else {
        panic!("{observed:?}");
    };
    assert_eq!(
        received.line.bytes(),
        b"{\"method\":\"raw\",\"params\":[\"\xff\"]}"
    );
    assert!(!received.line.is_utf8());
}

#[tokio::test]
async fn a_line_of_megabytes_is_a_line() {
    let (connected, mut agent) = connected(&[], ConnectionLimits::default());
    let asked = connected.connection.ask("big", None).unwrap();
    let text = format!("\"{}\"", "y".repeat(8 << 20));
    agent
        .says(format!("{{\"id\":0,\"result\":{text}}}\n"))
        .await;
    let answer = asked.answer(Some(LONG)).await.unwrap();
    assert_eq!(answer.result.as_str().len(), text.len());
}
