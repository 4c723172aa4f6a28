//! A model API that fails at some step of a run of ten turns.

use lapidary_native::executor::{ActivityKind, TerminateReason};
use lapidary_native::model::ModelError;
use lapidary_native::tools::file_tools;
use lapidary_standin::api::{AfterScript, ApiError, Chunk, Script, Turn};
use serde_json::json;
use std::time::Duration;

use crate::oracle::dice::Dice;
use crate::scene::{Scene, Stage};
use crate::support::TestWorkspace;

const TURNS: usize = 10;

/// Ten turns, of which the one at `step` comes after as many faults as `times` says.
async fn play(fault: &Turn, step: usize, times: usize) -> Scene {
    let mut script = Script::new();
    for turn in 0..TURNS {
        if turn == step {
            script = (0..times).fold(script, |script, _| script.stream(fault.clone()));
        }
        script = script.stream(if turn + 1 == TURNS {
            Turn::call("complete_task", json!({"result": "Found."}))
        } else {
            Turn::call("look", json!({ "turn": turn }))
        });
    }
    let mut stage = Stage::new(script);
    stage.definition.run_config.max_turns = Some(20);
    stage.definition.run_config.max_time_minutes = Some(60.0);
    let scene = stage.play().await;
    scene.check_pairs();
    scene
}

fn passing_faults() -> Vec<Turn> {
    vec![
        ApiError::new(429).into(),
        ApiError::rate_limited(Duration::from_secs(7)).into(),
        ApiError::new(500).into(),
        ApiError::new(503).into(),
        Turn::text("half an ans").drop_connection(),
        Turn::call("look", json!({})).drop_connection(),
        Turn::chunks([Chunk::wire(
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\"",
        )]),
        Turn::chunks([Chunk::wire("data: garbage\n\n")]),
        Turn::chunks([]),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_passes_costs_a_retry_at_every_step() {
    for fault in passing_faults() {
        for step in 0..TURNS {
            let scene = play(&fault, step, 1).await;
            assert_eq!(scene.outcome.result, "Found.", "{fault:?} at {step}");
            assert_eq!(scene.outcome.turn_count as usize, TURNS);
            let retries = scene.activities.iter();
            let retries = retries.filter(|it| matches!(it.kind, ActivityKind::Retry(_)));
            assert_eq!(retries.count(), 1, "announced: {fault:?} at {step}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_stays_is_one_typed_ending_at_every_step() {
    let staying: Vec<Turn> = [400, 401, 403, 404]
        .map(|it| ApiError::new(it).into())
        .into();
    for fault in staying.into_iter().chain(passing_faults()) {
        for step in [0, 1, 5, 9] {
            let scene = play(&fault, step, 10).await;
            assert_eq!(
                scene.outcome.terminate_reason,
                TerminateReason::Error,
                "{fault:?}"
            );
            assert_eq!(scene.outcome.turn_count as usize, step + 1);
            let error: ModelError = scene.outcome.error.unwrap();
            assert_eq!(scene.outcome.result, error.to_string());
        }
    }
}

/// What happens at some step of a run.
#[derive(Debug, Clone)]
enum RunFault {
    /// The model fails, and answers when it is asked again.
    Passing(Turn),
    /// The model fails until the run gives up.
    Staying(Turn),
    /// The model answers with half a text, and then with nothing.
    ModelHangs,
    /// A tool never ends.
    ToolHangs,
    /// The model talks instead of calling a tool.
    NoCall,
    /// The model makes the same call again and again.
    Loop,
    /// The client cancels the run while a tool works.
    Cancelled,
}

impl RunFault {
    fn draw(dice: &mut Dice) -> Self {
        let passing = passing_faults();
        let passing = passing[dice.below(passing.len())].clone();
        match dice.below(9) {
            0..=2 => Self::Passing(passing),
            3 => Self::Staying(passing),
            4 => Self::Staying(ApiError::new([400, 401, 403, 404][dice.below(4)]).into()),
            5 if dice.once_in(2) => Self::ModelHangs,
            5 => Self::ToolHangs,
            6 => Self::NoCall,
            7 => Self::Loop,
            _ => Self::Cancelled,
        }
    }

    /// How the run ends, and how many files it has written by then.
    fn ending(&self, step: usize) -> (TerminateReason, usize) {
        match self {
            Self::Passing(_) => (TerminateReason::Goal, TURNS - 1),
            Self::Staying(_) => (TerminateReason::Error, step),
            Self::ModelHangs | Self::ToolHangs => (TerminateReason::Timeout, step),
            Self::NoCall => (TerminateReason::ErrorNoCompleteTaskCall, step),
            Self::Loop => (TerminateReason::MaxTurns, step + 1),
            Self::Cancelled => (TerminateReason::Aborted, step + 1),
        }
    }

    /// The script: a file is written in each turn, and then a second passes.
    fn script(&self, step: usize) -> Script {
        let work = |turn: usize| {
            let file = json!({ "file_path": format!("work-{turn}"), "content": "done" });
            Turn::call("write_file", file).and_call("slow", json!({ "seconds": 1 }))
        };
        let end = || Turn::call("complete_task", json!({ "result": "Found." }));
        let before = (0..step).fold(Script::new(), |script, turn| script.stream(work(turn)));
        let fault = match self {
            Self::Passing(fault) => {
                let rest = (step..TURNS - 1).fold(before.stream(fault.clone()), |script, turn| {
                    script.stream(work(turn))
                });
                return rest.stream(end());
            }
            Self::Staying(fault) => fault.clone(),
            Self::ModelHangs => Turn::text("half an ans").hang(),
            Self::ToolHangs => return before.stream(Turn::call("deaf", json!({}))).stream("No."),
            Self::NoCall => Turn::text("I am done."),
            Self::Loop | Self::Cancelled => work(step),
        };
        before.stream(fault).after(AfterScript::Repeat)
    }
}

/// Runs with a fault; a thousand where everything is run.
const RUNS: u64 = if cfg!(feature = "full") { 1000 } else { 200 };

#[tokio::test(start_paused = true)]
async fn runs_with_a_fault_at_any_step_end_once_and_keep_their_work() {
    for seed in 0..RUNS {
        let mut dice = Dice::new(seed);
        let (fault, step) = (RunFault::draw(&mut dice), dice.below(TURNS - 1));
        let workspace = TestWorkspace::new();
        let mut stage = Stage::new(fault.script(step));
        stage
            .executor
            .tools
            .retain(|tool| tool.declaration().name != "write_file");
        stage.executor.tools.extend(file_tools(&workspace.open()));
        stage.definition.run_config.max_turns = Some(15);
        stage.definition.run_config.max_time_minutes = Some(60.0);
        let cancelled = stage.cancelled.clone();
        let ending_task = matches!(fault, RunFault::Cancelled).then(|| {
            let wait =
                Duration::from_secs(u64::try_from(step).unwrap()) + Duration::from_millis(500);
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                cancelled.cancel();
            })
        });
        let scene = stage.play().await;
        if let Some(task) = ending_task {
            task.await.unwrap();
        }
        let told = format!("{fault:?} at {step}, seed {seed}");
        let (reason, files) = fault.ending(step);
        assert_eq!(scene.outcome.terminate_reason, reason, "{told}");
        let written =
            (0..TURNS).filter(|turn| workspace.root.join(format!("work-{turn}")).exists());
        assert_eq!(written.count(), files, "{told}");
        let ends = scene.activities.iter();
        let ends = ends.filter(|it| matches!(it.kind, ActivityKind::Ended { .. }));
        assert_eq!(ends.count(), 0, "no other agent was at work: {told}");
        let running = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        assert_eq!(running, 0, "nothing is left running: {told}");
    }
}
