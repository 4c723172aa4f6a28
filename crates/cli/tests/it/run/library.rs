//! The library as programs use it: providers, executions, chats and tickets, with the real supervisor.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use lapidary::chat::{Chat, ChatError, ChatTurn};
use lapidary::engine::OnViolation;
use lapidary::engine::config::{Config, PermissionMode};
use lapidary::engine::conversation;
use lapidary::engine::gemini_cli::PromptText;
use lapidary::engine::headless::Job;
use lapidary::engine::policy::{Policy, Rules};
use lapidary::engine::run::RunTimeouts;
use lapidary::execute::{DataRequest, execute};
use lapidary::provider::{PromptContext, ProviderError, ResponseProvider};
use lapidary::sessions::{LoadRequest, load_messages};
use lapidary::ticket::TicketRun;
use lapidary::vocab::event::Provider as Family;
use lapidary::vocab::{Body, Cause, RuntimeEvent};
use lapidary_testkit::patience::with_enough_time;

use super::world::World;
use crate::support::DEADLINE;

/// An agent that writes its arguments, stdin and working directory to files, and answers.
const NOTES: &str = r#"
    printf '%s\n' "$@" > ../args; cat > ../stdin; pwd > ../pwd
    init; say 'the answer'
    echo "{\"type\":\"tool_use\",$t,\"tool_name\":\"write_file\",\"tool_id\":\"w\",\"parameters\":{\"file_path\":\"a.txt\"}}"
    answer w ok; success"#;

/// Agents of these tests write without a word.
fn provider(world: &World, config: Config) -> ResponseProvider {
    ResponseProvider::new(unwatched(config.over(world.config())), world.host())
}

fn unwatched(mut config: Config) -> Config {
    config.on_violation = Some(OnViolation::Report);
    config
}

#[test] // P50
fn two_tools_write_files_and_no_other() {
    let world = World::with_agent(
        r#"
        use() { echo "{\"type\":\"tool_use\",$t,\"tool_name\":\"$1\",\"tool_id\":\"$2\",\"parameters\":{\"file_path\":\"$2\"}}"; answer $2 ok; }
        init; use write_file a; use replace b; use read_file c; use write_todos d; say x; success"#,
    );
    let generated = provider(&world, world.config()).generate("go", &PromptContext::default());
    let files = serde_json::to_value(generated.unwrap().files).unwrap();
    assert_eq!(files, serde_json::json!({"a": null, "b": null}));
}

fn written(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).unwrap()
}

#[test] // P31 (by stdin), P34, P35
fn a_provider_returns_the_response_and_the_files() {
    let world = World::with_agent(NOTES);
    let provider = provider(&world, world.config());
    provider.validate().unwrap();
    let generated = provider
        .generate("the question", &PromptContext::default())
        .unwrap();
    assert_eq!(generated.response, "the answer");
    assert_eq!(
        serde_json::to_value(&generated.files).unwrap(),
        serde_json::json!({"a.txt": null})
    );
    assert_eq!(written(&world, "stdin"), "the question");
    assert_eq!(
        written(&world, "args"),
        "-o\nstream-json\n--approval-mode\ndefault\n"
    );
}

#[test] // P25
fn a_malformed_line_is_counted_and_returned_beside_the_response_of_a_provider() {
    let world =
        World::with_agent(r#"init; say one; echo '{"type":"message",'; say ' and two'; success"#);
    let generated = provider(&world, world.config())
        .generate("go", &PromptContext::default())
        .unwrap();
    assert_eq!(generated.response, "one and two");
    let lines = generated.malformed_lines.iter();
    let lines: Vec<_> = lines
        .map(|it| (it.kind.as_str(), it.line.as_str()))
        .collect();
    assert_eq!(lines, [("malformed_line", r#"{"type":"message","#)]);
    assert_eq!(generated.diagnostics.get("malformed_line"), Some(&1));
}

#[test] // P32, P33, P36
fn a_file_is_used_instead_of_the_text_and_the_system_prompt_comes_first() {
    let world = World::with_agent(NOTES);
    fs::write(world.path("project/task.md"), "do it").unwrap();
    let context = PromptContext {
        prompt_file: Some("task.md".into()),
        system_prompt: Some("Be brief.".to_owned()),
        ..PromptContext::default()
    };
    provider(&world, world.config())
        .generate("ignored", &context)
        .unwrap();
    let args = written(&world, "args");
    let file = world.path("project/task.md");
    assert!(
        args.ends_with(&format!(
            "-p\nBe brief.\n\nProcess the prompt in {}\n",
            file.display()
        )),
        "{args}"
    );
    assert_eq!(written(&world, "stdin"), "");
    let context = PromptContext {
        system_prompt: Some("Be brief.".to_owned()),
        ..PromptContext::default()
    };
    provider(&world, world.config())
        .generate("the question", &context)
        .unwrap();
    assert_eq!(written(&world, "stdin"), "Be brief.\n\nthe question");
}

#[test] // P38, P39
fn the_configured_directory_comes_before_the_projects() {
    let world = World::with_agent(&NOTES.replace("../", "$HOME/../"));
    fs::create_dir(world.path("one")).unwrap();
    fs::create_dir(world.path("two")).unwrap();
    fs::create_dir(world.path("home")).unwrap();
    let context = PromptContext {
        project_root: Some(world.path("one")),
        ..PromptContext::default()
    };
    provider(&world, world.config())
        .generate("x", &context)
        .unwrap();
    assert!(written(&world, "pwd").ends_with("/one\n"));
    let config = Config::builder()
        .working_dir(world.path("two"))
        .build()
        .unwrap();
    provider(&world, config).generate("x", &context).unwrap();
    assert!(written(&world, "pwd").ends_with("/two\n"));
}

#[test] // P37, P40, P64
fn a_provider_that_takes_too_long_names_the_seconds_and_leaves_nothing() {
    let world = World::with_agent("init; exec sleep 600");
    let (error, seconds) = with_enough_time(1.0, |seconds| {
        let config = Config::builder().set("timeout", seconds).build().unwrap();
        let error = provider(&world, config)
            .generate("x", &PromptContext::default())
            .unwrap_err();
        let has_begun = error.to_string().ends_with("waiting for the model");
        has_begun.then_some((error, seconds))
    });
    assert!(matches!(error, ProviderError::Timeout(_)));
    assert_eq!(
        error.to_string(),
        format!("the run took longer than {seconds} s, and was waiting for the model")
    );
    assert_eq!(
        error.hint().unwrap(),
        "`timeout` (--timeout) gives it more time"
    );
    world.assert_nothing_is_left();
}

#[test] // P41, P42, P43, P44, P63
fn a_provider_fails_in_the_words_of_its_specification() {
    let cases = [
        (
            "echo broken >&2; exit 1",
            "Gemini CLI failed (exit 1): broken",
        ),
        (
            "echo 'no auth' >&2; exit 1",
            "Gemini CLI authentication error. Run `gemini` once and sign in, or set GEMINI_API_KEY\nno auth",
        ),
        (
            "exit 41",
            "Gemini CLI authentication error. Run `gemini` once and sign in, or set GEMINI_API_KEY\n",
        ),
        (
            "exit 127",
            "Gemini CLI not found. Install from: https://github.com/google-gemini/gemini-cli",
        ),
    ];
    for (script, words) in cases {
        let world = World::with_agent(script);
        let error = provider(&world, world.config())
            .generate("x", &PromptContext::default())
            .unwrap_err();
        assert_eq!(error.to_string(), words);
    }
    let world = World::with_agent("exit 0");
    let mut host = world.host();
    host.environment.vars.clear();
    host.environment.path.clear();
    host.environment.root = world.path("nowhere");
    host.environment.home = None;
    let provider = ResponseProvider::new(world.config(), host);
    let words = "Gemini CLI not found. Install from: https://github.com/google-gemini/gemini-cli";
    assert_eq!(provider.validate().unwrap_err().to_string(), words);
    assert_eq!(
        provider
            .generate("x", &PromptContext::default())
            .unwrap_err()
            .to_string(),
        words
    );
}

fn job(world: &World, prompt: &str) -> Job {
    Job::gemini(
        &world.host(),
        unwatched(world.config()),
        PromptText::Text(prompt.to_owned()),
        "run-1",
    )
}

#[test] // U38
fn an_execution_that_fails_says_why() {
    let world = World::with_agent("init; say 'half'; echo oops >&2; exit 3");
    let executed = execute(&job(&world, "x"), DataRequest::Text, |_| {});
    assert!(!executed.success);
    assert_eq!(
        (executed.exit_code, executed.agent_exit_code, executed.cause),
        (15, Some(3), Cause::AgentCrashed)
    );
    assert_eq!(
        executed.error.as_deref(),
        Some("Gemini CLI failed (exit 3): oops")
    );
    assert_eq!(executed.data, Some("half".into()));
    assert_eq!(executed.messages.len(), 1);

    let world = World::with_agent("init; success; kill -KILL $$");
    let executed = execute(&job(&world, "x"), DataRequest::Text, |_| {});
    assert_eq!((executed.success, executed.agent_exit_code), (false, None));
}

#[test]
fn a_limit_of_zero_is_none() {
    let world = World::with_agent(NOTES);
    let mut job = job(&world, "x");
    assert_eq!(job.request().unwrap().timeouts, RunTimeouts::default());
    job.config.start_timeout = Some(Duration::ZERO);
    job.config.idle_timeout = Some(Duration::ZERO);
    let expected = RunTimeouts {
        start: None,
        idle: None,
        ..RunTimeouts::default()
    };
    assert_eq!(job.request().unwrap().timeouts, expected);
}

#[test] // O27
fn dropping_a_run_ends_the_agent() {
    let world = World::with_agent("init; touch ../ready; exec sleep 600");
    let run = job(&world, "x").start();
    world.wait_for("ready");
    drop(run);
    world.assert_nothing_is_left();
}

#[test] // O33
fn a_second_prompt_during_a_turn_is_refused() {
    let world = World::with_agent("init; touch ../ready; exec sleep 600");
    let mut chat = Chat::new(world.host(), world.config());
    let turn = chat.send("one").unwrap();
    world.wait_for("ready");
    assert!(matches!(chat.send("two"), Err(ChatError::Busy)));
    drop(turn);
    world.assert_nothing_is_left();
    world.agent(NOTES);
    let mut turn = next_turn(&mut chat, "three");
    while turn.blocking_next().is_some() {}
    assert_eq!(written(&world, "stdin"), "three");
}

#[test]
fn a_ticket_ends_in_a_turn_that_completed_or_failed() {
    for (script, last) in [(NOTES, "turn_completed"), ("init; exit 9", "turn_failed")] {
        let world = World::with_agent(script);
        let mut ticket = TicketRun::start(&job(&world, "x"));
        let events: Vec<RuntimeEvent> = std::iter::from_fn(|| ticket.blocking_next()).collect();
        let event = serde_json::to_value(events.last().unwrap()).unwrap();
        assert_eq!(event["event"], last);
    }
}

#[test]
fn events_can_be_awaited() {
    let world = World::with_agent("init; say a; success");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut run = job(&world, "x").start();
    let last = runtime.block_on(async {
        let mut last = None;
        while let Some(event) = run.next().await {
            last = Some(event.body);
        }
        last
    });
    assert!(matches!(last, Some(Body::RunEnd(end)) if end.cause == Cause::EndTurn));
}

#[test]
fn a_stopper_ends_a_run_from_outside_its_event_loop() {
    let world =
        World::with_agent("trap '' TERM; init; touch ../ready; while :; do sleep 600; done");
    let mut run = job(&world, "x").start();
    let stopper = run.stopper();
    world.wait_for("ready");
    stopper.kill();
    let last = std::iter::from_fn(|| run.blocking_next()).last().unwrap();
    assert!(matches!(last.body, Body::RunEnd(end) if end.cause == Cause::CancelledByClient));
    world.assert_nothing_is_left();
}

/// An agent that does not end when it is asked to.
const STUBBORN: &str =
    "trap '' TERM; echo $$ > ../pid; init; touch ../ready; while :; do sleep 600; done";

#[test]
fn a_chat_is_busy_until_the_agent_of_a_dropped_turn_is_gone() {
    let world = World::with_agent(STUBBORN);
    let mut chat = Chat::new(world.host(), world.config());
    let turn = chat.send("one").unwrap();
    world.wait_for("ready");
    world.agent(NOTES);
    drop(turn);
    let mut turn = next_turn(&mut chat, "two");
    let first = format!("/proc/{}", written(&world, "pid").trim());
    assert!(!Path::new(&first).exists(), "two agents in one session");
    while turn.blocking_next().is_some() {}
    assert_eq!(written(&world, "stdin"), "two");
}

#[test]
fn a_turn_that_is_over_does_not_end_the_next_one() {
    let world = World::with_agent(NOTES);
    let mut chat = Chat::new(world.host(), world.config());
    let mut over = chat.send("one").unwrap();
    while over.blocking_next().is_some() {}
    world.agent(STUBBORN);
    let turn = chat.send("two").unwrap();
    drop(over);
    assert!(matches!(chat.send("three"), Err(ChatError::Busy)));
    drop(turn);
    world.assert_nothing_is_left();
}

/// Sends a prompt as soon as the last turn is over.
fn next_turn(chat: &mut Chat, prompt: &str) -> ChatTurn {
    let last = Instant::now() + DEADLINE;
    loop {
        match chat.send(prompt) {
            Ok(turn) => return turn,
            Err(_) => assert!(Instant::now() < last, "the turn never ended"),
        }
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_conversation_nowhere_is_refused() {
    let world = World::with_agent("exit 1");
    let request = || conversation::ConversationRequest {
        run: job(&world, "go").request().unwrap(),
        local: None,
        provider: Family::Acp,
        roots: Vec::new(),
        environment: Vec::new(),
        mcp_servers: Vec::new(),
        session_meta: None,
        policy: Policy::new(Rules::default(), PermissionMode::Default),
        attendant: conversation::PromptAttendant::Nobody,
        hooks: None,
        auth_method: None,
        modes: lapidary::engine::agents::ModeWords::default(),
        model: None,
        system_prompt: None,
    };
    let errand = conversation::PromptJob {
        opening: conversation::SessionChoice::New,
        prompt: Vec::new(),
    };
    for mut run in [
        conversation::run(request(), errand),
        conversation::connect(request()).run,
    ] {
        let mut last = None;
        while let Some(batch) = run.blocking_next_batch() {
            last = batch.events.last().cloned().or(last);
        }
        let Some(Body::RunEnd(end)) = last.map(|event| event.body) else {
            panic!("it has an end");
        };
        assert_eq!(end.cause, Cause::BadInput);
    }
}

/// An agent that speaks ACP and answers every prompt.
const ANSWERS: &str = r#"#!/bin/sh
hear() { read -r line || exit 0; id=${line#*'"id":'}; id=${id%%,*}; }
answer() { printf '%s\n' "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
hear; answer "$id" '{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[]}'
hear; case $line in *session/load*) answer "$id" '{}';; *) answer "$id" '{"sessionId":"s-9"}';; esac
hear
printf '%s\n' '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-9","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"forty-two"}}}}'
answer "$id" '{"stopReason":"end_turn"}'
hear
"#;

#[test]
fn the_adapters_and_the_loader_of_messages_serve_every_agent() {
    let world = World::with_agent("exit 1");
    world.program("mona", ANSWERS);
    let mut config = world.config();
    config.agent = Some("../mona".to_owned());

    let provider = ResponseProvider::new(config.clone(), world.host());
    provider.validate().unwrap();
    let generated = provider.generate("go", &PromptContext::default()).unwrap();
    assert_eq!(generated.response, "forty-two");

    let mut chat = Chat::new(world.host(), config.clone());
    for _ in 0..2 {
        let mut turn = chat.send("go").unwrap();
        while turn.blocking_next().is_some() {}
        assert_eq!(chat.session().as_deref(), Some("s-9"));
    }

    let home = lapidary::gemini::GeminiHome::at(world.path("home"));
    let request = LoadRequest::new("mona", world.path("project"), home);
    let request = request.recorded_in(world.path("state/runs"));
    let messages = load_messages(&request).unwrap();
    let told = serde_json::to_string(&messages).unwrap();
    assert!(told.contains("forty-two"), "{told}");
    assert!(load_messages(&request.clone().session("other")).is_err());

    config.agent = Some("../nothing-there".to_owned());
    let missing = ResponseProvider::new(config.clone(), world.host()).validate();
    assert!(
        matches!(missing, Err(ProviderError::AgentMissing { .. })),
        "{missing:?}"
    );
    config.agent = Some("no-such-agent".to_owned());
    let unknown = Chat::new(world.host(), config).send("go");
    assert!(matches!(unknown, Err(ChatError::Agent(_))), "{unknown:?}");
}
