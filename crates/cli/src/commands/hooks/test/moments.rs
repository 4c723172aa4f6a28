//! What hooks are to be told: what somebody says, or every such moment of a recording.

use anyhow::{Context as _, anyhow};
use lapidary::drive::hooks::Surroundings;
use lapidary::wire::gemini::hooks::{Details, Event, Input, Object, ToolCall};
use serde_json::{Value, json};

use super::{Args, recorded};
use crate::failure::Failure;

/// A moment, and what hooks are told then.
pub(super) struct Moment {
    /// In each round a hook runs once. A tool may go by several names: of these it is told the first that it is for.
    pub(super) rounds: Vec<Vec<Input>>,
    /// What else somebody should know.
    pub(super) notes: Vec<String>,
    /// It is one around an agent that is spoken to, whose arguments nobody can change.
    pub(super) is_fixed: bool,
}

impl Moment {
    pub(super) fn of(rounds: Vec<Vec<Input>>) -> Self {
        Self {
            rounds,
            notes: Vec::new(),
            is_fixed: false,
        }
    }
}

pub(super) fn of(args: &Args, event: Event, around: &Surroundings) -> Result<Vec<Moment>, Failure> {
    if let Some(recording) = &args.recording {
        return recorded::of(recording, event, around);
    }
    let said = said(args, event, around)?;
    Ok(vec![Moment::of(vec![vec![said]])])
}

/// What somebody says, over what is usual.
fn said(args: &Args, event: Event, around: &Surroundings) -> Result<Input, Failure> {
    let given = args.input.as_deref().map(object).transpose()?;
    let is_about_tool = matches!(event, Event::BeforeTool | Event::AfterTool);
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
    let mut told = around.input(usual(event)).to_object();
    told.extend(own);
    told.insert("hook_event_name".to_owned(), event.as_str().into());
    Input::from_object(&told).ok_or_else(|| {
        let error = anyhow!("`--input` has a field of another type than `{event}` hooks are told");
        let usual = Value::Object(around.input(usual(event)).to_object());
        Failure::bad_input(error).with_hint(format!("they are told, for example, {usual}"))
    })
}

fn object(text: &str) -> Result<Object, Failure> {
    let value: Value = serde_json::from_str(text)
        .context("`--input` is no JSON")
        .map_err(Failure::bad_input)?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Failure::bad_input(anyhow!("`--input` is no JSON object"))),
    }
}

fn object_of(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// What hooks are told where nobody says anything.
fn usual(event: Event) -> Details {
    let request = || json!({"model": "gemini-2.5-flash", "messages": [{"role": "user", "content": "hello"}], "config": {}});
    let word = |word: &str| word.to_owned();
    match event {
        Event::BeforeTool => Details::BeforeTool(ToolCall {
            input: json!({}),
            ..ToolCall::default()
        }),
        Event::AfterTool => Details::AfterTool(
            ToolCall {
                input: json!({}),
                ..ToolCall::default()
            },
            json!({"llmContent": "", "returnDisplay": ""}),
        ),
        Event::BeforeAgent => Details::BeforeAgent {
            prompt: word("hello"),
        },
        Event::AfterAgent => Details::AfterAgent {
            prompt: word("hello"),
            prompt_response: word("[no response text]"),
            stop_hook_active: false,
        },
        Event::Notification => Details::Notification {
            notification_type: word("ToolPermission"),
            message: word("Tool ls requires execution"),
            details: json!({"type": "exec", "title": "ls", "command": "ls", "rootCommand": "ls"}),
        },
        Event::SessionStart => Details::SessionStart {
            source: word("startup"),
        },
        Event::SessionEnd => Details::SessionEnd {
            reason: word("exit"),
        },
        Event::PreCompress => Details::PreCompress {
            trigger: word("auto"),
        },
        Event::BeforeModel => Details::BeforeModel {
            llm_request: request(),
        },
        Event::BeforeToolSelection => Details::BeforeToolSelection {
            llm_request: request(),
        },
        Event::AfterModel => Details::AfterModel {
            llm_request: request(),
            llm_response: json!({"text": "hello", "candidates": [{"content": {"role": "model", "parts": ["hello"]}}]}),
        },
    }
}
