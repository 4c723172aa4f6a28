//! Agents that die, at whichever moment, and those that do not.

use std::time::Duration;

use super::scene::{Played, Row, ends, play, row};

const DONE: (&str, i32) = ("end_turn", 0);
const CRASHED: (&str, i32) = ("agent_crashed", 15);

const ROWS: &[Row] = &[
    row(
        "before a word, with 0",
        "os._exit(0)",
        ("no_result", 15),
        ends,
    ),
    row(
        "before a word, with 1",
        "print('no node', file=sys.stderr); os._exit(1)",
        CRASHED,
        |played| {
            assert!(
                played.told.message().contains("no node"),
                "{}",
                played.told.message()
            );
        },
    ),
    row("before it answers", "hear(); os._exit(1)", CRASHED, ends),
    row(
        "before it answers, by a signal",
        "hear(); os.kill(os.getpid(), 9)",
        CRASHED,
        |played| {
            assert_eq!(played.told.end()["signal"], "SIGKILL");
        },
    ),
    row(
        "after hello",
        "hello(); os._exit(0)",
        ("no_result", 15),
        ends,
    ),
    row(
        "after hello, with 2",
        "hello(); hear(); os._exit(2)",
        CRASHED,
        ends,
    ),
    row(
        "once it has a session",
        "hello(); session(); os._exit(3)",
        CRASHED,
        ends,
    ),
    row(
        "amid a turn, with 0",
        "prompted(); say('a'); os._exit(0)",
        ("no_result", 15),
        ends,
    ),
    row(
        "amid a turn, with 1",
        "prompted(); say('a'); os._exit(1)",
        CRASHED,
        ends,
    ),
    row(
        "amid a turn, by a signal",
        "prompted(); say('a'); os.kill(os.getpid(), 9)",
        CRASHED,
        ends,
    ),
    row(
        "amid a line",
        "prompted(); write('{\"jsonrpc\":'); os.kill(os.getpid(), 9)",
        CRASHED,
        ends,
    ),
    row(
        "amid a call",
        "prompted(); call('c1', status='in_progress'); permission(1); os._exit(1)",
        CRASHED,
        ends,
    ),
    row(
        "after its turn, with 3",
        "p = prompted(); done(p); os._exit(3)",
        DONE,
        |played| {
            assert_eq!(played.told.end()["agentExitCode"], 3);
        },
    ),
    row(
        "after its turn, by a signal",
        "p = prompted(); done(p); os.kill(os.getpid(), 11)",
        DONE,
        ends,
    ),
    row(
        "leaves somebody behind who holds its stdout",
        "p = prompted()\nif os.fork() == 0:\n    os.setsid(); stubborn(); for_ever()\ndone(p); os._exit(0)",
        DONE,
        ends,
    ),
    row(
        "leaves somebody behind amid a turn",
        "p = prompted()\nif os.fork() == 0:\n    os.setsid(); stubborn(); for_ever()\nos._exit(1)",
        CRASHED,
        ends,
    ),
    row(
        "closes its stdout, and lives",
        "prompted(); os.close(1); for_ever()",
        ("protocol_error", 15),
        |played| {
            assert!(
                played.told.message().contains("closed"),
                "{}",
                played.told.message()
            );
        },
    )
    .with(&["--grace", "0.3"]),
    row(
        "closes its stdin, and lives",
        "p = prompted(); permission(1); os.close(0); call('c1'); permission(2); for_ever()",
        ("protocol_error", 15),
        |played| {
            assert!(
                played.told.message().contains("stdin"),
                "{}",
                played.told.message()
            );
        },
    )
    .with(&["--grace", "0.3", "--timeout", "10"]),
    row(
        "closes its stdin, and finishes",
        "p = prompted(); os.close(0); say('a'); done(p); os._exit(0)",
        DONE,
        ends,
    ),
    row(
        "ignores that nobody speaks to it any more",
        "p = prompted(); done(p); for_ever()",
        DONE,
        |played| ends_within(played, 6),
    )
    .with(&["--grace", "0.3"]),
    row(
        "ignores everything",
        "stubborn(); p = prompted(); done(p); for_ever()",
        DONE,
        |played| ends_within(played, 6),
    )
    .with(&["--grace", "0.3"]),
    row(
        "does not stop talking",
        "stubborn(); p = prompted(); done(p)\nwhile True:\n    say('and another thing')",
        DONE,
        |played| ends_within(played, 12),
    )
    .with(&["--grace", "0.3"]),
];

fn ends_within(played: &Played, seconds: u64) {
    assert!(
        played.told.took < Duration::from_secs(seconds),
        "{:?}",
        played.told.took
    );
}

#[test]
fn however_and_whenever_it_dies() {
    play(ROWS);
}
