//! Agents that die, at any moment, and agents that do not end.

use super::scene::{Row, ends, play, row};

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
        "prints its help, and is no agent",
        "line('Usage: agent [--acp]'); os._exit(0)",
        ("protocol_error", 15),
        |played| {
            let message = played.told.message();
            assert!(message.contains("does not speak ACP"), "{message}");
            assert!(message.contains("Usage: agent"), "{message}");
            assert!(played.told.stderr.contains("--acp"), "{}", played.told.stderr);
        },
    ),
    row(
        "sends back what it is told",
        "while True:\n    text = IN.readline()\n    if not text: os._exit(0)\n    write(text)",
        ("protocol_error", 15),
        |played| {
            let message = played.told.message();
            assert!(message.contains("sends our own lines back"), "{message}");
        },
    ),
    row(
        "wants somebody to sign in, and dies",
        "hear(); print('OAuth token expired', file=sys.stderr); os._exit(1)",
        ("auth_required", 11),
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
        "p = prompted(); done(p)\nwhile IN.readline():\n    pass\nos._exit(3)",
        DONE, // that is how it answers the hang-up
        |played| {
            assert_eq!(played.told.end()["agentExitCode"], 3);
        },
    ),
    row(
        "after its turn, by a signal",
        "p = prompted(); done(p); os.kill(os.getpid(), 11)",
        CRASHED,
        |played| {
            let message = played.told.message();
            assert!(message.contains("after it had ended its turn"), "{message}");
        },
    ),
    row(
        "only thinks",
        "p = prompted(); update('agent_thought_chunk', content={'type': 'text', 'text': 'hm'}); answer(p, {'stopReason': 'end_turn'})",
        ("empty_response", 15),
        ends,
    ),
    row(
        "ends its turn with a call",
        "p = prompted(); call('c1', status='completed'); answer(p, {'stopReason': 'end_turn'})",
        DONE,
        |played| {
            let warnings = played.told.end()["warnings"].to_string();
            assert!(warnings.contains("ended with a tool call"), "{warnings}");
            let stderr = &played.told.stderr;
            assert!(stderr.contains("warning: the turn ended"), "{stderr}");
        },
    ),
    row(
        "retries for longer than it may",
        "prompted(); print('Attempt 3 failed with status 503. Retrying with backoff...', file=sys.stderr, flush=True); for_ever()",
        ("api_error", 1),
        |played| {
            let message = played.told.message();
            assert!(message.contains("the model's API answered 503"), "{message}");
        },
    )
    .with(&["--timeout", "2", "--grace", "0.3"]),
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
        ends,
    )
    .with(&["--grace", "0.3"]),
    row(
        "ignores everything",
        "stubborn(); p = prompted(); done(p); for_ever()",
        DONE,
        ends,
    )
    .with(&["--grace", "0.3"]),
    row(
        "does not stop talking",
        "stubborn(); p = prompted(); done(p)\nwhile True:\n    say('and another thing')",
        DONE,
        ends,
    )
    .with(&["--grace", "0.3"]),
];

#[test]
fn an_agent_that_dies_at_any_point_has_a_typed_outcome() {
    play(ROWS);
}
