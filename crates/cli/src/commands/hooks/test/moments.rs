//! The inputs of hooks: from the arguments, or from every such moment of a recording.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use lapidary::engine::hooks::HookContext;
use lapidary::wire::gemini::hooks::{EventDetails, HookEvent, HookInput, HookToolCall, JsonObject};
use serde_json::{Value, json};

use super::{Args, recorded};
use crate::failure::Failure;
use crate::invocation::Invocation;

/// How long an input may be, in bytes.
const LONGEST: u64 = 16 << 20;

/// A moment, and the inputs of its hooks.
pub(super) struct TestMoment {
    /// In each round a hook runs once. A tool may have several names: a hook receives the first one that its matcher fits.
    pub(super) rounds: Vec<Vec<HookInput>>,
    /// Further notes for the user.
    pub(super) notes: Vec<String>,
    /// The moment is around an ACP agent, whose arguments hooks cannot change.
    pub(super) is_fixed: bool,
}

impl TestMoment {
    pub(super) fn new(rounds: Vec<Vec<HookInput>>) -> Self {
        Self {
            rounds,
            notes: Vec::new(),
            is_fixed: false,
        }
    }
}

pub(super) fn hook_moments(
    args: &Args,
    event: HookEvent,
    around: &HookContext,
    invocation: &Arc<Invocation>,
) -> Result<Vec<TestMoment>, Failure> {
    if let Some(recording) = &args.recording {
        return recorded::recorded_report(recording, event, around, invocation);
    }
    let said = input_from_args(args, event, around, invocation)?;
    Ok(vec![TestMoment::new(vec![vec![said]])])
}

/// The input from the arguments, over the default one.
fn input_from_args(
    args: &Args,
    event: HookEvent,
    around: &HookContext,
    invocation: &Invocation,
) -> Result<HookInput, Failure> {
    let given = args.input.as_deref();
    let given = given.map(|said| read_input(said, invocation)).transpose()?;
    let is_about_tool = matches!(event, HookEvent::BeforeTool | HookEvent::AfterTool);
    let own = match (&args.tool, is_about_tool) {
        (Some(tool), true) => {
            let input = Value::Object(given.unwrap_or_default());
            object_of(json!({"tool_name": tool, "tool_input": input}))
        }
        (Some(_), false) => {
            let error = anyhow!("`{event}` hooks are not about a tool");
            return Err(Failure::usage(error));
        }
        (None, true) if given.is_none() => {
            let error = anyhow!("`{event}` hooks are about a tool: which one?");
            return Err(Failure::usage(error).with_hint("`--tool NAME` says so"));
        }
        (None, _) => given.unwrap_or_default(),
    };
    let mut told = around.input(default_details(event)).to_object();
    told.extend(own);
    told.insert("hook_event_name".to_owned(), event.as_str().into());
    HookInput::from_object(&told).ok_or_else(|| {
        let error = anyhow!("`--input` has a field of a type that `{event}` hooks do not get");
        let usual = Value::Object(around.input(default_details(event)).to_object());
        Failure::bad_input(error).with_hint(format!("such hooks get, for example, {usual}"))
    })
}

/// The value of `--input`, the content of the file that it names, or stdin.
fn read_input(said: &str, invocation: &Invocation) -> Result<JsonObject, Failure> {
    let (name, text) = match said.strip_prefix('@') {
        Some(path) => {
            let file = File::open(path).context(format!("cannot read `{path}`"));
            (path, read_bounded(file.map_err(Failure::bad_input)?, path)?)
        }
        None if said == "-" => ("stdin", read_bounded(invocation.stdin_reader(), "stdin")?),
        None => ("--input", said.to_owned()),
    };
    parse_object(&text, name)
}

/// The whole text, unless it is too long.
fn read_bounded(source: impl Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = source.take(LONGEST + 1).read_to_string(&mut text);
    let read = read.context(format!("cannot read `{name}`"));
    if read.map_err(Failure::bad_input)? as u64 > LONGEST {
        let error = anyhow!("`{name}` is longer than {LONGEST} bytes");
        return Err(Failure::bad_input(error));
    }
    Ok(text)
}

fn parse_object(text: &str, name: &str) -> Result<JsonObject, Failure> {
    let example =
        r#"`--input` takes a JSON object such as '{"file_path": "a"}', `@FILE`, or `-` for stdin"#;
    let refused = |error| Failure::bad_input(error).with_hint(example);
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(refused(anyhow!("`{name}` is not a JSON object"))),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let error = anyhow!("`{name}` is not JSON: line {line} column {column}");
            Err(refused(error))
        }
    }
}

fn object_of(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// The default input of an event.
fn default_details(event: HookEvent) -> EventDetails {
    let request = || json!({"model": "gemini-2.5-flash", "messages": [{"role": "user", "content": "hello"}], "config": {}});
    let word = |word: &str| word.to_owned();
    match event {
        HookEvent::BeforeTool => EventDetails::BeforeTool(HookToolCall {
            input: json!({}),
            ..HookToolCall::default()
        }),
        HookEvent::AfterTool => EventDetails::AfterTool(
            HookToolCall {
                input: json!({}),
                ..HookToolCall::default()
            },
            json!({"llmContent": "", "returnDisplay": ""}),
        ),
        HookEvent::BeforeAgent => EventDetails::BeforeAgent {
            prompt: word("hello"),
        },
        HookEvent::AfterAgent => EventDetails::AfterAgent {
            prompt: word("hello"),
            prompt_response: word("[no response text]"),
            stop_hook_active: false,
        },
        HookEvent::Notification => EventDetails::Notification {
            notification_type: word("ToolPermission"),
            message: word("Tool ls requires execution"),
            details: json!({"type": "exec", "title": "ls", "command": "ls", "rootCommand": "ls"}),
        },
        HookEvent::SessionStart => EventDetails::SessionStart {
            source: word("startup"),
        },
        HookEvent::SessionEnd => EventDetails::SessionEnd {
            reason: word("exit"),
        },
        HookEvent::PreCompress => EventDetails::PreCompress {
            trigger: word("auto"),
        },
        HookEvent::BeforeModel => EventDetails::BeforeModel {
            llm_request: request(),
        },
        HookEvent::BeforeToolSelection => EventDetails::BeforeToolSelection {
            llm_request: request(),
        },
        HookEvent::AfterModel => EventDetails::AfterModel {
            llm_request: request(),
            llm_response: json!({"text": "hello", "candidates": [{"content": {"role": "model", "parts": ["hello"]}}]}),
        },
    }
}
