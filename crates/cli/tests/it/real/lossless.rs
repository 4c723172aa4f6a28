//! The real CLI exits without draining its stdout. Nothing of it is lost all the same.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use lapidary_standin::api::{Chunk, Script, Turn};
use lapidary_testkit::gemini::GeminiVersion::V0_61_0;
use serde_json::Value;

use super::world::Real;
use crate::support::ended;

const CHUNKS: usize = 1500;
const CHUNK: usize = 2000;

/// 3 MB of text in numbered pieces.
fn large() -> (Script, String) {
    // Of numbers that are all different: the CLI takes repetition for a loop, and ends it.
    let piece = |n: usize| {
        let words = (0..CHUNK / 10).map(|word| format!("{:09} ", n * CHUNK + word));
        words.collect::<String>()
    };
    let turn = Turn::chunks((0..CHUNKS).map(|n| Chunk::text(piece(n))));
    (Script::new().stream(turn), (0..CHUNKS).map(piece).collect())
}

/// Reads at 200 KB/s for as long as it takes to fall far behind, then as fast as it can.
fn read_slowly(mut from: impl std::io::Read) -> Vec<u8> {
    let mut all = Vec::new();
    let mut chunk = vec![0; 10_000];
    for _ in 0..60 {
        let count = from.read(&mut chunk).unwrap();
        all.extend_from_slice(&chunk[..count]);
        thread::sleep(Duration::from_millis(50));
    }
    from.read_to_end(&mut all).unwrap();
    all
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn three_megabytes_of_deltas_reach_a_slow_reader() {
    let (script, text) = large();
    let real = Real::new(V0_61_0, script);
    let mut command = real.lapidary(&["--no-raw", "go"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let printed = read_slowly(child.stdout.take().unwrap());
    assert_eq!(ended(child).status.code(), Some(0));
    let printed = String::from_utf8(printed).unwrap();
    let events: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said: String = events
        .iter()
        .filter_map(|event| event["textDelta"].as_str())
        .collect();
    assert!(said == text, "{} of {} bytes", said.len(), text.len());
    assert_eq!(events.last().unwrap()["cause"], "end_turn");
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn three_megabytes_of_one_document_reach_a_slow_reader() {
    let (script, text) = large();
    let real = Real::new(V0_61_0, script);
    let mut command = real.lapidary(&["--transport", "json", "--format", "result", "go"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let printed = read_slowly(child.stdout.take().unwrap());
    assert_eq!(ended(child).status.code(), Some(0));
    let result: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(result["cause"], "end_turn");
    let said = result["response"].as_str().unwrap();
    assert!(said == text, "{} of {} bytes", said.len(), text.len());
}
