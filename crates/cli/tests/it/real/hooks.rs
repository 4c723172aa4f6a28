//! Hooks, run by the real CLI and by Lapidary on the same settings: the same hooks, with the same input and the same
//! consequences.
//!
//! A start of the CLI costs seconds, so one start has many calls of tools, each of which is a case: its own name, its own hooks.
//! With `LAPIDARY_FULL=1` each case has a start of its own. `LAPIDARY_SEED` makes other cases.
//!
//! The cases skip the one deviation, a hook that exits with 2 and prints no decision.

mod cases;
mod counted;
mod ours;
mod theirs;

use std::thread;

use serde_json::Value;

use cases::{Case, Chance};
use ours::Expected;
use theirs::Seen;

/// How many cases are tried.
const CASES: usize = 120;

/// How many cases share a start of the CLI.
const AT_ONCE: usize = 12;

/// How many starts at a time.
const PARALLEL: usize = 2;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn the_same_hooks_have_the_same_consequences() {
    let seed = number("LAPIDARY_SEED").unwrap_or(6);
    let at_once = if number("LAPIDARY_FULL") == Some(1) {
        1
    } else {
        AT_ONCE
    };
    let mut chance = Chance::new(seed);
    let starts: Vec<Case> = (0..CASES / at_once)
        .map(|_| Case::make(&mut chance, at_once))
        .collect();
    let compared: Vec<Compared> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..PARALLEL)
            .map(|lane| {
                let starts = starts.iter().skip(lane).step_by(PARALLEL);
                scope.spawn(move || starts.map(compare).collect::<Vec<_>>())
            })
            .collect();
        let all = lanes.into_iter();
        all.flat_map(|lane| lane.join().unwrap()).collect()
    });
    let (wrong, kinds): (Vec<_>, Vec<_>) = compared
        .into_iter()
        .map(|compared| (compared.wrong, compared.kinds))
        .unzip();
    let (wrong, kinds) = (wrong.concat(), kinds.concat());
    let count = wrong.len();
    let shown: Vec<_> = wrong.into_iter().take(5).collect();
    assert!(
        count == 0,
        "seed {seed}: {count} differ\n{}",
        shown.join("\n\n")
    );
    assert_eq!(kinds.len(), CASES);
    for kind in ["blocked", "invalid", "hidden", "ran", "ran on"] {
        let count = kinds.iter().filter(|it| **it == kind).count();
        assert!(count > 0, "seed {seed}: none was {kind}: {kinds:?}");
    }
}

/// What differs between the CLI and us at one start, and what became of its calls.
struct Compared {
    wrong: Vec<String>,
    kinds: Vec<&'static str>,
}

fn compare(case: &Case) -> Compared {
    let seen = Seen::by_the_cli(case);
    let mut wrong = seen.round_trips();
    let mut kinds = Vec::new();
    for (number, call) in case.calls.iter().enumerate() {
        let expected = Expected::of(case, number, &seen);
        let (theirs, ours) = (seen.told_about(number), expected.told);
        if theirs != ours {
            wrong.push(format!(
                "call {number}, {}: the CLI told its hooks\n{}\nand we\n{}\nwith {}",
                call.tool,
                lines(&theirs),
                lines(&ours),
                case.outline(number)
            ));
        }
        kinds.push(expected.consequence.kind());
        let answer = seen.answer(number);
        if !expected.consequence.is_seen_in(&answer) {
            wrong.push(format!(
                "call {number}, {}: the model was told\n{answer}\nand we expect {:?}\nwith {}",
                call.tool,
                expected.consequence,
                case.outline(number)
            ));
        }
    }
    Compared { wrong, kinds }
}

fn lines(told: &[Value]) -> String {
    let lines: Vec<_> = told.iter().map(Value::to_string).collect();
    lines.join("\n")
}
