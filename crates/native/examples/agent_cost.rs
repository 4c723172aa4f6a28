//! What `cargo xtask bench --only agents` runs: `cargo run --release --example agent_cost -- MODE …`.
//!
//! * `api COMPLETES TURNS`: a mock model API until stdin ends. Its address is the first line. It calls tools for `TURNS` turns;
//!   with `completes` the last turn calls `complete_task`, with `answers` it is a text.
//! * `crowd URL AGENTS`: as many agents at once in this process, ten turns each, 200 KB of context, on the API of `crowd-api`.
//! * `crowd-api`: the API for them, until stdin ends.
//! * `grep DIRECTORY PATTERN`, `glob DIRECTORY PATTERN`: one call of our tool.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use lapidary_native::tool::{Tool, ToolOutput};
use lapidary_native::tools::file_tools;
use lapidary_native::workspace::Workspace;
use lapidary_standin::api::{AfterScript, FakeApi, Script, Turn};
use serde_json::json;
use tokio_util::sync::CancellationToken;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[expect(clippy::disallowed_methods, reason = "a program reads its arguments")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["api", end, turns] => serve(turns_script(end == "completes", turns.parse()?)),
        ["crowd-api"] => serve(crowd::script()),
        ["crowd", url, agents] => crowd::run(url, agents.parse()?),
        ["grep", directory, pattern] => search("grep_search", directory, pattern),
        ["glob", directory, pattern] => search("glob", directory, pattern),
        _ => Err("no such mode".into()),
    }
}

#[expect(clippy::print_stdout, reason = "the caller reads the address")]
fn serve(script: Script) -> Result<()> {
    let api = FakeApi::start_in_thread(script)?;
    println!("{}", api.base_url());
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Turns with the calls that agents make most. No two are the same: Gemini CLI ends a run that repeats itself.
fn turns_script(completes: bool, turns: usize) -> Script {
    let tool_turn = |turn: usize| match turn % 4 {
        0 => Turn::call(
            "list_directory",
            json!({ "dir_path": format!("src/{turn}") }),
        ),
        1 => Turn::call(
            "read_file",
            json!({ "file_path": format!("src/0/{turn}.txt") }),
        ),
        2 => Turn::call("glob", json!({ "pattern": format!("src/{turn}/*.txt") })),
        _ => Turn::call(
            "grep_search",
            json!({ "pattern": "count", "dir_path": format!("src/{turn}") }),
        ),
    };
    let script = (1..turns).fold(Script::new(), |script, turn| script.stream(tool_turn(turn)));
    let end = if completes {
        Turn::call("complete_task", json!({ "result": "Done." }))
    } else {
        Turn::text("Done.")
    };
    script.stream(end).after(AfterScript::Repeat)
}

fn search(tool: &str, directory: &str, pattern: &str) -> Result<()> {
    let directory = std::fs::canonicalize(directory)?;
    let workspace = Workspace::open(&directory, Path::new("/nonexistent"))?;
    let tools = file_tools(&workspace);
    let tool = tools.iter().find(|own| own.declaration().name == tool);
    let tool: &Arc<dyn Tool> = tool.ok_or("no such tool")?;
    let arguments = json!({ "pattern": pattern, "total_max_matches": 1_000_000 });
    let arguments = arguments.as_object().ok_or("an object")?;
    let call = tool.prepare(arguments).map_err(|error| error.message)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let output: ToolOutput = runtime.block_on(call.run(CancellationToken::new()));
    if output.error.is_some() || !output.text.starts_with("Found ") {
        return Err(output.text.into());
    }
    writeln!(std::io::stdout(), "{}", output.text)?;
    Ok(())
}

/// Many agents in one process.
mod crowd {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use lapidary_gemini::agents::{LocalAgentDefinition, PromptConfig};
    use lapidary_native::executor::{AgentExecutor, AgentRequest};
    use lapidary_native::http::{HttpClient, HttpSettings};
    use lapidary_native::model::{GeminiApi, GeminiEndpoint, ModelClient, RetryPolicy};
    use lapidary_native::tool::{
        BoxFuture, CallKind, CallPreview, GateAnswer, PermissionGate, PreparedCall, Tool,
        ToolDeclaration, ToolError, ToolOutput,
    };
    use lapidary_standin::api::{RequestKind, Script, ScriptRule, Turn};
    use serde_json::{Map, Value, json};
    use tokio_util::sync::CancellationToken;

    use super::Result;

    const TURNS: usize = 10;
    /// The text that a call adds to the context.
    const BYTES_PER_TURN: usize = 200 * 1024 / (TURNS - 1);

    /// The turn that follows the result of the one before: the agents share the script.
    pub(super) fn script() -> Script {
        let call = |turn: usize| {
            if turn == TURNS {
                Turn::call(
                    "complete_task",
                    json!({ "result": format!("{turn} turns") }),
                )
            } else {
                Turn::call("look", json!({ "turn": turn }))
            }
        };
        let rule = |turn: usize, text: String| {
            ScriptRule::new(call(turn))
                .kind(RequestKind::Stream)
                .last(text)
        };
        let first = Script::new().rule(rule(1, "begin here".to_owned()));
        (2..=TURNS).fold(first, |script, turn| {
            script.rule(rule(turn, format!("turn {} is over", turn - 1)))
        })
    }

    pub(super) fn run(url: &str, agents: usize) -> Result<()> {
        let http = Arc::new(HttpClient::new(HttpSettings::default())?);
        let endpoint = GeminiEndpoint::gemini("not-a-key", Some(url))?;
        let model: Arc<dyn ModelClient> =
            Arc::new(GeminiApi::new(endpoint, http, RetryPolicy::default()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let right = runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for number in 0..agents {
                tasks.spawn(is_right(Arc::clone(&model), number));
            }
            tasks
                .join_all()
                .await
                .into_iter()
                .filter(|right| *right)
                .count()
        });
        if right == agents {
            return Ok(());
        }
        Err(format!("{right} of {agents} agents are right").into())
    }

    /// Whether an agent takes its ten turns with its own tool and hands over the result.
    async fn is_right(model: Arc<dyn ModelClient>, number: usize) -> bool {
        let tool = Arc::new(LookTool::new());
        let executor = AgentExecutor {
            tools: vec![Arc::clone(&tool) as Arc<dyn Tool>],
            ..AgentExecutor::new(model, Arc::new(OpenGate))
        };
        let outcome = executor
            .run(&request(number), &|_| {}, &CancellationToken::new())
            .await;
        outcome.is_ok_and(|outcome| {
            outcome.result == format!("{TURNS} turns") && outcome.turn_count as usize == TURNS
        }) && tool.calls.load(Ordering::Relaxed) == TURNS - 1
    }

    fn request(number: usize) -> AgentRequest {
        let definition = LocalAgentDefinition {
            name: format!("agent-{number}"),
            prompt_config: PromptConfig {
                system_prompt: Some("Look ten times.".to_owned()),
                query: Some("begin here".to_owned()),
                ..PromptConfig::default()
            },
            ..LocalAgentDefinition::default()
        };
        AgentRequest {
            definition: Arc::new(definition),
            inputs: Map::new(),
            model: "gemini-2.5-flash".to_owned(),
            agent_id: format!("agent-{number}"),
            today: "2026-11-17".to_owned(),
            environment: None,
        }
    }

    #[derive(Debug)]
    struct OpenGate;

    impl PermissionGate for OpenGate {
        fn ask<'a>(
            &'a self,
            _: &'a str,
            _: &'a str,
            _: &'a CallPreview,
        ) -> BoxFuture<'a, GateAnswer> {
            Box::pin(async { GateAnswer::Allowed })
        }
    }

    /// Answers with a lot of text, once for each turn.
    #[derive(Debug)]
    struct LookTool {
        declaration: ToolDeclaration,
        calls: AtomicUsize,
    }

    impl LookTool {
        fn new() -> Self {
            Self {
                declaration: ToolDeclaration {
                    name: "look".to_owned(),
                    description: "Looks.".to_owned(),
                    parameters: json!({ "type": "object" }),
                },
                calls: AtomicUsize::new(0),
            }
        }
    }

    impl Tool for LookTool {
        fn declaration(&self) -> &ToolDeclaration {
            &self.declaration
        }

        fn prepare(
            &self,
            arguments: &Map<String, Value>,
        ) -> std::result::Result<Box<dyn PreparedCall>, ToolError> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let turn = arguments.get("turn").and_then(Value::as_u64);
            Ok(Box::new(LookCall {
                preview: CallPreview {
                    title: "Look".to_owned(),
                    kind: CallKind::Read,
                    paths: Vec::new(),
                    change: None,
                    command: None,
                    needs_permission: false,
                },
                turn: turn.unwrap_or_default(),
            }))
        }
    }

    #[derive(Debug)]
    struct LookCall {
        preview: CallPreview,
        turn: u64,
    }

    impl PreparedCall for LookCall {
        fn preview(&self) -> &CallPreview {
            &self.preview
        }

        fn run(self: Box<Self>, _: CancellationToken) -> BoxFuture<'static, ToolOutput> {
            Box::pin(async move {
                let line = format!("a \"line\" of turn {}\n", self.turn);
                let text = line.repeat(BYTES_PER_TURN / line.len());
                ToolOutput::from_text(format!("{text}turn {} is over", self.turn))
            })
        }
    }
}
