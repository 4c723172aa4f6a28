//! What hooks are to be told: what somebody says, or every such moment of a recording.

use std::collections::HashMap;

use anyhow::{Context as _, anyhow};
use lapidary::drive::hooks::Surroundings;
use lapidary::vocab::event::{TextKind, ToolCompletion, ToolInvocation};
use lapidary::vocab::{Body, Event as Told, Json, Text};
use lapidary::wire::gemini::hooks::{Details, Event, Input, Object, ToolCall};
use serde_json::{Value, json};

use super::Args;
use crate::commands::translate::each_event;
use crate::failure::Failure;

pub(super) fn of(args: &Args, event: Event, around: &Surroundings) -> Result<Vec<Input>, Failure> {
    let Some(recording) = &args.recording else {
        return Ok(vec![said(args, event, around)?]);
    };
    let mut reading = Reading {
        event,
        found: Vec::new(),
        calls: HashMap::new(),
        prompt: String::new(),
        answer: String::new(),
    };
    if !reading.can_tell() {
        let error = anyhow!("a recording does not tell what `{event}` hooks are told");
        return Err(Failure::usage(error).with_hint("`--input` says it"));
    }
    each_event(recording, |event| reading.take(&event))?;
    let inputs = reading.found.into_iter();
    Ok(inputs.map(|details| around.input(details)).collect())
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

/// The moments of a recording.
struct Reading {
    event: Event,
    found: Vec<Details>,
    /// Calls that have not ended.
    calls: HashMap<String, ToolCall>,
    prompt: String,
    answer: String,
}

impl Reading {
    fn can_tell(&self) -> bool {
        !matches!(
            self.event,
            Event::PreCompress
                | Event::BeforeModel
                | Event::AfterModel
                | Event::BeforeToolSelection
        )
    }

    fn take(&mut self, told: &Told) {
        match &told.body {
            Body::SessionInit(_) => self.add(Details::SessionStart {
                source: "startup".to_owned(),
            }),
            Body::UserInput(input) if !input.is_synthetic => {
                self.prompt = input.text.to_string();
                self.answer.clear();
                let prompt = self.prompt.clone();
                self.add(Details::BeforeAgent { prompt });
            }
            Body::StreamDelta(delta) => {
                let text = delta.text_delta.as_ref().map(Text::to_str);
                self.answer.push_str(&text.unwrap_or_default());
            }
            Body::Text(text) if text.kind == TextKind::Text => {
                self.answer.push_str(&text.text.to_str());
            }
            Body::ToolInvocation(call) => self.called(call),
            Body::ToolCompletion(done) => self.done(done),
            Body::PermissionRequest(request) => self.add(Details::Notification {
                notification_type: "ToolPermission".to_owned(),
                message: format!("Tool {} requires confirmation", request.tool_name),
                details: json!({"type": request.tool_kind.as_str(), "title": request.tool_name.to_str()}),
            }),
            Body::TurnComplete(_) => self.turned(),
            Body::RunEnd(_) => self.add(Details::SessionEnd {
                reason: "exit".to_owned(),
            }),
            _ => {}
        }
    }

    fn add(&mut self, details: Details) {
        if details.event() == self.event {
            self.found.push(details);
        }
    }

    /// A call may be told of several times, each time with more of it: the hook would have seen the first.
    fn called(&mut self, call: &ToolInvocation) {
        let known = ToolCall {
            name: call.tool_name.to_string(),
            input: value(&call.input),
            ..ToolCall::default()
        };
        let before = self.calls.insert(call.call_id.to_string(), known.clone());
        if before.is_none() {
            self.add(Details::BeforeTool(known));
        }
    }

    fn done(&mut self, done: &ToolCompletion) {
        let Some(call) = self.calls.remove(&done.call_id.to_string()) else {
            return;
        };
        let output = done.output.as_ref().map(value);
        let output = output.unwrap_or_else(|| "".into());
        let mut response = json!({"llmContent": output, "returnDisplay": output});
        if done.is_error {
            response["error"] = json!({"message": output});
        }
        self.add(Details::AfterTool(call, response));
    }

    fn turned(&mut self) {
        let answer = std::mem::take(&mut self.answer);
        let silent = "[no response text]".to_owned();
        self.add(Details::AfterAgent {
            prompt: self.prompt.clone(),
            prompt_response: Some(answer).filter(|it| !it.is_empty()).unwrap_or(silent),
            stop_hook_active: false,
        });
    }
}

/// What serde cannot hold is a text here.
fn value(json: &Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap_or_else(|_| json.as_str().into())
}
