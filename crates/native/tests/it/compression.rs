//! Conversations that fill the model's window.

use lapidary_native::executor::{ActivityKind, AgentActivity, TerminateReason};
use lapidary_standin::api::{ApiError, ReportedUsage, Script, Turn};
use lapidary_wire::gemini::hooks::HookEvent;
use serde_json::{Value, json};

use crate::model_hooks::ScriptedHooks;
use crate::scene::{Scene, Stage};

/// A call whose result has so many bytes, in an answer to a request of so many tokens.
fn big(bytes: u64, tokens: u64) -> Turn {
    let usage = ReportedUsage {
        prompt: tokens,
        ..ReportedUsage::default()
    };
    Turn::call("big", json!({ "bytes": bytes })).usage(usage)
}

fn done() -> Turn {
    Turn::call("complete_task", json!({"result": "Found."}))
}

async fn play(script: Script) -> Scene {
    let scene = Stage::new(script).play().await;
    scene.check_pairs();
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::Goal);
    scene
}

/// The compressions, each as the tokens before and after, and the summary.
fn compressions(scene: &Scene) -> Vec<(u64, u64, Option<String>)> {
    let told = scene
        .activities
        .iter()
        .filter_map(|it: &AgentActivity| match &it.kind {
            ActivityKind::Compressed {
                tokens_before,
                tokens_after,
                summary,
            } => Some((*tokens_before, *tokens_after, summary.clone())),
            _ => None,
        });
    told.collect()
}

fn contents(scene: &Scene, request: usize) -> &Vec<Value> {
    scene.requests[request].body["contents"].as_array().unwrap()
}

#[tokio::test(start_paused = true)]
async fn old_results_go_first_and_the_newest_stay() {
    let script = Script::new()
        .stream(big(120_000, 100))
        .stream(big(120_000, 100))
        .stream(big(120_000, 600_000))
        .stream(done());
    let scene = play(script).await;
    let result = |at: usize| {
        let response = &contents(&scene, 3)[at]["parts"][0]["functionResponse"]["response"];
        response["output"].as_str().unwrap().to_owned()
    };
    assert!(
        result(2).contains("was removed to make room"),
        "{}",
        result(2)
    );
    assert_eq!((result(4).len(), result(6).len()), (120_000, 120_000));
    assert_eq!(
        scene.requests.len(),
        4,
        "the model was not asked for a summary"
    );
    let [(600_000, after, None)] = compressions(&scene)[..] else {
        panic!("{:?}", compressions(&scene))
    };
    assert!(after < 524_288, "{after}");
}

#[tokio::test(start_paused = true)]
async fn below_half_of_the_window_nothing_is_compressed() {
    let script = Script::new()
        .stream(big(120_000, 100))
        .stream(big(120_000, 100))
        .stream(big(120_000, 524_287))
        .stream(done());
    let scene = play(script).await;
    assert_eq!(compressions(&scene), []);
    assert_eq!(contents(&scene, 3).len(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_summary_stands_for_the_old_part_after_the_users_words() {
    let script = Script::new()
        .stream(big(40_000, 100))
        .stream(big(40_000, 100))
        .stream(big(40_000, 600_000))
        .stream("It is in a.rs.")
        .stream(done());
    let hooks = ScriptedHooks::new(&[(HookEvent::PreCompress, json!({}))]);
    let mut stage = Stage::new(script);
    stage.executor.hooks = Some(hooks.clone());
    let scene = stage.play().await;
    scene.check_pairs();
    let told = hooks.told.lock().unwrap().clone();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["trigger"], "auto");
    let asked = &scene.requests[3].body;
    assert_eq!(asked.get("tools"), None);
    assert!(
        contents(&scene, 3)[4]["parts"][1]["text"]
            .as_str()
            .unwrap()
            .contains("summary")
    );
    let contents = contents(&scene, 4);
    assert_eq!(contents.len(), 3, "{contents:?}");
    let words = contents[0]["parts"].as_array().unwrap();
    assert_eq!(words[0]["text"], "Find it.");
    assert!(
        words[1]["text"]
            .as_str()
            .unwrap()
            .ends_with(":\n\nIt is in a.rs.")
    );
    assert_eq!(contents[1]["parts"][0]["functionCall"]["name"], "big");
    let [(600_000, _, Some(summary))] = &compressions(&scene)[..] else {
        panic!("{:?}", compressions(&scene))
    };
    assert_eq!(summary, "It is in a.rs.");
    assert_eq!(scene.outcome.turn_count, 4, "a summary is no turn");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_fails_or_is_no_shorter_drops_the_old_part_and_says_so() {
    for summary in [
        Turn::from(ApiError::new(404)),
        Turn::text("x".repeat(200_000)),
    ] {
        let script = Script::new()
            .stream(big(40_000, 100))
            .stream(big(40_000, 100))
            .stream(big(40_000, 600_000))
            .stream(summary)
            .stream(done());
        let scene = play(script).await;
        let words = contents(&scene, 4)[0]["parts"].as_array().unwrap();
        assert_eq!(words[0]["text"], "Find it.");
        assert!(
            words[1]["text"].as_str().unwrap().contains("was dropped"),
            "{words:?}"
        );
        assert_eq!(compressions(&scene).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_api_finds_too_long_is_compressed_and_made_again() {
    let refusal = || {
        let message =
            "The input token count (1100000) exceeds the maximum number of tokens allowed";
        ApiError::new(400).message(message)
    };
    let script = Script::new()
        .stream(big(40_000, 100))
        .stream(big(40_000, 100))
        .stream(refusal())
        .stream("It is in a.rs.")
        .stream(done());
    let scene = play(script).await;
    assert_eq!(contents(&scene, 4).len(), 3);
    let script = Script::new()
        .stream(big(40_000, 100))
        .stream(refusal())
        .stream("Short.")
        .stream(refusal());
    let scene = Stage::new(script).play().await;
    assert_eq!(
        scene.outcome.terminate_reason,
        TerminateReason::Error,
        "once is enough"
    );
}
