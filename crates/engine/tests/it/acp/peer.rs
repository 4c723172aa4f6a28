//! An agent in memory.

use lapidary_engine::acp::{
    AnswerExpectation, ConnectionLimits, HandledMethods, MessageContent, ObservedLine,
    OpenConnection, ReceivedMessage, TrafficLine, TrafficObserver, connect,
};
pub(super) use lapidary_testkit::patience::HANG as LONG;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
    duplex, split,
};
use tokio::time::timeout;

/// The agent's side of a connection.
pub(super) struct Peer {
    hears: Lines<BufReader<ReadHalf<DuplexStream>>>,
    says: WriteHalf<DuplexStream>,
}

impl Peer {
    pub(super) async fn says(&mut self, text: impl AsRef<[u8]>) {
        self.says.write_all(text.as_ref()).await.unwrap();
    }

    /// The next line that it is told. None if there will be no more.
    pub(super) async fn hears(&mut self) -> Option<String> {
        let line = timeout(LONG, self.hears.next_line()).await;
        line.expect("nothing was said").unwrap()
    }
}

pub(super) fn connected(methods: &[&str], limits: ConnectionLimits) -> (OpenConnection, Peer) {
    let (ours, theirs) = duplex(64 * 1024);
    let connected = connect(
        split(ours),
        HandledMethods::from_names(methods.iter().copied()),
        limits,
    );
    let (hears, says) = split(theirs);
    let hears = BufReader::new(hears).lines();
    (connected, Peer { hears, says })
}

/// All that was said until the connection ended, one line each.
pub(super) async fn outline(observer: &mut TrafficObserver) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(observed) = next(observer).await {
        assert_eq!(observed.number, all.len() as u64);
        all.push(outlined(&observed.traffic));
    }
    all
}

pub(super) async fn next(observer: &mut TrafficObserver) -> Option<ObservedLine> {
    let next = timeout(LONG, observer.next()).await;
    next.expect("nothing came")
}

pub(super) fn outlined(traffic: &TrafficLine) -> String {
    match traffic {
        TrafficLine::Sent(line) => format!("> {line}"),
        TrafficLine::Received(received) => format!("< {}", received_outline(received)),
        TrafficLine::Skipped { lines, bytes } => format!("skipped {lines} {bytes}"),
    }
}

fn received_outline(received: &ReceivedMessage) -> String {
    match &received.what {
        MessageContent::Request { id, method, params } => {
            format!("request {} {method} {params:?}", id.as_str())
        }
        MessageContent::Notification { method, params } => {
            format!("notification {method} {params:?}")
        }
        MessageContent::Answer { id, outcome, asked } => {
            let asked = match asked {
                AnswerExpectation::Awaited => "answer",
                AnswerExpectation::Before => "late answer",
                AnswerExpectation::Never => "stray answer",
            };
            match outcome {
                Ok(result) => format!("{asked} {} {result:?}", id.as_str()),
                Err(refusal) => format!("{asked} {} {refusal}", id.as_str()),
            }
        }
        MessageContent::Noise(noise) => {
            let line = received.line.bytes().escape_ascii();
            format!("{noise:?} {line}")
        }
    }
}
