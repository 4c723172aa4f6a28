//! Recordings that are read: every line of both sides in its order, with any content and in pieces of any size.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lapidary_engine::recording::LineSide;
use lapidary_engine::replay::RecordingReader;
use lapidary_vocab::event::Provider;
use lapidary_wire::lines::{KEPT_OF_TOO_LONG, RawLine};
use proptest::prelude::*;
use tempfile::TempDir;

const LIMIT: usize = 2000;

/// A line, and whether the agent wrote it.
type Said = (bool, Vec<u8>);

fn manifest(agent: &str, argv: &str, transport: &str) -> String {
    format!(
        r#"{{"schema":"lapidary.recording/1","run":"r","agent":"{agent}","transport":"{transport}","argv":["{argv}"],
        "environment":[],"directory":"/","startedAt":"2026-01-01T00:00:00.000Z"}}"#
    )
}

fn write(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    fs::write(directory.join(name), bytes).unwrap();
}

/// A recording of these lines, in pieces of these sizes. The last line of each side may lack its newline, and the timing file has
/// no entry for the last line of all.
fn recording(said: &[Said], pieces: &[usize], ends: bool) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (mut channels, mut timing) = ([Vec::new(), Vec::new()], String::new());
    let mut pieces = pieces.iter().cycle();
    for (number, (is_agent, line)) in said.iter().enumerate() {
        let is_last = !said[number + 1..].iter().any(|(who, _)| who == is_agent);
        let mut bytes = line.clone();
        bytes.extend((ends || !is_last).then_some(b'\n'));
        let mut left = bytes.len();
        while left > 0 && number + 1 < said.len() {
            let piece = left.min(*pieces.next().unwrap());
            let name = if *is_agent { "out" } else { "in" };
            writeln!(timing, "{number}.000 err 0\n{number}.000 {name} {piece}").unwrap();
            left -= piece;
        }
        channels[usize::from(*is_agent)].extend(bytes);
    }
    let [stdin, stdout] = channels;
    write(directory.path(), "run.json", manifest("a", "a", "acp"));
    write(directory.path(), "timing", timing);
    write(directory.path(), "stdin", stdin);
    write(directory.path(), "stdout", stdout);
    write(directory.path(), "stderr", "");
    directory
}

/// All that is read of it: who, the line, and when.
fn read(directory: &Path) -> Vec<(Said, Option<String>)> {
    let past = RecordingReader::open(directory).unwrap();
    let mut lines = past.lines(LIMIT).unwrap();
    let mut all = Vec::new();
    while let Some(spoken) = lines.next_line().unwrap() {
        let line = match spoken.line {
            RawLine::Whole(line) => line.to_vec(),
            RawLine::TooLong { head, length, .. } => {
                assert_eq!(head.len(), KEPT_OF_TOO_LONG);
                vec![head[0]; usize::try_from(length).unwrap()]
            }
        };
        let said = (spoken.side == LineSide::Agent, line);
        all.push((said, spoken.at.map(str::to_owned)));
    }
    assert_eq!(lines.read(), past.size());
    all
}

/// A line that is not empty, so that it is there without its end, and that does not look like the end of one.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("no end", |byte| !matches!(byte, b'\n' | b'\r'));
    prop_oneof![
        4 => proptest::collection::vec(byte, 1..40),
        1 => (1..5000_usize).prop_map(|length| vec![b'x'; length]),
    ]
}

proptest! {
    #[test]
    fn every_line_is_read_in_its_place(
        said in proptest::collection::vec((any::<bool>(), line()), 1..20),
        pieces in proptest::collection::vec(1..3000_usize, 1..10),
    ) {
        let directory = recording(&said, &pieces, true);
        let all = read(directory.path());
        let (read, times): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        prop_assert_eq!(&read, &said);
        // The last line gets the latest time of the timing file.
        for (number, time) in times.iter().enumerate().take(said.len() - 1) {
            let expected = format!("2026-01-01T00:00:00.{number:03}Z");
            prop_assert_eq!(time.as_deref(), Some(expected.as_str()));
        }
    }

    #[test]
    fn a_last_line_may_lack_its_end(
        said in proptest::collection::vec((any::<bool>(), line()), 1..20),
    ) {
        let directory = recording(&said, &[7], false);
        let mut all: Vec<_> = read(directory.path()).into_iter().map(|(said, _)| said).collect();
        // The end of such a line has no time, so the line comes behind all others.
        let mut expected = said;
        all.sort_by_key(|(is_agent, _)| *is_agent);
        expected.sort_by_key(|(is_agent, _)| *is_agent);
        prop_assert_eq!(all, expected);
    }
}

#[test]
fn an_agent_is_of_the_family_that_its_name_tells() {
    let family = |agent, program| {
        let directory = recording(&[(true, b"x".to_vec())], &[1], true);
        write(
            directory.path(),
            "run.json",
            manifest(agent, program, "acp"),
        );
        RecordingReader::open(directory.path()).unwrap().provider()
    };
    assert_eq!(family("gemini", "/usr/bin/node"), Provider::Gemini);
    assert_eq!(
        family("claude-agent-acp", "/x/claude-agent-acp"),
        Provider::Claude
    );
    assert_eq!(family("mona", "/x/mona"), Provider::Acp);
    assert_eq!(family("mona", "/x/node").as_str(), "mona");
}

#[test]
fn an_agent_that_was_not_spoken_to_needs_no_timing() {
    let directory = tempfile::tempdir().unwrap();
    let headless = manifest("gemini", "gemini", "stream-json");
    write(directory.path(), "run.json", headless);
    assert!(
        RecordingReader::open(directory.path()).is_err(),
        "there is no stdout"
    );
    write(directory.path(), "stdout", "one\r\ntwo");
    let lines = [b"one".to_vec(), b"two".to_vec()].map(|line| ((true, line), None));
    assert_eq!(read(directory.path()), lines);
    write(directory.path(), "timing", "0.000 err 1\n");
    assert!(
        RecordingReader::open(directory.path()).is_err(),
        "nor a stderr"
    );
}
