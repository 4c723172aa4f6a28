//! Hooks that do not behave: each has a result when its time is up, and nothing of it is left. How soon is measured by
//! `cargo xtask bench --only hooks`.

use std::time::{Duration, Instant};

use lapidary_engine::hooks::{
    AppliedEffect, HookError, HookResult, HookResults, MOST_OUTPUT, MOST_STDERR, fire,
};
use lapidary_engine::process::Exit;
use lapidary_gemini::hooks::HookPlan;
use lapidary_testkit::patience::{HANG, wait_until};
use lapidary_wire::gemini::hooks::{EventDetails, HookOutput, HookToolCall};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Scene, hasty, hook};

/// Long enough for what most of them do first.
const TIMEOUT: Duration = Duration::from_millis(400);

/// Runs hooks whose time will be up: again with twice the time, until all were where the test wants them.
async fn all_overdue(
    scene: &Scene,
    command: &str,
    count: usize,
    is_there: impl Fn(&HookResult) -> bool,
) -> HookResults {
    let mut timeout = TIMEOUT;
    loop {
        let began = Instant::now();
        let fired = scene.fire(vec![hasty(command, timeout); count]).await;
        assert!(began.elapsed() >= timeout);
        let alive = scene.alive();
        assert_eq!(alive, 0, "{alive} processes are left of: {command}");
        if fired.runs.iter().all(&is_there) {
            return fired;
        }
        assert!(timeout < HANG, "{command}: {fired:?}");
        timeout *= 2;
    }
}

/// Runs a hook whose time will be up.
async fn overdue(scene: &Scene, command: &str) -> HookResults {
    overdue_once(scene, command, |_| true).await
}

/// Runs a hook whose time will be up, once it was where the test wants it.
async fn overdue_once(
    scene: &Scene,
    command: &str,
    is_there: impl Fn(&HookResult) -> bool,
) -> HookResults {
    let fired = all_overdue(scene, command, 1, is_there).await;
    let error = fired.runs[0].error.as_ref();
    assert!(
        matches!(error, Some(HookError::TimedOut { immortal: 0, .. })),
        "{error:?}"
    );
    assert!(fired.aggregate.is_none());
    fired
}

fn has_said_something(ran: &HookResult) -> bool {
    !ran.stdout.bytes.is_empty()
}

#[tokio::test]
async fn a_hook_that_ignores_sigterm_is_killed_at_its_timeout() {
    let scene = Scene::new();
    let fired = overdue_once(
        &scene,
        "trap '' TERM INT HUP; echo begun; sleep 60; sleep 60",
        |ran| ran.stdout.text() == "begun\n",
    )
    .await;
    assert_eq!(fired.runs[0].exit, Some(Exit::Signal(9)));
}

#[tokio::test]
async fn a_hook_whose_child_holds_its_output_times_out() {
    let scene = Scene::new();
    let has_exited = |ran: &HookResult| ran.exit == Some(Exit::Code(0));
    overdue_once(&scene, "sleep 60 & echo done", has_exited).await;
}

#[tokio::test]
async fn detached_children_of_a_hook_are_killed_at_its_timeout() {
    let scene = Scene::new();
    overdue(
        &scene,
        "(setsid bash -c 'trap \"\" TERM; (sleep 61 &); sleep 62' &); sleep 63",
    )
    .await;
    overdue(
        &scene,
        "(setsid sleep 60 >/dev/null 2>&1 </dev/null &); sleep 60",
    )
    .await;
    overdue(&scene, "(setsid sleep 60 &)").await;
}

#[tokio::test]
async fn children_of_a_hook_with_an_empty_environment_are_killed() {
    let scene = Scene::new();
    let fired = overdue_once(
        &scene,
        "env -i sleep 999 & echo $!; setsid env -i sleep 999 & echo $!; wait",
        |ran| ran.stdout.text().lines().count() == 2,
    )
    .await;
    for pid in fired.runs[0].stdout.text().lines() {
        // A process that was killed may wait for its turn to die, and then for its parent to take notice.
        wait_until("it dies", || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
    }
}

#[tokio::test]
async fn a_hook_that_closes_its_output_times_out() {
    let scene = Scene::new();
    overdue(&scene, "exec >&- 2>&- <&-; sleep 60").await;
}

#[tokio::test]
async fn a_hook_that_forks_endlessly_is_killed_at_its_timeout() {
    let scene = Scene::new();
    overdue(
        &scene,
        "run() { (sleep 0.002; run) & }; run; run; run; sleep 60",
    )
    .await;
}

#[tokio::test]
async fn a_stopped_hook_is_killed_at_its_timeout() {
    let scene = Scene::new();
    overdue(&scene, "kill -STOP $$").await;
}

#[tokio::test]
async fn a_hook_that_writes_endlessly_times_out_with_bounded_output() {
    let scene = Scene::new();
    let fired = overdue_once(&scene, "yes & yes >&2", |ran| {
        ran.stdout.left_out > 0 && ran.stderr.left_out > 0
    })
    .await;
    assert_eq!(fired.runs[0].stdout.bytes.len(), MOST_OUTPUT);
    assert_eq!(fired.runs[0].stderr.bytes.len(), MOST_STDERR);
}

#[tokio::test]
async fn many_at_once_do_not_end() {
    let scene = Scene::new();
    let command = "trap '' TERM; (setsid sleep 60 &); sleep 60";
    let fired = all_overdue(&scene, command, 20, |_| true).await;
    assert_eq!(fired.runs.len(), 20);
    let errors = fired.runs.iter().map(|ran| ran.error.as_ref());
    for error in errors {
        let is_over = matches!(error, Some(HookError::TimedOut { immortal: 0, .. }));
        assert!(is_over, "{error:?}");
    }
}

#[tokio::test]
async fn a_hook_within_its_timeout_survives_the_timeout_of_another() {
    let scene = Scene::new();
    let late = hasty("sleep 60", Duration::from_millis(100));
    let fired = scene.fire(vec![late, hook("sleep 0.4; echo ok")]).await;
    let error = fired.runs[0].error.as_ref();
    assert!(matches!(error, Some(HookError::TimedOut { .. })));
    assert!(fired.runs[1].is_success(), "{:?}", fired.runs[1]);
}

#[tokio::test]
async fn a_hook_that_writes_a_gigabyte_still_blocks_by_its_exit_code() {
    let scene = Scene::new();
    let fired = scene.fire(vec![hook("head -c 1G /dev/zero; exit 3")]).await;
    let ran = &fired.runs[0];
    assert_eq!(ran.stdout.bytes.len(), MOST_OUTPUT);
    let all = ran.stdout.left_out + u64::try_from(MOST_OUTPUT).unwrap();
    assert_eq!(all, 1 << 30);
    assert!(matches!(ran.error, Some(HookError::TooMuch { .. })));
    assert!(
        fired.aggregate.unwrap().is_blocking(),
        "its exit code says no"
    );
}

#[tokio::test]
async fn an_answer_that_exceeds_the_output_limit_is_no_permission() {
    let scene = Scene::new();
    let flood = "printf '{\"decision\":\"deny\",\"reason\":\"'; head -c 17M /dev/zero | tr '\\0' x; printf '\"}'";
    let fired = scene.fire(vec![hook(flood)]).await;
    assert!(fired.aggregate.is_none());
    assert!(!fired.is_complete());
}

#[tokio::test]
async fn a_hook_that_does_not_read_its_input_succeeds() {
    let scene = Scene::new();
    let input = scene.around().input(EventDetails::BeforeTool(HookToolCall {
        name: "write_file".into(),
        input: json!({"content": "x".repeat(5 << 20)}),
        ..HookToolCall::default()
    }));
    let plan = |command| HookPlan {
        hooks: vec![hook(command)],
        ..HookPlan::default()
    };
    for command in [
        "exec <&-; sleep 0.1; echo ok",
        "echo ok",
        "head -c 9; echo ok",
    ] {
        let fired = scene.fire_plan(&plan(command), input.clone()).await;
        assert!(
            fired.runs[0].is_success(),
            "{command}: {:?}",
            fired.runs[0].error
        );
        assert!(fired.runs[0].stdout.text().ends_with("ok\n"));
    }
    let fired = scene.fire_plan(&plan("wc -c"), input.clone()).await;
    let read: usize = fired.runs[0].stdout.text().trim().parse().unwrap();
    assert_eq!(read, input.to_json().len());
}

#[tokio::test]
async fn a_hook_killed_by_a_signal_fails_with_that_signal() {
    let scene = Scene::new();
    let fired = scene.fire(vec![hook("echo no; kill -9 $$")]).await;
    let ran = &fired.runs[0];
    assert_eq!(ran.exit, Some(Exit::Signal(9)));
    assert!(!ran.is_success());
    let error = ran.error.as_ref().map(ToString::to_string);
    assert_eq!(error.as_deref(), Some("it was killed by SIGKILL"));
    let message = fired.aggregate.unwrap().system_message();
    assert_eq!(message.as_deref(), Some("no"));
}

#[tokio::test]
async fn a_cancelled_hook_is_killed_and_has_no_decision() {
    let scene = Scene::new();
    let cancel = CancellationToken::new();
    let plan = HookPlan {
        hooks: vec![hook(
            "echo '{\"decision\":\"deny\"}'; (setsid sleep 60 &); sleep 60",
        )],
        ..HookPlan::default()
    };
    let around = scene.around();
    let firing = fire(&plan, scene.call(), &around, &cancel);
    let cancelling = async {
        scene.until_alive(2).await;
        cancel.cancel();
    };
    let (fired, ()) = tokio::join!(firing, cancelling);
    assert_eq!(scene.alive(), 0);
    assert!(matches!(fired.runs[0].error, Some(HookError::Cancelled)));
    assert!(fired.aggregate.is_none());
}

#[tokio::test]
async fn hooks_are_killed_when_their_future_is_dropped() {
    let scene = Scene::new();
    let waiting = scene.fire(vec![hook("(setsid sleep 60 &); sleep 60"); 2]);
    tokio::select! {
        _ = waiting => panic!("it takes a minute"),
        () = scene.until_alive(4) => {}
    }
    let last = Instant::now() + HANG;
    while scene.alive() > 0 {
        assert!(Instant::now() < last, "they live on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_denial_counts_even_if_a_child_holds_the_hooks_output() {
    let scene = Scene::new();
    let command = "(setsid sleep 60 &); echo never >&2; exit 2";
    let has_refused = |ran: &HookResult| ran.exit == Some(Exit::Code(2));
    let fired = all_overdue(&scene, command, 1, has_refused).await;
    let together = fired.aggregate.expect("it said so");
    assert_eq!(together.decision(), Some("deny"));
    assert_eq!(together.effective_reason(), "never");
}

#[tokio::test]
async fn a_stop_counts_even_if_a_child_holds_the_hooks_output() {
    let scene = Scene::new();
    let command = "(setsid sleep 60 &); echo '{\"continue\":false,\"stopReason\":\"s\"}'";
    let has_said_so = |ran: &HookResult| ran.exit == Some(Exit::Code(0));
    let fired = all_overdue(&scene, command, 1, has_said_so).await;
    assert_eq!(fired.effects(), [AppliedEffect::Stop("s".into())]);
}

#[tokio::test]
async fn output_before_a_hooks_timeout_is_no_decision() {
    let scene = Scene::new();
    let deny = "echo '{\"decision\":\"deny\"}'; sleep 60";
    overdue_once(&scene, deny, has_said_something).await;
}

#[tokio::test]
async fn complaints_without_end_do_not_drown_a_refusal() {
    let scene = Scene::new();
    let flood = "head -c 1100000 /dev/zero | tr '\\0' a >&2";
    let silent = hook(&format!("{flood}; exit 2"));
    let says_so = hook(&format!("{flood}; echo '{{\"decision\":\"deny\"}}'"));
    let fired = scene.fire(vec![silent, says_so]).await;
    let [refused, said_so] = &fired.runs[..] else {
        panic!("{:?}", fired.runs)
    };
    let denies = |ran: &HookResult| {
        ran.answer
            .output
            .as_ref()
            .is_some_and(HookOutput::is_blocking)
    };
    assert!(denies(refused) && denies(said_so));
    assert!(matches!(refused.error, Some(HookError::TooMuch { .. })));
    assert!(said_so.error.is_none(), "{:?}", said_so.error);
}

#[tokio::test]
async fn an_allow_does_not_count_if_a_child_holds_the_hooks_output() {
    let scene = Scene::new();
    let allow = "(setsid sleep 60 &); echo '{\"decision\":\"allow\"}'";
    overdue_once(&scene, allow, has_said_something).await;
}

#[tokio::test]
async fn a_refusal_that_is_cut_off_is_no_agreement() {
    let scene = Scene::new();
    let flood = "head -c 1100000 /dev/zero | tr '\\0' a";
    let command = format!("(printf '{{\"decision\":\"deny\",\"reason\":\"'; {flood}) >&2; exit 0");
    let fired = scene.fire(vec![hasty(&command, HANG)]).await;
    let error = fired.runs[0].error.as_ref();
    assert!(
        matches!(error, Some(HookError::TooMuch { .. })),
        "{error:?}"
    );
    assert!(fired.aggregate.is_none());
}

#[tokio::test]
async fn a_hook_that_waits_in_a_cancelled_plan_is_not_started() {
    let scene = Scene::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let plan = HookPlan {
        hooks: vec![hook("touch begun")],
        ..HookPlan::default()
    };
    let fired = fire(&plan, scene.call(), &scene.around(), &cancel).await;
    let error = fired.runs[0].error.as_ref();
    assert!(matches!(error, Some(HookError::NotStarted)), "{error:?}");
    assert!(!scene.path().join("begun").exists());
}
