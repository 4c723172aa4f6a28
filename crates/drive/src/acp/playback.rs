//! Reading again what was recorded: for whoever watches, but not fast enough for everything to be kept in memory.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use jiff::Timestamp;
use lapidary_wire::lines::{self, LineBuffer};

use super::classify;
use super::log::{Observed, Traffic, length};
use super::message::{Asked, What};
use super::tape::Recorded;

/// Lines that stand together have their time together, unless it differs by more milliseconds than this.
const SAME_TIME: i64 = 50;

/// Who said something, and so in which file it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Theirs,
    /// It was not recorded.
    Nowhere,
}

/// Lines of one side that followed each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// The number of the first.
    pub(super) number: u64,
    /// When it was said.
    pub(super) at: Timestamp,
    pub(super) side: Side,
    /// Where it begins in all that this side said.
    pub(super) start: u64,
    pub(super) lines: u64,
    /// How many bytes they have without their ends.
    pub(super) bytes: u64,
    /// Whether anybody waits for it, if it is an answer. Then it stands alone.
    pub(super) asked: Option<Asked>,
}

impl Passage {
    /// Whether `next`, which follows, can be part of it.
    pub(super) fn goes_on_in(&self, next: &Self) -> bool {
        let late = next.at.as_millisecond() - self.at.as_millisecond();
        self.side == next.side
            && self.asked.is_none()
            && next.asked.is_none()
            && (0..=SAME_TIME).contains(&late)
    }

    pub(super) fn take_in(&mut self, next: &Self) {
        self.lines += next.lines;
        self.bytes += next.bytes;
    }

    /// What there is to be said of lines that cannot be read.
    pub(super) fn skipped(&self) -> Observed {
        Observed {
            number: self.number,
            at: self.at,
            traffic: Traffic::Skipped {
                lines: self.lines,
                bytes: self.bytes,
            },
        }
    }
}

/// Reads passages, one after the other.
#[derive(Debug)]
pub(super) struct Playback {
    recorded: Arc<Recorded>,
    ours: Place,
    theirs: Place,
    /// What is left of the passage.
    passage: Option<Passage>,
}

impl Playback {
    /// With the limit that the agent's lines were read with.
    pub(super) fn of(recorded: Arc<Recorded>, limit: usize) -> Self {
        Self {
            recorded,
            ours: Place::new(usize::MAX / 4),
            theirs: Place::new(limit),
            passage: None,
        }
    }

    pub(super) fn turn_to(&mut self, passage: Passage) {
        match passage.side {
            Side::Ours => self.ours.turn_to(passage.start),
            Side::Theirs => self.theirs.turn_to(passage.start),
            Side::Nowhere => {}
        }
        self.passage = Some(passage);
    }

    /// The next line of the passage. None if there is none left.
    pub(super) fn next(&mut self) -> Option<Observed> {
        let mut passage = self.passage.take()?;
        let traffic = match passage.side {
            Side::Ours => self.ours.line(&self.recorded.stdin).map(sent),
            Side::Theirs => {
                let line = self.theirs.line(&self.recorded.stdout);
                line.map(|line| received(line, passage.asked))
            }
            Side::Nowhere => None,
        };
        let Some(traffic) = traffic else {
            // Somebody has cut the files.
            return Some(passage.skipped());
        };
        let observed = Observed {
            number: passage.number,
            at: passage.at,
            traffic,
        };
        passage.number += 1;
        passage.lines -= 1;
        passage.bytes = passage.bytes.saturating_sub(length(&observed.traffic));
        if passage.lines > 0 {
            self.passage = Some(passage);
        }
        Some(observed)
    }
}

fn sent(line: lines::Line<'_>) -> Traffic {
    let (lines::Line::Whole(bytes) | lines::Line::TooLong { head: bytes, .. }) = line;
    Traffic::Sent(Arc::from(String::from_utf8_lossy(bytes)))
}

fn received(line: lines::Line<'_>, known: Option<Asked>) -> Traffic {
    let mut received = classify::read(line);
    if let (What::Answer { asked, .. }, Some(known)) = (&mut received.what, known) {
        *asked = known;
    }
    Traffic::Received(received)
}

/// How far one file was read.
#[derive(Debug)]
struct Place {
    limit: usize,
    lines: LineBuffer,
    /// Where `lines` began.
    origin: u64,
    /// Up to where the file was read.
    end: u64,
}

impl Place {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            lines: LineBuffer::with_limit(limit),
            origin: 0,
            end: 0,
        }
    }

    /// Passages mostly follow each other, and then what was read already is used.
    fn turn_to(&mut self, start: u64) {
        if self.origin + self.lines.taken() != start {
            self.lines = LineBuffer::midway(self.limit);
            self.origin = start;
            self.end = start;
        }
    }

    /// The next line, which must have been written. None if it cannot be read.
    fn line(&mut self, mut file: &File) -> Option<lines::Line<'_>> {
        while !self.lines.has_line() {
            file.seek(SeekFrom::Start(self.end)).ok()?;
            let count = file.read(self.lines.room()).ok()?;
            if count == 0 {
                return self.lines.last_line();
            }
            self.lines.filled(count);
            self.end += count as u64;
        }
        self.lines.next_line()
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::super::connection::{Limits, Methods, connect_noting};
    use super::super::log::{Log, Observer};
    use super::super::message::Received;
    use super::super::tape::Tape;
    use super::*;
    use crate::recording::Recorder;

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

    /// A log that records, and whoever watches it.
    struct Scene {
        log: Arc<Log>,
        observer: Observer,
        lines: LineBuffer,
        said: u64,
        seen: Vec<(u64, Traffic)>,
        _root: TempDir,
    }

    const LONGEST: usize = 300;

    fn taped(limits: Limits) -> (TempDir, Arc<Log>) {
        let root = tempfile::tempdir().unwrap();
        let recorder = Recorder::begin(root.path(), "run").unwrap();
        let tape = Tape::new(recorder, u64::MAX).unwrap();
        (root, Arc::new(Log::new(limits, Some(tape))))
    }

    impl Scene {
        fn new(unseen_bytes: usize) -> Self {
            let limits = Limits {
                unseen_bytes,
                line: LONGEST,
                ..Limits::default()
            };
            let (root, log) = taped(limits);
            Self {
                observer: Observer::of(&log),
                log,
                lines: LineBuffer::with_limit(LONGEST),
                said: 0,
                seen: Vec::new(),
                _root: root,
            }
        }

        fn agent_writes(&mut self, bytes: &[u8], is_last: bool) {
            self.log.read(bytes).unwrap();
            self.lines.push(bytes);
            loop {
                let start = self.lines.taken();
                let line = match self.lines.next_line() {
                    None if is_last => self.lines.last_line(),
                    line => line,
                };
                let Some(line) = line else {
                    return;
                };
                let mut received = classify::read(line);
                if let What::Answer { asked, .. } = &mut received.what {
                    *asked = [Asked::Awaited, Asked::Before][self.said as usize % 2];
                }
                self.log.received(received, start);
                self.said += 1;
            }
        }

        fn we_say(&mut self, line: &str) {
            self.log.sent(line).unwrap();
            self.said += 1;
        }

        async fn look(&mut self, times: u64) {
            let left = self.said - self.seen.len() as u64;
            for _ in 0..times.min(left) {
                let observed = self.observer.next().await.unwrap();
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

    /// The same conversation, watched by somebody who hardly looks and keeps up with it by reading again, or never has to.
    async fn watched(seed: u64, unseen_bytes: usize, looks: u64) -> Vec<(u64, Traffic)> {
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
        scene.log.finish();
        assert_eq!(scene.observer.next().await, None);
        scene.seen
    }

    #[tokio::test]
    async fn whoever_looks_late_sees_the_same_in_the_same_order() {
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
    async fn what_was_not_recorded_is_counted() {
        let mut scene = Scene::new(1);
        for _ in 0..3 {
            scene.we_say("{\"id\":1,\"result\":null}\n");
        }
        let cut = scene._root.path().join("run/stdin");
        std::fs::write(
            cut,
            "{\"id\":1,\"result\":null}\n{\"id\":1,\"result\":null}\n",
        )
        .unwrap();
        scene.look(3).await;
        let missed = Traffic::Skipped {
            lines: 1,
            bytes: 22,
        };
        assert_eq!(scene.seen.last(), Some(&(2, missed)));
    }

    #[tokio::test]
    async fn a_flood_that_nobody_looks_at_is_seen_whole_in_the_end() {
        use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
        const LINES: usize = 20_000;
        let limits = Limits {
            unseen_bytes: 50_000,
            ..Limits::default()
        };
        let (_root, log) = taped(limits);
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let methods = Methods::default();
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
        let (mut next, mut answered) = (0, 0);
        while let Some(observed) = connected.observer.next().await {
            assert_eq!(observed.number, (next + answered) as u64);
            match observed.traffic {
                Traffic::Received(Received { what, .. }) => {
                    let n = next.to_string();
                    match what {
                        What::Request { id, .. } => assert_eq!(id.as_str(), n),
                        What::Notification { params, .. } => {
                            assert_eq!(params.unwrap().as_str(), n)
                        }
                        other @ (What::Answer { .. } | What::Noise(_)) => panic!("{other:?}"),
                    }
                    next += 1;
                }
                Traffic::Sent(line) => {
                    let asked = answered * 10;
                    assert!(line.contains(&format!("\"id\":{asked},")), "{line}");
                    assert!(asked < next, "no answer comes before its question");
                    answered += 1;
                }
                Traffic::Skipped { .. } => panic!("it was recorded"),
            }
        }
        assert_eq!((next, answered), (LINES, LINES / 10));
    }
}
