//! Terminals that write more output than Lapidary keeps.

use std::fs;

use serde_json::json;

use super::bench::Bench;

/// The most memory that this process has had so far.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse::<u64>()
        .unwrap()
        * 1024
}

/// I16.
#[tokio::test]
async fn the_end_is_kept_from_a_character_on() {
    let bench = Bench::new();
    let cases = [
        (json!(10), "0123456789", false),
        (json!(5), "56789", true),
        (json!(0), "", true),
        (json!(null), "0123456789", false),
        (json!(u64::MAX), "0123456789", false),
    ];
    for (limit, expected, truncated) in cases {
        let params = json!({"command": "printf", "args": ["0123456789"], "outputByteLimit": limit});
        let id = bench.create(params).await.unwrap();
        bench.wait(&id).await;
        let answer = bench.about("output", &id).await.unwrap();
        assert_eq!(
            (&answer["output"], &answer["truncated"]),
            (&json!(expected), &json!(truncated))
        );
    }
    let params = json!({"command": "printf", "args": ["\u{20ac}\u{20ac}\\377\u{20ac}\\342\\202"], "outputByteLimit": 11});
    let id = bench.create(params).await.unwrap();
    assert_eq!(bench.written(&id).await, "\u{fffd}\u{20ac}\u{fffd}");
}

#[tokio::test]
async fn a_gigabyte_takes_no_more_room_than_its_end() {
    let bench = Bench::new();
    let before = peak();
    let params = json!({"command": "head -c 1000000000 /dev/zero | tr '\\0' x; echo end"});
    let id = bench.create(params).await.unwrap();
    let said = bench.written(&id).await;
    assert_eq!(said.len(), 1 << 20);
    assert!(said.ends_with("xend\n"));
    let answer = bench.about("output", &id).await.unwrap();
    assert_eq!(answer["truncated"], true);
    // Other tests run in this process at the same time.
    assert!(
        peak() - before < 200 << 20,
        "{} bytes more",
        peak() - before
    );
}

#[tokio::test]
async fn a_terminals_output_limit_cannot_exceed_the_maximum() {
    let bench = Bench::with(|setup| {
        setup.limits.output_bytes = 3;
        setup.limits.max_output_bytes = 6;
    });
    for (limit, expected) in [
        (json!(null), "789"),
        (json!(5), "56789"),
        (json!(1_u64 << 40), "456789"),
    ] {
        let params = json!({"command": "printf", "args": ["0123456789"], "outputByteLimit": limit});
        let id = bench.create(params).await.unwrap();
        assert_eq!(bench.written(&id).await, expected);
    }
}

#[tokio::test]
async fn a_terminal_that_never_stops_writing_can_be_killed() {
    let bench = Bench::new();
    let id = bench.run("exec yes").await;
    bench.until(&id, "y\ny\n").await;
    bench.about("kill", &id).await.unwrap();
    bench.assert_nothing_is_left();
    let answer = bench.about("output", &id).await.unwrap();
    assert_eq!(answer["exitStatus"]["signal"], "SIGKILL");
}
