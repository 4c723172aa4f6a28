//! Too much of everything, and readers who do not keep up.

use std::io::Read as _;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::scene::{Played, Row, command, ends, play, row, staged};
use crate::run::world::Told;
use crate::support::ended;

const DONE: (&str, i32) = ("end_turn", 0);

/// Says this many chunks, each with its number.
const FLOOD: &str = r#"
p = prompted()
for start in range(0, COUNT, 1000):
    write("".join('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d "}}}}\n' % n for n in range(start, start + 1000)))
answer(p, {"stopReason": "end_turn"})"#;

const ROWS: &[Row] = &[
    row(
        "ten thousand questions at once",
        r#"
p = prompted()
write("".join(json.dumps({"jsonrpc": "2.0", "id": n, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": {"toolCallId": "c%d" % n}, "options": OPTIONS}}) + "\n" for n in range(10000)))
for n in range(10000):
    hear()
done(p)"#,
        DONE,
        |played| {
            let heard = played.heard();
            let answers = heard.iter().filter(|told| told["method"].is_null());
            assert_eq!(answers.count(), 10_000);
        },
    ),
    row(
        "questions of somebody who does not read the answers",
        r#"
p = prompted()
for n in range(1500):
    send(id=n, method="_vendor/" + "x" * 200, params={})
done(p)"#,
        DONE,
        ends,
    ),
    row(
        "calls that nobody was asked about",
        r#"
p = prompted()
for start in range(0, 5000, 100):
    write("".join(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "tool_call", "toolCallId": "c%d" % n, "title": "rm", "kind": "execute", "status": "completed"}}}) + "\n" for n in range(start, start + 100)))
done(p)"#,
        DONE,
        |played| assert_eq!(played.told.count("tool_completion"), 5000),
    ),
];

#[test]
fn floods_of_every_kind_are_bounded() {
    play(ROWS);
}

/// Output without end, which the limit stops.
const ENDLESS: [&str; 3] = [
    "say('x' * 100000)",
    "write('x' * 100000)",
    "os.write(2, b'x' * 100000)",
];

#[test]
fn an_agent_that_exceeds_the_output_limit_is_ended() {
    for what in ENDLESS {
        let world = staged(&format!("p = prompted()\nwhile True:\n    {what}"));
        let args = ["--max-output", "5000000", "--grace", "0.3"];
        let told = Told::by(command(&world, &args));
        assert_eq!(told.verdict(), ("budget", Some(17)), "{what}");
        world.assert_nothing_is_left();
        let kept = std::fs::metadata(world.recording().join("stdout"))
            .unwrap()
            .len();
        assert!(kept <= 5_000_000, "{what}: {kept}");
    }
}

fn flood(count: usize) -> String {
    FLOOD.replace("COUNT", &count.to_string())
}

#[test]
fn a_flood_arrives_whole() {
    let world = staged(&flood(100_000));
    let told = Told::by(command(&world, &[]));
    assert_eq!(told.verdict(), DONE_RUN);
    let played = Played { world, told };
    let text = played.text();
    let mut numbers = text
        .split_whitespace()
        .map(|word| word.parse::<usize>().unwrap());
    assert!((0..100_000).all(|number| numbers.next() == Some(number)));
    assert_eq!(numbers.next(), None);
}

const DONE_RUN: (&str, Option<i32>) = ("end_turn", Some(0));

#[test]
fn a_slow_reader_misses_nothing() {
    let world = staged(&flood(200_000));
    let mut command = command(&world, &["--no-raw"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // Long after the agent is gone nothing has been read yet.
    thread::sleep(Duration::from_secs(3));
    let (mut count, mut chunk, mut last) = (0, vec![0; 1 << 20], Vec::new());
    loop {
        let read = stdout.read(&mut chunk).unwrap();
        if read == 0 {
            break;
        }
        let lines = &chunk[..read];
        count += lines.split(|byte| *byte == b'\n').count() - 1;
        last.extend_from_slice(lines);
        let keep = last.len().saturating_sub(4096);
        last.drain(..keep);
    }
    assert_eq!(ended(child).status.code(), Some(0));
    // 200,000 chunks, what frames them, and what else is told.
    assert_eq!(count, 200_000 + 4 + 7, "{}", String::from_utf8_lossy(&last));
    let last = String::from_utf8_lossy(&last);
    assert!(last.contains("199999 "), "{last}");
    world.assert_nothing_is_left();
}

#[test]
fn a_reader_who_leaves_ends_the_run() {
    let world = staged("p = prompted()\nwhile True:\n    say('a'); time.sleep(0.001)");
    let mut command = command(&world, &["--grace", "0.3"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 1000]).unwrap();
    drop(stdout);
    assert_eq!(ended(child).status.code(), Some(130));
    world.assert_nothing_is_left();
}
