//! Replays of recorded dialogues, with bytes in pieces of any size, and with any input of the client.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use lapidary_engine::replay::{Dialogue, DialogueStage, ReplayPace, ReplayRate};
use proptest::prelude::*;
use tempfile::TempDir;

/// Client and agent in turn.
const LINES: [(&str, &str); 9] = [
    (
        "in",
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#,
    ),
    ("out", r#"{"jsonrpc":"2.0","id":0,"result":{"id":7}}"#),
    ("out", "Welcome! é \u{2028}"),
    ("in", r#"{"id":1,"method":"session/prompt"}"#),
    ("out", r#"{"id":0,"method":"session/request_permission"}"#),
    ("in", r#"{"id":0,"result":{}}"#),
    ("out", r#"{"method":"session/update","params":1.10}"#),
    ("in", r#"{"method":"session/cancel"}"#),
    ("out", r#"{"id":1,"result":null}"#),
];

/// All lines of a channel.
fn channel(name: &str) -> String {
    let lines = LINES.iter().filter(|(channel, _)| *channel == name);
    lines.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// A recording whose lines came in pieces of these sizes.
fn recording(pieces: &[usize]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut pieces = pieces.iter().cycle();
    let mut timing = String::new();
    for (number, (channel, line)) in LINES.iter().enumerate() {
        let mut left = line.len() + 1;
        while left > 0 {
            let piece = left.min(*pieces.next().unwrap());
            writeln!(timing, "{number}.000 {channel} {piece}").unwrap();
            left -= piece;
        }
    }
    let manifest = r#"{"schema":"lapidary.recording/1","run":"r","agent":"a","transport":"acp","argv":[],
        "environment":[],"directory":"/","startedAt":"","end":{"durationMs":9,"exitCode":0}}"#;
    let files = [
        ("run.json", manifest.to_owned()),
        ("timing", timing),
        ("stdin", channel("in")),
        ("stdout", channel("out")),
        ("stderr", String::new()),
    ];
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

/// The output and notes of a replay for a client that writes these bytes and closes its end.
fn played(recording: &Path, client: &[u8]) -> (Vec<u8>, Vec<String>) {
    let file = recording.join("client");
    fs::write(&file, client).unwrap();
    let (mut out, mut err, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let stage = DialogueStage {
        out: &mut out,
        err: &mut err,
        note: &mut |note| notes.push(note.to_owned()),
        rate: ReplayRate {
            pace: ReplayPace::AtOnce,
            patience: Duration::ZERO,
        },
    };
    let dialogue = Dialogue::open(recording).unwrap().unwrap();
    dialogue.play(File::open(file).unwrap(), stage).unwrap();
    (out, notes)
}

/// Lines that a client could write, sound or not.
fn said() -> impl Strategy<Value = Vec<u8>> {
    let recorded = (0..LINES.len()).prop_map(|index| LINES[index].1.as_bytes().to_vec());
    let request = (any::<u8>(), "[a-z/]{0,8}")
        .prop_map(|(id, method)| format!(r#"{{"id":{id},"method":"{method}"}}"#).into_bytes());
    let noise = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![4 => recorded, 1 => request, 1 => noise]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_recorded_dialogue_replays_the_same_in_any_chunks(pieces in proptest::collection::vec(1_usize..90, 1..20)) {
        let recording = recording(&pieces);
        let (out, notes) = played(recording.path(), channel("in").as_bytes());
        prop_assert_eq!(String::from_utf8(out).unwrap(), channel("out"));
        prop_assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn a_replayed_dialogue_ends_and_keeps_its_order_for_any_client(
        lines in proptest::collection::vec(said(), 0..30)
    ) {
        let recording = recording(&[90]);
        let (out, _) = played(recording.path(), &lines.join(&b'\n'));
        let out = String::from_utf8(out).unwrap();
        let refused = |line: &&str| line.contains(r#""error":{"code":-326"#);
        let (refusals, said): (Vec<_>, Vec<_>) = out.lines().partition(refused);
        for refusal in refusals {
            prop_assert!(serde_json::from_str::<serde_json::Value>(refusal).is_ok());
        }
        let recorded = channel("out");
        let mut recorded = recorded.lines();
        for line in said {
            prop_assert!(recorded.any(|other| other == line), "{}", line);
        }
    }
}

#[test]
fn a_recording_of_another_transport_has_no_dialogue() {
    let recording = recording(&[90]);
    let manifest = recording.path().join("run.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"acp\"", "\"stream-json\"")).unwrap();
    assert!(Dialogue::open(recording.path()).unwrap().is_none());
    assert!(Dialogue::open(&manifest).unwrap().is_none());
    let stdout = recording.path().join("stdout");
    assert!(Dialogue::open(&stdout).unwrap().is_none());
    fs::write(&manifest, text.replace("\"acp\"", "\"unknown\"")).unwrap();
    assert!(Dialogue::open(&manifest).unwrap().is_some());
}
