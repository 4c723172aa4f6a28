//! Writes the events of which a stream has most: chunks of text, tool calls, and their results.
//!
//! Each function takes its value apart field by field. A new field does not compile until it is written here, or asked for in
//! [`is_plain`], which leaves the event to serde. The words that nearly every event has are written with their keys: each piece
//! costs a call, and a chunk has two dozen of them.

use std::io::{self, Write};

use super::write_string;
use crate::event::{Event, Provider, StreamDelta, StreamDeltaKind, ToolCompletion, ToolInvocation};
use crate::{Base, Body, Json, Text};

/// Writes the event and a newline if it is one of these, and has only what nearly every one has. False if nothing was written.
pub(super) fn write_plain(out: &mut impl Write, event: &Event) -> io::Result<bool> {
    if !is_plain(&event.base) {
        return Ok(false);
    }
    let is_written = match &event.body {
        Body::StreamDelta(delta) => write_delta(out, delta)?,
        Body::ToolInvocation(call) => write_call(out, call).map(|()| true)?,
        Body::ToolCompletion(completion) => write_completion(out, completion)?,
        _ => false,
    };
    if is_written {
        write_base(out, &event.base)?;
    }
    Ok(is_written)
}

/// True if the base has only what nearly every one has.
fn is_plain(base: &Base) -> bool {
    let Base {
        schema: None,
        id: _,
        seq: _,
        timestamp: _,
        provider: _,
        session_id: _,
        extensions,
        raw_is_text: false,
        raw_base64: None,
        raw: _,
        other,
    } = base
    else {
        return false;
    };
    extensions.is_empty() && other.is_empty()
}

fn write_base(out: &mut impl Write, base: &Base) -> io::Result<()> {
    if lapidary_json::needs_escape(&base.id) {
        out.write_all(b",\"id\":")?;
        write_string(out, &base.id)?;
        out.write_all(b",\"seq\":")?;
    } else {
        out.write_all(b",\"id\":\"")?;
        out.write_all(base.id.as_bytes())?;
        out.write_all(b"\",\"seq\":")?;
    }
    serde_json::to_writer(&mut *out, &base.seq)?;
    write_optional(out, b",\"timestamp\":", base.timestamp.as_ref())?;
    if base.provider == Provider::Gemini {
        out.write_all(b",\"provider\":\"gemini\"")?;
    } else {
        out.write_all(b",\"provider\":")?;
        write_string(out, base.provider.as_str())?;
    }
    write_optional(out, b",\"sessionId\":", base.session_id.as_ref())?;
    if let Some(raw) = &base.raw {
        write_value(out, b",\"raw\":", raw)?;
    }
    out.write_all(b"}\n")
}

fn write_delta(out: &mut impl Write, delta: &StreamDelta) -> io::Result<bool> {
    let StreamDelta {
        kind,
        text_delta,
        json_delta: None,
        block_index: None,
        call_id: None,
        parent_call_id: None,
    } = delta
    else {
        return Ok(false);
    };
    if *kind == StreamDeltaKind::Text {
        out.write_all(b"{\"event\":\"stream_delta\",\"kind\":\"text\"")?;
    } else {
        out.write_all(b"{\"event\":\"stream_delta\",\"kind\":")?;
        write_string(out, kind.as_str())?;
    }
    write_optional(out, b",\"textDelta\":", text_delta.as_ref())?;
    Ok(true)
}

fn write_call(out: &mut impl Write, call: &ToolInvocation) -> io::Result<()> {
    let ToolInvocation {
        call_id,
        tool_name,
        kind,
        input,
        parent_call_id,
        title,
        locations,
        model,
    } = call;
    write_text(out, b"{\"event\":\"tool_invocation\",\"callId\":", call_id)?;
    write_text(out, b",\"toolName\":", tool_name)?;
    out.write_all(b",\"kind\":")?;
    write_string(out, kind.as_str())?;
    write_value(out, b",\"input\":", input)?;
    write_optional(out, b",\"parentCallId\":", parent_call_id.as_ref())?;
    write_optional(out, b",\"title\":", title.as_ref())?;
    write_texts(out, b",\"locations\":", locations)?;
    write_optional(out, b",\"model\":", model.as_ref())
}

fn write_completion(out: &mut impl Write, completion: &ToolCompletion) -> io::Result<bool> {
    let ToolCompletion {
        call_id,
        parent_call_id,
        status,
        output,
        is_error,
        content,
        locations,
        command,
        command_output,
        mutation,
    } = completion;
    if !content.is_empty() {
        return Ok(false);
    }
    write_text(out, b"{\"event\":\"tool_completion\",\"callId\":", call_id)?;
    write_optional(out, b",\"parentCallId\":", parent_call_id.as_ref())?;
    out.write_all(b",\"status\":")?;
    write_string(out, status.as_str())?;
    if let Some(output) = output {
        write_value(out, b",\"output\":", output)?;
    }
    if *is_error {
        out.write_all(b",\"isError\":true")?;
    }
    write_texts(out, b",\"locations\":", locations)?;
    write_optional(out, b",\"command\":", command.as_ref())?;
    write_optional(out, b",\"commandOutput\":", command_output.as_ref())?;
    write_optional(out, b",\"mutation\":", mutation.as_ref())?;
    Ok(true)
}

fn write_text(out: &mut impl Write, key: &[u8], text: &Text) -> io::Result<()> {
    out.write_all(key)?;
    text.write_json(out)
}

fn write_optional(out: &mut impl Write, key: &[u8], value: Option<&Text>) -> io::Result<()> {
    value.map_or(Ok(()), |value| write_text(out, key, value))
}

fn write_value(out: &mut impl Write, key: &[u8], value: &Json) -> io::Result<()> {
    out.write_all(key)?;
    out.write_all(value.as_str().as_bytes())
}

/// An array of texts, or nothing if there are none.
fn write_texts(out: &mut impl Write, key: &[u8], texts: &[Text]) -> io::Result<()> {
    for (place, text) in texts.iter().enumerate() {
        out.write_all(if place == 0 { key } else { b"" })?;
        out.write_all(if place == 0 { b"[" } else { b"," })?;
        text.write_json(out)?;
    }
    out.write_all(if texts.is_empty() { b"" } else { b"]" })
}
