//! Limits of turns and time, the recovery turn after them, and cancellation.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use lapidary_native::executor::{ActivityKind, TerminateReason};
use lapidary_native::tool::GateAnswer;
use lapidary_standin::api::{AfterScript, ApiError, Script, Turn};
use serde_json::json;
use tokio::time::sleep;

use crate::scene::{Scene, Stage, ToyGate};

const CHANCE: &str = " You have one final chance to complete the task with a short grace period. You MUST call `complete_task` immediately with your best answer and explain that your investigation was interrupted. Do not call any other tools.";

fn done(result: &str) -> Turn {
    Turn::call("complete_task", json!({ "result": result }))
}

fn look() -> Turn {
    Turn::call("look", json!({}))
}

async fn play(script: Script) -> Scene {
    let scene = Stage::new(script).play().await;
    scene.check_pairs();
    scene
}

#[tokio::test(start_paused = true)]
async fn after_its_last_turn_an_agent_has_one_more_to_complete_its_task() {
    let script = (0..5).fold(Script::new(), |script, _| script.stream(look()));
    let scene = play(script.stream(done("Partly."))).await;
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::Goal);
    assert_eq!(
        scene.outcome.recovered_from,
        Some(TerminateReason::MaxTurns)
    );
    assert_eq!(scene.outcome.result, "Partly.");
    assert_eq!(scene.outcome.turn_count, 5);
    let told = scene.told(5);
    assert_eq!(
        told[0]["functionResponse"]["name"], "look",
        "responses first"
    );
    let words = format!("You have exceeded the maximum number of turns.{CHANCE}");
    assert_eq!(told[1], json!({ "text": words }));
    let events = scene.events();
    let tried = "THOUGHT_CHUNK Execution limit reached (MAX_TURNS). Attempting one final recovery turn with a grace period.";
    assert!(events.contains(&tried.to_owned()), "{events:#?}");
    assert_eq!(
        events.last().unwrap(),
        "THOUGHT_CHUNK Graceful recovery succeeded."
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_recover_keeps_its_reason() {
    let scene = play(Script::new().stream(look()).after(AfterScript::Repeat)).await;
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::MaxTurns);
    assert_eq!(scene.outcome.result, "Agent reached max turns limit (5).");
    assert_eq!(scene.requests.len(), 6);
    let events = scene.events();
    assert_eq!(
        events[events.len() - 2..],
        [
            "ERROR Graceful recovery attempt failed. Reason: MAX_TURNS",
            "ERROR Agent reached max turns limit (5)."
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_calls_no_tool_is_reminded_once() {
    let scene = play(Script::new().stream("Hello.").stream(done("Found."))).await;
    let from = Some(TerminateReason::ErrorNoCompleteTaskCall);
    assert_eq!(
        (scene.outcome.terminate_reason, scene.outcome.recovered_from),
        (TerminateReason::Goal, from)
    );
    let words = format!("You have stopped calling tools without finishing.{CHANCE}");
    assert_eq!(scene.told(1), [json!({ "text": words })]);

    let scene = play(Script::new().stream("Hello.").stream("Hello again.")).await;
    assert_eq!(
        scene.outcome.terminate_reason,
        TerminateReason::ErrorNoCompleteTaskCall
    );
    assert_eq!(
        scene.outcome.result,
        "Agent stopped calling tools but did not call 'complete_task'."
    );
    assert_eq!(
        scene.events()[0],
        "ERROR Agent stopped calling tools but did not call 'complete_task' to finalize the session."
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_still_running_at_the_deadline_is_cancelled_and_its_answer_reported() {
    let script = Script::new()
        .stream(Turn::call("slow", json!({"seconds": 600})))
        .stream(done("Partly."));
    let scene = play(script).await;
    assert_eq!(scene.outcome.recovered_from, Some(TerminateReason::Timeout));
    assert_eq!(scene.responses(1), ["slow: woken"]);
    let words = format!("You have exceeded the time limit.{CHANCE}");
    assert_eq!(scene.told(1)[1], json!({ "text": words }));
    assert_eq!(scene.outcome.duration, Duration::from_mins(1));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_its_cancellation_is_dropped() {
    let turn = Turn::call("deaf", json!({})).and_call("look", json!({}));
    let scene = play(Script::new().stream(turn).stream(done("Partly."))).await;
    assert_eq!(scene.outcome.recovered_from, Some(TerminateReason::Timeout));
    assert_eq!(
        scene.responses(1),
        ["deaf! Request cancelled.", "look: look {}"]
    );
    assert_eq!(
        scene.outcome.duration,
        Duration::from_secs(65),
        "a minute, and five seconds to end"
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_until_time_is_up_is_asked_once_more_for_a_minute() {
    let script = Script::new()
        .stream(look())
        .stream(Turn::text("ha").hang())
        .stream(Turn::text("ha").hang());
    let scene = play(script).await;
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::Timeout);
    assert_eq!(scene.outcome.result, "Agent timed out after 1 minutes.");
    assert_eq!(scene.outcome.duration, Duration::from_mins(2));
    assert_eq!(
        scene.told(2)[0]["functionResponse"]["name"],
        "look",
        "told again"
    );
}

#[tokio::test(start_paused = true)]
async fn time_stands_still_while_a_person_is_asked() {
    let script = Script::new()
        .stream(Turn::call("write_file", json!({})))
        .stream(Turn::call("slow", json!({"seconds": 50})))
        .stream(done("Found."));
    let mut stage = Stage::new(script);
    let hour = Duration::from_hours(1);
    stage.executor.gate = Arc::new(ToyGate::AnswersAfter(hour, GateAnswer::Allowed));
    let scene = stage.play().await;
    assert_eq!(scene.outcome.recovered_from, None);
    assert_eq!(scene.outcome.result, "Found.");
    assert_eq!(scene.outcome.duration, hour + Duration::from_secs(50));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_caller_stands_still_while_its_sub_agent_asks() {
    let script = Script::new()
        .stream(Turn::call(
            "invoke_agent",
            json!({"agent_name": "helper", "prompt": "x"}),
        ))
        .stream(Turn::call("write_file", json!({})))
        .stream(done("helped"))
        .stream(done("Found."));
    let mut stage = Stage::new(script);
    stage.executor.max_depth = 2;
    let hour = Duration::from_hours(1);
    stage.executor.gate = Arc::new(ToyGate::AnswersAfter(hour, GateAnswer::Allowed));
    let scene = stage.play().await;
    assert_eq!(
        (scene.outcome.recovered_from, scene.outcome.result.as_str()),
        (None, "Found.")
    );
}

/// One run for each second of it, and so for each of its waits: the model's first and second answer, a tool, a permission, a retry.
#[tokio::test(start_paused = true)]
async fn a_cancelled_agent_stops_at_every_wait() {
    let second = Duration::from_secs(1);
    let script = || {
        Script::new()
            .stream(Turn::call("slow", json!({"seconds": 3})).delay(second * 2))
            .stream(Turn::call("write_file", json!({})).hang_for(second * 2))
            .stream(ApiError::rate_limited(second * 2))
            .stream(done("Found.").delay(second))
    };
    let stage = || {
        let mut stage = Stage::new(script());
        stage.executor.gate = Arc::new(ToyGate::AnswersAfter(second * 3, GateAnswer::Allowed));
        stage
    };
    let whole = stage().play().await;
    assert_eq!(whole.outcome.terminate_reason, TerminateReason::Goal);
    for at in 0..whole.outcome.duration.as_secs() {
        let stage = stage();
        let cancelled = stage.cancelled.clone();
        let end = Duration::from_millis(at * 1000 + 500);
        let cancel = async {
            sleep(end).await;
            cancelled.cancel();
        };
        let (scene, ()) = tokio::join!(stage.play(), cancel);
        assert_eq!(
            scene.outcome.terminate_reason,
            TerminateReason::Aborted,
            "after {end:?}"
        );
        assert_eq!(scene.outcome.duration, end, "at once");
        assert_eq!(
            scene.outcome.result,
            "Agent execution was terminated before completion."
        );
    }
}

/// A run that stands still before each poll of its future: turns, calls one after another and at once, a permission, a retry, and a
/// sub-agent with its recovery turn.
fn varied_run() -> Stage {
    let second = Duration::from_secs(1);
    let slow = || Turn::call("slow", json!({"seconds": 1}));
    let helper = json!({"agent_name": "helper", "prompt": "Help."});
    let script = Script::new()
        .stream(slow().and_call("look", json!({})).delay(second))
        .stream(ApiError::new(503))
        .stream(
            Turn::thought("**Writing**")
                .and_call("write_file", json!({}))
                .delay(second),
        )
        .stream(Turn::call("invoke_agent", helper).delay(second))
        .stream(slow().delay(second))
        .stream(Turn::text("I am done.").delay(second))
        .stream(done("Late.").delay(second))
        .stream(done("Found.").hang_for(second));
    let mut stage = Stage::new(script);
    stage.executor.gate = Arc::new(ToyGate::AnswersAfter(second, GateAnswer::Allowed));
    stage.executor.max_depth = 2;
    stage
}

/// Tasks of the run that still live, once those that were told to end have had the time.
async fn tasks_left() -> usize {
    sleep(Duration::from_mins(10)).await;
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

/// A future goes on from one await point to another with each poll, so every poll is tried: the client cancels before it.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_at_any_await_point_ends_once_with_nothing_left() {
    let mut aborted = 0;
    loop {
        let stage = varied_run();
        let cancelled = stage.cancelled.clone();
        let mut polls = 0;
        let mut run = pin!(stage.play());
        let scene = poll_fn(|context| {
            if polls == aborted {
                cancelled.cancel();
            }
            polls += 1;
            run.as_mut().poll(context)
        })
        .await;
        if scene.outcome.terminate_reason == TerminateReason::Goal {
            assert_eq!(scene.outcome.result, "Found.");
            assert!(
                polls <= aborted + 1,
                "{polls} polls, cancelled at {aborted}"
            );
            break;
        }
        let told = format!("cancelled before poll {aborted}: {:#?}", scene.outcome);
        assert_eq!(
            scene.outcome.terminate_reason,
            TerminateReason::Aborted,
            "{told}"
        );
        scene.check_pairs();
        let count = |is_it: fn(&ActivityKind) -> bool| {
            let activities = scene.activities.iter();
            activities.filter(|it| is_it(&it.kind)).count()
        };
        let spawned = count(|kind| matches!(kind, ActivityKind::Spawned { .. }));
        let ended = count(|kind| matches!(kind, ActivityKind::Ended { .. }));
        assert_eq!(spawned, ended, "each sub-agent ends: {told}");
        assert_eq!(tasks_left().await, 0, "{told}");
        aborted += 1;
    }
    assert!(aborted >= 10, "the run has {aborted} await points");
}

/// The same if the caller drops the run.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_at_any_await_point_leaves_nothing_running() {
    let mut dropped = 0;
    loop {
        let ended = {
            let mut polls = 0;
            let mut run = pin!(varied_run().play());
            poll_fn(|context| {
                if polls == dropped {
                    return Poll::Ready(false);
                }
                polls += 1;
                run.as_mut().poll(context).map(|_| true)
            })
            .await
        };
        assert_eq!(tasks_left().await, 0, "dropped after {dropped} polls");
        if ended {
            break;
        }
        dropped += 1;
    }
    assert!(dropped >= 10, "the run has {dropped} await points");
}
