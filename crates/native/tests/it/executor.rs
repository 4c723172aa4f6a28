//! Scenes of an agent at work.

use std::sync::Arc;

use lapidary_gemini::agents::{AgentTool, OutputProcessor, ToolConfig};
use lapidary_native::executor::{
    ActivityKind, AgentActivity, AgentError, TerminateReason, WorkspaceContext,
};
use lapidary_native::tool::{AskScope, GateAnswer};
use lapidary_standin::api::{Chunk, Script, Turn};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::scene::{Scene, Stage, ToyGate, definition, report_schema, request, tools};

fn done(result: &str) -> Turn {
    Turn::call("complete_task", json!({ "result": result }))
}

async fn play(script: Script) -> Scene {
    let scene = Stage::new(script).play().await;
    scene.check_pairs();
    scene
}

#[tokio::test(start_paused = true)]
async fn an_agent_uses_its_tools_and_completes_its_task() {
    let script = Script::new()
        .stream(Turn::thought("**Looking** at it").and_call("look", json!({"at": "a"})))
        .stream(done("Found."));
    let scene = play(script).await;
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::Goal);
    assert_eq!(scene.outcome.result, "Found.");
    assert_eq!(scene.outcome.output, Some(json!("Found.")));
    assert_eq!(scene.outcome.turn_count, 2);
    assert_eq!(scene.told(0), [json!({"text": "Find it."})]);
    assert_eq!(
        scene.told(1),
        [json!({"functionResponse": {
            "id": "scout-1#0-0", "name": "look", "response": {"output": "look {\"at\":\"a\"}"},
        }})]
    );
    let expected = [
        "THOUGHT_CHUNK Looking",
        "TOOL_CALL_START look",
        "TOOL_CALL_END look {\"at\":\"a\"}",
        "TOOL_CALL_START complete_task",
        "TOOL_CALL_END Result submitted and task completed.",
    ];
    assert_eq!(scene.events(), expected);
}

#[tokio::test(start_paused = true)]
async fn the_system_prompt_has_the_rules_and_the_tools_in_order() {
    let mut stage = Stage::new(Script::new().stream(done("x")));
    let raw =
        json!({"name": "aaa", "description": "raw", "parametersJsonSchema": {"type": "object"}});
    stage.definition.tool_config = Some(ToolConfig {
        tools: vec![
            AgentTool::Name("slow".to_owned()),
            AgentTool::Name("look".to_owned()),
            AgentTool::Name("nothing".to_owned()),
            AgentTool::Declaration(raw),
        ],
    });
    let scene = stage.play().await;
    let body = &scene.requests[0].body;
    let declared = body["tools"][0]["functionDeclarations"].as_array().unwrap();
    let names: Vec<_> = declared
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["aaa", "slow", "look", "complete_task"]);
    let system = body["systemInstruction"]["parts"][0]["text"]
        .as_str()
        .unwrap();
    assert!(system.starts_with("You are a scout.\n\n# Environment Context\n/project\n\n"));
    assert!(system.contains("MUST call `complete_task`"));
    let skipped = scene.activities.iter().any(|activity| {
        matches!(&activity.kind, ActivityKind::ToolSkipped { tool } if tool == "nothing")
    });
    assert!(skipped, "a tool that is not there is named");
}

#[tokio::test(start_paused = true)]
async fn tools_that_only_a_main_agent_has_are_not_given_to_an_agent() {
    for config in [
        None,
        Some(tools(&["*"])),
        Some(tools(&["look", "update_topic"])),
    ] {
        let mut stage = Stage::new(Script::new().stream(done("x")));
        for name in ["update_topic", "invoke_agent", "complete_task"] {
            stage.add_tool(name);
        }
        stage.definition.tool_config = config;
        let scene = stage.play().await;
        let declared = &scene.requests[0].body["tools"][0]["functionDeclarations"];
        let declared = declared.as_array().unwrap().iter();
        let names: Vec<_> = declared.filter_map(|tool| tool["name"].as_str()).collect();
        assert!(names.contains(&"look"), "{names:?}");
        let own = ["update_topic", "invoke_agent", "complete_task"];
        let given: Vec<_> = names.into_iter().filter(|it| own.contains(it)).collect();
        assert_eq!(given, ["complete_task"], "its own, once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_of_the_wrong_shape_is_answered_in_the_words_of_ajv() {
    let report = json!({"summary": "s", "trace": ["t"]});
    let script = Script::new()
        .stream(Turn::call("complete_task", json!({})))
        .stream(Turn::call(
            "complete_task",
            json!({"report": {"summary": "s"}}),
        ))
        .stream(Turn::call(
            "complete_task",
            json!({"report": {"summary": "s", "trace": [1]}}),
        ))
        .stream(Turn::call("complete_task", json!({"report": report})));
    let mut stage = Stage::new(script);
    stage.definition.output_config = Some(report_schema());
    let scene = stage.play().await;
    let answers: Vec<_> = (1..4)
        .flat_map(|request| scene.responses(request))
        .collect();
    let expected = [
        "complete_task! params must have required property 'report'",
        "complete_task! params/report must have required property 'trace'",
        "complete_task! params/report/trace/0 must be string",
    ];
    assert_eq!(answers, expected);
    assert_eq!(scene.outcome.output, Some(report));
    assert_eq!(
        scene.outcome.result,
        "{\n  \"summary\": \"s\",\n  \"trace\": [\n    \"t\"\n  ]\n}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_blank_result_is_no_result() {
    let script = Script::new()
        .stream(Turn::call("complete_task", json!({})))
        .stream(done("  "))
        .stream(done("Found."));
    let scene = play(script).await;
    assert_eq!(
        scene.responses(1),
        ["complete_task! params must have required property 'result'"]
    );
    assert_eq!(
        scene.responses(2),
        [
            "complete_task! Missing required \"result\" argument. You must provide your findings when calling complete_task."
        ]
    );
    assert_eq!(scene.outcome.result, "Found.");
}

#[tokio::test(start_paused = true)]
async fn a_definition_can_turn_its_result_into_text() {
    let mut stage = Stage::new(Script::new().stream(done("it")));
    let process = |output: &Value| format!("Here: {}", output.as_str().unwrap());
    stage.definition.process_output = Some(OutputProcessor::new(process));
    assert_eq!(stage.play().await.outcome.result, "Here: it");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_the_agent_does_not_have_is_refused_and_the_turn_goes_on() {
    let both = Turn::call("write_file", json!({})).and_call("look", json!({}));
    let mut stage = Stage::new(Script::new().stream(both).stream(done("x")));
    stage.definition.tool_config = Some(tools(&["look"]));
    let scene = stage.play().await;
    let expected = [
        "write_file! Unauthorized tool call: 'write_file' is not available to this agent.",
        "look: look {}",
    ];
    assert_eq!(scene.responses(1), expected);
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::Goal);
    let data = scene.activities.iter().filter_map(AgentActivity::to_event);
    let contexts: Vec<_> = data
        .filter_map(|event| event["data"]["context"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(contexts, ["tool_call_unauthorized"]);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_a_text_are_read_as_json() {
    let call = |args: Value| Chunk::part(json!({"functionCall": {"name": "look", "args": args}}));
    let turn = Turn::chunks([
        call(json!("{\"at\":1}")),
        call(json!("{at")),
        call(json!([1])),
    ]);
    let scene = play(Script::new().stream(turn).stream(done("x"))).await;
    let expected = [
        "look: look {\"at\":1}",
        "look! Failed to parse JSON arguments for tool \"look\": {at. Ensure you provide a valid JSON object.",
        "look! params must be object",
    ];
    assert_eq!(scene.responses(1), expected);
}

#[tokio::test(start_paused = true)]
async fn the_first_result_wins_and_the_other_calls_of_its_turn_are_made() {
    let turn = done("one")
        .and_call("look", json!({}))
        .and_call("complete_task", json!({"result": "two"}));
    let scene = play(Script::new().stream(turn)).await;
    assert_eq!(scene.outcome.result, "one");
    assert!(scene.events().contains(&"TOOL_CALL_END look {}".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn calls_run_together_unless_one_edits_or_waits() {
    let slow = |seconds: u64| json!({ "seconds": seconds });
    let turn = Turn::call("slow", slow(30))
        .and_call("slow", slow(20))
        .and_call("slow", json!({"seconds": 10, "wait_for_previous": true}));
    let scene = play(Script::new().stream(turn).stream(done("x"))).await;
    assert_eq!(
        scene.outcome.duration.as_secs(),
        40,
        "30 and 20 together, then 10"
    );
    assert_eq!(scene.responses(1).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_call_is_reported_to_the_model_and_the_task_goes_on() {
    let script = Script::new()
        .stream(Turn::call("write_file", json!({})))
        .stream(done("x"));
    let mut stage = Stage::new(script);
    let reason = Some("rule 3".to_owned());
    stage.executor.gate = Arc::new(ToyGate::Answers(GateAnswer::Denied { reason }));
    let scene = stage.play().await;
    let answer = scene.responses(1).remove(0);
    assert!(
        answer.starts_with("write_file! User rejected this operation."),
        "{answer}"
    );
    assert!(answer.ends_with("Reason: rule 3"), "{answer}");
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::Goal);
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_cancels_ends_the_task() {
    let script = Script::new().stream(Turn::call("write_file", json!({})));
    let mut stage = Stage::new(script);
    stage.executor.gate = Arc::new(ToyGate::Answers(GateAnswer::Cancelled));
    let scene = stage.play().await;
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::Aborted);
    assert_eq!(scene.events()[1], "ERROR Request cancelled.");
}

#[tokio::test(start_paused = true)]
async fn an_agent_calls_others_at_the_same_time_up_to_the_depth_limit() {
    let invoke = |name: &str| json!({"agent_name": name, "prompt": "Help."});
    let turn =
        Turn::call("invoke_agent", invoke("helper")).and_call("invoke_agent", invoke("nobody"));
    let script = Script::new()
        .stream(turn)
        .stream(Turn::text("The helper thinks.").and_call("look", json!({})))
        .stream(done("helped"))
        .stream(done("Found."));
    let mut stage = Stage::new(script);
    stage.executor.max_depth = 2;
    let scene = stage.play().await;
    let expected = [
        "invoke_agent: Subagent 'helper' finished.\nTermination Reason: GOAL\nResult:\nhelped",
        "invoke_agent! Subagent 'nobody' not found.",
    ];
    assert_eq!(scene.responses(3), expected);
    assert_eq!(scene.told(1), [json!({"text": "Help."})]);
    let tools = &scene.requests[1].body["tools"];
    assert!(
        !tools.to_string().contains("invoke_agent"),
        "the helper is at the limit"
    );
    let inner = scene
        .activities
        .iter()
        .filter(|it| it.parent_call_id.as_deref() == Some("scout-1#0-0"));
    assert!(inner.clone().all(|activity| &*activity.agent == "helper"));
    assert!(
        inner.count() >= 6,
        "spawned, text, usage, calls and the end"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_agent_without_a_prompt_runs_no_agent() {
    let turn = Turn::call("invoke_agent", json!({"agent_name": "helper"}))
        .and_call("invoke_agent", json!({"agent_name": 1, "prompt": "Help."}));
    let mut stage = Stage::new(Script::new().stream(turn).stream(done("x")));
    stage.executor.max_depth = 2;
    let scene = stage.play().await;
    let expected = [
        "invoke_agent! params must have required property 'prompt'",
        "invoke_agent! params/agent_name must be string",
    ];
    assert_eq!(scene.responses(1), expected);
    assert_eq!(scene.requests.len(), 2, "the helper asks no model");
}

#[tokio::test(start_paused = true)]
async fn a_raw_declaration_is_shown_to_the_model_and_calls_nothing() {
    let names = ["look", "invoke_agent", "aaa"];
    let turn = names[1..]
        .iter()
        .fold(Turn::call(names[0], json!({})), |turn, name| {
            turn.and_call(*name, json!({"agent_name": "helper", "prompt": "Help."}))
        });
    let mut stage = Stage::new(Script::new().stream(turn).stream(done("x")));
    stage.executor.max_depth = 2;
    let group = json!({"functionDeclarations": [{"name": "look"}, {"name": "invoke_agent"}]});
    stage.definition.tool_config = Some(ToolConfig {
        tools: [group, json!({"name": "aaa"}), json!({"googleSearch": {}})]
            .map(AgentTool::Declaration)
            .to_vec(),
    });
    let scene = stage.play().await;
    let declared = &scene.requests[0].body["tools"][0]["functionDeclarations"];
    let declared = declared.as_array().unwrap().iter();
    let declared: Vec<_> = declared.filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(declared, ["look", "invoke_agent", "aaa", "complete_task"]);
    let refused = names.map(|name| {
        format!("{name}! Unauthorized tool call: '{name}' is not available to this agent.")
    });
    assert_eq!(scene.responses(1), refused);
}

/// An agent that calls these agents in one turn, then completes its task.
fn caller_of(agents: &[&str]) -> Stage {
    let invoke = |name: &str| json!({"agent_name": name, "prompt": "Help."});
    let first = Turn::call("invoke_agent", invoke(agents[0]));
    let turn = agents[1..].iter().fold(first, |turn, name| {
        turn.and_call("invoke_agent", invoke(name))
    });
    let mut stage = Stage::new(Script::new().stream(turn).stream(done("Found.")));
    stage.executor.max_depth = 2;
    stage
}

#[tokio::test(start_paused = true)]
async fn where_every_call_is_judged_the_gate_is_asked_before_another_agent_runs() {
    let mut stage = caller_of(&["helper"]);
    stage.executor.ask_scope = AskScope::EveryCall;
    let reason = Some("rule 3".to_owned());
    stage.executor.gate = Arc::new(ToyGate::Answers(GateAnswer::Denied { reason }));
    let scene = stage.play().await;
    let answer = scene.responses(1).remove(0);
    assert!(
        answer.starts_with("invoke_agent! User rejected"),
        "{answer}"
    );
    assert!(answer.ends_with("Reason: rule 3"), "{answer}");
    assert_eq!(scene.requests.len(), 2, "the helper asks no model");
}

#[tokio::test(start_paused = true)]
async fn in_plan_mode_only_agents_that_change_nothing_can_be_called() {
    let mut stage = caller_of(&["helper", "codebase-investigator"]);
    stage.executor.context = Arc::new(WorkspaceContext {
        plans_directory: Some("/plans".into()),
        ..WorkspaceContext::default()
    });
    let scene = stage.play().await;
    let answers = scene.responses(1);
    let denied = "invoke_agent! Tool execution denied by policy. In plan mode only";
    assert!(answers[0].starts_with(denied), "{answers:?}");
    let asked = "invoke_agent! Subagent 'codebase-investigator' not found.";
    assert_eq!(answers[1], asked, "no agent of this directory, but allowed");
    assert_eq!(scene.requests.len(), 2, "the helper asks no model");
}

#[tokio::test(start_paused = true)]
async fn agents_that_a_prompt_names_are_pointed_out_to_the_model() {
    for (query, depth, is_told) in [
        (
            "Ask @helper, please; @helper. Not a@helper or @nobody.",
            2,
            true,
        ),
        ("Ask @HELPER.", 2, false),
        ("Ask helper.", 2, false),
        ("Ask @helper.", 1, false),
    ] {
        let mut stage = Stage::new(Script::new().stream(done("x")));
        stage.executor.max_depth = depth;
        stage.definition.prompt_config.query = Some(query.to_owned());
        let scene = stage.play().await;
        let mut expected = vec![json!({ "text": query })];
        let note = "\n<system_note>\nThe user has selected agents for this task: `helper`. Call `invoke_agent` with each of them.\n</system_note>\n";
        expected.extend(is_told.then(|| json!({ "text": note })));
        assert_eq!(scene.told(0), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_initial_messages_of_an_agent_reach_the_model_filled_in_and_before_its_query() {
    let mut stage = Stage::new(Script::new().stream(done("x")));
    let prompt = &mut stage.definition.prompt_config;
    prompt.system_prompt = None;
    prompt.initial_messages = vec![
        json!({"role": "user", "parts": [{"text": "Your task will be: ${query}"}]}),
        json!({"role": "model", "parts": [{"text": "I wait for it."}]}),
    ];
    let scene = stage.play().await;
    let body = &scene.requests[0].body;
    let expected = json!([
        {"role": "user", "parts": [{"text": "Your task will be: Find it."}]},
        {"role": "model", "parts": [{"text": "I wait for it."}]},
        {"role": "user", "parts": [{"text": "Find it."}]},
    ]);
    assert_eq!(body["contents"], expected);
    assert_eq!(body["systemInstruction"], Value::Null);
    assert_eq!(scene.outcome.terminate_reason, TerminateReason::Goal);
}

#[tokio::test(start_paused = true)]
async fn by_default_an_agent_calls_no_other() {
    let script = Script::new()
        .stream(Turn::call(
            "invoke_agent",
            json!({"agent_name": "helper", "prompt": "x"}),
        ))
        .stream(done("x"));
    let scene = play(script).await;
    let expected =
        "invoke_agent! Unauthorized tool call: 'invoke_agent' is not available to this agent.";
    assert_eq!(scene.responses(1), [expected]);
}

#[tokio::test]
async fn an_agent_that_cannot_begin_says_why_before_any_request() {
    let begin = async |change: &dyn Fn(&mut lapidary_native::executor::AgentRequest)| {
        let stage = Stage::new(Script::new());
        let mut request = request(definition("scout"));
        change(&mut request);
        let never = CancellationToken::new();
        let run = stage.executor.run(&request, &|_| {}, &never);
        let error: AgentError = run.await.unwrap_err();
        assert_eq!(stage.model.requests(), []);
        error.to_string()
    };
    let wrong = begin(&|request| drop(request.inputs.insert("query".to_owned(), json!(1)))).await;
    assert_eq!(
        wrong,
        "invalid input for agent `scout`: input/query must be string"
    );
    let missing = begin(&|request| {
        let definition = Arc::make_mut(&mut request.definition);
        definition.prompt_config.system_prompt = Some("${b} ${a} ${query} $x ${}".to_owned());
    })
    .await;
    assert_eq!(
        missing,
        "Template validation failed: Missing required input parameters: b, a. Available inputs: query, cliVersion, activeModel, today"
    );
    let nothing = begin(&|request| {
        Arc::make_mut(&mut request.definition)
            .prompt_config
            .system_prompt = None;
    })
    .await;
    assert_eq!(
        nothing,
        "PromptConfig must define either `systemPrompt` or `initialMessages`."
    );
}

#[tokio::test(start_paused = true)]
async fn the_system_prompt_has_skills_memory_environment_and_the_limits_of_planning_in_this_order()
{
    for (tool, has_skills) in [("activate_skill", true), ("look", false)] {
        let mut stage = Stage::new(Script::new().stream(done("x")));
        stage.add_tool("activate_skill");
        stage.definition.tool_config = Some(tools(&[tool]));
        stage.executor.context = Arc::new(WorkspaceContext {
            global_memory: "Be brief.".to_owned(),
            session_memory: "\n<loaded_context>Use tabs.</loaded_context>".to_owned(),
            project_memory: String::new(),
            environment: Some("not used: the request has its own".to_owned()),
            plans_directory: Some("/plans".into()),
        });
        let scene = stage.play().await;
        let system = &scene.requests[0].body["systemInstruction"]["parts"][0]["text"];
        let system = system.as_str().unwrap();
        let mut last = 0;
        for (part, is_there) in [
            ("You are a scout.", true),
            ("<available_skills>", has_skills),
            ("<loaded_context>\nBe brief.", true),
            ("# Environment Context\n/project", true),
            ("`/plans`", true),
            ("MUST call `complete_task`", true),
        ] {
            let place = system.find(part);
            assert_eq!(place.is_some(), is_there, "{part} in {system}");
            assert!(
                place.is_none_or(|place| place >= last),
                "{part} in {system}"
            );
            last = place.unwrap_or(last);
        }
        let expected = [
            json!({"text": "\n<loaded_context>Use tabs.</loaded_context>"}),
            json!({"text": "Find it."}),
        ];
        assert_eq!(scene.told(0), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_signature_gets_the_word_that_the_api_takes_for_one() {
    let script = Script::new()
        .stream(Turn::call("look", json!({})).and_call("look", json!({})))
        .stream(Turn::chunks([Chunk::part(
            json!({"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "own"}),
        )]))
        .stream("Hm.")
        .stream(done("x"));
    let scene = play(script).await;
    let signatures = |request: usize| -> Vec<Value> {
        let contents = scene.requests[request].body["contents"].as_array().unwrap();
        let parts = contents
            .iter()
            .flat_map(|content| content["parts"].as_array().unwrap());
        let calls = parts.filter(|part| part.get("functionCall").is_some());
        calls.map(|call| call["thoughtSignature"].clone()).collect()
    };
    let synthetic = json!("skip_thought_signature_validator");
    assert_eq!(signatures(1), [synthetic.clone(), Value::Null]);
    assert_eq!(signatures(2), [synthetic, Value::Null, json!("own")]);
    // The recovery message is a text of the user: the contents before it are not checked.
    assert_eq!(signatures(3), [Value::Null, Value::Null, json!("own")]);
}

#[tokio::test(start_paused = true)]
async fn the_id_of_a_call_is_sent_back_behind_the_name_of_its_tool() {
    let call = json!({"functionCall": {"id": "c1", "name": "look", "args": {"at": 1.10}}, "thoughtSignature": "own"});
    let script = Script::new()
        .stream(Turn::chunks([Chunk::part(call)]))
        .stream(done("x"));
    let scene = play(script).await;
    let contents = &scene.requests[1].body["contents"];
    assert_eq!(contents[1]["parts"][0]["functionCall"]["id"], "look__c1");
    assert_eq!(
        contents[2]["parts"][0]["functionResponse"]["id"],
        "look__c1"
    );
}
