//! A run that Lapidary recorded and the session file that the agent left have the same messages.
//!
//! The comparison leaves out the id, the time and the original lines of a message, and numbers the ids of calls: a recording and a
//! file have their own. Everything else is equal, but for [`Difference`], which has a reason for each.

use std::collections::HashMap;

use lapidary_standin::api::{Script, Turn};
use lapidary_testkit::acp::Peer;
use serde_json::{Value, json};

use super::agent_stage::{AgentStage, StageTransport};

/// A part of messages in which a recording and a session file cannot agree, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// The transport tells the tokens of a whole turn, or none.
    Usage,
    /// The transport names no model, or that of the session and not that of the response, or it puts the provider before its name.
    Model,
    /// The adapter does not pass on the signature of a thought.
    Signature,
    /// Gemini CLI's stream has no thoughts; over ACP a thought is one text, and the file has subject and description.
    Thoughts,
    /// The adapter adds the working directory to the input of a command.
    WorkingDirectory,
    /// Gemini CLI's transports have the output for display. The file has the text that the model got, which specification 0 asks for.
    GeminiOutput,
    /// Gemini CLI's file has records of its own among the user's: context, and the results of calls once more.
    GeminiContext,
    /// Over ACP, Gemini CLI writes all calls of a turn into one record. The run has them by the responses of the model.
    Grouping,
    /// Codex runs the calls of one response at the same time. Its transports have them in the order in which they began, and over
    /// ACP a call that began after the result of another one looks like a call of the next response.
    ParallelCalls,
}

impl Difference {
    fn remove_from(self, message: &mut Value) {
        let object = message.as_object_mut().unwrap();
        match self {
            Self::Usage => drop(object.remove("usage")),
            Self::Model => drop(object.remove("model")),
            Self::Thoughts => {
                if let Some(blocks) = message["content"].as_array_mut() {
                    blocks.retain(|block| block["type"] != "thinking");
                }
            }
            Self::Signature => remove_from_blocks(message, "signature"),
            Self::GeminiOutput => {
                let is_result = |block: &&mut Value| block["type"] == "tool_result";
                for block in blocks(message).filter(is_result) {
                    block.as_object_mut().unwrap().remove("content");
                }
            }
            Self::WorkingDirectory => {
                for block in blocks(message) {
                    if let Some(input) = block.get_mut("input") {
                        input.as_object_mut().unwrap().remove("cwd");
                    }
                }
            }
            Self::GeminiContext | Self::Grouping | Self::ParallelCalls => {}
        }
    }

    /// Whether the whole message is left out.
    fn leaves_out(self, message: &Value) -> bool {
        let is_context = || {
            let first = message["content"][0]["text"].as_str().unwrap_or_default();
            message["content"] == "" || first.starts_with("<session_context>")
        };
        self == Self::GeminiContext && message["role"] == "user" && is_context()
    }
}

fn remove_from_blocks(message: &mut Value, name: &str) {
    for block in blocks(message) {
        block.as_object_mut().unwrap().remove(name);
    }
}

fn blocks(message: &mut Value) -> impl Iterator<Item = &mut Value> {
    message["content"].as_array_mut().into_iter().flatten()
}

/// The messages without what a recording and a file never share.
fn plain(messages: Vec<Value>, differences: &[Difference]) -> Vec<Value> {
    let mut calls = HashMap::new();
    let is_wanted = |message: &Value| !differences.iter().any(|it| it.leaves_out(message));
    let mut messages: Vec<_> = messages.into_iter().filter(is_wanted).collect();
    if differences.contains(&Difference::ParallelCalls) {
        messages = with_sorted_calls(messages);
    }
    let plain = messages.into_iter().map(|mut message| {
        let object = message.as_object_mut().unwrap();
        for name in ["id", "timestamp", "_original"] {
            object.remove(name);
        }
        for block in blocks(&mut message) {
            for name in ["id", "tool_use_id"] {
                if let Some(id) = block.get(name).and_then(Value::as_str) {
                    let next = calls.len();
                    let number = *calls.entry(id.to_owned()).or_insert(next);
                    block[name] = json!(number);
                }
            }
        }
        for difference in differences {
            difference.remove_from(&mut message);
        }
        message
    });
    let plain = plain.collect();
    if differences.contains(&Difference::Grouping) {
        return grouped(plain);
    }
    plain
}

/// One message for all responses to a prompt: calls, then texts.
fn grouped(messages: Vec<Value>) -> Vec<Value> {
    let mut grouped: Vec<Value> = Vec::new();
    for message in messages {
        match grouped.last_mut() {
            Some(last) if last["role"] == "assistant" && message["role"] == "assistant" => {
                let more = message["content"].as_array().cloned().unwrap_or_default();
                last["content"].as_array_mut().unwrap().extend(more);
            }
            _ => grouped.push(message),
        }
    }
    for blocks in grouped.iter_mut().map(|it| it["content"].as_array_mut()) {
        blocks.unwrap().sort_by_key(|block| block["type"] == "text");
    }
    grouped
}

/// Adjacent messages that consist of calls only are one message, and its calls are sorted by their input.
fn with_sorted_calls(messages: Vec<Value>) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for message in messages {
        match merged.last_mut() {
            Some(last) if has_only_calls(last) && has_only_calls(&message) => {
                let more = message["content"].as_array().cloned().unwrap_or_default();
                last["content"].as_array_mut().unwrap().extend(more);
            }
            _ => merged.push(message),
        }
    }
    for message in merged.iter_mut().filter(|it| has_only_calls(it)) {
        let blocks = message["content"].as_array_mut().unwrap();
        let mut calls: Vec<_> = blocks.chunks(2).map(<[Value]>::to_vec).collect();
        calls.sort_by_key(|call| call[0]["input"].to_string());
        *blocks = calls.concat();
    }
    merged
}

/// Whether a message is a sequence of calls, each followed by its result.
fn has_only_calls(message: &Value) -> bool {
    let blocks = message["content"].as_array();
    message["role"] == "assistant"
        && blocks.is_some_and(|blocks| {
            !blocks.is_empty()
                && blocks.chunks(2).all(|pair| {
                    pair.len() == 2
                        && pair[0]["type"] == "tool_use"
                        && pair[1]["type"] == "tool_result"
                        && pair[0]["id"] == pair[1]["tool_use_id"]
                })
        })
}

/// A thought, a text and a command that works; two commands of one answer, of which one fails; a text.
fn scene(peer: Peer) -> Script {
    let shell = |command: &str| peer.shell_call(command).unwrap();
    let (tool, first) = shell("cat notes.txt; touch made");
    let (_, second) = shell("printf 'a\\nb\\n'; touch other");
    let (_, third) = shell("touch third; ls missing-file");
    Script::new()
        .stream(
            Turn::thought("**Look** The notes come first.")
                .and_text("I look first.")
                .and_call(tool, first),
        )
        .stream(Turn::call(tool, second).and_call(tool, third))
        .stream("So be it.")
}

fn check(peer: Peer, transport: StageTransport, differences: &[Difference]) {
    let stage = AgentStage::new(peer, transport, scene(peer));
    let notes = stage.world.project().join("notes.txt");
    std::fs::write(notes, "first line\nsecond line\n").unwrap();
    let result = stage.run("live", "make a file");
    assert_eq!(result["outcome"], "completed", "{result}");
    let session = result["sessionId"].as_str().unwrap();
    let recording = stage.recording("live");
    let recording = recording.to_str().unwrap();
    let live = stage.lines(&["translate", "--format", "messages", recording]);
    let file = stage.lines(&["sessions", "show", session, "--format", "messages"]);
    let (live, file) = (plain(live, differences), plain(file, differences));
    assert_eq!(calls(&file), 3, "{file:#?}");
    assert_eq!(live, file, "recording, then file");
}

/// How many calls the messages have.
fn calls(messages: &[Value]) -> usize {
    let blocks = messages.iter().filter_map(|it| it["content"].as_array());
    let is_call = |block: &&Value| block["type"] == "tool_use";
    blocks.flatten().filter(is_call).count()
}

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_run_of_claude_code_and_its_session_file_have_the_same_messages() {
    check(Peer::Claude, StageTransport::StreamJson, &[]);
    check(
        Peer::Claude,
        StageTransport::Acp,
        &[Difference::Usage, Difference::Model, Difference::Signature],
    );
}

/// The differences of Gemini CLI on each transport.
const OF_GEMINI: [Difference; 5] = [
    Difference::Usage,
    Difference::Model,
    Difference::Thoughts,
    Difference::GeminiOutput,
    Difference::GeminiContext,
];

#[test]
#[cfg_attr(
    not(feature = "peers"),
    ignore = "needs real peers: run `cargo xtask test`"
)]
fn a_run_of_gemini_cli_and_its_session_file_have_the_same_messages() {
    check(Peer::Gemini061, StageTransport::StreamJson, &OF_GEMINI);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn a_run_of_gemini_cli_over_acp_and_its_session_file_have_the_same_messages() {
    let differences = [&OF_GEMINI[..], &[Difference::Grouping]].concat();
    check(Peer::Gemini061, StageTransport::Acp, &differences);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn a_run_of_opencode_and_its_session_have_the_same_messages() {
    let differences = [
        Difference::Usage,
        Difference::Model,
        Difference::WorkingDirectory,
    ];
    check(Peer::Opencode, StageTransport::Acp, &differences);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "takes long: run `cargo xtask test --full`"
)]
fn a_run_of_qwen_code_and_its_session_file_have_the_same_messages() {
    let differences = [Difference::Usage, Difference::Model];
    check(Peer::Qwen, StageTransport::Acp, &differences);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "Codex is large: run `cargo xtask test --full`"
)]
fn a_run_of_codex_and_its_rollout_have_the_same_messages() {
    let differences = [
        Difference::Usage,
        Difference::Model,
        Difference::ParallelCalls,
    ];
    check(Peer::Codex, StageTransport::StreamJson, &differences);
}

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "Codex is large: run `cargo xtask test --full`"
)]
fn a_run_of_codex_over_acp_and_its_rollout_have_the_same_messages() {
    let differences = [
        Difference::Usage,
        Difference::WorkingDirectory,
        Difference::ParallelCalls,
    ];
    check(Peer::Codex, StageTransport::Acp, &differences);
}
