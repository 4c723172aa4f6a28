//! A run with several readers: each subscription, early or late and from any `seq` on, has the events of the run.

use std::thread;
use std::time::Duration;

use lapidary::directories::surroundings;
use lapidary::engine::run::SubscribeError;
use lapidary::normalize::DeltaMode;
use lapidary::prepare::{PrepareError, PrepareErrorKind, RunSurroundings};
use lapidary::vocab::Outcome;
use lapidary::vocab::event::DecidedBy;
use lapidary::{Body, Event, PermissionAnswer, PermissionPrompt, Run, RunBuilder, Subscription};
use tokio::sync::mpsc::unbounded_channel;

use super::world::World;
use crate::support::{DEADLINE, root};

/// A run of the agent of this world, or of another one.
fn wanted(world: &World) -> RunBuilder {
    wanted_for(world, "go")
}

fn wanted_for(world: &World, prompt: &str) -> RunBuilder {
    let command = world.lapidary(&[]);
    let vars = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.into(), value?.into())));
    let environment = surroundings(vars.collect::<Vec<_>>(), world.path("project"));
    lapidary::run(prompt)
        .config(world.config())
        .surroundings(RunSurroundings {
            environment,
            program: env!("CARGO_BIN_EXE_lapidary").into(),
        })
}

#[test]
fn a_program_answers_the_permission_requests_of_its_run() {
    let world = World::with_agent("exit 1");
    let agent = root().join("examples/agent.py").display().to_string();
    let denied = PermissionAnswer::deny("not today");
    for (agent, prompt, answer, expected) in [
        (
            agent.as_str(),
            "ask edit a.txt",
            PermissionAnswer::allow(),
            ["allowed", "the user allowed it"],
        ),
        (
            &agent,
            "ask edit a.txt",
            denied.clone(),
            ["denied", "not today"],
        ),
        // Its own rules decide about everything but an edit.
        ("demo", "fix the greeting", denied, ["denied", "not today"]),
    ] {
        let (prompts, mut requests) = unbounded_channel::<PermissionPrompt>();
        let answering = thread::spawn(move || {
            let prompt = requests.blocking_recv().unwrap();
            prompt.reply.send(answer).unwrap();
        });
        let run = wanted_for(&world, prompt).agent(agent);
        let mut run = run.permission_prompts(prompts).start().unwrap();
        let mut decided = Vec::new();
        while let Some(event) = run.blocking_next() {
            if let Body::PermissionDecision(it) = event.body
                && it.decided_by == Some(DecidedBy::Peer)
            {
                decided.push([it.decision.to_string(), it.reason.unwrap().to_string()]);
            }
        }
        answering.join().unwrap();
        assert_eq!(decided, [expected], "{agent}");
    }
}

fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(Event::to_json).collect()
}

async fn all_of(subscription: Result<Subscription, SubscribeError>) -> Vec<String> {
    let mut subscription = subscription.unwrap();
    let mut events = Vec::new();
    while let Some(event) = subscription.next().await {
        events.push(event.unwrap());
    }
    lines(&events)
}

/// The same, in batches behind the first event.
async fn all_batches_of(subscription: Result<Subscription, SubscribeError>) -> Vec<String> {
    let mut subscription = subscription.unwrap();
    let mut events: Vec<_> = subscription
        .next()
        .await
        .transpose()
        .unwrap()
        .into_iter()
        .collect();
    let mut batch = Vec::new();
    while let Some(read) = subscription.next_batch(&mut batch).await {
        read.unwrap();
        assert!(!batch.is_empty());
        events.append(&mut batch);
    }
    lines(&events)
}

/// Reads a run by itself, by readers that come at once, when half of it was read, and when it is over.
async fn read(mut run: Run) -> Vec<String> {
    let (from_start, from_seven) = (run.subscribe(0), run.subscribe(7));
    let (from_start, from_seven) = (all_of(from_start), all_batches_of(from_seven));
    let reading = async {
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
            if events.len() == 3 {
                let late = run.subscribe(0);
                tokio::spawn(async move { drop(all_of(late).await) });
            }
        }
        lines(&events)
    };
    let (told, from_start, from_seven) = tokio::join!(reading, from_start, from_seven);
    assert_eq!(from_start, told, "from the start");
    assert_eq!(from_seven, told[told.len().min(7)..], "from the middle");
    assert_eq!(all_of(run.subscribe(0)).await, told, "when it was over");
    assert_eq!(all_batches_of(run.subscribe(0)).await, told, "in batches");
    told
}

fn on_a_runtime<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(DEADLINE, future).await.unwrap() })
}

const ACP: &str = r#"#!/bin/sh
hear() { read -r line || exit 0; id=${line#*'"id":'}; id=${id%%,*}; }
say() { printf '%s\n' "$1"; }
answer() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
chunk() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
hear; answer "$id" '{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}'
hear; answer "$id" '{"sessionId":"s-1"}'
hear; prompt=$id
chunk one; sleep 0.05; chunk two; echo noise; chunk three; sleep 0.1
say '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c-1","title":"Write","kind":"edit"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}'
hear
answer "$prompt" '{"stopReason":"end_turn"}'
hear
"#;

#[test]
fn every_reader_of_a_stream_has_the_same_events() {
    let script = "init; user; for word in a b c d e f; do say $word; sleep 0.01; done; echo noise; call c t; answer c x; success";
    for deltas in [DeltaMode::Only, DeltaMode::Final] {
        let world = World::with_agent(script);
        let run = wanted(&world).deltas(deltas).start().unwrap();
        let told = on_a_runtime(read(run));
        assert!(told.last().unwrap().contains("\"run_end\""), "{told:?}");
    }
}

#[test]
fn every_reader_of_a_json_run_has_the_same_events() {
    let world = World::with_agent(r#"echo '{"session_id":"s","response":"yes","stats":{}}'"#);
    let config = lapidary::engine::config::Config::builder().set("transport", "json");
    let run = wanted(&world).config(config.build().unwrap());
    let told = on_a_runtime(read(run.start().unwrap()));
    assert!(told.iter().any(|event| event.contains("yes")), "{told:?}");
}

#[test]
fn every_reader_of_an_acp_run_has_the_same_events() {
    let world = World::with_agent("");
    world.program("mona", ACP);
    let run = wanted(&world).agent("../mona").start().unwrap();
    let told = on_a_runtime(read(run));
    let decides = told
        .iter()
        .any(|event| event.contains("permission_decision"));
    assert!(decides, "{told:#?}");
}

#[test]
fn every_reader_of_a_retried_or_unstartable_run_has_the_same_events() {
    let script = "if [ ! -e ../tried ]; then touch ../tried; exit 9; fi; init; say a; success";
    let world = World::with_agent(script);
    let told = on_a_runtime(read(wanted(&world).retries(1).start().unwrap()));
    assert!(told.iter().any(|event| event.contains("\"retry\"")));
    let run = wanted(&world).agent("../nothing-there").start().unwrap();
    let told = on_a_runtime(read(run));
    assert!(told[0].contains("agent_missing"), "{told:?}");
}

#[test]
fn a_run_without_files_of_settings_reads_none() {
    let world = World::with_agent("init; say a; success");
    std::fs::write(world.path("project/lapidary.toml"), "timeout = 'soon'\n").unwrap();
    let refused = wanted(&world).start().unwrap_err();
    assert_eq!(refused.kind(), PrepareErrorKind::BadConfig, "{refused}");
    let mut run = wanted(&world).no_config_files().start().unwrap();
    let end = on_a_runtime(async { run.outcome().await });
    assert_eq!(end.outcome, Outcome::Completed);
}

#[test]
fn a_reader_that_does_not_read_holds_nothing_up() {
    let script = "init; i=0; while [ $i -lt 3000 ]; do say word; i=$((i + 1)); done; success";
    let world = World::with_agent(script);
    on_a_runtime(async {
        let mut run = wanted(&world).start().unwrap();
        let late = run.subscribe(0);
        let end = run.outcome().await;
        assert_eq!(end.outcome, Outcome::Completed);
        assert_eq!(run.outcome().await, end, "asked again");
        let events = all_of(late).await;
        assert_eq!(
            events.len(),
            3003,
            "init, words, the turn's end and the run's"
        );
    });
}

#[test]
fn a_run_hands_over_only_the_events_that_its_reader_wants() {
    let script = "init; until [ -e ../go ]; do sleep 0.01; done; for word in a b c; do say $word; done; success";
    let world = World::with_agent(script);
    on_a_runtime(async {
        let mut run = wanted(&world).start().unwrap();
        run.keep_only(|event| matches!(event.body, Body::RunEnd(_)));
        std::fs::write(world.path("go"), "").unwrap();
        let beside = run.subscribe(0);
        let mut told = Vec::new();
        while let Some(event) = run.next().await {
            told.push(event.to_json());
        }
        let is_word = |line: &&String| line.contains("\"stream_delta\"");
        assert_eq!(told.iter().filter(is_word).count(), 0, "{told:#?}");
        assert!(told.last().unwrap().contains("\"run_end\""), "{told:#?}");
        let all = all_of(beside).await;
        assert_eq!(all.iter().filter(is_word).count(), 3, "{all:#?}");
        assert_eq!(all.last(), told.last());
    });
}

#[test]
fn a_run_of_which_nothing_is_kept_has_one_reader() {
    let world = World::with_agent("init; say a; success");
    on_a_runtime(async {
        let mut run = wanted(&world).no_record().start().unwrap();
        assert!(matches!(run.subscribe(0), Err(SubscribeError::NotRecorded)));
        assert_eq!(run.outcome().await.outcome, Outcome::Completed);
    });
}

#[test]
fn a_run_is_stopped_by_its_handle_and_a_subscription_tells() {
    let world = World::with_agent("init; say a; exec sleep 600");
    on_a_runtime(async {
        let mut run = wanted(&world).start().unwrap();
        let mut beside = run.subscribe(0).unwrap();
        let first = beside.next().await.unwrap().unwrap();
        assert!(matches!(first.body, Body::SessionInit(_)), "{first:?}");
        run.stop();
        assert_eq!(run.outcome().await.outcome, Outcome::Cancelled);
        let mut last = None;
        while let Some(event) = beside.next().await {
            last = Some(event.unwrap());
        }
        assert!(matches!(last.unwrap().body, Body::RunEnd(_)));
    });
    world.assert_nothing_is_left();
}

#[test]
fn a_run_that_cannot_be_prepared_is_a_typed_error() {
    let world = World::with_agent("");
    let kind = |wanted: RunBuilder| wanted.start().unwrap_err();
    let error = kind(wanted(&world).agent("no-such-agent"));
    assert!(matches!(error, PrepareError::Agent(_)), "{error:?}");
    assert!(error.hint().unwrap().contains("`claude`"));
    let error = kind(wanted(&world).allow("fly:away"));
    assert_eq!(error.kind(), PrepareErrorKind::Usage, "{error}");
    let error = kind(wanted(&world).attach("no-such-file"));
    assert_eq!(error.kind(), PrepareErrorKind::BadInput, "{error}");
    std::fs::write(world.path("project/lapidary.toml"), "timeout = 'soon'").unwrap();
    let error = kind(wanted(&world).timeout(Duration::from_secs(5)));
    assert_eq!(error.kind(), PrepareErrorKind::BadConfig, "{error}");
}
