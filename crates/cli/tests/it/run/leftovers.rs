//! No process outlives its run, whichever process dies first.

use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lapidary::engine::config::Config;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::world::World;
use crate::support::{DEADLINE, ended};

/// An agent with a tool in a session of its own, a daemon that lost its parents, and a child that ignores everything.
const FAMILY: &str = r#"
    init; call c1 run_shell_command
    setsid sh -c 'sleep 601 & sleep 602' &
    (setsid sh -c 'sleep 603' &)
    sh -c 'trap "" TERM HUP INT; while :; do sleep 604; done' &
    exec sleep 605"#;

fn started(world: &World) -> Child {
    let mut command = world.lapidary(&["run", "--grace", "0.2", "go"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    for seconds in 601..=605 {
        wait_until_it_runs(world, &format!("sleep {seconds}"));
    }
    child
}

fn wait_until_it_runs(world: &World, wanted: &str) {
    let last = Instant::now() + DEADLINE;
    // A shell that is about to start it has it in its script, as part of the line.
    let is_it = |(_, line): &(i32, String)| line.trim_end() == wanted;
    while !world.processes().iter().any(is_it) {
        assert!(Instant::now() < last, "`{wanted}` never ran");
        thread::sleep(Duration::from_millis(5));
    }
}

fn send(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// The pid of the process whose command line holds this.
fn pid_of(world: &World, wanted: &str) -> i32 {
    let all = world.processes();
    let found = all.iter().find(|(_, line)| line.contains(wanted));
    found.unwrap_or_else(|| panic!("{wanted} runs: {all:?}")).0
}

#[test]
fn nothing_is_left_when_the_run_is_cancelled() {
    let world = World::with_agent(FAMILY);
    let child = started(&world);
    send(child.id().cast_signed(), Signal::SIGINT);
    assert_eq!(ended(child).status.code(), Some(130));
    world.assert_nothing_is_left();
}

#[test]
fn nothing_is_left_when_we_are_killed() {
    let world = World::with_agent(FAMILY);
    let child = started(&world);
    send(child.id().cast_signed(), Signal::SIGKILL);
    ended(child);
    world.assert_nothing_is_left();
    // The recording has the agent's output although Lapidary was killed.
    let stdout = std::fs::read_to_string(world.recording().join("stdout")).unwrap();
    assert_eq!(stdout.lines().count(), 2);
}

#[test]
fn nothing_is_left_when_the_agent_is_killed() {
    let world = World::with_agent(FAMILY);
    let child = started(&world);
    send(pid_of(&world, "sleep 605"), Signal::SIGKILL);
    assert_eq!(ended(child).status.code(), Some(15));
    world.assert_nothing_is_left();
}

#[test]
fn nothing_is_left_when_the_supervisor_is_asked_to_end() {
    let world = World::with_agent(FAMILY);
    let child = started(&world);
    send(pid_of(&world, "__supervise"), Signal::SIGTERM);
    assert_eq!(ended(child).status.code(), Some(15));
    world.assert_nothing_is_left();
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    let world = World::with_agent(FAMILY);
    let child = started(&world);
    send(pid_of(&world, "__supervise"), Signal::SIGKILL);
    let output = ended(child);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    world.assert_nothing_is_left();
}

#[test]
fn an_agent_cannot_get_rid_of_its_supervisor() {
    let cases: [(&str, &[&str]); 5] = [
        // It calls `execve` for ever: while that lasts, a process shows no environment.
        (
            "printf '#!/bin/sh\nexec \"$0\"' > ../again; chmod +x ../again; kill -KILL $PPID; exec ../again",
            &[],
        ),
        // It is killed before it can say that the agent runs, or later.
        ("kill -KILL $PPID; sleep 610", &[]),
        ("init; sleep 0.3; kill -KILL $PPID; sleep 611", &[]),
        // The agent stops its supervisor, which then cannot end the agent.
        ("init; kill -STOP $PPID; sleep 612", &["--timeout", "1"]),
        (
            "init; kill -STOP $PPID; while :; do say aaaaaaaaaaaaaaaaaaaaaaaaaaaaa; sleep 0.02; done",
            &["--timeout", "5", "--max-output", "500"],
        ),
    ];
    thread::scope(|scope| {
        for (script, args) in cases {
            scope.spawn(move || {
                let world = World::with_agent(script);
                let told = world.run(&[args, &["--grace", "0.1", "go"]].concat());
                assert!(matches!(told.verdict().1, Some(1 | 14 | 17)), "{told:?}");
                world.assert_nothing_is_left();
            });
        }
    });
}

#[test]
fn a_program_that_is_no_supervisor_starts_nothing() {
    let world = World::with_agent("init; success");
    let mut host = world.host();
    // A program that does not begin with `run_if_asked` would find this, start the next one, and so on.
    let variable = ("LAPIDARY_SUPERVISOR".into(), "true".into());
    host.environment.vars.extend([variable]);
    let prompt = PromptText::Text("go".to_owned());
    let mut run = Job::gemini(&host, Config::default(), prompt, "run-1").start();
    let last = std::iter::from_fn(|| run.blocking_next()).last().unwrap();
    assert!(
        last.to_json()
            .contains("its `main` does not begin with `supervisor::run_if_asked`")
    );
}

#[test]
fn an_agent_that_forks_copies_of_itself_is_ended() {
    let world = World::with_agent(
        r"
        init
        cat > ../breed.sh <<'END'
        n=$1
        [ $n -gt 0 ] || exec sleep 606
        trap '' TERM
        while :; do setsid sh ../breed.sh $((n - 1)) & sleep 0.02; done
END
        sh ../breed.sh 1 &
        sleep 0.3; touch ../ready; exec sleep 607",
    );
    let mut command = world.lapidary(&["run", "--grace", "0.01", "go"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = command.spawn().unwrap();
    world.wait_for("ready");
    send(child.id().cast_signed(), Signal::SIGINT);
    ended(child);
    world.assert_nothing_is_left();
}

#[test]
fn leftovers_are_reported() {
    let world = World::with_agent("init; setsid sleep 608 & sleep 0.2; say a; success");
    let told = world.run(&["go"]);
    assert_eq!(told.verdict(), ("end_turn", Some(0)));
    let evidence = told.end()["evidence"].to_string();
    assert!(
        evidence.contains("1 process that it had left running had to be ended"),
        "{evidence}"
    );
    world.assert_nothing_is_left();
}

#[test]
fn a_ctrl_c_at_the_terminal_reaches_the_agent_only_through_us() {
    // Everybody in the foreground group gets it; the supervisor and the agent are in sessions of their own.
    let world = World::with_agent(
        "trap 'echo heard >> ../heard' INT; init; touch ../ready; while :; do sleep 0.05; done",
    );
    let mut command = world.lapidary(&["run", "--grace", "5", "go"]);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    world.wait_for("ready");
    nix::sys::signal::killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(ended(child).status.code(), Some(130));
    assert!(!world.path("heard").exists());
    world.assert_nothing_is_left();
}

#[test]
fn fifty_runs_at_once_all_end_well() {
    let worlds: Vec<_> = (0..50)
        .map(|n| {
            World::with_agent(&format!(
                "init; say {n}; setsid sleep 609 & sleep 0.5; success"
            ))
        })
        .collect();
    let told: Vec<_> = thread::scope(|scope| {
        let runs = worlds
            .iter()
            .map(|world| scope.spawn(|| world.run(&["go"])));
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for (n, (told, world)) in told.iter().zip(&worlds).enumerate() {
        assert_eq!(told.verdict(), ("end_turn", Some(0)), "{told:?}");
        assert!(told.stdout.contains(&format!(r#""textDelta":"{n}""#)));
        world.assert_nothing_is_left();
    }
}
