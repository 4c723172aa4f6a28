//! A model API that fails at some step of a run of ten turns.

use lapidary_native::executor::{ActivityKind, TerminateReason};
use lapidary_native::model::ModelError;
use lapidary_standin::api::{ApiError, Chunk, Script, Turn};
use serde_json::json;
use std::time::Duration;

use crate::scene::{Scene, Stage};

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
