//! Hooks around the requests of an agent to its model.

use std::sync::{Arc, Mutex};

use lapidary_native::executor::{ActivityKind, AgentActivity};
use lapidary_native::executor::{ErrorContext, HooksCancelled, ModelHooks, TerminateReason};
use lapidary_native::tool::BoxFuture;
use lapidary_standin::api::{Script, Turn};
use lapidary_wire::gemini::hooks::{EventDetails, HookEvent, HookInput, HookInputBase, HookOutput};
use serde_json::{Value, json};

use crate::scene::{Scene, Stage};

/// Hooks that answer each event with the next of their answers, and keep their inputs.
#[derive(Debug)]
pub(crate) struct ScriptedHooks {
    answers: Mutex<Vec<(HookEvent, Value)>>,
    pub(crate) told: Mutex<Vec<Value>>,
}

impl ScriptedHooks {
    pub(crate) fn new(answers: &[(HookEvent, Value)]) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.to_vec()),
            told: Mutex::default(),
        })
    }
}

impl ModelHooks for ScriptedHooks {
    fn has_hooks(&self, event: HookEvent) -> bool {
        let answers = self.answers.lock().unwrap();
        answers.iter().any(|(known, _)| *known == event)
    }

    fn fire(
        &self,
        details: EventDetails,
    ) -> BoxFuture<'_, Result<Option<HookOutput>, HooksCancelled>> {
        let event = details.event();
        let input = HookInput {
            base: HookInputBase::default(),
            details,
        };
        self.told.lock().unwrap().push(input.to_object().into());
        let mut answers = self.answers.lock().unwrap();
        let at = answers.iter().position(|(known, _)| *known == event);
        let (_, answer) = answers.remove(at.unwrap());
        answers.push((event, json!({}))); // later ones say nothing
        let output = answer.as_object().cloned().map(HookOutput);
        Box::pin(async move { Ok(output.filter(|output| !output.0.is_empty())) })
    }
}

struct Hooked {
    scene: Scene,
    told: Vec<Value>,
}

async fn play(script: Script, answers: &[(HookEvent, Value)]) -> Hooked {
    let hooks = ScriptedHooks::new(answers);
    let mut stage = Stage::new(script);
    stage.executor.hooks = Some(hooks.clone());
    let scene = stage.play().await;
    let told = hooks.told.lock().unwrap().clone();
    Hooked { scene, told }
}

fn done(result: &str) -> Turn {
    Turn::call("complete_task", json!({ "result": result }))
}

fn text(text: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [text]}}]})
}

fn texts(scene: &Scene) -> Vec<&str> {
    let texts = scene.activities.iter().filter_map(|it| match it {
        AgentActivity {
            kind: ActivityKind::Text(text),
            ..
        } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test(start_paused = true)]
async fn a_before_model_hook_changes_the_request_and_leaves_other_tokens_alone() {
    let script = Script::new()
        .stream(Turn::call("look", json!({"at": "a"})))
        .stream(done("Found."));
    let request = json!({"model": "gemini-2.5-pro", "messages": [{"role": "user", "content": "Find more."}], "config": {"temperature": 0.25}});
    let answer = json!({"hookSpecificOutput": {"llm_request": request}});
    let hooked = play(script, &[(HookEvent::BeforeModel, answer)]).await;
    let [first, second] = &hooked.scene.requests[..] else {
        panic!("two requests")
    };
    assert!(first.path.contains("gemini-2.5-pro"), "{}", first.path);
    assert_eq!(hooked.scene.told(0), [json!({"text": "Find more."})]);
    assert_eq!(first.body["generationConfig"]["temperature"], 0.25);
    assert!(second.path.contains("gemini-2.5-flash"), "{}", second.path);
    assert_eq!(second.body["contents"][0]["parts"][0]["text"], "Find it.");
    let told = &hooked.told[0];
    assert_eq!(told["hook_event_name"], "BeforeModel");
    assert_eq!(
        told["llm_request"]["messages"],
        json!([{"role": "user", "content": "Find it."}])
    );
}

#[tokio::test(start_paused = true)]
async fn a_before_model_hook_answers_in_the_models_place() {
    let script = Script::new().stream(done("Found."));
    let answer = json!({"decision": "block", "reason": "cached", "hookSpecificOutput": {"llm_response": text("From the cache.")}});
    let hooked = play(script, &[(HookEvent::BeforeModel, answer)]).await;
    assert_eq!(texts(&hooked.scene), ["From the cache."]);
    let recovered = hooked.scene.outcome.recovered_from;
    assert_eq!(recovered, Some(TerminateReason::ErrorNoCompleteTaskCall));
    let contents = &hooked.scene.requests[0].body["contents"];
    assert_eq!(
        contents[1],
        json!({"role": "model", "parts": [{"text": "From the cache."}]})
    );
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_blocks_the_model_ends_the_task_with_its_reason() {
    for (event, requests) in [(HookEvent::BeforeModel, 0), (HookEvent::AfterModel, 1)] {
        let answer = json!({"decision": "deny", "reason": "no secrets"});
        let script = Script::new().stream(Turn::text("secret").and_call("look", json!({})));
        let hooked = play(script, &[(event, answer)]).await;
        let outcome = &hooked.scene.outcome;
        assert_eq!(outcome.terminate_reason, TerminateReason::Error);
        assert!(
            outcome.result.ends_with(": no secrets"),
            "{}",
            outcome.result
        );
        assert_eq!(hooked.scene.requests.len(), requests);
        let is_told = |it: &AgentActivity| matches!(&it.kind, ActivityKind::Error { context, .. } if *context == ErrorContext::Hook);
        assert!(hooked.scene.activities.iter().any(is_told));
        assert_eq!(texts(&hooked.scene), [""; 0], "the answer is not told");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_stops_the_agent_aborts_the_task() {
    for event in [HookEvent::BeforeModel, HookEvent::AfterModel] {
        let answer = json!({"continue": false, "stopReason": "enough"});
        let hooked = play(Script::new().stream(done("x")), &[(event, answer)]).await;
        let outcome = &hooked.scene.outcome;
        assert_eq!(outcome.terminate_reason, TerminateReason::Aborted);
        assert_eq!(outcome.result, "enough");
    }
}

#[tokio::test(start_paused = true)]
async fn an_after_model_hook_replaces_the_text_and_the_models_calls_stay() {
    let script = Script::new()
        .stream(Turn::text("The key is 123.").and_call("look", json!({"at": "a"})))
        .stream(done("Found."));
    let answer = json!({"hookSpecificOutput": {"llm_response": text("The key is ***.")}});
    let hooked = play(script, &[(HookEvent::AfterModel, answer)]).await;
    assert_eq!(texts(&hooked.scene), ["The key is ***."]);
    let parts = &hooked.scene.requests[1].body["contents"][1]["parts"];
    assert_eq!(parts[0], json!({"text": "The key is ***."}));
    assert_eq!(parts[1]["functionCall"]["name"], "look");
    assert_eq!(hooked.scene.outcome.result, "Found.");
    let told = &hooked.told[0];
    assert_eq!(told["llm_response"]["text"], "The key is 123.");
    assert_eq!(
        told["llm_response"]["usageMetadata"]["totalTokenCount"],
        110
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hooks_do_not_select_cannot_be_called() {
    let script = Script::new()
        .stream(Turn::call("look", json!({})).and_call("slow", json!({"seconds": 1})))
        .stream(Turn::call("look", json!({})))
        .stream(done("Found."));
    let config = json!({"mode": "ANY", "allowedFunctionNames": ["slow"]});
    let answer = json!({"hookSpecificOutput": {"toolConfig": config}});
    let hooked = play(script, &[(HookEvent::BeforeToolSelection, answer)]).await;
    let calling = &hooked.scene.requests[0].body["toolConfig"]["functionCallingConfig"];
    assert_eq!(*calling, config);
    assert_eq!(hooked.scene.requests[1].body.get("toolConfig"), None);
    let unauthorized = "look! Unauthorized tool call: 'look' is not available to this agent.";
    assert_eq!(hooked.scene.responses(1), [unauthorized, "slow: slept"]);
    assert_eq!(hooked.scene.responses(2), ["look: look {}"]);
}
