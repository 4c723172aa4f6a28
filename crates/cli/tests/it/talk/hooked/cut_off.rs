//! Hooks that do not come to their end: killed, cut off with the turn or the run, or waited for in vain. Each is told of.

use std::process::{Child, Stdio};
use std::time::Instant;

use lapidary_testkit::patience::with_enough_time;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{ASKS, DONE, Played, hook, play, play_to_any_end, play_until_late, write_hooks};
use crate::run::world::Told;
use crate::support::ended;
use crate::talk::scene::{command, in_parallel, staged};

impl Played {
    /// The one run of a hook of this event.
    #[track_caller]
    fn only_run(&self, event: &str) -> &Value {
        let runs = self.runs().into_iter();
        let runs: Vec<_> = runs.filter(|run| run["hookEvent"] == event).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0]
    }
}

/// Asserts that all is told of a hook that was ended, and how.
#[track_caller]
fn assert_ended(run: &Value, signal: &str, error: &str) {
    assert_eq!(run["signal"], signal, "{run}");
    assert_eq!(run["exitCode"], Value::Null, "{run}");
    assert_eq!(run["error"], error, "{run}");
    assert!(run["durationMs"].is_number(), "{run}");
}

const CUT_OFF: &str = "it was ended before it had answered";

/// A hook with a name that does not end by itself, and has a process in a session of its own.
fn hangs() -> Value {
    let mut hook = hook("(setsid sleep 60 &); sleep 60");
    hook["hooks"][0]["name"] = "guard".into();
    hook
}

#[test]
fn a_killed_hook_is_reported_with_its_signal() {
    let hooks = json!({"BeforeTool": [hook("kill -TERM $$; sleep 60")]});
    let played = play(&hooks, ASKS, &["--yolo"], DONE);
    let run = played.only_run("BeforeTool");
    assert_ended(run, "SIGTERM", "it was killed by SIGTERM");
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
}

#[test]
fn the_decision_of_a_killed_hook_counts() {
    let says = r#"echo '{"decision":"deny","reason":"no"}'; kill -KILL $$"#;
    let hooks = json!({"BeforeTool": [hook(says)]});
    let played = play(&hooks, ASKS, &["--yolo"], DONE);
    let run = played.only_run("BeforeTool");
    assert_ended(run, "SIGKILL", "it was killed by SIGKILL");
    assert_eq!(run["decision"], "deny");
    assert_eq!(played.answer(0)["outcome"]["optionId"], "no");
}

#[test]
fn a_run_that_takes_too_long_names_the_hook_that_it_waited_for() {
    let permission = "p = prompted(); permission(0); reply(0); done(p)";
    let plain = "p = prompted(); done(p)";
    let tool = r#"
p = prompted()
call("c", kind="read", status="in_progress")
update("tool_call_update", toolCallId="c", status="completed")
done(p)
"#;
    let cases = [
        ("SessionStart", plain),
        ("BeforeAgent", plain),
        ("BeforeTool", permission),
        ("AfterTool", tool),
        ("AfterAgent", plain),
    ];
    in_parallel(cases.len(), |index| {
        let (event, scene) = cases[index];
        let hooks = json!({event: [hangs()]});
        let has_begun = |played: &Played| played.seen_events() == [event];
        let (played, seconds) = play_until_late(&hooks, scene, &["--grace", "0.1"], has_begun);
        let message = format!(
            "the run took longer than {seconds} s, and was waiting for the `{event}` hook `guard`"
        );
        assert_eq!(played.told.message(), message);
        assert_ended(played.only_run(event), "SIGKILL", CUT_OFF);
        None
    });
}

#[test]
fn an_agent_that_works_while_a_hook_runs_is_what_is_waited_for() {
    let hooks = json!({"AfterTool": [hangs()]});
    let scene = r#"
p = prompted()
call("c", kind="read", status="in_progress")
update("tool_call_update", toolCallId="c", status="completed")
for_ever()
"#;
    let has_begun = |played: &Played| played.seen_events() == ["AfterTool"];
    let (played, _) = play_until_late(&hooks, scene, &["--grace", "0.1"], has_begun);
    let message = played.told.message();
    assert!(message.ends_with("waiting for the model"), "{message}");
    assert_ended(played.only_run("AfterTool"), "SIGKILL", CUT_OFF);
}

#[test]
fn a_slow_hook_triggers_neither_the_idle_nor_the_start_timeout() {
    let scene = r#"
p = prompted()
call("c", kind="read", status="in_progress")
update("tool_call_update", toolCallId="c", status="completed")
done(p)
"#;
    let events = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent"];
    in_parallel(events.len(), |index| {
        with_enough_time(2.0, |seconds| {
            let hooks = json!({events[index]: [hook(&format!("sleep {}", seconds * 1.1))]});
            let seconds = seconds.to_string();
            let args = ["--idle-timeout", &seconds, "--start-timeout", &seconds];
            let played = play_to_any_end(&hooks, scene, &args);
            (played.told.verdict() == (DONE.0, Some(DONE.1))).then_some(())
        });
        None
    });
}

#[test]
fn a_turn_that_is_cancelled_cuts_off_the_hooks_of_its_requests() {
    let stop = "until grep -q BeforeTool seen; do sleep 0.01; done; echo '{\"continue\":false}'";
    let hooks = json!({"BeforeTool": [hangs()], "AfterTool": [hook(stop)]});
    // One hook stops everything while another is asked.
    let scene = r#"
p = prompted()
permission(0)
call("c", kind="read", status="in_progress")
update("tool_call_update", toolCallId="c", status="completed")
hear("session/cancel"); reply(0); done(p, "cancelled")
"#;
    let ends = ("permission_denied", 18);
    let played = play(&hooks, scene, &["--yolo"], ends);
    assert_eq!(played.answer(0)["outcome"]["outcome"], "cancelled");
    assert_ended(played.only_run("BeforeTool"), "SIGKILL", CUT_OFF);
}

#[test]
fn a_hook_that_waits_for_its_turn_when_the_run_ends_is_never_started() {
    let mut first = hangs();
    first["sequential"] = true.into();
    let second = hook("touch second");
    let hooks = json!({"BeforeTool": [first, second]});
    let scene = "p = prompted(); permission(0); reply(0); done(p)";
    let has_begun = |played: &Played| played.seen_events() == ["BeforeTool"];
    let (played, _) = play_until_late(&hooks, scene, &[], has_begun);
    let runs = played.runs();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert_ended(runs[0], "SIGKILL", CUT_OFF);
    let error = "it was not started: the run had ended";
    assert_eq!(runs[1]["error"], error);
    assert!(!played.world.path("project/second").exists());
}

#[test]
fn nothing_is_done_because_the_hook_that_was_asked_is_cut_off() {
    let blocks = "until grep -q BeforeTool seen; do sleep 0.01; done; exit 2";
    let hooks = json!({
        "SessionStart": [hook("touch started")],
        "BeforeTool": [hangs()],
        "BeforeAgent": [hook(blocks)],
    });
    // There is no turn that could be cancelled: the agent asks before it gets a prompt.
    let scene = r#"
hello(); session()
while not os.path.exists("started"):
    time.sleep(0.005)
ask(0, "fs/write_text_file", path=os.path.join(os.getcwd(), "a.txt"), content="x")
"#;
    let played = play(&hooks, scene, &["--yolo"], ("permission_denied", 18));
    assert_ended(played.only_run("BeforeTool"), "SIGKILL", CUT_OFF);
    assert!(!played.world.path("project/a.txt").exists());
}

/// A call, and then nothing more to do.
const CALL: &str = r#"
p = prompted()
update("tool_call", toolCallId="c", title="x", kind="read", status="completed")
done(p)
"#;

#[test]
fn a_timed_out_run_does_not_wait_for_after_tool_hooks() {
    let hooks = json!({"AfterTool": [hangs()], "SessionEnd": [hook("true")]});
    let has_begun = |played: &Played| played.seen_events().contains(&"AfterTool".to_owned());
    let (played, _) = play_until_late(&hooks, CALL, &["--grace", "600"], has_begun);
    assert_ended(played.only_run("AfterTool"), "SIGKILL", CUT_OFF);
    assert_eq!(played.seen_events(), ["AfterTool", "SessionEnd"]);
}

/// Plays a scene until its hooks have begun, and then calls `meanwhile` with the process of the run.
fn until_hooked(hooks: &Value, scene: &str, meanwhile: impl FnOnce(&mut Child)) -> Played {
    let world = staged(scene);
    write_hooks(&world, hooks);
    let mut command = command(&world, &["--hooks", "--yolo", "--grace", "600"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    world.wait_for("project/seen");
    let since = Instant::now();
    meanwhile(&mut child);
    let told = Told::of(ended(child), since.elapsed());
    world.assert_nothing_is_left();
    Played { world, told }
}

#[test]
fn a_cancelled_run_does_not_wait_for_after_tool_hooks() {
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        cancelled_by(signal);
    }
}

fn cancelled_by(signal: Signal) {
    let hooks = json!({"AfterTool": [hangs()], "SessionEnd": [hook("true")]});
    let played = until_hooked(&hooks, CALL, |child| {
        let child = Pid::from_raw(child.id().cast_signed());
        kill(child, signal).unwrap();
    });
    let cancelled = ("cancelled_by_client", Some(130));
    assert_eq!(played.told.verdict(), cancelled);
    assert_ended(played.only_run("AfterTool"), "SIGKILL", CUT_OFF);
    assert_eq!(played.seen_events(), ["AfterTool", "SessionEnd"]);
}

#[test]
fn session_end_hooks_run_after_stdout_is_closed() {
    let hooks = json!({"BeforeTool": [hook("sleep 0.3")], "SessionEnd": [hook("true")]});
    let scene = "p = prompted(); permission(0); reply(0); done(p)";
    let played = until_hooked(&hooks, scene, |child| drop(child.stdout.take()));
    assert_eq!(played.seen_events(), ["BeforeTool", "SessionEnd"]);
}

#[test]
fn an_interrupt_during_session_end_hooks_waits_for_them() {
    let hooks = json!({"SessionEnd": [hook("sleep 0.5; touch ended")]});
    let scene = "p = prompted(); done(p)";
    let played = until_hooked(&hooks, scene, |child| {
        let child = Pid::from_raw(child.id().cast_signed());
        kill(child, Signal::SIGINT).unwrap();
    });
    assert!(played.world.path("project/ended").exists());
    assert_eq!(played.told.verdict(), ("end_turn", Some(0)));
}
