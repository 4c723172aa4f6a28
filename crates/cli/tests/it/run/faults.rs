//! Runs of an agent that fails in every way we know: each ends once, with the right verdict, and leaves nothing behind.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::world::World;

const AT_A_TIME: usize = 4;

/// A way to fail: the agent's script, the arguments of the run, and its possible verdicts. `$n` is the number of the run.
struct Fault {
    name: &'static str,
    script: &'static str,
    args: &'static [&'static str],
    expected: &'static [(&'static str, i32)],
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "all is well",
        script: "init; user; say a; say b; success",
        args: &[],
        expected: &[("end_turn", 0)],
    },
    Fault {
        name: "crashes after some line",
        script: r"
            lines=$((n % 6)); i=0
            while [ $i -lt $lines ]; do
                case $i in 0) init;; 1) user;; *) say $i;; esac
                i=$((i + 1))
            done
            exit 7",
        args: &[],
        expected: &[("agent_crashed", 15)],
    },
    Fault {
        name: "is killed after some line",
        script: r"
            [ $((n % 4)) -gt 0 ] && init
            [ $((n % 4)) -gt 1 ] && say a
            [ $((n % 4)) -gt 2 ] && call c1 run_shell_command
            kill -KILL $$",
        args: &[],
        expected: &[("agent_crashed", 15)],
    },
    Fault {
        name: "stops amid a line",
        script: r#"init; say a; printf '{"type":"message","role":"assi'"#,
        args: &[],
        expected: &[("no_result", 15)],
    },
    Fault {
        name: "makes noise",
        script: r#"
            echo 'Loaded cached credentials.'; init; printf '\033[2J\377\376\n'; say a; echo '[1,2'
            echo '{"type":"novelty"}'; success; echo bye"#,
        args: &[],
        expected: &[("end_turn", 0)],
    },
    Fault {
        name: "floods",
        script: r#"
            init; line=$(say abcdefghijklmnopqrstuvwxyz)
            block="$line
$line
$line
$line
$line
$line
$line
$line
$line
$line"
            i=0; while [ $i -lt 200 ]; do echo "$block"; i=$((i + 1)); done
            success"#,
        args: &[],
        expected: &[("end_turn", 0)],
    },
    Fault {
        name: "never says a word",
        script: "echo hello >&2; exec sleep 600",
        args: &["--start-timeout", "0.1"],
        expected: &[("timeout_start", 14)],
    },
    Fault {
        name: "falls silent",
        script: "init; say a; call c1 run_shell_command; exec sleep 600",
        args: &["--idle-timeout", "0.1"],
        expected: &[("timeout_idle", 14)],
    },
    Fault {
        name: "talks for ever",
        script: "init; while :; do say a; sleep 0.01; done",
        args: &["--timeout", "0.15"],
        expected: &[("timeout_total", 14)],
    },
    Fault {
        name: "does not obey",
        script: "trap '' TERM INT HUP; init; while :; do sleep 600; done",
        args: &["--idle-timeout", "0.1", "--grace", "0.05"],
        expected: &[("timeout_idle", 14)],
    },
    Fault {
        name: "leaves a grandchild that holds its output",
        script: "init; setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 600; done' & say a; success",
        args: &[],
        expected: &[("end_turn", 0)],
    },
    Fault {
        name: "leaves a daemon that writes on",
        script: r"
            init; (setsid sh -c 'while :; do echo noise; sleep 0.01; done' &) ; say a; success",
        args: &[],
        expected: &[("end_turn", 0)],
    },
    Fault {
        name: "exits with 0 and no result",
        script: "init; say a",
        args: &[],
        expected: &[("no_result", 15)],
    },
    Fault {
        name: "says nothing at all",
        script: "exit 0",
        args: &[],
        expected: &[("no_result", 15)],
    },
    Fault {
        name: "exits with a code after a success",
        script: r"
            init; say a; success
            case $((n % 4)) in 0) exit 3;; 1) exit 41;; 2) exit 53;; 3) exit 130;; esac",
        args: &[],
        expected: &[
            ("agent_crashed", 15),
            ("auth_required", 11),
            ("max_turns", 17),
            ("cancelled_by_client", 130),
        ],
    },
    Fault {
        name: "reports an error and exits with 0",
        script: "init; failure unknown 'it broke'; exit 0",
        args: &[],
        expected: &[("api_error", 1)],
    },
    Fault {
        name: "lives on after its result",
        script: "init; say a; success; exec sleep 600",
        args: &["--idle-timeout", "0.1"],
        expected: &[("timeout_idle", 14)],
    },
];

#[test]
fn every_faulty_run_ends_once_and_leaves_nothing_behind() {
    check_all(150);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn a_thousand_faulty_runs_each_end_once_and_leave_nothing_behind() {
    check_all(1000);
}

fn check_all(runs: usize) {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= runs {
                        return;
                    }
                    if let Err(what) = check(n) {
                        wrong.lock().unwrap().push(what);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {runs}: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
}

fn check(n: usize) -> Result<(), String> {
    let fault = &FAULTS[n % FAULTS.len()];
    let round = n / FAULTS.len();
    let world = World::with_agent(&format!("n={round}\n{}", fault.script));
    let mut args = vec!["--no-raw", "go"];
    args.splice(1..1, fault.args.iter().copied());
    let told = world.run(&args);
    let (cause, code) = fault.expected[round % fault.expected.len()];
    world.assert_nothing_is_left();
    if told.verdict() == (cause, Some(code)) {
        return Ok(());
    }
    Err(format!(
        "{} (run {n}): expected {cause}, {code}: {told:?}",
        fault.name
    ))
}

#[test]
fn a_flood_arrives_whole() {
    let flood = FAULTS.iter().find(|fault| fault.name == "floods").unwrap();
    let told = World::with_agent(flood.script).run(&["go"]);
    assert_eq!(told.count("stream_delta"), 2000);
}
