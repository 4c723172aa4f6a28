//! Kept lines and lines that are read again must not differ.

use tempfile::TempDir;

use super::*;
use crate::connection::connect_noting;
use crate::connection_tape::ConnectionTape;
use crate::limits::{ConnectionLimits, HandledMethods};
use crate::log::{TrafficLog, TrafficObserver};
use crate::message::ReceivedMessage;
use lapidary_recording::Recorder;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % sides
    }
}

/// A log that records, and its observer.
struct Scene {
    log: Arc<TrafficLog>,
    observer: TrafficObserver,
    lines: LineBuffer,
    said: u64,
    seen: Vec<(u64, TrafficLine)>,
    root: TempDir,
}

const LONGEST: usize = 300;

/// The next line is there at once; a wait means that one was lost.
async fn next(observer: &mut TrafficObserver) -> Option<ObservedLine> {
    let next = tokio::time::timeout(std::time::Duration::from_secs(20), observer.next());
    next.await.expect("something is missing")
}

fn taped(limits: ConnectionLimits) -> (TempDir, Arc<TrafficLog>) {
    let root = tempfile::tempdir().unwrap();
    let recorder = Recorder::begin(root.path(), "run").unwrap();
    let tape = ConnectionTape::new(recorder, u64::MAX).unwrap();
    (root, Arc::new(TrafficLog::new(limits, Some(tape))))
}

impl Scene {
    fn new(unseen_bytes: usize) -> Self {
        let limits = ConnectionLimits {
            unseen_bytes,
            line: LONGEST,
            ..ConnectionLimits::default()
        };
        let (root, log) = taped(limits);
        Self {
            observer: TrafficObserver::new(&log),
            log,
            lines: LineBuffer::with_limit(LONGEST),
            said: 0,
            seen: Vec::new(),
            root,
        }
    }

    fn agent_writes(&mut self, bytes: &[u8], is_last: bool) {
        self.log.record_bytes(bytes).unwrap();
        self.lines.push(bytes);
        loop {
            let start = self.lines.taken();
            let end = self.lines.next_end().unwrap_or(u64::MAX);
            let line = match self.lines.next_line() {
                None if is_last => self.lines.last_line(),
                line => line,
            };
            let Some(line) = line else {
                return;
            };
            let mut received = classify::classify_line(line);
            if let MessageContent::Answer { asked, .. } = &mut received.what {
                *asked = match self.said % 2 {
                    0 => AnswerExpectation::Awaited,
                    _ => AnswerExpectation::Before,
                };
            }
            self.log.add_received(received, start..end);
            self.said += 1;
        }
    }

    fn we_say(&mut self, line: &str) {
        self.log.add_sent(line).unwrap();
        self.said += 1;
    }

    async fn look(&mut self, times: u64) {
        let left = self.said - self.seen.len() as u64;
        for _ in 0..times.min(left) {
            let observed = next(&mut self.observer).await.unwrap();
            self.seen.push((observed.number, observed.traffic));
        }
    }
}

fn a_line(dice: &mut Dice) -> Vec<u8> {
    let id = dice.roll(1000);
    match dice.roll(9) {
        0 => format!("{{\"id\":{id},\"method\":\"ask\"}}\r\n").into_bytes(),
        1 => format!("{{\"id\":{id},\"result\":{{}}}}\n").into_bytes(),
        2 => b"\n".to_vec(),
        3 => b"\xEF\xBB\xBFbanner\n".to_vec(),
        4 => b"bad \xFF byte\n".to_vec(),
        5 => [vec![b'x'; LONGEST + dice.roll(1000)], vec![b'\n']].concat(),
        _ => format!(
            "{{\"method\":\"m\",\"params\":\"{}\"}}\n",
            "y".repeat(dice.roll(80))
        )
        .into_bytes(),
    }
}

/// The lines that an observer sees that hardly looks and catches up by reading again, or that never has to.
async fn watched(seed: u64, unseen_bytes: usize, looks: u64) -> Vec<(u64, TrafficLine)> {
    let mut dice = Dice(seed);
    let mut scene = Scene::new(unseen_bytes);
    let mut unwritten = Vec::new();
    for turn in 0..400 {
        unwritten.extend(a_line(&mut dice));
        let count = dice.roll(unwritten.len() + 1);
        let chunk: Vec<u8> = unwritten.drain(..count).collect();
        scene.agent_writes(&chunk, false);
        if dice.roll(3) == 0 {
            scene.we_say(&format!("{{\"id\":{turn},\"result\":null}}\n"));
        }
        if dice.roll(20) == 0 {
            scene.look(looks).await;
        }
    }
    unwritten.extend(b"half a li");
    scene.agent_writes(&unwritten, true);
    scene.look(u64::MAX).await;
    scene.log.finish_traffic();
    assert_eq!(next(&mut scene.observer).await, None);
    scene.seen
}

#[tokio::test]
async fn a_late_observer_sees_the_same_lines_in_the_same_order() {
    for seed in 0..30 {
        let kept = watched(seed, usize::MAX / 2, 0).await;
        assert!(kept.len() > 400, "{}", kept.len());
        for (unseen_bytes, looks) in [(1, 0), (1, 7), (3000, 7), (20_000, 50)] {
            let read_again = watched(seed, unseen_bytes, looks).await;
            assert_eq!(read_again, kept, "seed {seed}, {unseen_bytes} bytes");
        }
    }
}

#[tokio::test]
async fn lines_missing_from_the_recording_are_counted_as_skipped() {
    let mut scene = Scene::new(1);
    for _ in 0..3 {
        scene.we_say("{\"id\":1,\"result\":null}\n");
    }
    let cut = scene.root.path().join("run/stdin");
    std::fs::write(
        cut,
        "{\"id\":1,\"result\":null}\n{\"id\":1,\"result\":null}\n",
    )
    .unwrap();
    scene.look(3).await;
    let missed = TrafficLine::Skipped {
        lines: 1,
        bytes: 22,
    };
    assert_eq!(scene.seen.last(), Some(&(2, missed)));
}

#[tokio::test]
async fn a_late_observer_sees_a_whole_flood() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    const LINES: usize = 20_000;
    let limits = ConnectionLimits {
        unseen_bytes: 50_000,
        ..ConnectionLimits::default()
    };
    let (_root, log) = taped(limits);
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let methods = HandledMethods::default();
    let mut connected = connect_noting(tokio::io::split(ours), methods, limits, log);
    let (hears, mut says) = tokio::io::split(theirs);
    let reading = tokio::spawn(async move {
        let mut answers = BufReader::new(hears).lines();
        for _ in 0..LINES / 10 {
            answers.next_line().await.unwrap();
        }
    });
    for n in 0..LINES {
        // Each tenth is a question, which is answered at once.
        let line = if n % 10 == 0 {
            format!("{{\"id\":{n},\"method\":\"unknown\"}}\n")
        } else {
            format!("{{\"method\":\"m\",\"params\":{n}}}\n")
        };
        says.write_all(line.as_bytes()).await.unwrap();
    }
    reading.await.unwrap();
    drop(says);
    let (mut count, mut answered) = (0, 0);
    while let Some(observed) = next(&mut connected.observer).await {
        assert_eq!(observed.number, (count + answered) as u64);
        match observed.traffic {
            TrafficLine::Received(ReceivedMessage { what, .. }) => {
                let n = count.to_string();
                match what {
                    MessageContent::Request { id, .. } => assert_eq!(id.as_str(), n),
                    MessageContent::Notification { params, .. } => {
                        assert_eq!(params.unwrap().as_str(), n);
                    }
                    other @ (MessageContent::Answer { .. } | MessageContent::Noise(_)) => {
                        panic!("{other:?}")
                    }
                }
                count += 1;
            }
            TrafficLine::Sent(line) => {
                let asked = answered * 10;
                assert!(line.contains(&format!("\"id\":{asked},")), "{line}");
                assert!(asked < count, "no answer comes before its question");
                answered += 1;
            }
            TrafficLine::Skipped { .. } => panic!("it was recorded"),
        }
    }
    assert_eq!((count, answered), (LINES, LINES / 10));
}
